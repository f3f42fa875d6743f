"""Moments: the events of a run one by one, each with what is said of it, where it belongs, and its texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, assert_never

from nbagent.events import (
    ApprovalDecided,
    ApprovalRequested,
    ApprovalRevoked,
    ArgumentsDelta,
    Event,
    Guarded,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    Nested,
    Noted,
    PlanEdited,
    PromptAssembled,
    ReasoningDelta,
    RequestEdited,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    TextDelta,
    ToolReturned,
    ToolStarted,
    Waiting,
)
from nbagent.redact import redact
from nbagent.views import words
from nbagent.views.safe import inline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbagent.messages import ToolCall

Kind = Literal["model", "tool", "approval", "step", "run"]
KINDS: dict[Kind, str] = {
    "model": "model calls", "tool": "tool calls", "approval": "approvals", "step": "steps", "run": "the rest",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Moment:
    """An event of a run."""

    number: int
    """Which event it is, from 1: with the events up to it, the run is as it was then."""
    about: str
    """What happened, on one line, with names from outside: `turn 2: search returned`."""
    kind: Kind
    turn: int = 0
    """The turn that it belongs to, counted over the whole run, from 1; 0 before the first."""
    tool: str = ""
    """The tool that it is about."""
    is_error: bool = False
    texts: tuple[str, ...] = ()
    """What it says, as it may be shown: what is looked through in a search."""

    def says(self, text: str) -> bool:
        """Whether it holds a text, in capitals or not."""
        wanted = text.casefold()
        return any(wanted in one.casefold() for one in (self.about, *self.texts))


def moments_of(events: Iterable[Event]) -> tuple[Moment, ...]:
    return tuple(_Counting().all(events))


@dataclass(frozen=True, slots=True)
class _Told:
    """What there is to say of an event."""

    about: str
    kind: Kind = "run"
    tool: str = ""
    is_error: bool = False
    texts: tuple[str, ...] = ()


class _Counting:
    """Where in the run an event is."""

    def __init__(self) -> None:
        self._turn = 0
        self._step = ""
        self._asked = 0
        """The turn of the step that has begun."""
        self._calls: dict[int, str] = {}
        """The tools of the turn's calls."""
        self._inside: dict[int, _Counting] = {}
        """The runs inside these."""

    def all(self, events: Iterable[Event]) -> Iterator[Moment]:
        for number, event in enumerate(events, 1):
            told = self.told(event)
            turn: int = getattr(event, "turn", 0)
            where = ", ".join([part for part in (self._step, f"turn {turn}" if turn else "") if part])
            texts = tuple([redact(text) for text in told.texts if text])
            about = f"{where}: {told.about}" if where else told.about
            yield Moment(number, about, told.kind, self._turn, told.tool, told.is_error, texts)
            if isinstance(event, StepFinished):
                self._step, self._asked = "", 0

    def told(self, event: Event) -> _Told:
        match event:
            case RunStarted() | Guarded() | PromptAssembled() | RunFinished():
                return _of_run(event)
            case RequestEdited() | ModelRequested() | ModelFailed() | ModelReplied() | Noted():
                return self._of_model(event)
            case ApprovalRequested() | ApprovalDecided() | ApprovalRevoked():
                return self._of_approval(event)
            case ToolStarted() | ToolReturned():
                return self._of_tool(event)
            case Nested():
                return self._nested(event)
            case StepStarted():
                self._step = f"{event.kind} {event.number}" if event.number else event.kind
                self._asked = 0
                return _Told("began", "step", texts=(event.title,))
            case StepFinished():
                texts = (words.answer_text(event.output), event.reason)
                return _Told(event.status, "step", "", event.status == "failed", texts)
            case PlanEdited(steps):
                return _Told("a person changed the plan", "step", texts=steps)
            case _:
                assert_never(event)

    def _called(self, index: int) -> str:
        return self._calls.get(index, "a tool")

    def _of_model(self, event: RequestEdited | ModelRequested | ModelFailed | ModelReplied | Noted) -> _Told:
        match event:
            case RequestEdited(turn, hook, stretches):
                self._next_turn(turn)
                new = [message.content for stretch in stretches for message in stretch.messages]
                return _Told(f"{inline(hook)} changed the request", "model", texts=tuple(new))
            case ModelRequested(turn):
                self._next_turn(turn)
                return _Told("the model was asked", "model")
            case ModelFailed():
                return _Told(words.failed_attempt(event), "model", "", True, (event.message,))
            case ModelReplied(_, reply):
                self._calls.update({index: call.name for index, call in enumerate(reply.tool_calls)})
                names = ", ".join(dict.fromkeys([inline(call.name) for call in reply.tool_calls]))
                thoughts = [one.text for one in reply.reasoning]
                texts = (reply.content, *thoughts, *[_text(call) for call in reply.tool_calls])
                return _Told(f"the model called {names}" if names else "the model replied", "model", texts=texts)
            case Noted(_, text, told):
                return _Told(words.NOTE if told else words.REMARK, "model", texts=(text,))

    def _next_turn(self, turn: int) -> None:
        """A request that a hook has changed comes with two events."""
        if self._asked != turn:
            self._asked = turn
            self._turn += 1
            self._calls.clear()
            self._inside.clear()

    def _of_approval(self, event: ApprovalRequested | ApprovalDecided | ApprovalRevoked) -> _Told:
        match event:
            case ApprovalRequested(_, _, call):
                return _Told(f"{inline(call.name)} waits for a decision", "approval", call.name, texts=(_text(call),))
            case ApprovalDecided(_, index, verdict):
                name = self._called(index)
                return _Told(f"{inline(name)}: {verdict}", "approval", name, texts=(event.text, event.arguments or ""))
            case ApprovalRevoked(_, tool):
                return _Told(f"{inline(tool)} waits for approval again", "approval", tool)

    def _of_tool(self, event: ToolStarted | ToolReturned) -> _Told:
        match event:
            case ToolStarted(_, index, call):
                self._calls[index] = call.name
                return _Told(f"{inline(call.name)} started", "tool", call.name, texts=(_text(call),))
            case ToolReturned(_, index, observation):
                name, outcome = self._called(index), words.outcome(observation)
                failed = outcome.startswith("error") or outcome == "rejected"
                error = "" if observation.error is None else observation.error.message
                texts = (observation.text, observation.printed, error)
                return _Told(f"{inline(name)} returned{outcome and ', '}{outcome}", "tool", name, failed, texts)

    def _nested(self, event: Nested) -> _Told:
        """What happened in the run of another agent."""
        outer = self._called(event.index)
        if isinstance(event.event, TextDelta | ReasoningDelta | ArgumentsDelta | Waiting):
            return _Told(f"inside {inline(outer)}", "tool", outer)
        told = self._inside.setdefault(event.index, _Counting()).told(event.event)
        return replace(told, about=f"inside {inline(outer)}: {told.about}", tool=told.tool or outer)


def _of_run(event: RunStarted | Guarded | PromptAssembled | RunFinished) -> _Told:
    match event:
        case RunStarted():
            return _Told("the run began", texts=tuple([segment.text for segment in event.task]))
        case Guarded(stage, name, passed, message):
            return _Told(f"{stage} guardrail {inline(name)}: {words.guarded(event)}", "run", "", not passed, (message,))
        case PromptAssembled(prompt):
            return _Told("the prompt was assembled", texts=tuple([one.content for one in prompt.messages]))
        case RunFinished(status, output, reason):
            texts = ("" if output is None else words.answer_text(output), reason)
            return _Told(f"the run ended: {status.replace('_', ' ')}", "run", "", status == "failed", texts)


def _text(call: ToolCall) -> str:
    return f"{call.name} {call.arguments}"
