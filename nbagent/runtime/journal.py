"""Journal: the ordered events of a run, and the reading of a recorded one while a run is driven over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from nbagent.errors import DriftError
from nbagent.events import (
    ApprovalDecided,
    ApprovalRequested,
    ApprovalRevoked,
    Event,
    Guarded,
    Nested,
    RunFinished,
    ToolReturned,
    ToolStarted,
    innermost,
)
from nbagent.runtime.drift import other_guardrail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from nbagent.events import Stage, StreamEvent
    from nbagent.store.keeper import Keeper

E = TypeVar("E", bound=Event)
CallEvent = ApprovalRequested | ApprovalDecided | ApprovalRevoked | ToolStarted | Nested | ToolReturned
"""What there is about the tool calls of a turn."""


class Journal:
    """The events of a run so far, in order. Only ever appended to.

    `keeper`: is told of each event before the run goes on, and may raise: then the event has not happened, and nothing
    more happens in this run but its end, of which the keeper is not told: what it has is the run up to there.
    """

    __slots__ = ("_error", "events", "keeper")

    def __init__(self, keeper: Keeper | None = None) -> None:
        self.events: list[Event] = []
        self.keeper = keeper
        self._error: Exception | None = None
        """Why the keeper has an event less."""

    def append(self, event: Event) -> None:
        if self.keeper is not None:
            self._keep(self.keeper, event)
        self.events.append(event)

    def _keep(self, keeper: Keeper, event: Event) -> None:
        if self._error is None:
            try:
                keeper.keep(event, must_last(event))
            except Exception as error:
                self._error = error
                raise
        elif not isinstance(innermost(event), RunFinished):
            raise self._error

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
        if self.keeper is not None and self._error is None:
            self.keeper.settle(start, self.events[start:])


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
        self._around.append(Nested(self.turn, self.index, event))
        self.events.append(event)


def must_last(event: StreamEvent) -> bool:
    """Whether it has to survive a loss of power: what a person has decided, what changes
    the world, what came of it, and the end."""
    return isinstance(innermost(event), ApprovalDecided | ApprovalRevoked | ToolStarted | ToolReturned | RunFinished)


def _batch_order(event: Event) -> tuple[int, int]:
    """What was asked and decided; what was started, what happened in runs inside, what came back; each in the order
    of the calls."""
    match event:
        case ApprovalRequested() | ApprovalDecided() | ApprovalRevoked():
            return -1, 0
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
        self._events = list(events)
        self._next = 0
        self._ids: set[int] | None = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events[self._next :])

    @property
    def left(self) -> bool:
        """Whether anything is left."""
        return self._next < len(self._events)

    @property
    def taken(self) -> tuple[Event, ...]:
        """What has been handed out so far."""
        return tuple(self._events[: self._next])

    def holds(self, event: Event) -> bool:
        """Whether this very event was recorded, or happened in a run inside that was recorded."""
        if self._ids is None:
            self._ids = {id(innermost(one)) for one in self._events}
        return id(innermost(event)) in self._ids

    def amend(self, event: Event) -> None:
        """Puts an event in the place of the one that was handed out last."""
        self._events[self._next - 1] = event
        if self._ids is not None:
            self._ids.add(id(innermost(event)))

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
        if isinstance(event, Guarded):
            raise DriftError(other_guardrail(event, None))
        where = f"turn {turn}" if turn else "outside the turns"
        raise DriftError(f"{where}: the recorded run has {type(event).__name__} here, this one {kind.__name__}")

    def take_if(self, kind: type[E]) -> E | None:
        """The next recorded event where it is of this kind, else None."""
        if self._next == len(self._events) or not isinstance(event := self._events[self._next], kind):
            return None
        self._next += 1
        return event

    def check_guardrail(self, stage: Stage, name: str) -> None:
        """Raises `DriftError` where the recorded run has not asked this guardrail here, and yet went on or completed.

        One that raises an error, or is stopped while it is asked, leaves no event but the end of the run.
        """
        event = self._events[self._next] if self.left else None
        if event is None or (isinstance(event, RunFinished) and event.status != "completed"):
            return
        if not isinstance(event, Guarded) or (event.stage, event.name) != (stage, name):
            raise DriftError(other_guardrail(event, (stage, name)))

    def ending(self) -> RunFinished | None:
        """The recorded end of the run, where nothing else is left."""
        last = self._events[self._next :]
        return last[0] if len(last) == 1 and isinstance(last[0], RunFinished) else None

    def take_calls(self, turn: int) -> tuple[CallEvent, ...]:
        """The recorded tool events of a turn, in their order."""
        taken: list[CallEvent] = []
        for event in self:
            if not isinstance(event, CallEvent) or event.turn != turn:
                break
            taken.append(event)
        self._next += len(taken)
        return tuple(taken)

    def check_open(self, turn: int) -> None:
        """Raises as `take` does where anything is recorded here, whatever it is."""
        self.take(_Nothing, turn)
