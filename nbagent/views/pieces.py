"""Pieces: the segments of a prompt by role, with a number for each that is not the template's own text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.redact import redact_together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.messages import Role, Segment, Source, SourceKind

_ORDINARY = {"", "system prompt", "task", "prompt_template"}
"""Labels that say no more than the role."""

_ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a piece comes from."""

    name: str
    """`variable city: str`."""
    kind: SourceKind


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of prompt text."""

    text: str
    number: int
    """Which origin, from 1; 0 for the text of the template, and for labels and layout."""
    kind: SourceKind = "template"
    shown: str = ""
    """What of it may be shown: secrets are found in the whole part, not in its pieces alone."""


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
    """A prompt's kept segments, as they are shown."""

    before: tuple[Part, ...]
    """What is sent before the history: the system text."""
    after: tuple[Part, ...]
    origins: tuple[Origin, ...]
    """Where piece 1, 2, … comes from."""

    @classmethod
    def of(cls, segments: Sequence[Segment]) -> Pieces:
        kept = [s for s in segments if s.kept]
        origins: dict[Origin, int] = {}
        parts = [_part(role, [s for s in kept if s.role == role], origins) for role in _ROLES]
        before, after = ([p for p in some if p.pieces] for some in (parts[:1], parts[1:]))
        return cls(tuple(before), tuple(after), tuple(origins))


def _part(role: Role, segments: Sequence[Segment], origins: dict[Origin, int]) -> Part:
    shown = redact_together([segment.text for segment in segments])
    pieces = [
        Piece(segment.text, _number(segment, origins), segment.source.kind, text)
        for segment, text in zip(segments, shown, strict=True)
    ]
    return Part(role, _labels(role, segments), tuple(pieces))


def _number(segment: Segment, origins: dict[Origin, int]) -> int:
    kind = segment.source.kind
    return (
        0
        if kind == "template" or _names_itself(segment.source)
        else origins.setdefault(Origin(origin(segment), kind), len(origins) + 1)
    )


def _labels(role: Role, segments: Sequence[Segment]) -> tuple[str, ...]:
    labels = dict.fromkeys(segment.label for segment in segments)
    labels |= dict.fromkeys(s.source.detail for s in segments if s.source.kind == "template")
    known = {s.source.detail or s.label for s in segments if s.source.kind != "template"} | {*_ORDINARY, role}
    known |= {s.source.detail.removeprefix("label ") for s in segments if _names_itself(s.source)}
    return tuple(label for label in labels if label not in known)


def _names_itself(source: Source) -> bool:
    """Whether it is the name of a part, or what stands between parts: that needs no source."""
    return source.kind == "framework" and (source.detail == "layout" or source.detail.startswith("label "))


def origin(segment: Segment) -> str:
    """`variable city: str`."""
    source = segment.source
    return str(source) if source.detail else f"{source.kind} {segment.label}".rstrip()
