"""observe: builds the prompt as a record, before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbagent.errors import ConfigError
from nbagent.messages import Image, Message, Piece, Prompt, Role, Segment, Source, ToolSchema

Text = str | Sequence[Piece | Segment]
"""A prompt text: plain, or in pieces that know their source (as a cell's references do)."""


def observe(
    system: tuple[Segment, ...],
    task: tuple[Segment, ...],
    history: tuple[Message, ...],
    tools: tuple[ToolSchema, ...],
    images: tuple[Image, ...] = (),
) -> Prompt:
    """The prompt of one run: system text (none where there are no segments of it), history, task, tools, images."""
    return Prompt((*system, *task), history, tools, images)


def segments(role: Role, label: str, text: Text | None) -> tuple[Segment, ...]:
    """A text as segments: one for a plain text, one for each piece that knows its source, none for None or ''."""
    if isinstance(text, str):
        return (Segment(role, label, text, Source("template", label)),) if text else ()
    pieces: tuple[Any, ...] = tuple(text) if isinstance(text, Sequence) else (text,) if text is not None else ()
    for piece in pieces:
        if not isinstance(piece, Piece | Segment):
            raise ConfigError(f"{label}: expected a text, got {type(text).__name__}: {text!r}")
    return tuple(Segment(role, label, piece.text, piece.source) for piece in pieces)
