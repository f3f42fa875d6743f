"""What was left out of a prompt, by where it comes from and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.redact import redact
from nbagent.views.pieces import origin
from nbagent.views.words import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.messages import Role, Segment

_PREVIEW = 60


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Segments from one place that were left out for one reason."""

    name: str
    """`context web`; of a single one, with its address and score."""
    role: Role
    reason: str
    segments: tuple[Segment, ...]

    @property
    def number(self) -> str:
        """Empty for a single one."""
        return "" if len(self.segments) == 1 else count(len(self.segments), "piece")

    def previews(self, most: int) -> list[str]:
        """A line for each, and one for those that are too many."""
        lines = [_preview(segment) for segment in self.segments[:most]]
        more = len(self.segments) - len(lines)
        return [*lines, f"… and {more:,} more"] if more else lines


def left_out(segments: Sequence[Segment]) -> tuple[LeftOut, ...]:
    groups: dict[tuple[str, str, Role, str], list[Segment]] = {}
    for segment in segments:
        if not segment.kept:
            key = (segment.source.kind, segment.source.detail or segment.label, segment.role, segment.reason)
            groups.setdefault(key, []).append(segment)
    return tuple(
        LeftOut(origin(some[0]) if len(some) == 1 else f"{kind} {which}".rstrip(), role, reason, tuple(some))
        for (kind, which, role, reason), some in groups.items()
    )


def _preview(segment: Segment) -> str:
    """Which of its group it is, and how it begins."""
    source = segment.source
    score = "" if source.score is None else f"score {source.score:.3g}"
    named = ", ".join(word for word in (segment.label, source.uri, score) if word)
    text = redact(segment.text)  # before it is cut, so that no secret is cut in two
    text = text if len(text) <= _PREVIEW else f"{text[:_PREVIEW]}…"
    return f"{named}: {text}" if named else text
