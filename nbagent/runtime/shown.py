"""Shown: what is shown of a reply while it streams. A secret is not visible in it, however it is split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from nbagent.events import ArgumentsDelta, ReasoningDelta, StreamEvent, TextDelta
from nbagent.models.model import ArgumentsPiece, ReasoningPiece
from nbagent.redact import StreamRedactor, redact

if TYPE_CHECKING:
    from collections.abc import Hashable

    from nbagent.messages import ModelReply, Reasoning

_TEXT, _REASONING = "text", "reasoning"


class Shown:
    """The deltas of one reply. What could still become a secret is held back until it cannot."""

    def __init__(self, turn: int) -> None:
        self._turn = turn
        self._redactors: dict[Hashable, StreamRedactor] = {}
        self._names: dict[int, str] = {}

    def of(self, piece: str | ReasoningPiece | ArgumentsPiece) -> tuple[StreamEvent, ...]:
        """What there is to show of this piece, and of those before it."""
        if isinstance(piece, str):
            return self._delta(_TEXT, self._redactor(_TEXT).feed(piece))
        if isinstance(piece, ReasoningPiece):
            return self._delta(_REASONING, self._redactor(_REASONING).feed(piece.text))
        self._names[piece.index] = piece.name
        return self._delta(piece.index, self._redactor(piece.index).feed(piece.text))

    def end(self) -> tuple[StreamEvent, ...]:
        """What was held back."""
        return tuple(delta for kind, redactor in self._redactors.items() for delta in self._delta(kind, redactor.end()))

    def _redactor(self, kind: Hashable) -> StreamRedactor:
        if kind not in self._redactors:
            self._redactors[kind] = StreamRedactor()
        return self._redactors[kind]

    def _delta(self, kind: Hashable, text: str) -> tuple[StreamEvent, ...]:
        if not text:
            return ()
        if kind == _TEXT:
            return (TextDelta(self._turn, text),)
        if kind == _REASONING:
            return (ReasoningDelta(self._turn, text),)
        return tuple(
            ArgumentsDelta(self._turn, index, name, text) for index, name in self._names.items() if index == kind
        )


def redacted(reply: ModelReply) -> ModelReply:
    """The reply without secrets in what it says. Its calls stay as they are: they have to run."""
    content = redact(reply.content)
    if content is not reply.content:
        reply = replace(reply, content=content)
    if reply.reasoning:
        reply = replace(reply, reasoning=tuple(map(_redacted, reply.reasoning)))
    return reply


def _redacted(one: Reasoning) -> Reasoning:
    return replace(one, text=redact(one.text))
