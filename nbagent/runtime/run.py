"""Run: steers a loop. Answers each effect from the recording, or by steps that a driver takes; writes the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any, assert_never, cast

from msgspec.structs import replace

from nbagent.errors import FOREIGN, DriftError, HarnessError, ModelError, NBAgentError
from nbagent.events import (
    Event,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    Noted,
    PromptAssembled,
    RunFinished,
    RunStarted,
    Status,
    StreamEvent,
    Waiting,
)
from nbagent.messages import ModelReply, Observation, Prompt
from nbagent.models.model import ArgumentsPiece, ReasoningPiece, position
from nbagent.runtime.batch import Batch, Undecided, Unknown, Use
from nbagent.runtime.capture import report
from nbagent.runtime.effects import Assemble, CallModel, CallTools, Loop, Note, Outcome
from nbagent.runtime.journal import Ended, Journal, Recording
from nbagent.runtime.limits import LimitReached, Limits, Meter
from nbagent.runtime.patience import Retry
from nbagent.runtime.result import RunResult
from nbagent.runtime.shown import Shown, redacted
from nbagent.tools.failure import headline
from nbagent.values import Struct
from nbagent.views.words import answer_text

if TYPE_CHECKING:
    from nbagent.models.model import Model, Piece
    from nbagent.request import ModelRequest


class Ask(Struct):
    """A step for a driver: send the request, and hand over each piece of the answer to `receive`."""

    model: Model
    request: ModelRequest
    turn: int
    reply: ModelReply | None = None
    """The whole reply, once it is there."""
    shown: Shown | None = None

    def receive(self, piece: Piece) -> tuple[StreamEvent, ...]:
        """Takes a piece of the answer; returns what there is to show of it."""
        if self.reply is None:
            if isinstance(piece, ModelReply):
                self.reply = redacted(piece)
                return self.shown.end() if self.shown else ()
            if isinstance(cast("object", piece), str | ReasoningPiece | ArgumentsPiece):
                self.shown = self.shown or Shown(self.turn)
                return self.shown.of(piece)
        raise ModelError(
            f"model {self.model.name!r}: expected pieces of text and then one ModelReply, got {piece!r}"
            + (" after its reply" if self.reply else ""),
            kind="bad_response",
        )


class Pause(Struct):
    """A step for a driver: wait. `turn` and `attempt` are those of the model call that follows."""

    turn: int
    attempt: int
    seconds: float
    error: ModelError

    def waiting(self, seconds: float) -> Waiting:
        """What there is to show while so many seconds are left."""
        return Waiting(self.turn, self.attempt, seconds, self.error.kind, str(self.error))


Step = Ask | Use | Pause
Steps = Generator[Step]


class Run:
    """One run of a loop, from its first event to its last.

    `recorded`: the events of an earlier run (all, or the first so many). What they answer is not done again.
    `limits`: what it may use in all; `retry`: how often a model call is tried.
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
    ) -> None:
        self.journal = Journal()
        self._started = started
        self._loop = loop
        self._recording = Recording(recorded)
        self._unknown: Unknown = unknown
        self._result = RunResult(())
        self._model: Model | None = None
        self._meter = Meter(limits) if limits else None
        self._retry = retry or _RETRY

    @property
    def result(self) -> RunResult:
        """What the run has come to, so far."""
        if len(self._result.events) != len(self.journal.events):
            self._result = RunResult(tuple(self.journal.events))
        return self._result

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
            self._finish("failed", headline(error))
            if isinstance(error, HarnessError):
                report(error)
            raise
        finally:
            self._loop.close()

    def _begin(self) -> None:
        recorded = self._recording.take(RunStarted, 0)
        self.journal.append(recorded or self._started)

    def _end(self, outcome: Outcome) -> None:
        finished = RunFinished(outcome.status, outcome.final_output, outcome.stop_reason)
        recorded = self._recording.take(RunFinished, 0)
        if recorded is not None and not _same(recorded, finished):
            raise DriftError(f"the recorded run ended with {recorded}, this one with {finished}")
        self.journal.append(finished)

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
                case _:
                    assert_never(effect)

    def _assemble(self, effect: Assemble) -> Prompt:
        event = self._recording.take(PromptAssembled, 0)
        if event is None:
            event = PromptAssembled(effect.observe())
        elif event.prompt.tools != effect.tools:
            raise DriftError(_tool_drift(event.prompt, effect))
        self.journal.append(event)
        return event.prompt

    def _note(self, effect: Note) -> None:
        noted = Noted(effect.turn, effect.text, effect.told)
        recorded = self._recording.take(Noted, effect.turn)
        if recorded is not None and recorded != noted:
            raise DriftError(f"turn {effect.turn}: the model was told {recorded.text!r} then, and {noted.text!r} now")
        self.journal.append(noted)

    def _call_model(self, effect: CallModel) -> Generator[Step, None, ModelReply]:
        turn, self._model = effect.turn, effect.model
        requested = ModelRequested(turn, effect.request.fingerprint())
        recorded = self._recording.take(ModelRequested, turn)
        if recorded is not None and recorded != requested:
            raise DriftError(f"turn {turn}: the request differs from the recorded one")
        meter = self._meter
        if meter is not None and not self._recording.left:
            meter.check(effect.model)
        self.journal.append(requested)
        failures = self._take_failures()
        replied = self._recording.take(ModelReplied, turn)
        if replied is None:
            reply = yield from self._ask(effect, failures)
            replied = ModelReplied(turn, reply, position(effect.model))
        self.journal.append(replied)
        if meter is not None:
            meter.add(effect.request, replied.reply)
        return replied.reply

    def _take_failures(self) -> int:
        """How many attempts at this model call are recorded as failed."""
        failures = 0
        while (failed := self._recording.take_if(ModelFailed)) is not None:
            self.journal.append(failed)
            failures += 1
        return failures

    def _ask(self, effect: CallModel, failures: int) -> Generator[Step, None, ModelReply]:
        """Sends a request, again and again where that may help."""
        while True:
            if self._meter is not None:
                self._hurry(effect, self._meter)
            try:
                return (yield from _send(effect))
            except ModelError as error:
                failures += 1
                if self._meter is not None:
                    self._meter.check(effect.model)
                seconds = self._retry.wait(error, failures)
                if seconds is None:
                    raise
                if self._meter is not None:
                    self._meter.check_wait(seconds)
                self.journal.append(ModelFailed(effect.turn, failures, error.kind, str(error)))
                yield Pause(effect.turn, failures + 1, seconds, error)

    def _hurry(self, effect: CallModel, meter: Meter) -> None:
        """Lets the model know how much time is left."""
        if meter.seconds_left is not None:
            effect.request = replace(effect.request, seconds_left=meter.seconds_left)

    def _call_tools(self, effect: CallTools) -> Generator[Use, None, tuple[Observation, ...]]:
        batch = Batch(effect, self.journal, self._unknown, self._model)
        if self._recording.left:
            batch.replay(self._recording.take_calls(effect.turn))
            if not batch.complete:
                self._recording.check_open(effect.turn)
        return (yield from batch.steps())


