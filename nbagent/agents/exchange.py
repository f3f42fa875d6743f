"""Exchange: what one run adds to a conversation, while it is under way and afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakSet

from nbagent.agents.marks import Marks
from nbagent.errors import ConfigError, MemoryFailed

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from nbagent.agents.conversation import Conversation
    from nbagent.messages import Message
    from nbagent.models.model import Model


@dataclass(slots=True, eq=False, weakref_slot=True)
class Exchange:
    """What one run added to the conversation."""

    key: Hashable
    start: Marks
    """Where the scripts stood when the run began."""
    end: Marks
    """Where they stood after the run."""
    messages: tuple[Message, ...] = ()
    """Task and answer; empty where the run did not complete."""
    inner: tuple[Inner, ...] = ()
    """Those that the runs of other agents inside this run have made: they are gone with it."""

    def move_behind(self, place: Marks, by: Mapping[int, int]) -> None:
        """Moves it in the scripts in which it begins at this place, or further on."""
        by = {model: so_many for model, so_many in by.items() if self.start.is_past(place, model)}
        self.start, self.end = self.start.moved(by), self.end.moved(by)


@dataclass(frozen=True, slots=True, eq=False)
class Inner:
    """An exchange of a run that was inside another one."""

    conversation: Conversation
    exchange: Exchange
    before: Exchange | None
    """What it took the place of."""

    def forget(self) -> None:
        """Its run is no part of what was said any more."""
        self.conversation.forget(self.exchange)

    def take_back(self) -> None:
        """All is as it was before its run."""
        self.conversation.forget(self.exchange, self.before)


_writing = Lock()
_written = WeakSet["Exchange"]()
"""Those that say where scripts stood. A script may serve several conversations, and agents."""


class OpenExchange:
    """An exchange whose run is under way."""

    def __init__(
        self, conversation: Conversation, place: int | None, key: Hashable, models: tuple[Model, ...], *,
        goes_on: bool, around: OpenExchange | None, name: Hashable, start: Marks | None,
    ) -> None:  # fmt: skip
        self._conversation = conversation
        self._exchanges = exchanges = conversation.exchanges
        self._opened = conversation.changes
        self._before = None if place is None else exchanges[place]
        self._key = key
        self._name = name
        self._models = models
        self._around = around
        self._resume_at = Marks.of(models)
        self._goes_on = goes_on = goes_on and self._before is not None
        if self._before is not None and not goes_on:
            self._before.start.within(self._resume_at).go()
        self._start = self._before.start if self._before is not None and goes_on else start or Marks.of(models)
        self._inner: list[Inner] = list(self._before.inner) if self._before is not None and goes_on else []
        self._begun = len(self._inner)
        self._from = None if self._before is None else self._before.end
        """Where it goes on in the scripts, or ends before it is made again."""
        if self._from is not None and goes_on:
            self._from = self._resume_at.furthest(self._from)  # what is between them, others have used meanwhile

    def close(self, messages: tuple[Message, ...], *, rewind: bool, waits: bool = False) -> None:
        """Ends it. `rewind`: the run was cancelled, so all is as it was before. `waits`: it will be gone on with.

        Where another run of the agent went on at the same time, the script stays where it is: the places in it belong
        to both. Raises MemoryFailed where what was said could not be kept.
        """
        try:
            self._close(messages, rewind=rewind, waits=waits)
        except (ConfigError, MemoryFailed) as error:
            if messages:  # else something else has gone wrong, which this must not hide
                raise MemoryFailed(f"the run is complete, its result is `last`; but {error}") from error

    def _close(self, messages: tuple[Message, ...], *, rewind: bool, waits: bool) -> None:
        conversation = self._conversation
        alone = conversation.changes == self._opened
        conversation.changes += 1
        made = conversation.take_summary()
        summary = made if alone and not rewind else None  # what another run has said meanwhile is in no summary
        before = self._before if self._before in self._exchanges else None
        if rewind and alone:
            (self._resume_at if before and not self._goes_on else self._start).go()
        if rewind and self._goes_on and before is not None:
            conversation.forget(before)  # its first part is over, too
            before = None
        if rewind:
            self._take_back_inner()
        elif not messages and not waits:
            self._forget_inner()
        if waits and self._key is None:
            self._key = self._name
        if not messages and (rewind or (before is None and self._key is None and not self._inner)):
            if summary is not None:
                conversation.keep_summary(summary)
            return
        done = Exchange(self._key, self._start, Marks.of(self._models), messages, tuple(self._inner))
        place = len(self._exchanges) if before is None else self._exchanges.index(before)
        if self._from is not None and before is not None and alone:
            self._shift(self._exchanges[place + 1 :], self._from, done)
        if done.start:
            with _writing:
                _written.add(done)
        if self._around is not None:
            self._around.made(Inner(conversation, done, before))
        conversation.put(place, done, summary)

    def made(self, inner: Inner) -> None:
        """A run inside this one has made an exchange."""
        self._inner.append(inner)

    def _take_back_inner(self) -> None:
        while len(self._inner) > self._begun:
            self._inner.pop().take_back()

    def _forget_inner(self) -> None:
        while self._inner:
            self._inner.pop().forget()

    def _shift(self, later: list[Exchange], end: Marks, done: Exchange) -> None:
        """The scripts go on where they were, moved by what this exchange used more or less than before, behind `end`.

        So they do where a later exchange belongs to another conversation, which knows of the move, too. A script that
        had not come to the end of this exchange yet (it was set back since) stays where that ends now.
        """
        by = done.end.since(end)
        if any(by.values()):
            here = set(map(id, self._exchanges))
            with _writing:
                others = [one for one in _written if id(one) not in here]
            for exchange in later:
                if self._goes_on:  # it may have begun before
                    exchange.move_behind(end, by)
                else:
                    exchange.start, exchange.end = exchange.start.moved(by), exchange.end.moved(by)
            for exchange in others:
                exchange.move_behind(end, by)
        self._resume_at.within(done.end).past(end).moved(by).go()
