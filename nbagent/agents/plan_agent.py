"""PlanAgent: an agent that first makes a plan, then does its steps, then concludes."""

from __future__ import annotations

from contextlib import aclosing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from nbagent.agents.base import BaseAgent, Given
from nbagent.agents.marks import Marks
from nbagent.agents.options import Options, own_options
from nbagent.agents.plan import asking, plan_and_solve
from nbagent.errors import ConfigError
from nbagent.messages import Prompt, Segment
from nbagent.runtime.drivers import adrive, drive

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Hashable, Iterable

    from nbagent.agents.loop import Setup
    from nbagent.agents.task import RunOptions, Task
    from nbagent.events import Event, StreamEvent
    from nbagent.prompt.inputs import Text
    from nbagent.runtime.effects import Loop
    from nbagent.runtime.result import RunResult
    from nbagent.runtime.run import Run


WAITS = "the plan waits"
"""How the reason begins for which a proposal has stopped."""


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
        self._done: tuple[Marks, Marks] | None = None
        """Where the scripts stood before the plan was done last, and after it."""

    made_of = (*BaseAgent.made_of, "replan")

    def _loop(self, setup: Setup) -> Loop:
        return plan_and_solve(setup, replan=self.replan)

    def become(self, other: BaseAgent) -> None:
        """Takes over what the other agent is. A plan that was proposed is forgotten: another agent has made it."""
        self._forget()
        super().become(other)

    def reset(self) -> None:
        """Starts over: forgets what was said and proposed, and goes back to the beginning of a script."""
        self._forget()
        super().reset()

    def _forget(self) -> None:
        self._proposal, self._done, self.plan = None, None, []

    def propose(self, inputs: Given, **options: Unpack[RunOptions]) -> RunResult:
        """Only makes the plan: the run ends as interrupted, `plan` has its steps, and `run_plan` goes on with it.

        options: those of `run`.
        """
        task = self._proposing(inputs, options)
        with self._running(task, loop=self._proposed) as run:
            for _ in drive(run):
                pass
        return self._keep(task, run.result)

    async def apropose(self, inputs: Given, **options: Unpack[RunOptions]) -> RunResult:
        """`propose` for `await`."""
        task = self._proposing(inputs, options)
        with self._running(task, awaited=True, loop=self._proposed) as run:
            async with aclosing(adrive(run)) as events:
                async for _ in events:
                    pass
        return self._keep(task, run.result)

    def stream_proposal(self, inputs: Given, **options: Unpack[RunOptions]) -> Generator[StreamEvent]:
        """`propose`, yielding what happens."""
        task = self._proposing(inputs, options)
        with self._running(task, loop=self._proposed) as run:
            yield from drive(run)
        self._keep(task, run.result)

    async def astream_proposal(self, inputs: Given, **options: Unpack[RunOptions]) -> AsyncGenerator[StreamEvent]:
        """The same for `async for`."""
        task = self._proposing(inputs, options)
        with self._running(task, awaited=True, loop=self._proposed) as run:
            async with aclosing(adrive(run)) as events:
                async for event in events:
                    yield event
        self._keep(task, run.result)

    def run_plan(self, steps: Iterable[str] | None = None, *, key: Hashable = None) -> RunResult:
        """Does the plan that was proposed; the run is gone on with, so the plan is not made again.

        steps: what is to be done, default `plan` as it is now. key: names this exchange of the conversation. Raises
        ConfigError where no plan was proposed, or where it has no steps.
        """
        with self._continued(steps, key) as run:
            for _ in drive(run):
                pass
        return run.result

    async def arun_plan(self, steps: Iterable[str] | None = None, *, key: Hashable = None) -> RunResult:
        """`run_plan` for `await`."""
        with self._continued(steps, key, awaited=True) as run:
            async with aclosing(adrive(run)) as events:
                async for _ in events:
                    pass
        return run.result

    def stream_plan(self, steps: Iterable[str] | None = None, *, key: Hashable = None) -> Generator[StreamEvent]:
        """`run_plan`, yielding what happens; what the proposal has done comes again."""
        with self._continued(steps, key) as run:
            yield from drive(run)

    async def astream_plan(
        self, steps: Iterable[str] | None = None, *, key: Hashable = None
    ) -> AsyncGenerator[StreamEvent]:
        """The same for `async for`."""
        with self._continued(steps, key, awaited=True) as run:
            async with aclosing(adrive(run)) as events:
                async for event in events:
                    yield event

    def _proposing(self, inputs: Given, options: RunOptions) -> Task:
        """The task of a proposal, which takes the place of the one before."""
        task = self._task(inputs, **options)
        self._forget()
        return task

    def _proposed(self, setup: Setup) -> Loop:
        how = f"change {self.name}.plan if you like, then run it: %plan {self.name} --run"
        return plan_and_solve(setup, propose=f"{WAITS}: {how}")

    def opening(self, prompt: Prompt) -> Prompt:
        """The prompt of the first request: that asks for the plan."""
        said = [Segment("user", "plan", one.text, one.source) for one in asking(prompt, self.texts, prompt.tools)]
        system = tuple([segment for segment in prompt.segments if segment.role == "system"])
        return Prompt((*system, *said), prompt.history, (), prompt.images, prompt.examples)

    def _keep(self, task: Task, result: RunResult) -> RunResult:
        if result.status == "interrupted" and result.stop_reason.startswith(WAITS):
            self.plan = [step.title for step in result.plan]
            self._proposal = task, result.events[:-1]
        return result

    @contextmanager
    def _continued(self, steps: Iterable[str] | None, key: Hashable, *, awaited: bool = False) -> Generator[Run]:
        """The run of the proposal, gone on with. Where it is done once more, its scripts go back to its end."""
        task, begun, loop, goes_on = self._waiting(steps, key)
        if self._done is not None and not any(Marks.of(self.models).since(self._done[1]).values()):
            self._done[0].go()
        start = Marks.of(self.models)
        with self._running(task, awaited=awaited, begun=begun, loop=loop, goes_on=goes_on) as run:
            yield run
        self._done = start, Marks.of(self.models)

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
