"""Checklist: the steps of a plan, begun or not, with a box each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from nbagent.views import step_words, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbagent.views.budget import Budget
    from nbagent.views.trace import Step, Trace

State = Literal["open", "running", "stopped", "done", "failed"]

BOXES: Mapping[State, str] = {"open": "[ ]", "running": "[>]", "stopped": "[!]", "done": "[x]", "failed": "[!]"}
LISTED = 20
"""So many steps of each kind are named of a plan that was revised."""
_WORST: tuple[State, ...] = ("done", "open", "running", "stopped", "failed")
_SAID: Mapping[State, str] = {"open": "to do"}
"""The names of states, where they differ."""


@dataclass(frozen=True, slots=True)
class Item:
    """A step of the plan."""

    number: int
    title: str
    state: State
    said: str = ""
    """More about its state, in our words."""
    reason: str = ""
    """Why it failed, or was stopped; from outside."""
    step: Step | None = None
    """None where it has not begun."""


@dataclass(frozen=True, slots=True)
class Several:
    """Steps that follow each other and are not whole."""

    items: tuple[Item, ...]

    @property
    def state(self) -> State:
        """The worst that is among them."""
        return next(state for state in reversed(_WORST) if any(item.state == state for item in self.items))

    @property
    def line(self) -> str:
        """`4 steps done`, or `4 steps: 3 done, 1 failed`."""
        counts = Counter(_SAID.get(item.state, item.state) for item in self.items)
        steps = words.count(len(self.items), "step")
        if len(counts) == 1:
            return f"{steps} {next(iter(counts))}"
        return f"{steps}: {', '.join(f'{number:,} {said}' for said, number in counts.items())}"


@dataclass(frozen=True, slots=True)
class Revision:
    """How a new version of a plan differs from what was left of the one before, or what a person has made of it."""

    dropped: tuple[tuple[int, str], ...]
    """Number and title of each step."""
    new: tuple[tuple[int, str], ...]
    is_edited: bool = False
    """Whether a person has made it of what the model had."""

    @property
    def line(self) -> str:
        """`2 new, 1 dropped`, `edited: 1 new`."""
        numbers = ((len(self.new), "new"), (len(self.dropped), "dropped"))
        said = ", ".join(f"{number:,} {said}" for number, said in numbers if number) or "the same steps"
        return f"edited: {said}" if self.is_edited else said


@dataclass(frozen=True, slots=True)
class Checklist:
    """The plan of a run, as far as it has come."""

    items: tuple[Item, ...]
    others: tuple[Step, ...]
    """The steps of the run that are none of the plan: its planning, its synthesis."""
    revisions: Mapping[int, Revision]
    """By the version of the plan that each has made."""

    @classmethod
    def of(cls, trace: Trace) -> Checklist:
        items: list[Item] = []
        revisions: dict[int, Revision] = {}
        left: tuple[str, ...] = ()
        for step in trace.steps:
            if step.kind == "execute":
                items.append(_begun(step, trace))
                left = left[1:]
            elif step.kind == "plan" and step.status == "done":
                made = step_words.titles(step.output)
                if step.number > 1:
                    revisions[step.number] = _revised(left, made, len(items) + 1)
                if step.edited is not None:
                    revisions[step.number] = _revised(made, step.edited, len(items) + 1, is_edited=True)
                left = made if step.edited is None else step.edited
        items += [Item(number, title, "open") for number, title in enumerate(left, len(items) + 1)]
        others = tuple(step for step in trace.steps if step.kind in ("plan", "synthesize"))
        return cls(tuple(items), others, revisions)

    @property
    def done(self) -> int:
        return sum(item.state == "done" for item in self.items)

    @property
    def progress(self) -> str:
        """`2 of 3 steps`; empty where there is no plan."""
        return f"{self.done:,} of {words.count(len(self.items), 'step')}" if self.items else ""

    @property
    def line(self) -> str:
        """`2 of 3 steps done, 1 failed`."""
        failed = sum(item.state == "failed" for item in self.items)
        return f"{self.progress} done" + (f", {failed:,} failed" if failed else "")

    def revision_of(self, step: Step) -> Revision | None:
        """How the plan that a step has made differs from the one before."""
        return self.revisions.get(step.number) if step.kind == "plan" else None

    def lines(self, budget: Budget) -> Iterator[Item | Several]:
        """Those that are whole or have a line of their own, and between them the others."""
        begun = [item for item in self.items if item.step]
        left = self.items[len(begun) :]
        yield from _grouped(begun, [item.step is not None and budget.holds(item.step) for item in begun])
        last = len(left) - 1
        yield from _grouped(left, [min(place, last - place) < budget.open // 2 for place in range(len(left))])

    def rows(self, trace: Trace, budget: Budget) -> Iterator[Item | Several | Step]:
        """All steps of the run in their order, and where the plan ends those that have not begun."""
        lines = list(self.lines(budget))
        for step in trace.steps:
            if step.kind == "synthesize":
                yield from lines
                lines = []
            if step.kind != "execute":
                yield step
                continue
            if lines and _first(lines[0]).step is step:
                yield lines.pop(0)
        yield from lines


def _first(row: Item | Several) -> Item:
    return row.items[0] if isinstance(row, Several) else row


def _begun(step: Step, trace: Trace) -> Item:
    if step.status is not None:
        failed = step.status == "failed"
        return Item(
            step.number, step.title, "failed" if failed else "done", "failed" if failed else "", step.reason, step
        )
    said = step_words.cut_short(trace)
    if step_words.goes_on(trace):
        return Item(step.number, step.title, "running", said, "", step)
    return Item(step.number, step.title, "stopped", said, trace.stop_reason, step)


def _revised(left: Sequence[str], made: Sequence[str], first: int, *, is_edited: bool = False) -> Revision:
    """`first`: the number of the next step."""
    new, old = Counter(made), Counter(left)
    dropped = tuple((number, title) for number, title in enumerate(left, first) if not _taken(title, new))
    added = tuple((number, title) for number, title in enumerate(made, first) if not _taken(title, old))
    return Revision(dropped, added, is_edited)


def _taken(title: str, titles: Counter[str]) -> bool:
    """Whether there is such a title; it counts once."""
    titles[title] -= 1
    return titles[title] >= 0


def _grouped(items: Sequence[Item], whole: Sequence[bool]) -> Iterator[Item | Several]:
    for is_whole, group in groupby(zip(items, whole, strict=True), lambda pair: pair[1]):
        some = tuple(item for item, _ in group)
        yield from some if is_whole else [Several(some)]
