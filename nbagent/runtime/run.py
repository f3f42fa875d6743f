"""Run: steers a loop. Answers each effect from the recording, or by steps that a driver takes; writes the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any, assert_never

from msgspec.structs import replace

from nbagent.errors import DecisionError, DriftError, HarnessError, ModelError
from nbagent.events import (
    Event,
    ModelFailed,
    ModelReplied,
    Noted,
    PlanEdited,
    PromptAssembled,
    RunFinished,
    RunStarted,
    Status,
)
from nbagent.models.model import position
from nbagent.runtime.approving import Undecided
from nbagent.runtime.asking import Ask, Pause, sent
from nbagent.runtime.batch import Batch, Use
from nbagent.runtime.capture import report
from nbagent.runtime.consult import Consult
from nbagent.runtime.drift import changed_tools, same_end, same_step
from nbagent.runtime.effects import Assemble, CallModel, CallTools, Check, Decide, Loop, Mark, Note, Outcome
from nbagent.runtime.gate import Stopped
from nbagent.runtime.guarding import checked
from nbagent.runtime.hooks import cause
from nbagent.runtime.journal import Ended, Journal, Recording
from nbagent.runtime.limits import LimitReached, Limits, Meter, estimated
from nbagent.runtime.nested import Around, Unknown
from nbagent.runtime.patience import Retry
from nbagent.runtime.result import RunResult
from nbagent.runtime.sending import Sending
from nbagent.tools.failure import headline

if TYPE_CHECKING:
    from collections.abc import Hashable

    from nbagent.messages import ModelReply, Observation, Prompt
    from nbagent.models.model import Model
    from nbagent.runtime.gate import Gate
    from nbagent.runtime.hooks import Hooks
    from nbagent.runtime.nested import Nest


Step = Ask | Use | Pause | Consult
Steps = Generator[Step]


class Run:
    """One run of a loop, from its first event to its last.

    `recorded`: the events of an earlier run (all, or the first so many). What they answer is not done again.
    `limits`: what it may use in all; `retry`: how often a model call is tried. `nest`: where a run inside another
    one happens. `key`: what names it in its conversation, `exchange`: what it is there. `gate`: what its tool calls
    have to pass. `hooks`: what is asked and told of it. `adopts`: as in `Sending`.
    """

    def __init__(
        self,
        started: RunStarted,
        loop: Loop,
        recorded: Iterable[Event] = (),
        unknown: Unknown = "ask",
        *,
        limits: Limits | None = None,
        retry: Retry | None = None,
        nest: Nest | None = None,
        key: Hashable = None,
        exchange: object = None,
        gate: Gate | None = None,
        hooks: Hooks | None = None,
        is_replay: bool = False,
        adopts: bool = False,
    ) -> None:
        self.journal = nest.journal if nest else Journal()
        self.hooks = hooks
        self._gate = gate
        self._is_inside = nest is not None
        self.is_stopped = False
        """Whether a person has ended it where it waited for a decision."""
        self._started = started
        self._loop = loop
        self._recording = Recording(recorded)
        self._sending = Sending(self._recording, self.journal, hooks, adopts=adopts)
        self._unknown: Unknown = unknown
        self._result = RunResult(())
        self._model: Model | None = None
        around = nest.around if nest else Around(key=key, depth=0, is_replay=is_replay)
        self._meter = Meter(limits or _NO_LIMITS, around.meter) if limits or around.meter else None
        self._around = Around(
            self._meter, around.key, gate, exchange, around.depth + 1, started.run_id, is_replay=around.is_replay
        )  # fmt: skip
        self._retry = retry or _RETRY

    @property
    def result(self) -> RunResult:
        """What the run has come to, so far."""
        if len(self._result.events) != len(self.journal.events):
            self._result = RunResult(tuple(self.journal.events))
        return self._result

    def recorded(self, event: Event) -> bool:
        """Whether an event of this run is one of the earlier run's."""
        return self._recording.holds(event)

    def steps(self) -> Steps:
        """The steps that a driver has to take. The run is over when there are no more; its errors are raised."""
        try:
            self._begin()
            outcome = yield from self._steer()
            self._end(outcome)
        except Ended as ended:
            self.journal.append(ended.event)
        except Undecided as undecided:
            self._finish("interrupted", str(undecided))
        except DecisionError as error:
            self._finish("interrupted", str(error))
            raise
        except Stopped as stop:
            self.is_stopped = True
            self._finish("cancelled", str(stop))
            if self._is_inside:
                raise
        except LimitReached as limit:
            self._finish("limit_reached", str(limit))
        except (KeyboardInterrupt, asyncio.CancelledError):
            self._finish("cancelled", "stopped by the user")
            raise
        except GeneratorExit:
            self._finish("cancelled", "the stream was closed")
            raise
        except BaseException as error:
            if not isinstance(error, DriftError) and (ended := self._recording.ending()):
                self.journal.append(ended)  # the recorded run failed here, too
                return
            reason = cause(error)
            self._finish("failed", headline(reason))
            if isinstance(reason, HarnessError):
                report(reason)
            raise
        finally:
            self._loop.close()

    def _begin(self) -> None:
        recorded = self._recording.take(RunStarted, 0)
        self.journal.append(recorded or self._started)

    def _end(self, outcome: Outcome) -> None:
        finished = RunFinished(outcome.status, outcome.final_output, outcome.stop_reason)
        recorded = self._recording.take(RunFinished, 0)
        if recorded is not None and not same_end(recorded, finished):
            raise DriftError(f"the recorded run ended with {recorded}, this one with {finished}")
        self.journal.append(recorded if recorded is not None and recorded == finished else finished)

    def abandon(self) -> None:
        """Ends it, though a thread may still drive it: whatever that does from now on is no part of the run."""
        events = self.journal.events
        if events and not isinstance(events[-1], RunFinished):
            self._finish("cancelled", "stopped with the run around it")
        self.journal.close()

    def _finish(self, status: Status, reason: str) -> None:
        self.journal.append(RunFinished(status, None, reason))

    def _steer(self) -> Generator[Step, None, Outcome]:
        answer: Any = None
        while True:
            try:
                effect = self._loop.send(answer)
            except StopIteration as end:
                return end.value
            match effect:
                case CallTools():
                    answer = yield from self._call_tools(effect)
                case CallModel():
                    answer = yield from self._call_model(effect)
                case Assemble():
                    answer = self._assemble(effect)
                case Note():
                    answer = self._note(effect)
                case Mark():
                    answer = self._mark(effect)
                case Decide():
                    answer = self._decide(effect)
                case Check():
                    answer = yield from checked(effect, self._recording, self.journal)
                case _:
                    assert_never(effect)

    def _assemble(self, effect: Assemble) -> Prompt:
        event = self._recording.take(PromptAssembled, 0)
        if event is None:
            event = PromptAssembled(effect.observe())
        elif event.prompt.tools != effect.tools:
            raise DriftError(changed_tools(event.prompt.tools, effect.tools))
        self.journal.append(event)
        return event.prompt

    def _note(self, effect: Note) -> None:
        noted = Noted(effect.turn, effect.text, effect.told)
        recorded = self._recording.take(Noted, effect.turn)
        if recorded is not None and recorded != noted:
            raise DriftError(f"turn {effect.turn}: the model was told {recorded.text!r} then, and {noted.text!r} now")
        self.journal.append(recorded or noted)

    def _mark(self, effect: Mark) -> None:
        event = effect.event
        recorded = self._recording.take(type(event), 0)
        if recorded is not None and not same_step(recorded, event):
            raise DriftError(f"the recorded run has {recorded} here, this one {event}")
        self.journal.append(recorded if recorded is not None and recorded == event else event)

    def _decide(self, effect: Decide) -> tuple[str, ...] | None:
        event = self._recording.take_if(PlanEdited)
        if event is None and effect.steps is not None:
            if self._recording.left:
                raise DriftError("the recorded plan was done as it was made, this one has been changed")
            event = PlanEdited(effect.steps)
        if event is None:
            return None
        self.journal.append(event)
        return event.steps

    def _call_model(self, effect: CallModel) -> Generator[Step, None, ModelReply]:
        turn, self._model, said = effect.turn, effect.model, effect.request.messages
        if self._sending.may_edit:
            yield from self._sending.edited(effect)
        requested = self._sending.requested(effect, said)
        meter = self._meter
        if meter is not None:
            if not self._recording.left:
                meter.check(effect.model)
            meter.add_request()
        self.journal.append(requested)
        failures = self._take_failures()
        replied = self._recording.take(ModelReplied, turn)
        if replied is None:
            reply = yield from self._ask(effect, failures)
            estimate = estimated(effect.request, reply) if reply.usage is None else None
            replied = ModelReplied(turn, reply, position(effect.model), estimate)
        self.journal.append(replied)
        if meter is not None:
            meter.add(replied)
        return replied.reply

    def _take_failures(self) -> int:
        """How many attempts at this model call are recorded as failed."""
        failures = 0
        while (failed := self._recording.take_if(ModelFailed)) is not None:
            self.journal.append(failed)
            failures += 1
            if self._meter is not None:
                self._meter.add_request()
        return failures

    def _ask(self, effect: CallModel, failures: int) -> Generator[Step, None, ModelReply]:
        """Sends a request, again and again where that may help."""
        while True:
            if self._meter is not None:
                self._hurry(effect, self._meter)
            try:
                return (yield from sent(effect))
            except ModelError as error:
                failures += 1
                seconds = self._retry.wait(error, failures)
                if seconds is None:
                    raise
                if self._meter is not None:
                    self._meter.check(effect.model)
                    self._meter.check_wait(seconds)
                    self._meter.add_request()
                self.journal.append(ModelFailed(effect.turn, failures, error.kind, str(error)))
                yield Pause(effect.turn, failures + 1, seconds, error)

    def _hurry(self, effect: CallModel, meter: Meter) -> None:
        """Lets the model know how much time is left."""
        if meter.seconds_left is not None:
            effect.request = replace(effect.request, seconds_left=meter.seconds_left)

    def _call_tools(self, effect: CallTools) -> Generator[Use | Consult, None, tuple[Observation, ...]]:
        batch = Batch(effect, self.journal, self._unknown, self._model, self._around, self.hooks, self._gate)
        if self._recording.left:
            batch.replay(self._recording.take_calls(effect.turn))
            if not batch.complete:
                self._recording.check_open(effect.turn)
        return (yield from batch.steps())


_RETRY = Retry()
_NO_LIMITS = Limits()
