"""Pieces: the segments of a prompt by role, with a number for each that is not the template's own text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.messages import Role, Segment

_ORDINARY = {"", "system prompt", "task"}
"""Labels that say no more than the role."""

_ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of prompt text."""

    text: str
    number: int
    """Which origin, from 1; 0 for the text of the template."""


@dataclass(frozen=True, slots=True)
class Part:
    """The kept segments of one role."""

    role: Role
    labels: tuple[str, ...]
    """What its segments are called, where that says more than the role."""
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Pieces:
    """A prompt's segments, as they are shown."""

    before: tuple[Part, ...]
    """What is sent before the history: the system text."""
    after: tuple[Part, ...]
    origins: tuple[str, ...]
    """Where piece 1, 2, … comes from."""
    dropped: tuple[Segment, ...]

    @classmethod
    def of(cls, segments: Sequence[Segment]) -> Pieces:
        kept = [s for s in segments if s.kept]
        origins: dict[str, int] = {}
        parts = [_part(role, [s for s in kept if s.role == role], origins) for role in _ROLES]
        before, after = ([p for p in some if p.pieces] for some in (parts[:1], parts[1:]))
        return cls(tuple(before), tuple(after), tuple(origins), tuple(s for s in segments if not s.kept))


def _part(role: Role, segments: Sequence[Segment], origins: dict[str, int]) -> Part:
    pieces: list[Piece] = []
    for segment in segments:
        is_template = segment.source.kind == "template"
        number = 0 if is_template else origins.setdefault(origin(segment), len(origins) + 1)
        pieces.append(Piece(segment.text, number))
    return Part(role, _labels(role, segments), tuple(pieces))


def _labels(role: Role, segments: Sequence[Segment]) -> tuple[str, ...]:
    labels = dict.fromkeys(segment.label for segment in segments)
    labels |= dict.fromkeys(s.source.detail for s in segments if s.source.kind == "template")
    legend = {s.source.detail or s.label for s in segments if s.source.kind != "template"}
    return tuple(label for label in labels if label not in {*_ORDINARY, *legend, role})


def origin(segment: Segment) -> str:
    """`variable city: str`."""
    source = segment.source
    return str(source) if source.detail else f"{source.kind} {segment.label}".rstrip()
