"""Budget: which turns and steps of a run are shown whole. One rule for all formats, so that a saved output stays small.

Of each conversation the turns nearest to its two ends are whole, and as many of each as fit into the budget together.
A turn with an error stands nearer than all others but the first and the last. Of a plan or a reflection the same holds
for its steps. What is inside of something that is not whole is not shown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from nbagent.views import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nbagent.views.trace import Step, Trace, Turn

WHOLE = 200
"""So many turns of a run are whole, with those of runs inside. First and last turns are whole in any case."""
LINES = 40
"""In about so many lines stand the others."""


class Near(NamedTuple):
    """How much is whole."""

    turns: int
    """So many turns."""
    steps: int
    """So many steps of a workflow are as near to its ends as one turn is to those of a conversation."""
    open: int
    """So many steps that have not begun have a line of their own."""


FULL, BRIEF = Near(WHOLE, 50, 100), Near(12, 3, 6)
LESS = (Near(100, 25, 50), Near(50, 12, 24), Near(24, 6, 12), BRIEF, Near(4, 1, 2))
"""Of an output that is still too large, what is tried one after another."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Budget:
    """Of one output, with the runs inside it."""

    ranks: Mapping[int, int]
    """How far from the ends each turn and each step is, by the id of the object; what is around it counts, too."""
    most: int
    """What is farther is not whole."""
    turns: int
    """How many there are, with those of runs inside."""
    whole: int
    group: int
    """How many of the others share a line."""
    open: int
    """How many steps that have not begun have a line of their own."""

    @classmethod
    def of(cls, trace: Trace, near: Near = FULL) -> Budget:
        ranks: dict[int, int] = {}
        turns = list(_of_run(trace, 0, ranks, near.steps))
        counts = Counter(rank for _, rank in turns)
        most = _most(counts, near.turns)
        whole = sum(number for rank, number in counts.items() if rank <= most)
        others = sum(around <= most < rank for around, rank in turns)
        return cls(ranks, most, len(turns), whole, max(-(-others // LINES), 1), near.open)

    def holds(self, item: Turn | Step) -> bool:
        """Whether it is whole."""
        return self.ranks[id(item)] <= self.most

    def turns_of(self, turns: Sequence[Turn]) -> Iterator[Turn | tuple[Turn, ...]]:
        """Those that are whole, and between them the others, in groups. Groups that call the same tools are one."""
        group: tuple[Turn, ...] = ()
        for is_whole, some in groupby(turns, self.holds):
            if is_whole:
                yield from some
                continue
            others = tuple(some)
            for start in range(0, len(others), self.group):
                chunk = others[start : start + self.group]
                if group and _called(group) != _called(chunk):
                    yield group
                    group = ()
                group += chunk
            yield group
            group = ()


def _called(turns: Sequence[Turn]) -> set[str]:
    return {call.asked.name for turn in turns for call in turn.calls}


def _most(counts: Counter[int], whole: int) -> int:
    total, most = 0, 0
    for rank in sorted(counts):
        total += counts[rank]
        if total > whole and rank > 1:
            break
        most = rank
    return most


def _of_run(trace: Trace, around: int, ranks: dict[int, int], near: int) -> Iterator[tuple[int, int]]:
    """Ranks all turns of a run. Gives the rank of what is around each, and its own. `near`: as `Near.steps`."""
    yield from _of_turns(trace.turns, around, ranks, near)
    places = _places(trace.steps)
    for step in trace.steps:
        ranks[id(step)] = rank = max(around, places.get(_unit(step), 0) // near)
        yield from _of_turns(step.turns, rank, ranks, near)


def _places(steps: Sequence[Step]) -> dict[int, int]:
    """How many steps are nearer to the ends, for each step of a plan and each round of a reflection."""
    sizes = Counter(unit for step in steps if (unit := _unit(step)))
    troubled = {_unit(step) for step in steps if step.status in (None, "failed")}
    ranks = _ranked(tuple(sizes), troubled.__contains__)
    return {unit: rank * size for rank, (unit, size) in zip(ranks, sizes.items(), strict=True)}


def _unit(step: Step) -> int:
    """What is whole or not: a step of a plan, a round of a reflection; 0 for what always is."""
    return 0 if step.kind in ("compact", "plan", "synthesize", "draft") else step.number


def _of_turns(turns: Sequence[Turn], around: int, ranks: dict[int, int], near: int) -> Iterator[tuple[int, int]]:
    for turn, place in zip(turns, _ranked(turns, words.has_trouble), strict=True):
        ranks[id(turn)] = rank = max(around, place)
        yield around, rank
        for call in turn.calls:
            if call.run is not None:
                yield from _of_run(call.run, rank, ranks, near)


def _ranked(items: Sequence[Item], is_troubled: Callable[[Item], bool]) -> list[int]:
    """For each its place in the order in which they are whole: the ends, what is in trouble, then from the ends on."""
    last = len(items) - 1
    ends = [min(place, last - place) for place in range(len(items))]
    order = sorted(
        range(len(items)), key=lambda place: (ends[place] > 0, not is_troubled(items[place]), ends[place], -place)
    )
    ranks = [0] * len(items)
    for rank, place in enumerate(order):
        ranks[place] = rank
    return ranks
