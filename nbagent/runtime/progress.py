"""Progress: how far a plan or a reflection has come. A view of the journal, whole or cut anywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from nbagent.events import PlanEdited, RunFinished, StepFinished, StepStarted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbagent.events import Event, Status, StepStatus

PlanStatus = Literal["pending", "running", "done", "failed", "interrupted", "cancelled", "limit_reached"]
RoundStatus = Literal["running", "done", "passed", "failed", "interrupted", "cancelled", "limit_reached"]


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of a plan."""

    number: int
    """From 1, over all versions of the plan."""
    title: str
    status: PlanStatus = "pending"
    """`failed`: it came to nothing, or the run failed in it. One that the end of the run has cut short in another way
    has the status of the run."""
    result: str | None = None
    reason: str = ""
    """Why it failed, or was cut short."""


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
    status: RoundStatus = "running"
    """`done`: its critique did not pass, and was answered. `failed`: its critique or its refinement came to nothing, or
    the run failed in it. One that the end of the run has cut short in another way has the status of the run."""
    reason: str = ""
    """Why it failed, or was cut short."""


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
            case StepFinished("execute", _, status, output, reason):
                begun[-1] = replace(begun[-1], status=_done(status), result=output, reason=reason)
            case RunFinished(status, _, reason) if begun and begun[-1].status == "running":
                begun[-1] = replace(begun[-1], status=_cut_short(status), reason=reason)
            case _:
                pass
    return (*begun, *[PlanStep(number, title) for number, title in enumerate(left, len(begun) + 1)])


def rounds_of(events: Iterable[Event]) -> tuple[Round, ...]:
    """The rounds that these events tell of, as far as they have come."""
    rounds: list[Round] = []
    draft = ""
    for event in events:
        match event:
            case StepFinished("draft", _, "done", text):
                draft = text
            case StepStarted("critique", number):
                rounds.append(Round(number, draft))
            case StepFinished("critique", _, "done", text):
                rounds[-1] = replace(rounds[-1], critique=text)
            case StepFinished("critique", _, "passed", text):
                rounds[-1] = replace(rounds[-1], critique=text, passed=True, status="passed")
            case StepFinished("refine", _, "done", text):
                draft = text
                rounds[-1] = replace(rounds[-1], refined=text, status="done")
            case StepFinished("critique" | "refine", _, "failed", _, reason):
                rounds[-1] = replace(rounds[-1], status="failed", reason=reason)
            case RunFinished(status, _, reason) if rounds and rounds[-1].status == "running":
                rounds[-1] = replace(rounds[-1], status=_cut_short(status), reason=reason)
            case _:
                pass
    return tuple(rounds)


def _done(status: StepStatus) -> Literal["done", "failed"]:
    return "failed" if status == "failed" else "done"


def _cut_short(status: Status) -> Literal["failed", "interrupted", "cancelled", "limit_reached"]:
    """What became of something that went on when the run ended with this status."""
    return status if status in ("interrupted", "cancelled", "limit_reached") else "failed"
