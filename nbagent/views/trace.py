"""Trace: a run as its views show it, made of any prefix of its journal."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, assert_never

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
    ToolReturned,
    ToolStarted,
)
from nbagent.messages import Image, ModelReply, Observation, Prompt, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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

    @property
    def call(self) -> ToolCall:
        """What ran, or would have run."""
        return self.started or self.asked

    @property
    def edited(self) -> bool:
        """Whether something else ran than the model had asked for."""
        ran = self.call
        return (ran.name, ran.arguments) != (self.asked.name, self.asked.arguments)

    @property
    def refused(self) -> bool:
        """Whether it was answered without being run: an unknown tool, wrong arguments."""
        return self.started is None and self.observation is not None


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
    answer: Any = None

    @classmethod
    def of(cls, events: Iterable[Event]) -> Trace:
        """The trace of a run, whole or cut anywhere."""
        draft = _Draft()
        for event in events:
            draft.add(event)
        return draft.trace()

    @property
    def usage(self) -> Usage | None:
        """The tokens of all replies that reported them; None where none did."""
        reported = [t.reply.usage for t in self.turns if t.reply and t.reply.usage]
        return sum(reported[1:], reported[0]) if reported else None

    @property
    def usage_complete(self) -> bool:
        return all(t.reply.usage for t in self.turns if t.reply)

    @property
    def tool_calls(self) -> int:
        """How many tools were started."""
        return sum(call.started is not None for turn in self.turns for call in turn.calls)

    @property
    def refused(self) -> int:
        """How many calls were answered without being run."""
        return sum(call.refused for turn in self.turns for call in turn.calls)

    @property
    def images(self) -> tuple[Image, ...]:
        """The images of all observations, in order; they are shown after the trace."""
        seen = (c.observation for turn in self.turns for c in turn.calls if c.observation)
        return tuple(image for observation in seen for image in observation.images)


@dataclass(slots=True)
class _DraftTurn:
    reply: ModelReply | None = None
    started: dict[int, ToolCall] = field(default_factory=dict[int, ToolCall])
    returned: dict[int, Observation] = field(default_factory=dict[int, Observation])
    failures: list[ModelFailed] = field(default_factory=list[ModelFailed])
    notes: list[str] = field(default_factory=list[str])
    remarks: list[str] = field(default_factory=list[str])

    def turn(self, number: int, figures: Iterator[int]) -> Turn:
        asked = dict(enumerate(self.reply.tool_calls)) if self.reply else {}
        indices = sorted(asked.keys() | self.started.keys() | self.returned.keys())
        calls = tuple(self._call(i, asked.get(i), figures) for i in indices)
        return Turn(number, self.reply, calls, tuple(self.failures), tuple(self.notes), tuple(self.remarks))

    def _call(self, index: int, asked: ToolCall | None, figures: Iterator[int]) -> Call:
        started, observation = self.started.get(index), self.returned.get(index)
        # Only a damaged journal has an observation for a call that nobody made; it is shown all the same.
        asked = asked or started or ToolCall("", "(unknown)", "")
        numbers = [next(figures) for _ in observation.images] if observation else []
        return Call(asked, started, observation, numbers[0] if numbers else 1)


@dataclass(slots=True)
class _Draft:
    """A trace while its events come in."""

    start: RunStarted | None = None
    end: RunFinished | None = None
    prompt: Prompt | None = None
    turns: dict[int, _DraftTurn] = field(default_factory=dict[int, _DraftTurn])

    def add(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.start = event
            case PromptAssembled(prompt):
                self.prompt = prompt
            case ModelRequested(turn):
                self._turn(turn)
            case ModelFailed(turn):
                self._turn(turn).failures.append(event)
            case ModelReplied(turn, reply):
                self._turn(turn).reply = reply
            case Noted(turn, text, told):
                (self._turn(turn).notes if told else self._turn(turn).remarks).append(text)
            case ToolStarted(turn, index, call):
                self._turn(turn).started[index] = call
            case ToolReturned(turn, index, observation):
                self._turn(turn).returned[index] = observation
            case RunFinished():
                self.end = event
            case _:
                assert_never(event)

    def _turn(self, number: int) -> _DraftTurn:
        return self.turns.setdefault(number, _DraftTurn())

    def trace(self) -> Trace:
        start, end = self.start, self.end
        figures = count(1)
        return Trace(
            agent=start.agent if start else "",
            model=start.model if start else "",
            mode=start.mode if start else "",
            max_turns=start.max_turns if start else 0,
            status=end.status if end else None,
            stop_reason=end.stop_reason if end else "",
            prompt=self.prompt or _begun(start),
            assembled=self.prompt is not None,
            turns=tuple(turn.turn(number, figures) for number, turn in self.turns.items()),
            answer=end.final_output if end else None,
        )


def _begun(start: RunStarted | None) -> Prompt | None:
    return Prompt(start.task, start.history, (), start.images) if start and (start.task or start.history) else None
