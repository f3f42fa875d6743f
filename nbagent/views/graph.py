"""Graph: who called whom in a run, from the agent down to tools; the same tool of one caller is one node."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from nbagent.views.step_words import step_name
from nbagent.views.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbagent.views.trace import Step, Trace, Turn

NODES = 40
"""So many are drawn, those nearest to the run first."""

NodeKind = Literal["agent", "step", "tool"]
_NOUNS: tuple[NodeKind, ...] = ("agent", "step", "tool")


@dataclass(slots=True)
class Node:
    """An agent, a step of its work, or a tool; with what it called."""

    kind: NodeKind
    name: str
    """From outside, but for that of a step."""
    title: str = ""
    """Of a step of a plan; from outside."""
    calls: int = 0
    below: dict[tuple[NodeKind, str, str], Node] = field(default_factory=dict["tuple[NodeKind, str, str]", "Node"])

    @property
    def times(self) -> str:
        """` ×3`; empty for what was not called."""
        return f" ×{self.calls:,}" if self.calls else ""

    def child(self, kind: NodeKind, name: str, title: str = "") -> Node:
        return self.below.setdefault((kind, name, title), Node(kind, name, title))

    def all(self) -> Iterator[Node]:
        """It and all below it, those nearest to it first."""
        rest: deque[Node] = deque([self])
        while rest:
            node = rest.popleft()
            yield node
            rest.extend(node.below.values())


@dataclass(frozen=True, slots=True)
class Graph:
    """The calls of a run."""

    root: Node
    more: int
    """How many nodes are not drawn."""
    line: str
    """`2 agents, 3 steps, 1 tool`."""

    @classmethod
    def of(cls, trace: Trace) -> Graph | None:
        """None for an agent that called nothing and has no steps."""
        root = Node("agent", trace.agent)
        _fill(root, trace)
        nodes = list(root.all())
        if len(nodes) < 2:
            return None
        numbers = {noun: sum(node.kind == noun for node in nodes) for noun in _NOUNS}
        line = ", ".join(count(number, noun) for noun, number in numbers.items() if number)
        _prune(nodes[:NODES])
        return cls(root, max(len(nodes) - NODES, 0), line)


def _fill(node: Node, trace: Trace) -> None:
    _calls(node, trace.turns)
    for step in trace.steps:
        _calls(_step(node, step), step.turns)


def _step(node: Node, step: Step) -> Node:
    if step.kind == "execute":
        return node.child("step", f"step {step.number}", step.title)
    found = node.child("step", step_name(step))
    found.calls += step.kind in ("critique", "refine")
    return found


def _calls(node: Node, turns: Iterable[Turn]) -> None:
    for turn in turns:
        for call in turn.calls:
            found = node.child("tool" if call.run is None else "agent", call.call.name)
            found.calls += 1
            if call.run is not None:
                _fill(found, call.run)


def _prune(kept: list[Node]) -> None:
    held = set(map(id, kept))
    for node in kept:
        node.below = {key: each for key, each in node.below.items() if id(each) in held}
