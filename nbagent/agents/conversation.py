"""Conversation: what an agent and its user have said, one exchange a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from nbagent.agents.marks import Marks
from nbagent.messages import Message

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from nbagent.models.model import Model


@dataclass(slots=True, eq=False)
class Exchange:
    """What one run added to the conversation."""

    key: Hashable
    start: Marks
    """Where the scripts stood when the run began."""
    end: Marks
    """Where they stood after the run."""
    messages: tuple[Message, ...] = ()
    """Task and answer; empty where the run did not complete."""


class Kept(Protocol):
    """What is told of every change of a conversation, to keep it."""

    def put(self, place: int, exchange: Exchange) -> None:
        """There is an exchange at this place now."""
        ...

    def cut(self, length: int) -> None:
        """Only so many are left, from the first."""
        ...


class Conversation:
    """The exchanges, in order. One that has a key can be made again: it then takes its old place.

    A notebook's cell is such a key. When it runs again, its exchange is replaced, its script goes back to where the
    cell began, and what later cells said stays as it is: what is seen in the notebook is what the model remembers.
    """

    def __init__(self, kept: Kept | None = None) -> None:
        self.exchanges: list[Exchange] = []
        self.changes = 0
        """How often an exchange was opened or closed, to see whether another did so meanwhile."""
        self._kept = kept
        self._summary: tuple[int, tuple[Message, ...]] = (0, ())
        """How many of the first exchanges prompts take as a summary, and that."""

    @property
    def messages(self) -> tuple[Message, ...]:
        return _messages(self.exchanges)

    def before(self, key: Hashable) -> tuple[Message, ...]:
        """What an exchange with this key would find to have been said before it."""
        place = self._place(key)
        return _messages(self.exchanges if place is None else self.exchanges[:place])

    def told(self, key: Hashable) -> tuple[Message, ...]:
        """The same as a prompt takes it: what was said long ago may be a summary."""
        place, (length, summary) = self._place(key), self._summary
        end = len(self.exchanges) if place is None else place
        return self.before(key) if end < length else (*summary, *_messages(self.exchanges[length:end]))

    def shorten(self, key: Hashable, keep: int, summary: tuple[Message, ...]) -> None:
        """From now on this summary stands for what was said before the exchange with this key, but the newest few."""
        place = self._place(key)
        end = len(self.exchanges) if place is None else place
        while end and keep:
            end -= 1
            keep -= bool(self.exchanges[end].messages)
        self._summary = (end, summary)

    def _place(self, key: Hashable) -> int | None:
        return next((i for i, e in enumerate(self.exchanges) if key is not None and e.key == key), None)

    def add(self, question: str, answer: str) -> None:
        """Adds an exchange that no run has made."""
        self.changes += 1
        said = (Message("user", question), Message("assistant", answer))
        self.put(len(self.exchanges), Exchange(None, Marks(), Marks(), said))

    def put(self, place: int, exchange: Exchange) -> None:
        """Sets the exchange at this place; behind the last one it is new."""
        self._forget_summary(place)
        self.exchanges[place : place + 1] = [exchange]
        if self._kept is not None:
            self._kept.put(place, exchange)

    def cut(self, length: int) -> None:
        """Forgets all exchanges but the first so many."""
        self._forget_summary(length)
        del self.exchanges[length:]
        if self._kept is not None:
            self._kept.cut(length)

    def _forget_summary(self, place: int) -> None:
        """What it sums up has changed."""
        if place < self._summary[0]:
            self._summary = (0, ())

    def clear(self) -> None:
        """Forgets everything that was said."""
        self.cut(0)

    def take_back(self) -> tuple[Message, ...]:
        """Forgets the newest exchange that says something, and what it said; its scripts go back to where it began."""
        while self.exchanges:
            last = self.exchanges[-1]
            self.changes += 1
            last.start.go()
            self.cut(len(self.exchanges) - 1)
            if last.messages:
                return last.messages
        return ()

    def copied_to(self, other: Conversation) -> None:
        """Says everything to another conversation, too, in the place of what that one has said."""
        other.clear()
        for place, exchange in enumerate(self.exchanges):
            other.put(place, Exchange(exchange.key, Marks(), Marks(), exchange.messages))

    def restart(self, model: Model) -> None:
        """A script starts anew: where earlier exchanges stood in it no longer counts."""
        for exchange in self.exchanges:
            exchange.start, exchange.end = exchange.start.without(model), exchange.end.without(model)

    def open(self, key: Hashable, models: Iterable[Model], *, goes_on: bool = False) -> OpenExchange:
        """Begins an exchange: sets the scripts of the models to where they have to start.

        `goes_on`: the exchange of this key has begun already, and is not made again.
        """
        place = self._place(key)
        self.changes += 1
        return OpenExchange(self, place, key, tuple(models), goes_on=goes_on)


class OpenExchange:
    """An exchange whose run is under way."""

    def __init__(
        self, conversation: Conversation, place: int | None, key: Hashable, models: tuple[Model, ...], *, goes_on: bool
    ) -> None:
        self._conversation = conversation
        self._exchanges = exchanges = conversation.exchanges
        self._opened = conversation.changes
        self._before = None if place is None else exchanges[place]
        self._key = key
        self._models = models
        self._resume_at = Marks.of(models)
        if self._before is not None and not goes_on:
            self._before.start.within(self._resume_at).go()
        self._start = self._before.start if self._before is not None and goes_on else Marks.of(models)

    def close(self, messages: tuple[Message, ...], *, rewind: bool) -> None:
        """Ends it. `rewind`: the run was cancelled, so everything is as it was before.

        Where another run of the agent went on at the same time, the script stays where it is: the places in it belong
        to both.
        """
        alone = self._conversation.changes == self._opened
        self._conversation.changes += 1
        before = self._before if self._before in self._exchanges else None
        if rewind and alone:
            (self._resume_at if before else self._start).go()
        if before is None and (messages or (self._key is not None and not rewind)):
            self._conversation.put(len(self._exchanges), self._done(messages))
        elif before is not None and not rewind:
            self._replace(before, self._done(messages), alone=alone)

    def _done(self, messages: tuple[Message, ...]) -> Exchange:
        return Exchange(self._key, self._start, Marks.of(self._models), messages)

    def _replace(self, before: Exchange, done: Exchange, *, alone: bool) -> None:
        place = self._exchanges.index(before)
        self._conversation.put(place, done)
        if alone:
            self._shift(self._exchanges[place + 1 :], before, done)

    def _shift(self, later: list[Exchange], before: Exchange, done: Exchange) -> None:
        """The scripts go on after the later exchanges, moved by what this one used more or less than before."""
        by = done.end.since(before.end)
        known = done.end.within(before.end)
        for exchange in later:
            exchange.start, exchange.end = exchange.start.moved(by), exchange.end.moved(by)
        for exchange in later:
            self._resume_at.within(known).within(exchange.end).moved(by).go()


def _messages(exchanges: list[Exchange]) -> tuple[Message, ...]:
    return tuple(message for exchange in exchanges for message in exchange.messages)
