"""Gathering: how the events of a run become its trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from nbagent.events import (
    ApprovalDecided,
    ApprovalRequested,
    ApprovalRevoked,
    Event,
    Guarded,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    Nested,
    Noted,
    PlanEdited,
    PromptAssembled,
    RequestEdited,
    RunFinished,
    RunStarted,
    Status,
    StepFinished,
    StepStarted,
    ToolReturned,
    ToolStarted,
)
from nbagent.messages import ModelReply, Observation, Prompt, ToolCall
from nbagent.views.trace import Call, Step, Trace, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def gathered(events: Iterable[Event], figures: Iterator[int], around: Status | None = None) -> Trace:
    """The trace of a run, whole or cut anywhere. `around`: the status of the run that it is inside of."""
    gathering = Gathering()
    for event in events:
        gathering.add(event)
    return gathering.trace(figures, around)


@dataclass(slots=True)
class _DraftTurn:
    reply: ModelReply | None = None
    started: dict[int, ToolCall] = field(default_factory=dict[int, ToolCall])
    returned: dict[int, Observation] = field(default_factory=dict[int, Observation])
    inside: dict[int, list[Event]] = field(default_factory=dict[int, "list[Event]"])
    questions: dict[int, ApprovalRequested] = field(default_factory=dict[int, ApprovalRequested])
    decisions: dict[int, ApprovalDecided] = field(default_factory=dict[int, ApprovalDecided])
    taken_up: dict[int, ApprovalDecided] = field(default_factory=dict[int, ApprovalDecided])
    failures: list[ModelFailed] = field(default_factory=list[ModelFailed])
    notes: list[str] = field(default_factory=list[str])
    remarks: list[str] = field(default_factory=list[str])
    made: Turn | None = None
    """The turn, where nothing has happened in it since it was made; of a run that goes on most have ended."""

    def add_decision(self, event: ApprovalRequested | ApprovalDecided | ApprovalRevoked) -> None:
        """What a person was asked about a call, or has said."""
        match event:
            case ApprovalRequested(_, index):
                self.questions[index] = event
            case ApprovalDecided(_, index, digest=digest):
                question = self.questions.get(index)
                is_answer = question is not None and question.digest == digest
                (self.decisions if is_answer else self.taken_up)[index] = event
            case ApprovalRevoked(_, tool):
                if (remark := f"from here on, {tool} waits for approval again") not in self.remarks:
                    self.remarks.append(remark)

    def turn(self, number: int, figures: Iterator[int], status: Status | None) -> Turn:
        made = self.made or self._make(number, figures, status)
        numbered = any(one.images for one in self.returned.values())  # by what comes before it
        self.made = None if self.inside or numbered else made
        return made

    def _make(self, number: int, figures: Iterator[int], status: Status | None) -> Turn:
        asked = dict(enumerate(self.reply.tool_calls)) if self.reply else {}
        indices = sorted(asked.keys() | self.started.keys() | self.returned.keys() | self.inside.keys())
        calls = tuple(self._call(i, asked.get(i), figures, status) for i in indices)
        return Turn(number, self.reply, calls, tuple(self.failures), tuple(self.notes), tuple(self.remarks))

    def _call(self, index: int, asked: ToolCall | None, figures: Iterator[int], status: Status | None) -> Call:
        started, observation = self.started.get(index), self.returned.get(index)
        # Only a damaged journal has an observation for a call that nobody made; it is shown all the same.
        asked = asked or started or ToolCall("", "(unknown)", "")
        inside = tuple(self.inside.get(index, ()))
        run = gathered(inside, figures, status) if inside else None  # its figures come first
        numbers = [next(figures) for _ in observation.images] if observation else []
        decided = (self.questions.get(index), self.decisions.get(index), self.taken_up.get(index))
        return Call(asked, started, observation, numbers[0] if numbers else 1, inside, run, *decided)


@dataclass(slots=True)
class _DraftStep:
    """A step, or what belongs to none."""

    start: StepStarted | None = None
    end: StepFinished | None = None
    prompt: Prompt | None = None
    edited: tuple[str, ...] | None = None
    turns: dict[int, _DraftTurn] = field(default_factory=dict[int, _DraftTurn])

    @property
    def summarises(self) -> bool:
        """Whether it is about what was said before the run; it comes before the run's own prompt."""
        return self.start is not None and self.start.kind == "compact"

    def turn(self, number: int) -> _DraftTurn:
        """The turn in which something happens."""
        turn = self.turns.setdefault(number, _DraftTurn())
        turn.made = None
        return turn

    def all(self, figures: Iterator[int], status: Status | None) -> tuple[Turn, ...]:
        return tuple(turn.turn(number, figures, status) for number, turn in self.turns.items())

    def step(self, start: StepStarted, figures: Iterator[int], status: Status | None) -> Step:
        end = self.end or StepFinished(start.kind, start.number)
        ended = None if self.end is None else end.status
        turns = self.all(figures, status)
        return Step(
            start.kind, start.number, start.title, ended, end.output, end.reason, self.prompt, turns, self.edited
        )


