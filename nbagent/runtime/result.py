"""Result: what a run has come to. A view of its journal; nothing is stored twice."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from nbagent.approvals.pending import PendingAction
from nbagent.approvals.standing import standing
from nbagent.events import (
    Event,
    Guarded,
    ModelReplied,
    ModelRequested,
    PromptAssembled,
    RunFinished,
    RunStarted,
    Status,
    StepFinished,
    StepStarted,
    ToolStarted,
    innermost,
)
from nbagent.messages import Message, Observation, Prompt, ToolCall, Usage
from nbagent.runtime.pendings import pendings_of
from nbagent.runtime.progress import PlanStep, Round, plan_of, rounds_of
from nbagent.texts.phrase import Phrase
from nbagent.tools.response import ToolResponse
from nbagent.views.bundle import bundle
from nbagent.views.trace import Trace
from nbagent.views.words import answer_text

if TYPE_CHECKING:
    from collections.abc import Hashable
    from decimal import Decimal

    from nbagent.views.trace import Call


@dataclass(frozen=True, slots=True)
class RunUsage:
    """What a run used."""

    llm_calls: int = 0
    """Requests sent to a model."""
    tool_calls: int = 0
    """Tools that were started; calls that were refused do not count."""
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    """True where tokens were estimated at four characters each, as for a script."""
    cache_read_tokens: int = 0
    """How many of the input tokens came from a cache."""
    cache_write_tokens: int = 0
    """How many of the input tokens were written to a cache."""
    cost: Decimal | None = None
    """US dollars; None where the price or the tokens of a call are not known."""
    not_reported: int = 0
    """For how many calls the server did not say how many tokens they took; these are not in the sums."""

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class ToolExchange:
    """A tool call and what came back; `observation` is None where the run ended before it did."""

    turn: int
    call: ToolCall
    observation: Observation | None
    run: RunResult | None = None
    """Of a call of another agent: its run."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One model call and the tool calls of its reply."""

    number: int
    """From 1."""
    content: str
    """The reply's text."""
    tool_calls: tuple[ToolExchange, ...]


@dataclass(frozen=True, slots=True)
class Interrupt:
    """What an interrupted run waits for."""

    pendings: tuple[PendingAction, ...]
    reason: str
    scope: Hashable = None
    """Which conversation of the agent the run belongs to."""
    standing: tuple[str, ...] = ()
    """Tools of which later calls need no decision, by `Approve(always=…)`."""

    @property
    def pending(self) -> PendingAction:
        """The first of them."""
        return self.pendings[0]


