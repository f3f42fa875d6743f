"""Journal: the ordered events of a run, and the reading of a recorded one while a run is driven over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from nbagent.errors import DriftError
from nbagent.events import Event, Nested, RunFinished, ToolReturned, ToolStarted, innermost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

E = TypeVar("E", bound=Event)


class Journal:
    """The events of a run so far, in order. Only ever appended to."""

    __slots__ = ("events",)

    def __init__(self) -> None:
        self.events: list[Event] = []

    def append(self, event: Event) -> None:
        self.events.append(event)

    def close(self) -> None:
        """Nothing is added any more."""

    def settle(self, start: int, nested: Mapping[int, Within]) -> None:
        """Puts the tool events from `start` on, which ran side by side, into the order of their calls.

        Which of them ended first depends on the world; what the run did does not. So equal runs have equal journals.
        """
        events = [event for event in self.events[start:] if not (isinstance(event, Nested) and event.index in nested)]
        for index, journal in nested.items():
            events += [Nested(journal.turn, index, event) for event in journal.events]
        self.events[start:] = sorted(events, key=_batch_order)


class Within(Journal):
    """The journal of a run inside another one, whose journal holds it, too."""

    __slots__ = ("_around", "_is_closed", "index", "turn")

    def __init__(self, around: Journal, turn: int, index: int) -> None:
        super().__init__()
        self._around = around
        self._is_closed = False
        self.turn = turn
        self.index = index

    def close(self) -> None:
        self._is_closed = True

    def append(self, event: Event) -> None:
        if self._is_closed:
            return
        self.events.append(event)
        self._around.append(Nested(self.turn, self.index, event))


def _batch_order(event: Event) -> tuple[int, int]:
    """What was started, what happened in runs inside, what came back; each in the order of the calls."""
    match event:
        case ToolStarted():
            return 0, event.index
        case Nested():
            return 1, event.index
        case ToolReturned():
            return 2, event.index
        case _:
            return 0, 0


class Ended(Exception):
    """The recorded run ended here, so the driven one does too."""

    def __init__(self, event: RunFinished) -> None:
        super().__init__(event.status)
        self.event = event


class _Nothing(ToolStarted, frozen=True):
    """No event is one of these."""


class Recording:
    """Recorded events, handed out one after another to the run that is driven over them."""

    __slots__ = ("_events", "_ids", "_next")

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = tuple(events)
        self._next = 0
        self._ids: set[int] | None = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events[self._next :])

    @property
    def left(self) -> bool:
        """Whether anything is left."""
        return self._next < len(self._events)

    def holds(self, event: Event) -> bool:
        """Whether this very event was recorded, or happened in a run inside that was recorded."""
        if self._ids is None:
            self._ids = {id(innermost(one)) for one in self._events}
        return id(innermost(event)) in self._ids

    def take(self, kind: type[E], turn: int) -> E | None:
        """The next recorded event, which has to be of this kind; None where the recording is used up.

        Raises `Ended` where the recorded run stopped at this point, `DriftError` where it did something else.
        """
        if self._next == len(self._events):
            return None
        event = self._events[self._next]
        if isinstance(event, kind):
            self._next += 1
            return event
        if isinstance(event, RunFinished):
            self._next += 1
            raise Ended(event)
        where = f"turn {turn}" if turn else "outside the turns"
        raise DriftError(f"{where}: the recorded run has {type(event).__name__} here, this one {kind.__name__}")

    def take_if(self, kind: type[E]) -> E | None:
        """The next recorded event where it is of this kind, else None."""
        if self._next == len(self._events) or not isinstance(event := self._events[self._next], kind):
            return None
        self._next += 1
        return event

    def ending(self) -> RunFinished | None:
        """The recorded end of the run, where nothing else is left."""
        last = self._events[self._next :]
        return last[0] if len(last) == 1 and isinstance(last[0], RunFinished) else None

    def take_calls(self, turn: int) -> tuple[ToolStarted | Nested | ToolReturned, ...]:
        """The recorded tool events of a turn, in their order."""
        taken: list[ToolStarted | Nested | ToolReturned] = []
        for event in self:
            if not isinstance(event, ToolStarted | Nested | ToolReturned) or event.turn != turn:
                break
            taken.append(event)
        self._next += len(taken)
        return tuple(taken)

    def check_open(self, turn: int) -> None:
        """Raises as `take` does where anything is recorded here, whatever it is."""
        self.take(_Nothing, turn)