@dataclass(slots=True)
class Gathering:
    """A trace while its events come in."""

    start: RunStarted | None = None
    end: RunFinished | None = None
    prompt: Prompt | None = None
    checks: list[Guarded] = field(default_factory=list[Guarded])
    plain: _DraftStep = field(default_factory=_DraftStep)
    steps: list[_DraftStep] = field(default_factory=list[_DraftStep])

    @property
    def _now(self) -> _DraftStep:
        """What happens now belongs to the newest step, until that has ended."""
        return self.steps[-1] if self.steps and self.steps[-1].end is None else self.plain

    def add(self, event: Event) -> None:
        """Looks at what has happened."""
        match event:
            case RunStarted():
                self.start = event
            case PromptAssembled(prompt):
                if self.prompt is None and not self._now.summarises:
                    self.prompt = prompt
                else:
                    self._now.prompt = prompt
            case StepStarted():
                self.steps.append(_DraftStep(event))
            case StepFinished():
                self._now.end = event
            case RunFinished():
                self.end = event
            case PlanEdited(steps):
                if self.steps:
                    self.steps[-1].edited = steps
            case Guarded():
                self.checks.append(event)
            case _:
                self._add_to_turn(event)

    def _add_to_turn(
        self,
        event: RequestEdited
        | ModelRequested
        | ModelFailed
        | ModelReplied
        | Noted
        | ApprovalRequested
        | ApprovalDecided
        | ApprovalRevoked
        | ToolStarted
        | ToolReturned
        | Nested,
    ) -> None:
        turn = self._now.turn(event.turn)
        match event:
            case ModelRequested():
                pass
            case RequestEdited(_, hook):
                turn.remarks.append(f"the hook {hook} changed what was sent")
            case ModelFailed():
                turn.failures.append(event)
            case ModelReplied(_, reply):
                turn.reply = reply
            case Noted(_, text, told):
                (turn.notes if told else turn.remarks).append(text)
            case ApprovalRequested() | ApprovalDecided() | ApprovalRevoked():
                turn.add_decision(event)
            case ToolStarted(_, index, call):
                turn.started[index] = call
            case ToolReturned(_, index, observation):
                turn.returned[index] = observation
            case Nested(_, index, inner):
                turn.inside.setdefault(index, []).append(inner)  # pyright: ignore[reportArgumentType]  # of a journal
            case _:
                assert_never(event)

    def trace(self, figures: Iterator[int], around: Status | None = None) -> Trace:
        """What there is of it by now. `figures`: the numbers of figures from here on."""
        start, end = self.start, self.end
        # A run inside that never came to its end was cut short by what ended the run around it.
        status = end.status if end else None if around == "completed" else around
        # In the order of all turns: figures are numbered in it.
        first = [step for step in self.steps if step.summarises]
        steps = [step.step(step.start, figures, status) for step in first if step.start]
        turns = self.plain.all(figures, status)
        steps += [s.step(s.start, figures, status) for s in self.steps if s.start and not s.summarises]
        return Trace(
            agent=start.agent if start else "",
            model=start.model if start else "",
            mode=start.mode if start else "",
            max_turns=start.max_turns if start else 0,
            status=status,
            stop_reason=end.stop_reason if end else "",
            prompt=self.prompt or _begun(start),
            assembled=self.prompt is not None,
            turns=turns,
            steps=tuple(steps),
            checks=tuple(self.checks),
            math=start.math if start else False,
            answer=end.final_output if end else None,
        )


def _begun(start: RunStarted | None) -> Prompt | None:
    return Prompt(start.task, start.history, (), start.images) if start and (start.task or start.history) else None
