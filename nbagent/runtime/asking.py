"""Asking: the steps of one model call: the request goes out, or waits for its turn, and a reply comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from nbagent.errors import FOREIGN, ModelError, NBAgentError
from nbagent.events import StreamEvent, Waiting
from nbagent.messages import ModelReply
from nbagent.models.model import ArgumentsPiece, ReasoningPiece
from nbagent.runtime.shown import Shown, redacted
from nbagent.tools.failure import headline
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Generator

    from nbagent.models.model import Model, Piece
    from nbagent.request import ModelRequest
    from nbagent.runtime.effects import CallModel


class Ask(Struct):
    """A step for a driver: send the request, and hand over each piece of the answer to `receive`."""

    model: Model
    request: ModelRequest
    turn: int
    reply: ModelReply | None = None
    """The whole reply, once it is there."""
    shown: Shown | None = None

    def receive(self, piece: Piece) -> tuple[StreamEvent, ...]:
        """Takes a piece of the answer; returns what there is to show of it."""
        if self.reply is None:
            if isinstance(piece, ModelReply):
                self.reply = redacted(piece)
                return self.shown.end() if self.shown else ()
            if isinstance(cast("object", piece), str | ReasoningPiece | ArgumentsPiece):
                self.shown = self.shown or Shown(self.turn)
                return self.shown.of(piece)
        raise ModelError(
            f"model {self.model.name!r}: expected pieces of text and then one ModelReply, got {piece!r}"
            + (" after its reply" if self.reply else ""),
            kind="bad_response",
        )


class Pause(Struct):
    """A step for a driver: wait. `turn` and `attempt` are those of the model call that follows."""

    turn: int
    attempt: int
    seconds: float
    error: ModelError

    def waiting(self, seconds: float) -> Waiting:
        """What there is to show while so many seconds are left."""
        return Waiting(self.turn, self.attempt, seconds, self.error.kind, str(self.error))


def sent(effect: CallModel) -> Generator[Ask, None, ModelReply]:
    """Sends a request once. Raises ModelError."""
    turn = effect.turn
    ask = Ask(effect.model, effect.request, turn)
    try:
        yield ask
    except NBAgentError:
        raise
    except FOREIGN as error:
        raise ModelError(f"{_named(effect)} failed in turn {turn}: {headline(error)}") from error
    if ask.reply is None:
        raise ModelError(f"{_named(effect)} ended its stream in turn {turn} without a reply", kind="incomplete")
    return ask.reply


def _named(effect: CallModel) -> str:
    return f"model {effect.model.name!r}"
