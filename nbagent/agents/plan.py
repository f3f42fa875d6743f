"""Plan: a loop that makes a plan, does its steps one after another, and puts their results together.

Source: Plan-and-Solve (Wang et al. 2023), as in agentmaker's `PlanAgent`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from nbagent.agents.loop import attempted
from nbagent.agents.plan_reading import read_plan
from nbagent.agents.thread import Thread, asked, whole
from nbagent.events import StepFinished, StepStarted
from nbagent.messages import Piece, Source
from nbagent.prompt.formatters.reading import Unreadable
from nbagent.runtime.effects import Assemble, Decide, Mark, Outcome
from nbagent.texts.phrase import Phrase
from nbagent.tools.catalog import line
from nbagent.tools.registry import ToolRegistry
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from nbagent.agents.loop import Setup
    from nbagent.messages import Prompt, ToolSchema
    from nbagent.runtime.effects import Effect, Loop
    from nbagent.texts.pack import Texts

REVISIONS = 3
"""How often a plan is revised at most."""
_PLANNING_TURNS = 3
"""A reply, and another for each hint that it cannot be used."""

_LAYOUT = Source("framework", "layout")
_PLANNED, _EDITED = Source("history", "plan"), Source("input", "plan")
"""A step that the model has planned, and one that a person has put into the plan."""

Steps = tuple[str, ...]


def plan_and_solve(
    setup: Setup, *, replan: bool = False, propose: str = "", steps: Sequence[str] | None = None
) -> Loop:
    """Plans, does each step with turns and tools of its own, and concludes. k steps take k + 2 model calls at least.

    `setup.max_turns` is that of each step. `replan`: whether a step that fails revises what is left of the plan.
    `propose`: where not empty, it stops when the plan is made, as interrupted for this reason. `steps`: what a person
    has made of the plan.
    """
    prompt: Prompt = yield Assemble(setup.assembled, setup.tools.schemas)
    work = _Work(setup, prompt)
    made = yield from work.plan()
    if made is None and propose:
        return Outcome("interrupted", None, propose)
    if made is None:
        yield from work.take(steps)
    while made is None and work.todo:
        failed = yield from work.step()
        if failed and replan and work.version <= REVISIONS:
            made = yield from work.revise()
    if made is not None:
        return made
    if not work.done:
        return Outcome("out_of_turns", None, work.failures)
    return (yield from work.conclude())


def asking(prompt: Prompt, texts: Texts, tools: tuple[ToolSchema, ...]) -> tuple[Piece, ...]:
    """What is said to get a plan for what the user asks; the tools are told of, and cannot be called yet."""
    lines = [part for tool in tools for part in (Piece("\n", _LAYOUT), Piece(line(tool), Source("tool", tool.name)))]
    told = Phrase("plan.tools", tools=tuple(lines[1:])) if tools else ""
    return texts.pieces("plan.plan", question=asked(prompt), tools=told)


def writing(setup: Setup) -> Setup:
    """For an answer without tools: a reply, and another for each hint that it cannot be used."""
    return replace(setup, tools=ToolRegistry(), max_turns=2 + setup.retries, is_aside=True)


class _Work:
    """A plan while it is worked on."""

    def __init__(self, setup: Setup, prompt: Prompt) -> None:
        self._setup = setup
        self._planning = replace(setup, tools=ToolRegistry(), max_turns=_PLANNING_TURNS, is_aside=True, schema=None)
        self._doing = replace(setup, read=None, schema=None)
        self._prompt = prompt
        self._thread = Thread(prompt)
        self._number = 0
        self._failures: list[str] = []
        self._untold: tuple[Piece, ...] = ()
        """What the model has not been told yet of steps that failed."""
        self._is_told = False
        """Whether the model has been told the plan."""
        self.todo: list[Piece] = []
        """The steps that are left, each with who has made it."""
        self.done = 0
        """How many steps have a result."""
        self.version = 0
        """Of the plan, from 1."""

    @property
    def failures(self) -> str:
        return "; ".join(self._failures)

    # Each of these gives None, or the end of the run.

    def plan(self) -> Generator[Effect, Any, Outcome | None]:
        """Makes the plan. Where it has no steps, the question is the step."""
        return (yield from self._planned(asking(self._prompt, self._setup.texts, self._setup.tools.schemas)))

    def revise(self) -> Generator[Effect, Any, Outcome | None]:
        """Makes new steps in the place of those that are left."""
        said = self._setup.texts.pieces(
            "plan.replan", failed=self._untold, plan=_listed(self.todo, self._number + 1), question=asked(self._prompt)
        )
        return (yield from self._planned(said))

    def take(self, steps: Sequence[str] | None) -> Generator[Effect, Any, None]:
        """Takes over what a person has made of the plan, now or in the run that is gone on with."""
        planned = [step.text for step in self.todo]
        given = None if steps is None or list(steps) == planned else tuple(steps)
        decided: Steps | None = yield Decide(given)
        if decided is not None:
            self.todo = _made_of(decided, planned)

    def _planned(self, said: tuple[Piece, ...]) -> Generator[Effect, Any, Outcome | None]:
        self.version += 1
        yield Mark(StepStarted("plan", self.version))
        outcome = yield from self._thread.ask(
            replace(self._planning, read=_reader(is_first=self.version == 1)), "plan", said
        )
        if outcome.status != "completed":
            yield Mark(StepFinished("plan", self.version, "failed", None, outcome.stop_reason))
            return outcome
        steps: Steps = outcome.final_output["steps"]
        self.todo = [Piece(step, _PLANNED) for step in steps]
        if not steps and self.version == 1:
            self.todo = [_in_one_line(asked(self._prompt))]
        yield Mark(StepFinished("plan", self.version, "done", tuple([step.text for step in self.todo])))
        self._is_told = False
        return None

    def step(self) -> Generator[Effect, Any, bool]:
        """Does the next step. Whether it failed."""
        step, self._number = self.todo.pop(0), self._number + 1
        yield Mark(StepStarted("execute", self._number, step.text))
        said = self._told(step)
        outcome = yield from attempted(self._thread.ask(self._doing, f"step {self._number}", said))
        if outcome.status == "completed":
            self._thread.keep(said, outcome.said)
            self.done, self._untold, self._is_told = self.done + 1, (), True
            yield Mark(StepFinished("execute", self._number, "done", outcome.said))
            return False
        reason = outcome.stop_reason
        self._failures.append(f"step {self._number} failed: {reason}")
        why = outcome.why or reason
        self._untold += self._setup.texts.pieces("plan.failed", number=str(self._number), step=step, reason=why)
        yield Mark(StepFinished("execute", self._number, "failed", None, reason))
        return True

    def _told(self, step: Piece) -> tuple[Piece, ...]:
        """What the model is told of this step: the whole plan where it has not heard it yet, and what to do now."""
        texts, number = self._setup.texts, str(self._number)
        if self._is_told:
            return texts.pieces("plan.step", failed=self._untold, number=number, step=step)
        plan = _listed([step, *self.todo], self._number)
        if not self.done:
            question = asked(self._prompt)
            return texts.pieces(
                "plan.begin", question=question, plan=plan, failed=self._untold, number=number, step=step
            )
        return texts.pieces("plan.revised", failed=self._untold, plan=plan, number=number, step=step)

    def conclude(self) -> Generator[Effect, Any, Outcome]:
        """The answer, from the results of the steps."""
        yield Mark(StepStarted("synthesize", 0))
        said = self._setup.texts.pieces("plan.synthesize", failed=self._untold, question=whole(self._prompt))
        outcome = yield from self._thread.ask(writing(self._setup), "synthesis", said)
        if outcome.status != "completed":
            yield Mark(StepFinished("synthesize", 0, "failed", None, outcome.stop_reason))
            return outcome
        yield Mark(StepFinished("synthesize", 0))
        return Outcome("completed", outcome.final_output, self.failures, outcome.said)


def _listed(steps: Sequence[Piece], first: int) -> tuple[Piece | str, ...]:
    """A line for each; those that follow each other and have been made by the same are one piece."""
    lines: list[Piece | str] = []
    for source, some in groupby(enumerate(steps, first), lambda numbered: numbered[1].source):
        lines += ["\n", Piece("\n".join([f"{number}. {step.text}" for number, step in some]), source)]
    return tuple(lines[1:]) or ("-",)


def _in_one_line(pieces: tuple[Piece, ...]) -> Piece:
    sources = {piece.source for piece in pieces}
    source = pieces[0].source if len(sources) == 1 else Source("input", "question")
    return Piece(" ".join("".join([piece.text for piece in pieces]).split()), source)


def _made_of(steps: Steps, planned: Sequence[str]) -> list[Piece]:
    """What a person has made of a plan: the steps that the model had planned are still its own."""
    left = Counter(planned)
    made: list[Piece] = []
    for step in steps:
        left[step] -= 1
        made.append(Piece(step, _PLANNED if left[step] >= 0 else _EDITED))
    return made


class _Steps(Struct, frozen=True):
    """A reading of a plan, as a loop takes it."""

    value: dict[str, Steps]
    repairs: tuple[str, ...] = ()


def _reader(*, is_first: bool) -> Callable[[str], Any]:
    """Reads a plan. Where the model has been told once that its plan cannot be read, it is asked no more."""
    failures = 0

    def read(text: str) -> _Steps:
        nonlocal failures
        try:
            plan = read_plan(text)
        except Unreadable:
            failures += 1
            if failures == 1:
                raise
            return _Steps(
                {"steps": ()},
                ("no plan could be read, so " + ("the task is the only step" if is_first else "no step is left"),),
            )
        return _Steps({"steps": plan.steps}, plan.repairs)

    return read