@dataclass(frozen=True)
class RunResult:
    """What a run has come to. `str()` is its answer; as a cell's value it shows the whole run."""

    events: tuple[Event, ...]

    @property
    def _finished(self) -> RunFinished:
        last = self.events[-1] if self.events else None
        return last if isinstance(last, RunFinished) else RunFinished("cancelled", None, "the run has not ended")

    @property
    def run_id(self) -> str:
        """`AGENT-n`, n counting the agent's runs; of a run inside that one `AGENT-n.m`."""
        return next((e.run_id for e in self.events if isinstance(e, RunStarted)), "")

    @property
    def status(self) -> Status:
        return self._finished.status

    @property
    def stop_reason(self) -> str:
        """More about the status, in a few words."""
        return self._finished.stop_reason

    @property
    def final_output(self) -> Any:
        """The answer of a completed run, else None."""
        return self._finished.final_output

    @property
    def interrupted(self) -> bool:
        """Whether the run waits for a decision."""
        return self.status == "interrupted"

    @property
    def standing(self) -> tuple[str, ...]:
        """Tools of which later calls of the run need no decision, by `Approve(always=…)`; see `resume(revoke=…)`."""
        return standing(self.events)

    @property
    def interrupt(self) -> Interrupt | None:
        """What an interrupted run waits for, else None."""
        if not self.interrupted:
            return None
        waiting = tuple(pendings_of(self.events))
        if not waiting and (steps := [step.title for step in self.plan]):
            waiting = (PendingAction("plan", json.dumps({"steps": steps}, ensure_ascii=False), "plan", kind="plan"),)
        started = next((event for event in self.events if isinstance(event, RunStarted)), None)
        return Interrupt(waiting, self.stop_reason, started.scope if started else None, self.standing)

    @property
    def prompt(self) -> Prompt | None:
        """The assembled prompt; None where the run ended before there was one."""
        in_step = ""
        for event in self.events:
            if isinstance(event, StepStarted):
                in_step = event.kind
            elif isinstance(event, PromptAssembled) and in_step != "compact":
                return event.prompt
            elif isinstance(event, StepFinished):
                in_step = ""
        return None

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The run's turns, in order; of a plan or a reflection those of all its steps."""
        return tuple(
            Turn(turn.number, turn.content, tuple(_exchange(turn.number, call) for call in turn.calls))
            for turn in self._trace.all_turns
        )

    @cached_property
    def plan(self) -> tuple[PlanStep, ...]:
        """The steps of a plan: those that were begun, and those that are left of its newest version."""
        return plan_of(self.events)

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds of a reflection."""
        return rounds_of(self.events)

    @property
    def tool_calls(self) -> tuple[ToolExchange, ...]:
        """All tool calls with their observations, in order."""
        return tuple(exchange for turn in self.turns for exchange in turn.tool_calls)

    @cached_property
    def usage(self) -> RunUsage:
        """What the run used, with the runs of other agents inside it."""
        events = tuple(map(innermost, self.events))
        replies = [e.reply for e in events if isinstance(e, ModelReplied)]
        used = [reply.usage for reply in replies if reply.usage is not None]
        total = sum(used[1:], used[0]) if used else Usage()
        return RunUsage(
            sum(isinstance(e, ModelRequested) for e in events),
            sum(isinstance(e, ToolStarted) for e in events),
            total.input_tokens,
            total.output_tokens,
            total.estimated,
            total.cache_read_tokens,
            total.cache_write_tokens,
            total.cost if len(used) == len(replies) else None,
            len(replies) - len(used),
        )

    @property
    def new_messages(self) -> tuple[Message, ...]:
        """What the run adds to the history: task and answer of a completed run, else nothing."""
        finished, prompt = self._finished, self.prompt
        if finished.status != "completed" or prompt is None:
            return ()
        said = prompt.user if prompt.question is None else prompt.question
        output = finished.final_output
        if not isinstance(output, str):  # it was read from this
            output = self._read_from
        return (Message("user", said, images=prompt.images), Message("assistant", output))

    @property
    def _read_from(self) -> str:
        """What the answer was read from: what a guardrail has made of it; else the last reply, or that of a draft which
        no later one has replaced."""
        rewritten = [
            e.text for e in self.events if isinstance(e, Guarded) and e.stage == "output" and e.text is not None
        ]
        if rewritten:
            return rewritten[-1]
        written = [e for e in self.events if isinstance(e, StepFinished) and e.kind in ("draft", "refine")]
        done = [e for e in written if e.status == "done"]
        if done:
            return done[-1].output
        return next((e.reply.content for e in reversed(self.events) if isinstance(e, ModelReplied)), "")

    @cached_property
    def _trace(self) -> Trace:
        return Trace.of(self.events)

    def __getitem__(self, name: str) -> Any:
        """A field of the answer, where output fields are declared: `result["mood"]`."""
        output = self.final_output
        if not isinstance(output, dict | str) and hasattr(output, name):
            return getattr(output, name)
        if not isinstance(output, dict):
            raise KeyError(f"{name!r}: the answer has no fields, it is {output!r} ({self.status})")
        return cast("dict[str, Any]", output)[name]

    def __str__(self) -> str:
        if self.status == "completed":
            return answer_text(self.final_output)
        return str(ended(self))

    def _tool_response_(self) -> ToolResponse:
        """What a model gets where a tool returns the run of another agent."""
        return ToolResponse(str(self), "success" if self.status == "completed" else "error", self)

    def __repr__(self) -> str:
        answer = "" if self.final_output is None else f", final_output={self.final_output!r}"
        return f"RunResult({self.run_id!r}, status={self.status!r}{answer}, turns={len(self.turns)})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002
        return bundle(self.events)


def ended(result: RunResult) -> Phrase:
    """How a run without an answer has ended, for the model that it was for."""
    if result.stop_reason:
        return Phrase("tool.agent_ended_because", status=result.status, reason=result.stop_reason)
    return Phrase("tool.agent_ended", status=result.status)


def _exchange(turn: int, call: Call) -> ToolExchange:
    return ToolExchange(turn, call.call, call.observation, RunResult(call.inside) if call.inside else None)