_RETRY = Retry()


def _same(recorded: RunFinished, finished: RunFinished) -> bool:
    """Whether two runs ended alike: also where the class of a value has been defined anew since."""
    if recorded == finished:
        return True
    one, other = answer_text(recorded.final_output), answer_text(finished.final_output)
    return (recorded.status, recorded.stop_reason, one) == (finished.status, finished.stop_reason, other)


def _send(effect: CallModel) -> Generator[Ask, None, ModelReply]:
    turn = effect.turn
    ask = Ask(effect.model, effect.request, turn)
    try:
        yield ask
    except NBAgentError:
        raise
    except FOREIGN as error:
        raise ModelError(f"{_named(effect)} failed in turn {turn}: {headline(error)}") from error
    if ask.reply is None:
        raise ModelError(f"{_named(effect)} ended its stream in turn {turn} without a reply", kind="incomplete")
    return ask.reply


def _named(effect: CallModel) -> str:
    return f"model {effect.model.name!r}"


def _tool_drift(prompt: Prompt, effect: Assemble) -> str:
    then, now = ({tool.name: tool for tool in tools} for tools in (prompt.tools, effect.tools))
    changed = sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
    named = ", ".join(changed) or "their order"
    return f"the tools are not those of the recorded run: {named} changed; run it anew, or restore them"
