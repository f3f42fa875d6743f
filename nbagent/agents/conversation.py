"""Conversation: what an agent and its user have said, one exchange a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.messages import Message
from nbagent.models.model import go_to, position

if TYPE_CHECKING:
    from collections.abc import Hashable

    from nbagent.models.model import Model


@dataclass(slots=True, eq=False)
class Exchange:
    """What one run added to the conversation."""

    key: Hashable
    model: Model | None
    """The model it was made with; None once its script has started anew, so that its places mean nothing any more."""
    start: int
    """Where the model's script stood when the run began; 0 for a model without one."""
    end: int
    """Where it stood after the run."""
    messages: tuple[Message, ...] = ()
    """Task and answer; empty where the run did not complete."""


class Conversation:
    """The exchanges, in order. One that has a key can be made again: it then takes its old place.

    A notebook's cell is such a key. When it runs again, its exchange is replaced, its script goes back to where the
    cell began, and what later cells said stays as it is: what is seen in the notebook is what the model remembers.
    """

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.changes = 0
        """How often an exchange was opened or closed, to see whether another did so meanwhile."""

    @property
    def messages(self) -> tuple[Message, ...]:
        return _messages(self.exchanges)

    def before(self, key: Hashable) -> tuple[Message, ...]:
        """What an exchange with this key would find to have been said before it."""
        place = self._place(key)
        return _messages(self.exchanges if place is None else self.exchanges[:place])

    def _place(self, key: Hashable) -> int | None:
        return next((i for i, e in enumerate(self.exchanges) if key is not None and e.key == key), None)

    def add(self, question: str, answer: str) -> None:
        """Adds an exchange that no run has made."""
        self.changes += 1
        said = (Message("user", question), Message("assistant", answer))
        self.exchanges.append(Exchange(None, None, 0, 0, said))

    def clear(self) -> None:
        """Forgets everything that was said."""
        self.exchanges.clear()

    def restart(self) -> None:
        """The script starts anew: where earlier exchanges stood in it no longer counts."""
        for exchange in self.exchanges:
            exchange.model = None

    def open(self, key: Hashable, model: Model) -> OpenExchange:
        """Begins an exchange: sets the model's script to where it has to start."""
        place = self._place(key)
        self.changes += 1
        return OpenExchange(self, place, key, model)


class OpenExchange:
    """An exchange whose run is under way."""

    def __init__(self, conversation: Conversation, place: int | None, key: Hashable, model: Model) -> None:
        self._conversation = conversation
        self._exchanges = exchanges = conversation.exchanges
        self._opened = conversation.changes
        self._before = None if place is None else exchanges[place]
        self._key = key
        self._model = model
        self._resume_at = position(model)
        if self._before is not None and self._before.model is model:
            go_to(model, self._before.start)
        self._start = position(model)

    def close(self, messages: tuple[Message, ...], *, rewind: bool) -> None:
        """Ends it. `rewind`: the run was cancelled, so everything is as it was before.

        Where another run of the agent went on at the same time, the script stays where it is: the places in it belong
        to both.
        """
        alone = self._conversation.changes == self._opened
        self._conversation.changes += 1
        before = self._before if self._before in self._exchanges else None
        if rewind and alone:
            go_to(self._model, self._resume_at if before else self._start)
        if before is None and (messages or (self._key is not None and not rewind)):
            self._exchanges.append(self._done(messages))
        elif before is not None and not rewind:
            self._replace(before, self._done(messages), alone=alone)

    def _done(self, messages: tuple[Message, ...]) -> Exchange:
        return Exchange(self._key, self._model, self._start, position(self._model), messages)

    def _replace(self, before: Exchange, done: Exchange, *, alone: bool) -> None:
        place = self._exchanges.index(before)
        self._exchanges[place] = done
        if before.model is self._model and alone:
            self._shift(self._exchanges[place + 1 :], done.end - before.end)

    def _shift(self, later: list[Exchange], by: int) -> None:
        """The script goes on after the later exchanges, moved by what this one used more or less than before."""
        later = [exchange for exchange in later if exchange.model is self._model]
        for exchange in later:
            exchange.start += by
            exchange.end += by
        if later:
            go_to(self._model, self._resume_at + by)


def _messages(exchanges: list[Exchange]) -> tuple[Message, ...]:
    return tuple(message for exchange in exchanges for message in exchange.messages)
