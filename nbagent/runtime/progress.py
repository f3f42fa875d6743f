"""Progress: how far a plan or a reflection has come. A view of the journal, whole or cut anywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from nbagent.events import PlanEdited, StepFinished, StepStarted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbagent.events import Event


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of a plan."""

    number: int
    """From 1, over all versions of the plan."""
    title: str
    status: Literal["pending", "running", "done", "failed"] = "pending"
    """`running` is also one that the end of the run has cut short."""
    result: str | None = None
    reason: str = ""
    """Why it failed."""


@dataclass(frozen=True, slots=True)
class Round:
    """A round of a reflection."""

    number: int
    draft: str
    """What was criticised."""
    critique: str | None = None
    refined: str | None = None
    """What was written for it; None where nothing was, as after a critique that passes."""
    passed: bool = False


def plan_of(events: Iterable[Event]) -> tuple[PlanStep, ...]:
    """The plan that these events tell of, as far as it has come."""
    begun: list[PlanStep] = []
    left: list[str] = []
    for event in events:
        match event:
            case StepFinished("plan", _, "done", steps) | PlanEdited(steps):
                left = list(steps)
            case StepStarted("execute", number, title):
                begun.append(PlanStep(number, title, "running"))
                left = left[1:]
            case StepFinished("execute", number, status, output, reason):
                done: Any = "failed" if status == "failed" else "done"
                begun[-1] = PlanStep(number, begun[-1].title, done, output, reason)
            case _:
                pass
    return (*begun, *[PlanStep(number, title) for number, title in enumerate(left, len(begun) + 1)])


def rounds_of(events: Iterable[Event]) -> tuple[Round, ...]:
    """The rounds that these events tell of, as far as they have come."""
    rounds: list[Round] = []
    draft = ""
    for event in events:
        match event:
            case StepFinished("draft" | "refine", number, "done", text):
                draft = text
                if rounds and rounds[-1].number == number:
                    rounds[-1] = replace(rounds[-1], refined=text)
            case StepStarted("critique", number):
                rounds.append(Round(number, draft))
            case StepFinished("critique", number, status, text):
                rounds[-1] = replace(rounds[-1], critique=text, passed=status == "passed")
            case _:
                pass
    return tuple(rounds)
