"""PlanAgent: an agent that first makes a plan, then does its steps, then concludes."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from nbagent.agents.base import BaseAgent, Given
from nbagent.agents.options import Options, own_options
from nbagent.agents.plan import WAITS, plan_and_solve
from nbagent.errors import ConfigError
from nbagent.runtime.drivers import adrive, drive

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Hashable, Iterable

    from nbagent.agents.loop import Setup
    from nbagent.agents.task import RunOptions, Task
    from nbagent.events import Event, StreamEvent
    from nbagent.prompt.inputs import Text
    from nbagent.runtime.effects import Loop
    from nbagent.runtime.result import RunResult


class PlanAgent(BaseAgent):
    """Breaks a task down into steps, does them one after another, and puts their results together.

    k steps take k + 2 model calls, more where a step calls tools. A reply that is no JSON but a list or numbered lines
    is a plan, too. `result.plan` has the steps, each with status and result. A step that runs out of turns is failed;
    the run goes on, and the model is told.

    Source: the interface follows agentmaker's `PlanAgent`.
    """

    strategy = "plan"

    def __init__(
        self,
        name: str,
        model: object,
        system_prompt: Text | None = None,
        *,
        max_turns: int = 3,
        replan: bool = False,
        **options: Unpack[Options],
    ) -> None:
        """An agent; nothing is sent.

        max_turns: how many model calls each step may take. replan: whether a step that fails revises what is left of
        the plan, at most three times. The other options are those of `Agent`; tools are used by the steps, output
        fields are those of the last answer. Raises `ConfigError` (a ValueError) naming what is wrong.
        """
        super().__init__(name, model, system_prompt, max_turns, own_options(options))
        self.replan = bool(replan)
        self.plan: list[str] = []
        """The steps that were proposed last; may be changed before they are run."""
        self._proposal: tuple[Task, tuple[Event, ...]] | None = None

    made_of = (*BaseAgent.made_of, "replan")

    def _loop(self, setup: Setup) -> Loop:
        return plan_and_solve(setup, replan=self.replan)

    def become(self, other: BaseAgent) -> None:
        """Takes over what the other agent is. A plan that another model has proposed is forgotten."""
        if other.model is not self.model:
            self._proposal, self.plan = None, []
        super().become(other)

    def propose(self, inputs: Given, **options: Unpack[RunOptions]) -> RunResult:
        """Only makes the plan: the run ends as interrupted, `plan` has its steps, and `run_plan` goes on with it.

        options: those of `run`.
        """
        for _ in self.stream_proposal(inputs, **options):
            pass
        return self._newest

    def stream_proposal(self, inputs: Given, **options: Unpack[RunOptions]) -> Generator[StreamEvent]:
        """`propose`, yielding what happens."""
        task = self._task(inputs, **options)
        with self._running(task, loop=self._proposing) as run:
            yield from drive(run)
        self._propose(task)

    async def astream_proposal(self, inputs: Given, **options: Unpack[RunOptions]) -> AsyncGenerator[StreamEvent]:
        """The same for `async for`."""
        task = self._task(inputs, **options)
        with self._running(task, awaited=True, loop=self._proposing) as run:
            async with aclosing(adrive(run)) as events:
                async for event in events:
                    yield event
        self._propose(task)

    def run_plan(self, steps: Iterable[str] | None = None, *, key: Hashable = None) -> RunResult:
        """Does the plan that was proposed; the run is gone on with, so the plan is not made again.

        steps: what is to be done, default `plan` as it is now. key: names this exchange of the conversation. Raises
        ConfigError where no plan was proposed, or where it has no steps.
        """
        for _ in self.stream_plan(steps, key=key):
            pass
        return self._newest

    def stream_plan(self, steps: Iterable[str] | None = None, *, key: Hashable = None) -> Generator[StreamEvent]:
        """`run_plan`, yielding what happens; what the proposal has done comes again."""
        task, begun, loop, goes_on = self._waiting(steps, key)
        with self._running(task, begun=begun, loop=loop, goes_on=goes_on) as run:
            yield from drive(run)

    async def astream_plan(
        self, steps: Iterable[str] | None = None, *, key: Hashable = None
    ) -> AsyncGenerator[StreamEvent]:
        """The same for `async for`."""
        task, begun, loop, goes_on = self._waiting(steps, key)
        with self._running(task, awaited=True, begun=begun, loop=loop, goes_on=goes_on) as run:
            async with aclosing(adrive(run)) as events:
                async for event in events:
                    yield event

    @property
    def _newest(self) -> RunResult:
        return self._runs.results[self._runs.count]

    def _proposing(self, setup: Setup) -> Loop:
        return plan_and_solve(setup, propose=True)

    def _propose(self, task: Task) -> None:
        """Remembers the plan of the newest run."""
        result = self._newest
        if result.stop_reason == WAITS:
            self.plan = [step.title for step in result.plan]
            self._proposal = task, result.events[:-1]

    def _waiting(
        self, steps: Iterable[str] | None, key: Hashable
    ) -> tuple[Task, tuple[Event, ...], Callable[[Setup], Loop], bool]:
        """The task, what of it has been done, how it goes on, and whether that is in the same exchange."""
        if self._proposal is None:
            raise ConfigError(f"no plan waits to be run; make one first: {self.name}.propose(task)")
        given = self.plan if steps is None else [steps] if isinstance(steps, str) else list(steps)
        if not given or not all(isinstance(step, str) and step.strip() for step in given):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"plan: expected one step or more, each a text that is not empty; got {given!r}")
        task, begun = self._proposal
        chosen = [" ".join(step.split()) for step in given]
        loop = partial(plan_and_solve, replan=self.replan, steps=chosen)
        return replace(task, key=key), begun, loop, key is not None and key == task.key
