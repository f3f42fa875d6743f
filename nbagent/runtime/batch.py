"""Batch: the tool calls of one reply, on their way from requests to observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.events import Nested, ToolReturned, ToolStarted
from nbagent.messages import Observation, ToolCall, ToolFailure
from nbagent.models.model import position
from nbagent.runtime.calling import Invocation, Outcome
from nbagent.runtime.inside import Inside
from nbagent.runtime.nested import DEEPEST, NestingTool, Unknown
from nbagent.runtime.observing import observe, refuse
from nbagent.runtime.result import RunResult
from nbagent.tools.arguments import InvalidArguments
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from nbagent.events import StreamEvent
    from nbagent.models.model import Model
    from nbagent.runtime.consult import Consult
    from nbagent.runtime.effects import CallTools
    from nbagent.runtime.hooks import Hooks
    from nbagent.runtime.journal import Journal
    from nbagent.runtime.limits import Meter
    from nbagent.runtime.nested import Around
    from nbagent.tools.tool import Tool


class Undecided(Exception):
    """Calls that wait for a person: started and without a result, or waiting inside a run of their own."""

    def __init__(self, calls: tuple[ToolCall, ...], why: str = "") -> None:
        names = ", ".join(call.name for call in calls)
        super().__init__(why or f"it is unknown whether {names} took effect: started, and no result recorded")
        self.calls = calls


class Use(Struct):
    """A step for a driver: run these, side by side where there are several, and report each to `done`."""

    batch: Batch
    invocations: tuple[Invocation, ...]

    def done(self, invocation: Invocation, outcome: Outcome) -> None:
        self.batch.returned(invocation, outcome)

    def inside(self, invocation: Invocation, event: StreamEvent) -> Nested:
        """What there is to show of something that happened in a run inside."""
        return Nested(self.batch.turn, invocation.index, event)


class Batch:
    """Checks the calls, starts them in order (or together, where every tool allows it), and collects what returns."""

    __slots__ = (
        "_around", "_calls", "_first", "_hooks", "_inside", "_journal", "_meter", "_model", "_observations", "_refusal",
        "_started", "_tools", "_unknown", "turn",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917
        self,
        effect: CallTools,
        journal: Journal,
        unknown: Unknown,
        model: Model | None,
        around: Around,
        hooks: Hooks | None = None,
    ) -> None:
        self.turn = effect.turn
        self._calls, self._tools, self._refusal = effect.calls, effect.tools, effect.refusal
        self._journal = journal
        self._unknown: Unknown = unknown
        self._model = model
        self._around = around
        self._hooks = hooks
        self._meter = around.meter
        self._first = len(journal.events)
        self._started: set[int] = set()
        self._observations: dict[int, Observation] = {}
        self._inside: Inside | None = None
        """Made where a call is the run of another agent; most are not."""

    def replay(self, recorded: Iterable[ToolStarted | Nested | ToolReturned]) -> None:
        """Takes over what a recorded run knows of these calls."""
        events = tuple(recorded)
        self._observations = {event.index: event.observation for event in events if isinstance(event, ToolReturned)}
        for event in events:
            if isinstance(event, Nested) and event.index not in self._observations and self._nests(event.index):
                self._runs_inside().keep(event)
                continue  # the run inside goes on, and tells of it again
            if isinstance(event, ToolStarted):
                self._started.add(event.index)
                if self._nests(event.index):
                    self._runs_inside().begin(event.index)
                self._put(event.index, event.call)
            self._journal.append(event)
        if self._meter is not None:
            self._meter.add_calls(len(self._started))

    @property
    def complete(self) -> bool:
        """Whether every call has its observation."""
        return len(self._observations) == len(self._calls)

    def steps(self) -> Generator[Use | Consult, None, tuple[Observation, ...]]:
        """Asks the driver to run what has to run. Returns the observations in the order of the calls."""
        together = self._side_by_side()
        if self._started:
            self._ask_about_unknown()
        if self._meter is not None:
            self._count(self._meter)
        runnable: list[Invocation] = []
        for index in range(len(self._calls)):
            if index in self._observations:
                continue
            call = self._calls[index]
            checked = self._check(index, call)
            if self._hooks is not None and index not in self._started and not isinstance(checked, ToolFailure):
                checked = yield from self._asked(index, call, self._hooks)
            if isinstance(checked, ToolFailure):
                self._record(index, refuse(call, checked))
                continue
            if together:
                runnable.append(checked)
            else:
                yield from self._use((checked,))
        if runnable:  # none of them has started before all have been asked about
            yield from self._use(tuple(runnable))
        if together or self._inside is not None:
            self._journal.settle(self._first, {} if self._inside is None else self._inside.journals)
        return tuple([self._observations[index] for index in range(len(self._calls))])

    def returned(self, invocation: Invocation, outcome: Outcome) -> None:
        """A tool has ended. Raises where its outcome ends the run."""
        call = self._calls[invocation.index]
        result = outcome.value
        if invocation.run is not None and isinstance(result, RunResult) and result.interrupted:
            self._runs_inside().waiting.append((call, result.stop_reason))
            return
        self._record(invocation.index, observe(call, invocation.tool, outcome))

    def _asked(self, index: int, call: ToolCall, hooks: Hooks) -> Generator[Consult, None, Invocation | ToolFailure]:
        """What the hooks make of a call that could run: what is run, or why nothing is."""
        said = yield from hooks.before_tool(call)
        if isinstance(said, ToolFailure):
            checked = said
        else:
            self._put(index, said)
            checked = self._check(index, said)
        if isinstance(checked, ToolFailure) and self._meter is not None:
            self._meter.add_calls(-1)  # it was counted with those that are about to start
        return checked

    def _put(self, index: int, call: ToolCall) -> None:
        """What runs in the place of a call that the model has made."""
        if call != self._calls[index]:
            self._calls = (*self._calls[:index], call, *self._calls[index + 1 :])

    def _use(self, invocations: tuple[Invocation, ...]) -> Generator[Use]:
        """One step. Runs of other agents are opened before it, in the order of their calls, and closed after it."""
        nests = False
        for one in invocations:
            if one.index not in self._started:
                self._journal.append(ToolStarted(self.turn, one.index, self._calls[one.index]))
            nests = nests or isinstance(one.tool, NestingTool)
        if not nests:
            yield Use(self, invocations)
            return
        inside = self._runs_inside()
        with inside.opened(invocations, self._calls):
            yield Use(self, invocations)
        if inside.waiting:
            why = "; ".join([f"in {call.name}: {reason}" for call, reason in inside.waiting])
            raise Undecided(tuple([call for call, _ in inside.waiting]), why)

    def _runs_inside(self) -> Inside:
        if self._inside is None:
            self._inside = Inside(self._journal, self.turn, self._around, self._unknown)
        return self._inside

    def _nests(self, index: int) -> bool:
        return isinstance(self._tools.get(self._calls[index].name), NestingTool)

    def _side_by_side(self) -> bool:
        calls = self._calls
        if len(calls) < 2:
            return False
        tools = [self._tools.get(call.name) for call in calls]
        return all(tool is not None and tool.parallel for tool in tools) and not _share_a_script(tools)

    def _count(self, meter: Meter) -> None:
        """Counts what is about to start. Raises `LimitReached` where that is more than is left."""
        checked = [
            self._check(index, call)
            for index, call in enumerate(self._calls)
            if index not in self._started and index not in self._observations
        ]
        meter.add_calls(sum(isinstance(one, Invocation) for one in checked))

    def _ask_about_unknown(self) -> None:
        """Raises `Undecided` where a call was started and may not simply run again. A run inside goes on."""
        if self._unknown == "run_again":
            return
        waiting = sorted(self._started - self._observations.keys())
        calls = [self._calls[index] for index in waiting if not self._nests(index)]
        asked = [call for call in calls if (tool := self._tools.get(call.name)) is None or not tool.idempotent]
        if asked:
            raise Undecided(tuple(asked))

    def _check(self, index: int, call: ToolCall) -> Invocation | ToolFailure:
        if self._refusal:
            return ToolFailure("duplicate_id", self._refusal)
        tool = self._tools.get(call.name)
        if tool is None:
            if denied := self._tools.refusal(call.name):
                return ToolFailure("denied", denied)
            return ToolFailure("unknown_tool", self._tools.unknown(call.name))
        try:
            args, kwargs = tool.bind(call.arguments)
        except InvalidArguments as error:
            return ToolFailure("invalid_arguments", str(error))
        if self._around.depth >= DEEPEST and isinstance(tool, NestingTool):
            deep = f"agents are {DEEPEST} deep inside each other here"
            return ToolFailure("denied", f"{deep}; answer without {tool.name}")
        return Invocation(index, tool, args, kwargs)

    def _record(self, index: int, observation: Observation) -> None:
        self._observations[index] = observation
        place = 0 if self._model is None else position(self._model)
        self._journal.append(ToolReturned(self.turn, index, observation, place))


def _share_a_script(tools: Iterable[Tool | None]) -> bool:
    """Whether two of them take replies from one script: which comes first would then depend on the world."""
    seen: set[int] = set()
    for tool in tools:
        models = tool.models if isinstance(tool, NestingTool) else ()
        scripts = {id(model) for model in models if hasattr(model, "position")}
        if seen & scripts:
            return True
        seen |= scripts
    return False
