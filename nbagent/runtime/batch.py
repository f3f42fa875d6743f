"""Batch: the tool calls of one reply, on their way from requests to observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from nbagent.events import Nested, ToolReturned, ToolStarted
from nbagent.messages import Observation, ToolCall, ToolFailure
from nbagent.models.model import position
from nbagent.runtime.approving import Approving, Instead, Undecided
from nbagent.runtime.calling import Invocation, Outcome
from nbagent.runtime.inside import Inside
from nbagent.runtime.nested import DEEPEST, NestingTool, Unknown
from nbagent.runtime.observing import observe, refuse
from nbagent.runtime.result import RunResult, ended
from nbagent.texts.pack import DEFAULT
from nbagent.texts.phrase import Phrase, phrase_of
from nbagent.tools.arguments import InvalidArguments
from nbagent.tools.response import ToolResponse
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable

    from nbagent.events import StreamEvent
    from nbagent.models.model import Model
    from nbagent.runtime.consult import Consult
    from nbagent.runtime.effects import CallTools
    from nbagent.runtime.gate import Gate
    from nbagent.runtime.hooks import Hooks
    from nbagent.runtime.journal import CallEvent, Journal
    from nbagent.runtime.limits import Meter
    from nbagent.runtime.nested import Around
    from nbagent.tools.tool import Tool


T = TypeVar("T")
Settled = Invocation | Instead
"""What becomes of a call: it runs, or is answered without that."""


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
        "_again", "_approving", "_around", "_calls", "_first", "_gate", "_hooks", "_inside", "_journal", "_meter",
        "_model", "_observations", "_refusal", "_started", "_tools", "_unknown", "turn",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917
        self,
        effect: CallTools,
        journal: Journal,
        unknown: Unknown,
        model: Model | None,
        around: Around,
        hooks: Hooks | None = None,
        gate: Gate | None = None,
    ) -> None:
        self.turn = effect.turn
        self._calls, self._tools, self._refusal = effect.calls, effect.tools, effect.refusal
        self._journal = journal
        self._unknown: Unknown = unknown
        self._model = model
        self._around = around
        self._hooks = hooks
        self._gate = gate
        self._approving: Approving | None = None
        """Made where a call may have to wait, or was recorded; most are not."""
        self._meter = around.meter
        self._first = len(journal.events)
        self._started: set[int] = set()
        self._observations: dict[int, Observation] = {}
        self._again: Collection[int] = ()
        """Those of them that a person lets run once more: their start is put down once more, too, or a process that
        ends there would take that for leave to run them a third time."""
        self._inside: Inside | None = None
        """Made where a call is the run of another agent; most are not."""

    def replay(self, recorded: Iterable[CallEvent]) -> None:
        """Takes over what a recorded run knows of these calls."""
        events = tuple(recorded)
        if events and self._gate is not None:
            self._approving = Approving(self._gate, self._journal, self.turn)
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
            elif isinstance(event, Nested) and self._meter is not None:
                self._meter.add_inside(event)
            self._journal.append(event)
            if self._approving is not None:
                self._approving.take(event)
        if self._meter is not None:
            self._meter.add_recorded_calls(len(self._started))

    @property
    def complete(self) -> bool:
        """Whether every call has its observation."""
        return len(self._observations) == len(self._calls)

    def steps(self) -> Generator[Use | Consult, None, tuple[Observation, ...]]:
        """Asks the driver to run what has to run. Returns the observations in the order of the calls."""
        together = self._side_by_side()
        if self._gate is not None and self._gate.revokes and not self.complete:
            self._approvals(self._gate).revoke()
        if self._started:
            yield from self._take_up()
        if self._meter is not None:
            self._count(self._meter)
        settled: dict[int, Settled] = {}
        if self._gate is not None and self._may_wait(self._gate):
            settled = yield from self._gated(self._approvals(self._gate))
        runnable: list[Invocation] = []
        for index in range(len(self._calls)):
            if index in self._observations:
                continue
            checked = settled[index] if index in settled else (yield from self._checked(index))
            if not isinstance(checked, Invocation):
                self._answer(index, checked)
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
            self._runs_inside().waiting[invocation.index] = call, result.stop_reason
            return
        if isinstance(result, RunResult) and result.status != "completed":
            outcome.value = ToolResponse.error(self._said(ended(result)), result)
        observation = observe(call, invocation.tool, outcome)
        if self._approving is not None and (said := self._approving.said(invocation.index)):
            observation = replace(observation, text=f"{observation.text}\n{said}".strip())
        self._record(invocation.index, observation)

    def _checked(self, index: int) -> Generator[Consult, None, Invocation | ToolFailure]:
        """A call that could run, as the hooks make it; or why it does not."""
        call = self._calls[index]
        checked = self._check(index, call)
        if self._hooks is not None and index not in self._started and isinstance(checked, Invocation):
            checked = yield from self._asked(index, call, self._hooks)
        return checked

    def _may_wait(self, gate: Gate) -> bool:
        """Whether any of the calls may have to wait, or be refused, or has waited."""
        if self._approving is not None and self._approving.questions:
            return True
        for call in self._calls:
            tool = self._tools.get(call.name)
            if tool is not None and gate.concerns(tool):
                return True
        return False

    def _approvals(self, gate: Gate) -> Approving:
        if self._approving is None:
            self._approving = Approving(gate, self._journal, self.turn)
        return self._approving

    def _gated(self, approving: Approving) -> Generator[Consult, None, dict[int, Settled]]:
        """What becomes of each call that has not started. None starts before all that wait have been decided about."""
        settled: dict[int, Settled] = {}
        for index in range(len(self._calls)):
            if index in self._observations or index in self._started:
                continue
            if (question := approving.questions.get(index)) is not None:
                self._put(index, question.call)  # what hooks have made of it is in the question
                checked = self._check(index, question.call)
            else:
                checked = yield from self._checked(index)
            if isinstance(checked, Invocation) and (denied := approving.ruled(index, self._calls[index], checked.tool)):
                checked = self._not_run(denied)
            settled[index] = checked
        could_run = {index for index, checked in settled.items() if isinstance(checked, Invocation)}
        yield from approving.decide(could_run, self._check)
        for index in approving.questions:
            checked = settled.get(index)
            if isinstance(checked, Invocation):
                settled[index] = self._decided(index, approving.as_decided(index, checked.tool))
        return settled

    def _decided(self, index: int, decided: ToolCall | Settled) -> Settled:
        """What becomes of a call that a person has decided about."""
        if not isinstance(decided, ToolCall):
            return self._not_run(decided)
        self._put(index, decided)
        return self._check(index, decided)

    def _not_run(self, failure: T) -> T:
        """A call that was counted with those that are about to start does not."""
        if self._meter is not None:
            self._meter.add_calls(-1)
        return failure

    def _asked(self, index: int, call: ToolCall, hooks: Hooks) -> Generator[Consult, None, Invocation | ToolFailure]:
        """What the hooks make of a call that could run: what is run, or why nothing is."""
        said = yield from hooks.before_tool(call)
        if isinstance(said, ToolFailure):
            checked = said
        else:
            self._put(index, said)
            checked = self._check(index, said)
        return self._not_run(checked) if isinstance(checked, ToolFailure) else checked

    def _put(self, index: int, call: ToolCall) -> None:
        """What runs in the place of a call that the model has made."""
        if call != self._calls[index]:
            self._calls = (*self._calls[:index], call, *self._calls[index + 1 :])

    def _use(self, invocations: tuple[Invocation, ...]) -> Generator[Use]:
        """One step. Runs of other agents are opened before it, in the order of their calls, and closed after it."""
        nests = False
        for one in invocations:
            if one.index not in self._started or one.index in self._again:
                self._journal.append(ToolStarted(self.turn, one.index, self._calls[one.index]))
            nests = nests or isinstance(one.tool, NestingTool)
        if not nests:
            yield Use(self, invocations)
            return
        inside = self._runs_inside()
        with inside.opened(invocations, self._calls):
            yield Use(self, invocations)
        if inside.waiting:  # in the order of the calls, whichever came to it first
            waiting = [inside.waiting[index] for index in sorted(inside.waiting)]
            why = "; ".join([f"in {call.name}: {reason}" for call, reason in waiting])
            raise Undecided(why)

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
        nested = sum(isinstance(tool, NestingTool) for tool in tools)
        if nested > 1 and self._gate is not None and self._gate.in_order:
            return False
        return all(tool is not None and tool.parallel for tool in tools) and not _share_a_script(tools)

    def _count(self, meter: Meter) -> None:
        """Counts what is about to start. Raises `LimitReached` where that is more than is left."""
        checked = [
            self._check(index, call)
            for index, call in enumerate(self._calls)
            if index not in self._started and index not in self._observations
        ]
        meter.add_calls(sum(isinstance(one, Invocation) for one in checked))

    def _take_up(self) -> Generator[Consult]:
        """What becomes of calls that were started, have no result, and may not simply run again. A run inside goes on.

        Raises `Undecided` where nobody says.
        """
        if self._unknown == "run_again":
            return
        waiting = [i for i in sorted(self._started - self._observations.keys()) if not self._nests(i)]
        tools = {index: self._tools.get(self._calls[index].name) for index in waiting}
        asked = {i: self._calls[i] for i, tool in tools.items() if tool is None or not tool.repeats}
        if not asked:
            return
        if self._approving is None:
            names = ", ".join([call.name for call in asked.values()])
            raise Undecided(f"it is unknown whether {names} took effect: started, and no result recorded")
        instead = yield from self._approving.take_up(asked)
        self._again = asked.keys() - instead.keys()
        if self._meter is not None:
            self._meter.add_calls(len(self._again))
        for index, answer in instead.items():
            self._answer(index, answer)

    def _answer(self, index: int, answer: Instead) -> None:
        """The call does not run."""
        self._record(index, answer if isinstance(answer, Observation) else refuse(self._calls[index], answer))

    def _check(self, index: int, call: ToolCall) -> Invocation | ToolFailure:
        if self._refusal:
            return ToolFailure("duplicate_id", self._refusal)
        tool = self._tools.get(call.name)
        if tool is None:
            if denied := self._tools.refusal(call.name):
                return ToolFailure("denied", self._said(denied))
            return ToolFailure("unknown_tool", self._said(self._tools.unknown(call.name)))
        try:
            args, kwargs = tool.bind(call.arguments)
        except InvalidArguments as error:
            return ToolFailure("invalid_arguments", self._said(phrase_of(error)))
        if self._around.depth >= DEEPEST and isinstance(tool, NestingTool):
            return ToolFailure("denied", self._said(Phrase("tool.too_deep", deep=str(DEEPEST), tool=tool.name)))
        return Invocation(index, tool, args, kwargs)

    def _said(self, words: Phrase | str) -> str:
        """What the model reads."""
        return (DEFAULT if self._gate is None else self._gate.texts).said(words)

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
