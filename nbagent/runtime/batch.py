"""Batch: the tool calls of one reply, on their way from requests to observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from nbagent.events import ToolReturned, ToolStarted
from nbagent.messages import Observation, ToolCall, ToolFailure
from nbagent.models.model import position
from nbagent.runtime.calling import Invocation, Outcome
from nbagent.runtime.observing import observe, refuse
from nbagent.tools.arguments import InvalidArguments
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from nbagent.models.model import Model
    from nbagent.runtime.effects import CallTools
    from nbagent.runtime.journal import Journal

Unknown = Literal["ask", "run_again"]
"""What to do about a call that was started and has no result: ask a person, or run it again."""


class Undecided(Exception):
    """Calls that were started and have no result: only a person knows whether they may run again."""

    def __init__(self, calls: tuple[ToolCall, ...]) -> None:
        names = ", ".join(call.name for call in calls)
        super().__init__(f"it is unknown whether {names} took effect: started, and no result recorded")
        self.calls = calls


class Use(Struct):
    """A step for a driver: run these, side by side where there are several, and report each to `done`."""

    batch: Batch
    invocations: tuple[Invocation, ...]

    def done(self, invocation: Invocation, outcome: Outcome) -> None:
        self.batch.returned(invocation, outcome)


class Batch:
    """Checks the calls, starts them in order (or together, where every tool allows it), and collects what returns."""

    __slots__ = ("_effect", "_first", "_journal", "_model", "_observations", "_started", "_unknown")

    def __init__(self, effect: CallTools, journal: Journal, unknown: Unknown, model: Model | None) -> None:
        self._effect = effect
        self._journal = journal
        self._unknown = unknown
        self._model = model
        self._first = len(journal.events)
        self._started: set[int] = set()
        self._observations: dict[int, Observation] = {}

    def replay(self, recorded: Iterable[ToolStarted | ToolReturned]) -> None:
        """Takes over what a recorded run knows of these calls."""
        for event in recorded:
            self._journal.append(event)
            match event:
                case ToolStarted():
                    self._started.add(event.index)
                case ToolReturned():
                    self._observations[event.index] = event.observation

    @property
    def complete(self) -> bool:
        """Whether every call has its observation."""
        return len(self._observations) == len(self._effect.calls)

    def steps(self) -> Generator[Use, None, tuple[Observation, ...]]:
        """Asks the driver to run what has to run. Returns the observations in the order of the calls."""
        together = self._side_by_side()
        self._ask_about_unknown()
        runnable: list[Invocation] = []
        for index, call in enumerate(self._effect.calls):
            if index in self._observations:
                continue
            checked = self._check(index, call)
            if isinstance(checked, ToolFailure):
                self._record(index, refuse(call, checked))
                continue
            self._start(index, call)
            if together:
                runnable.append(checked)
            else:
                yield Use(self, (checked,))
        if runnable:
            yield Use(self, tuple(runnable))
        if together:
            self._journal.settle(self._first)
        return tuple([self._observations[index] for index in range(len(self._effect.calls))])

    def returned(self, invocation: Invocation, outcome: Outcome) -> None:
        """A tool has ended. Raises where its outcome ends the run."""
        call = self._effect.calls[invocation.index]
        self._record(invocation.index, observe(call, invocation.tool, outcome))

    def _side_by_side(self) -> bool:
        calls, tools = self._effect.calls, self._effect.tools
        return len(calls) > 1 and all((tool := tools.get(call.name)) is not None and tool.parallel for call in calls)

    def _ask_about_unknown(self) -> None:
        """Raises `Undecided` where a call was started and may not simply run again."""
        if not self._started or self._unknown == "run_again":
            return
        waiting = sorted(self._started - self._observations.keys())
        calls, tools = [self._effect.calls[index] for index in waiting], self._effect.tools
        asked = [call for call in calls if (tool := tools.get(call.name)) is None or not tool.idempotent]
        if asked:
            raise Undecided(tuple(asked))

    def _check(self, index: int, call: ToolCall) -> Invocation | ToolFailure:
        if self._effect.refusal:
            return ToolFailure("duplicate_id", self._effect.refusal)
        tool = self._effect.tools.get(call.name)
        if tool is None:
            return ToolFailure("unknown_tool", self._effect.tools.unknown(call.name))
        try:
            args, kwargs = tool.bind(call.arguments)
        except InvalidArguments as error:
            return ToolFailure("invalid_arguments", str(error))
        return Invocation(index, tool, args, kwargs)

    def _start(self, index: int, call: ToolCall) -> None:
        if index not in self._started:
            self._journal.append(ToolStarted(self._effect.turn, index, call))

    def _record(self, index: int, observation: Observation) -> None:
        self._observations[index] = observation
        place = 0 if self._model is None else position(self._model)
        self._journal.append(ToolReturned(self._effect.turn, index, observation, place))
