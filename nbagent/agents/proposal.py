"""Proposal: a plan that waits to be done, and how far it has come where its run was stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from nbagent.agents.marks import Marks
from nbagent.agents.recorded import after
from nbagent.approvals.asking import not_written
from nbagent.approvals.decision import Approve
from nbagent.errors import DecisionError
from nbagent.events import RunStarted
from nbagent.store.open_places import open_places

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbagent.agents.prompting import Prompting
    from nbagent.agents.runner import Runner
    from nbagent.agents.stored import Left
    from nbagent.agents.task import Task
    from nbagent.agents.waiting import Paused
    from nbagent.events import Event
    from nbagent.runtime.result import RunResult

_STOPPED = ("cancelled", "failed", "interrupted")
"""How a run ends that is gone on with; any other end is one, and the plan is then done from its beginning."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a run has to know that does the plan."""

    task: Task
    made: tuple[Event, ...]
    """What was done to make the plan."""
    steps: tuple[str, ...] = ()
    """Those of its newest run."""
    done: tuple[Event, ...] = ()
    """What that run has done, where it was stopped."""
    start: Marks | None = None
    """Where the scripts stood before that run."""
    end: Marks | None = None
    """Where it left them."""
    paused: Paused | None = None
    """Its newest run, where that waits; first the proposal itself."""
    left: Left | None = None
    """Where that has left its file."""

    def forked(self, prompting: Prompting, marks: Callable[[Marks], Marks]) -> Proposal:
        """The same for a fork of its agent. `marks`: the same places in the scripts of that."""
        start, end = [None if place is None else marks(place) for place in (self.start, self.end)]
        return replace(self, task=replace(self.task, prompting=prompting), start=start, end=end, paused=None)

    def is_of(self, result: RunResult) -> bool:
        """Whether it is what this run does."""
        return any(isinstance(event, RunStarted) and event.run_id == result.run_id for event in self.made[:1])

    def begun(self, steps: tuple[str, ...]) -> tuple[Event, ...]:
        """What of a run of these steps has been done already."""
        return self.done if self.done and steps == self.steps else self.made

    def set_back(self, agent: Runner) -> None:
        """Before a run: where no other has used the scripts since, they go back to where its newest run began."""
        if self.start is not None and self.is_untouched(agent):
            self.start.within(Marks.of(agent.models)).go()

    def set_forth(self, agent: Runner, steps: tuple[str, ...]) -> None:
        """When a run has begun that goes on with one that was stopped: its scripts go on from there, too."""
        if self.end is not None and self.done and steps == self.steps:
            self.end.within(Marks.of(agent.models)).go()
            after(agent, self.done).past(Marks.of(agent.models)).go()

    def ran(self, agent: Runner, steps: tuple[str, ...], start: Marks, result: RunResult) -> Proposal:
        """After a run."""
        events = result.events
        done = tuple([events[place] for place in open_places(events)]) if result.status in _STOPPED else ()
        if len(done) < len(begun := self.begun(steps)):
            # Stopped before it came to where it goes on; or the agent is no longer what it was, and failed to.
            done = begun if result.status == "cancelled" else ()
        # Decisions that were written down for this run are no decisions about the next one.
        task = self.task if done else replace(self.task, deciders=not_written(self.task.deciders))
        return replace(self, task=task, steps=steps, done=done, start=start, end=Marks.of(agent.models))

    def is_untouched(self, agent: Runner) -> bool:
        """Whether the scripts stand where the newest run has left them."""
        return self.end is not None and not any(Marks.of(agent.models).since(self.end).values())


def steps_of(decision: object) -> tuple[str, ...] | None:
    """The steps that a decision about a proposed plan means; None for those that it has. Raises DecisionError."""
    if isinstance(decision, Mapping) and len(cast("Mapping[Any, Any]", decision)) == 1:  # by its call id
        decision = next(iter(cast("Mapping[Any, Any]", decision).values()))
    if decision is True:
        return None
    if isinstance(decision, Approve):
        steps: Any = (decision.arguments or {"steps": None}).get("steps")
        if steps is None or (isinstance(steps, list) and steps):
            return None if steps is None else tuple(cast("list[str]", steps))
    raise DecisionError(
        'a plan waits: True runs it, Approve({"steps": [...]}) runs other steps; discard() leaves it; '
        f"got {decision!r}"
    )
