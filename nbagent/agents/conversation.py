"""Conversation: what an agent and its user have said, one exchange a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from nbagent.agents.exchange import Exchange, OpenExchange
from nbagent.agents.marks import Marks
from nbagent.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from nbagent.agents.exchange import Inner
    from nbagent.models.model import Model


@dataclass(slots=True, eq=False)
class Summary:
    """What prompts take in place of what was said first."""

    length: int
    """For how many of the first exchanges it stands."""
    place: int
    """That of the exchange which made it. This one, and those before it, know nothing of it."""
    messages: tuple[Message, ...]


class Kept(Protocol):
    """What is told of every change of a conversation, to keep it."""

    def check(self) -> None:
        """Raises ConfigError where it cannot be kept."""
        ...

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
        self._summaries: list[Summary] = []
        self._made: Summary | None = None
        """That of a run whose exchange is not closed yet."""

    @property
    def messages(self) -> tuple[Message, ...]:
        return _messages(self.exchanges)

    def before(self, key: Hashable) -> tuple[Message, ...]:
        """What an exchange with this key would find to have been said before it."""
        place = self._place(key)
        return _messages(self.exchanges if place is None else self.exchanges[:place])

    def told(self, key: Hashable) -> tuple[Message, ...]:
        """The same as a prompt takes it: what was said long ago may be a summary."""
        end = self._end(key)
        known = [one for one in self._summaries if one.place < end and one.length <= end]
        if not known:
            return self.before(key)
        newest = max(known, key=lambda one: (one.length, one.place))
        return *newest.messages, *_messages(self.exchanges[newest.length : end])

    def shorten(self, key: Hashable, keep: int, summary: tuple[Message, ...]) -> None:
        """Once the exchange with this key, which made this summary, is closed, it stands for what was said before it,
        but the newest few. It is gone when that exchange is made again or taken back.
        """
        end = place = self._end(key)
        while end and keep:
            end -= 1
            keep -= bool(self.exchanges[end].messages)
        self._made = Summary(end, place, summary)

    def take_summary(self) -> Summary | None:
        """That of the run that ends now."""
        made, self._made = self._made, None
        return made

    def keep_summary(self, summary: Summary) -> None:
        """It was made by a run that has left no exchange, so that nothing can make it again."""
        self._summaries.append(Summary(summary.length, summary.length - 1, summary.messages))

    def _end(self, key: Hashable) -> int:
        """How many exchanges stand before that with this key."""
        place = self._place(key)
        return len(self.exchanges) if place is None else place

    def _place(self, key: Hashable) -> int | None:
        return next((i for i, e in enumerate(self.exchanges) if key is not None and e.key == key), None)

    def add(self, question: str, answer: str) -> None:
        """Adds an exchange that no run has made."""
        self.changes += 1
        said = (Message("user", question), Message("assistant", answer))
        self.put(len(self.exchanges), Exchange(None, Marks(), Marks(), said))

    def put(self, place: int, exchange: Exchange, summary: Summary | None = None) -> None:
        """Sets the exchange at this place; behind the last one it is new. `summary`: what it made."""
        self._summaries = [one for one in self._summaries if one.length <= place != one.place]
        self._summaries += [] if summary is None else [summary]
        replaced = self.exchanges[place : place + 1]
        self.exchanges[place : place + 1] = [exchange]
        if self._kept is not None:
            self._kept.put(place, exchange)
        self._forget_inner(replaced, but=exchange.inner)

    def cut(self, length: int) -> None:
        """Forgets all exchanges but the first so many."""
        self._summaries = [one for one in self._summaries if one.length <= length > one.place]
        gone = self.exchanges[length:]
        del self.exchanges[length:]
        if self._kept is not None:
            self._kept.cut(length)
        self._forget_inner(gone)

    def forget(self, exchange: Exchange, before: Exchange | None = None) -> None:
        """Puts what an exchange took the place of into its place; where that was nothing, nothing is said there."""
        place = next((i for i, one in enumerate(self.exchanges) if one is exchange), None)
        if place is None:
            return
        if before is None and place == len(self.exchanges) - 1:
            self.cut(place)
        else:
            self.put(place, before or Exchange(exchange.key, exchange.start, exchange.end))

    @staticmethod
    def _forget_inner(gone: Iterable[Exchange], but: Iterable[Inner] = ()) -> None:
        left = {id(inner.exchange) for inner in but}
        for exchange in gone:
            for inner in exchange.inner:
                if id(inner.exchange) not in left:
                    inner.forget()

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

    def copied_to(self, other: Conversation, marks: Callable[[Marks], Marks]) -> None:
        """Says everything to another conversation, too, in the place of what that one has said. `marks`: what becomes
        of places in scripts.
        """
        if other.exchanges:
            other.clear()
        for place, exchange in enumerate(self.exchanges):
            start, end = marks(exchange.start), marks(exchange.end)
            other.put(place, Exchange(exchange.key, start, end, exchange.messages))
        other._summaries = [*self._summaries]

    def restart(self, model: Model) -> None:
        """A script starts anew: where earlier exchanges stood in it no longer counts."""
        for exchange in self.exchanges:
            exchange.start, exchange.end = exchange.start.without(model), exchange.end.without(model)

    def open(
        self, key: Hashable, models: Iterable[Model], *, goes_on: bool = False, around: OpenExchange | None = None,
        name: Hashable = None, start: Marks | None = None,
    ) -> OpenExchange:  # fmt: skip
        """Begins an exchange: sets the scripts of the models to where they have to start.

        `goes_on`: the exchange of this key has begun already, and is not made again. `around`: that of the run which
        this one is inside of. `name`: its key where it has none and its run has to be gone on with. `start`: where the
        scripts stood when its run began, where that is not now. Raises ConfigError
        where it could not be kept.
        """
        if self._kept is not None:
            self._kept.check()
        place = self._place(key)
        self.changes += 1
        return OpenExchange(self, place, key, tuple(models), goes_on=goes_on, around=around, name=name, start=start)


def _messages(exchanges: list[Exchange]) -> tuple[Message, ...]:
    return tuple(message for exchange in exchanges for message in exchange.messages)
