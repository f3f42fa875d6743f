"""Trace: a run as its views show it, made of any prefix of its journal."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbagent.events import (
        ApprovalDecided,
        ApprovalRequested,
        Event,
        Guarded,
        ModelFailed,
        Status,
        StepKind,
        StepStatus,
    )
    from nbagent.messages import Image, ModelReply, Observation, Prompt, ToolCall, Usage

_WRITING = ("synthesize", "draft", "refine")
"""The kinds of steps that an answer may come from."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of a reply, and what became of it."""

    asked: ToolCall
    """The call as the model made it."""
    started: ToolCall | None = None
    """The call as it ran; None where it did not start."""
    observation: Observation | None = None
    figure: int = 1
    """The number that the first image of the observation has in the whole run."""
    inside: tuple[Event, ...] = ()
    """What happened in the run of another agent that it has started."""
    run: Trace | None = None
    """That run."""
    question: ApprovalRequested | None = None
    """What a person was asked about it; None where it needed no decision."""
    decision: ApprovalDecided | None = None
    """What was decided about it."""
    taken_up: ApprovalDecided | None = None
    """What was decided when it had been started and had no result, so that nobody knew whether it took effect."""

    @property
    def call(self) -> ToolCall:
        """What ran, or would have run."""
        return self.started or self.settled

    @property
    def proposed(self) -> ToolCall:
        """The call as a person was asked about it: as hooks have made it."""
        return self.question.call if self.question else self.asked

    @property
    def settled(self) -> ToolCall:
        """What runs if it may: a person may have put in other arguments."""
        decided = self.decision.arguments if self.decision else None
        return self.proposed if decided is None else replace(self.proposed, arguments=decided)

    @property
    def waits(self) -> bool:
        """Whether it may not run until somebody has decided about it."""
        return self.question is not None and not (self.decision or self.started or self.observation)

    @property
    def is_unknown(self) -> bool:
        """Whether it was started, has no result, and nobody has said what becomes of it."""
        return bool(self.started) and not (self.observation or self.run or self.taken_up)

    @property
    def refused(self) -> bool:
        """Whether it was answered without being run, but by a person in its place: an unknown tool, wrong arguments."""
        answered = self.decision is not None and self.decision.verdict == "answered"
        return self.started is None and self.observation is not None and not answered


@dataclass(frozen=True, slots=True)
class Turn:
    """One model call and the tool calls of its reply."""

    number: int
    reply: ModelReply | None
    """None while the model has not replied."""
    calls: tuple[Call, ...]
    failures: tuple[ModelFailed, ...] = ()
    """The attempts at the model call that failed before the reply."""
    notes: tuple[str, ...] = ()
    """What the agent itself told the model afterwards."""
    remarks: tuple[str, ...] = ()
    """What it noted without telling the model."""

    @property
    def content(self) -> str:
        """The reply's text."""
        return self.reply.content if self.reply else ""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a plan or a reflection."""

    kind: StepKind
    number: int
    title: str
    status: StepStatus | None
    """None while it has not ended."""
    output: Any
    reason: str
    prompt: Prompt | None
    """Its own prompt; None where it is that of the run."""
    turns: tuple[Turn, ...]
    edited: tuple[str, ...] | None = None
    """Of a plan: what a person has made of its steps."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What all views show, and nothing that changes from one execution to the next: no ids, no times, no hashes."""

    agent: str = ""
    model: str = ""
    mode: str = ""
    max_turns: int = 0
    status: Status | None = None
    """None while the run has not ended."""
    stop_reason: str = ""
    prompt: Prompt | None = None
    """Before it is assembled: what is known of it, the task and the history."""
    assembled: bool = False
    turns: tuple[Turn, ...] = ()
    """Those that belong to no step."""
    steps: tuple[Step, ...] = ()
    """A summary of what was said before comes first."""
    checks: tuple[Guarded, ...] = ()
    """What guardrails said of the question and of the answer."""
    answer: Any = None
    math: bool = False
    """Whether formulas of the answer are typeset."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> Trace:
        """The trace of a run, whole or cut anywhere."""
        from nbagent.views.gathering import gathered

        return gathered(events, count(1))

    @property
    def all_turns(self) -> tuple[Turn, ...]:
        """Those of all steps, too, in their order."""
        first = [turn for step in self.steps if step.kind == "compact" for turn in step.turns]
        return (*first, *self.turns, *[turn for step in self.steps if step.kind != "compact" for turn in step.turns])

    @property
    def calls(self) -> Iterator[Call]:
        """Those of all turns, without those of runs inside."""
        return (call for turn in self.all_turns for call in turn.calls)

    @property
    def everything(self) -> Iterator[Turn]:
        """All turns, and those of runs inside, in their order."""
        for turn in self.all_turns:
            yield turn
            for call in turn.calls:
                if call.run is not None:
                    yield from call.run.everything

    @property
    def is_workflow(self) -> bool:
        """Whether it is more than one conversation: a plan, a reflection."""
        return any(step.kind != "compact" for step in self.steps)

    @property
    def is_sound(self) -> bool:
        """Whether no step failed that the answer needs, and no critic has the last word."""
        critiques = [step.status for step in self.steps if step.kind == "critique"]
        failed = any(step.status == "failed" for step in self.steps if step.kind != "compact")
        return not failed and critiques[-1:] in ([], ["passed"])

    @property
    def answering(self) -> Turn | None:
        """The turn whose reply the answer was read from, where there is an answer."""
        written = [s.turns for s in self.steps if s.kind in _WRITING and s.status == "done"]
        turns = written[-1] if written else self.turns
        return turns[-1] if turns and self.answer is not None else None

    @property
    def usage(self) -> Usage | None:
        """The tokens of all replies that reported them; None where none did."""
        reported = [t.reply.usage for t in self.everything if t.reply and t.reply.usage]
        return sum(reported[1:], reported[0]) if reported else None

    @property
    def usage_complete(self) -> bool:
        return all(t.reply.usage for t in self.everything if t.reply)

    @property
    def tool_calls(self) -> int:
        """How many tools were started."""
        return sum(call.started is not None for turn in self.everything for call in turn.calls)

    @property
    def refused(self) -> int:
        """How many calls were answered without being run."""
        return sum(call.refused for turn in self.everything for call in turn.calls)

    @property
    def images(self) -> tuple[Image, ...]:
        """The images of all observations, in the order of their numbers; they are shown after the trace."""
        return tuple(image for turn in self.all_turns for call in turn.calls for image in _images(call))


def _images(call: Call) -> Iterator[Image]:
    if call.run is not None:
        yield from call.run.images
    if call.observation is not None:
        yield from call.observation.images
