"""Rounds: a reflection as its drafts, and what was said of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from nbagent.views import step_words, words
from nbagent.views.words import Tone, answer_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.views.budget import Budget
    from nbagent.views.trace import Step, Trace


@dataclass(frozen=True, slots=True)
class Round:
    """A critique, and what was written for it."""

    number: int
    before: str
    """What was criticised."""
    critique: Step
    refine: Step | None = None
    verdict: str = ""
    tone: Tone = ""

    @property
    def said(self) -> str:
        """What the critic said."""
        return _text(self.critique)

    @property
    def after(self) -> str | None:
        """What was written for it; None where nothing was."""
        return _text(self.refine) if self.refine is not None and self.refine.status == "done" else None

    @property
    def steps(self) -> tuple[Step, ...]:
        return (self.critique,) if self.refine is None else (self.critique, self.refine)


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of a run, as far as they have come."""

    drafts: tuple[Step, ...]
    rounds: tuple[Round, ...]
    saying: frozenset[int]
    """The turns whose replies are the critiques, by the id of the object."""

    @classmethod
    def of(cls, trace: Trace) -> Rounds:
        rounds: list[Round] = []
        draft = ""
        for step in trace.steps:
            if step.kind == "critique":
                verdict, tone = _verdict(step, trace)
                rounds.append(Round(step.number, draft, step, verdict=verdict, tone=tone))
            if step.kind == "refine" and rounds:
                rounds[-1] = replace(rounds[-1], refine=step)
            if step.kind in ("draft", "refine") and step.status == "done":
                draft = _text(step)
        drafts = tuple(step for step in trace.steps if step.kind == "draft")
        saying = frozenset(id(each.critique.turns[-1]) for each in rounds if each.critique.turns and each.said)
        return cls(drafts, tuple(rounds), saying)

    @property
    def progress(self) -> str:
        """`2 rounds`; empty where there are none."""
        return words.count(len(self.rounds), "round") if self.rounds else ""

    def rows(self, budget: Budget) -> Iterator[Round | tuple[Round, ...]]:
        """Those that are whole, and between them the others."""
        for is_whole, some in groupby(self.rounds, lambda each: budget.holds(each.critique)):
            group = tuple(some)
            yield from group if is_whole else [group]


def _verdict(critique: Step, trace: Trace) -> tuple[str, Tone]:
    match critique.status:
        case "passed":
            return "passed", "good"
        case "done":
            return "not passed", "warn"
        case "failed":
            return "no critique", "bad"
        case None:
            return step_words.cut_short(trace), "" if step_words.goes_on(trace) else "warn"


def _text(step: Step) -> str:
    return "" if step.output is None else answer_text(step.output)
