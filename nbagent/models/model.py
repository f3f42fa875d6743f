"""Model: what replies. The loop knows nothing else of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from nbagent.messages import ModelReply
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from nbagent.request import ModelRequest


class ReasoningPiece(Struct, frozen=True, gc=False):
    """A piece of what a model says of its reasoning."""

    text: str


class ArgumentsPiece(Struct, frozen=True, gc=False):
    """A piece of a tool call."""

    index: int
    """Which call of the reply, from 0."""
    name: str
    text: str


Piece = str | ReasoningPiece | ArgumentsPiece | ModelReply
"""What a model streams: pieces of text and of what belongs to it, then exactly one whole reply."""


@runtime_checkable
class Model(Protocol):
    """Anything that answers a request. `ScriptedLLM` is one."""

    @property
    def name(self) -> str:
        """How the model is shown, such as `scripted`."""
        ...

    @property
    def mode(self) -> str:
        """How its replies come about, such as `scripted` or `live`; shown as a badge."""
        ...

    def stream(self, request: ModelRequest) -> Iterator[Piece]:
        """Yields pieces of the reply's text as they come, and the whole `ModelReply` last."""
        ...

    def astream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """The same for `async for`."""
        ...


@runtime_checkable
class Rewindable(Protocol):
    """A model that knows how far it has come and can go on from another place, as a script can."""

    position: int
    """May be set; a place beyond an end is that end."""


def position(model: Model) -> int:
    """Where the model's script stands; 0 for a model without one."""
    # Not isinstance(): on a protocol with data members that costs more than a whole turn.
    return getattr(model, "position", 0)


def go_to(model: Model, place: int) -> None:
    """Sets a script to a place; does nothing for a model without one."""
    if hasattr(model, "position"):
        cast("Rewindable", model).position = place
