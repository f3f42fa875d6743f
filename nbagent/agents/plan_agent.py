"""PlanAgent: an agent that first makes a plan, then does its steps, then concludes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

from typing_extensions import TypedDict, Unpack

from nbagent.agents.base import BaseAgent, Given
from nbagent.agents.marks import Marks
from nbagent.agents.options import Options, own_options
from nbagent.agents.plan import asking, plan_and_solve
from nbagent.agents.proposal import Proposal, steps_of
from nbagent.agents.stored import left_by, reopened
from nbagent.errors import ConfigError
from nbagent.events import RunFinished
from nbagent.messages import Prompt, Segment
from nbagent.runtime.drivers import adrive, drive

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Hashable, Sequence

    from nbagent.agents.forks import Forks
    from nbagent.agents.loop import Setup
    from nbagent.agents.resuming import ResumeOptions
    from nbagent.agents.task import RunOptions, Task
    from nbagent.approvals.asking import Asked, Written
    from nbagent.events import Event, StreamEvent
    from nbagent.prompt.inputs import Text
    from nbagent.runtime.effects import Loop
    from nbagent.runtime.nested import Unknown
    from nbagent.runtime.result import RunResult
    from nbagent.runtime.run import Run


class PlanOptions(TypedDict, total=False):
    """The options of `run_plan`, for those that take the same."""

    key: Hashable
    unknown: Unknown
    decisions: Iterable[Any] | Written | None
    decide: Asked | None


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
        self._proposal: Proposal | None = None

    made_of = (*BaseAgent.made_of, "replan")

    def _loop(self, setup: Setup) -> Loop:
        return plan_and_solve(setup, replan=self.replan)

    def become(self, other: BaseAgent) -> None:
        """Takes over what the other agent is. A plan that was proposed is forgotten: another agent has made it."""
        self._forget()
        super().become(other)

    def reset(self) -> None:
        """Starts over: forgets what was said and proposed, and goes back to the beginning of a script."""
        super().reset()
        self._forget()

    def forked(self, forks: Forks, name: str) -> Self:
        """The copy of this agent that belongs to a fork. A plan that waits is its own, too."""
        made = super().forked(forks, name)
        made.plan = [*self.plan]
        if self._proposal is not None:
            prompting = made.prompting.like(self._proposal.task.prompting)
            made._proposal = self._proposal.forked(prompting, forks.marks)  # noqa: SLF001
        return made

    def _forget(self) -> None:
        if self._proposal is not None and self._proposal.paused is not None:
            self._runs.waiting.forget(self._proposal.paused)
        self._proposal, self.plan = None, []

    def propose(self, inputs: Given, **options: Unpack[RunOptions]) -> RunResult:
        """Only makes the plan: the run ends as interrupted, `plan` has its steps, and `run_plan` goes on with it.

        options: those of `run`.
        """
        with self._proposing(inputs, options) as run:
            for _ in drive(run):
                pass
        return run.result

    async def apropose(self, inputs: Given, **options: Unpack[RunOptions]) -> RunResult:
        """`propose` for `await`."""
        with self._proposing(inputs, options, awaited=True) as run:
            async with aclosing(adrive(run)) as events:
                async for _ in events:
                    pass
        return run.result

    def stream_proposal(self, inputs: Given, **options: Unpack[RunOptions]) -> Generator[StreamEvent]:
        """`propose`, yielding what happens."""
        with self._proposing(inputs, options) as run:
            yield from drive(run)

    async def astream_proposal(self, inputs: Given, **options: Unpack[RunOptions]) -> AsyncGenerator[StreamEvent]:
        """The same for `async for`."""
        with self._proposing(inputs, options, awaited=True) as run:
            async with aclosing(adrive(run)) as events:
                async for event in events:
                    yield event

    def run_plan(
        self, steps: Iterable[str] | None = None, *, key: Hashable = None, unknown: Unknown = "ask",
        decisions: Iterable[Any] | Written | None = None, decide: Asked | None = None,
    ) -> RunResult:  # fmt: skip
        """Does the plan that was proposed; the run is gone on with, so the plan is not made again.

        A run of the same steps that was stopped, or has failed, goes on where it was; one that has come to an end is
        done once more.

        steps: what is to be done, default `plan` as it is now. key: names this exchange of the conversation. unknown:
        what to do about a tool call that was stopped, as in `replay`: it may have taken effect. decisions, decide: as
        in `run`; they come before and after those of the proposal. Raises ConfigError where no plan was proposed,
        where it has no steps, or where somebody does it already.
        """
        with self._continued(steps, key=key, unknown=unknown, decisions=decisions, decide=decide) as run:
            for _ in drive(run):
                pass
        return run.result

    async def arun_plan(self, steps: Iterable[str] | None = None, **how: Unpack[PlanOptions]) -> RunResult:
        """`run_plan` for `await`."""
        with self._continued(steps, awaited=True, **how) as run:
            async with aclosing(adrive(run)) as events:
                async for _ in events:
                    pass
        return run.result

    def stream_plan(self, steps: Iterable[str] | None = None, **how: Unpack[PlanOptions]) -> Generator[StreamEvent]:
        """`run_plan`, yielding what happens; what the proposal has done comes again."""
        with self._continued(steps, **how) as run:
            yield from drive(run)

    async def astream_plan(
        self, steps: Iterable[str] | None = None, **how: Unpack[PlanOptions]
    ) -> AsyncGenerator[StreamEvent]:
        """The same for `async for`."""
        with self._continued(steps, awaited=True, **how) as run:
            async with aclosing(adrive(run)) as events:
                async for event in events:
                    yield event

    @contextmanager
    def _proposing(self, inputs: Given, options: RunOptions, *, awaited: bool = False) -> Generator[Run]:
        """The run of a proposal, which takes the place of the one before; also where it is left before its end."""
        task = self._task(inputs, **options)
        self._forget()
        run = None
        try:
            with self._running(task, awaited=awaited, loop=self._proposed) as run:
                yield run
        finally:
            if run is not None:
                self._keep(task, run)

    def check_forked(self, run_id: str, events: Sequence[Event]) -> None:
        """A fork of a proposal would do the plan, which nobody has agreed to."""
        if isinstance(last := events[-1], RunFinished) and last.stop_reason.startswith(WAITS):
            raise ConfigError(
                f"fork: {run_id} is a plan that was only proposed; change `{self.name}.plan` and do it with "
                f"`{self.name}.run_plan()`, then fork that run"
            )

    def _proposed(self, setup: Setup) -> Loop:
        how = f"change {self.name}.plan if you like, then run it: %plan {self.name} --run"
        return plan_and_solve(setup, propose=f"{WAITS}: {how}")

    def opening(self, prompt: Prompt) -> Prompt:
        """The prompt of the first request: that asks for the plan."""
        said = [Segment("user", "plan", one.text, one.source) for one in asking(prompt, self.texts, prompt.tools)]
        system = tuple([segment for segment in prompt.segments if segment.role == "system"])
        return Prompt((*system, *said), prompt.history, (), prompt.images, prompt.examples)

    def _keep(self, task: Task, run: Run) -> None:
        result = run.result
        if result.status == "interrupted" and result.stop_reason.startswith(WAITS):
            self.plan = [step.title for step in result.plan]
            paused = self._runs.waiting.of(result)
            # Its exchange has a name that the task alone does not know, where it has no key.
            named = task if paused is None else paused.task
            self._proposal = Proposal(named, result.events[:-1], paused=paused, left=left_by(run))

    @contextmanager
    def _continued(
        self, steps: Iterable[str] | None, *, awaited: bool = False, **how: Unpack[PlanOptions]
    ) -> Generator[Run]:
        """The run of the proposal, gone on with; where that was stopped, from there on."""
        proposal, chosen = self._waiting(steps)
        key, waiting = how.get("key"), self._runs.waiting
        task = replace(proposal.task, key=key).decided(how.get("decisions"), how.get("decide"))
        paused = proposal.paused if proposal.paused in waiting.all() else None
        with waiting.claimed(paused):
            goes_on_here = proposal.is_untouched(self)
            proposal.set_back(self)
            start, run = Marks.of(self.models), None
            file, begun = reopened(self, proposal.begun(chosen), proposal.left)
            try:
                with self._running(
                    task, awaited=awaited, begun=begun, file=file,
                    loop=partial(plan_and_solve, replan=self.replan, steps=chosen),
                    goes_on=key is not None and key == proposal.task.key, unknown=how.get("unknown", "ask"),
                ) as run:  # fmt: skip
                    if goes_on_here:
                        proposal.set_forth(self, chosen)
                    yield run
            finally:
                if run is not None and paused is not None:
                    waiting.gone_on(paused)
                if run is not None and self._proposal is proposal:
                    self._proposal = self._ran(proposal, chosen, start, run)

    def _ran(self, proposal: Proposal, steps: tuple[str, ...], start: Marks, run: Run) -> Proposal:
        made = proposal.ran(self, steps, start, run.result)
        return replace(made, paused=self._runs.waiting.of(run.result), left=left_by(run))

    @contextmanager
    def _resumed(
        self, decision: Any, *, awaited: bool = False, **options: Unpack[ResumeOptions]
    ) -> Generator[Run]:  # fmt: skip
        """The run that waits, gone on with. A plan that was only proposed is done, where that is what was decided."""
        paused, proposal = self._paused(decision, options.get("run"), options.get("scope")), self._proposal
        planned = paused if proposal is not None and proposal.paused is paused else None
        if planned is not None and not planned.pendings and decision is not None:
            steps = steps_of(decision)
            key, decide = planned.task.key, options.get("decide")
            with self._continued(steps, awaited=awaited, key=key, decide=decide) as going_on:
                yield going_on
            return
        start, going_on = Marks.of(self.models), None
        try:
            with super()._resumed(decision, awaited=awaited, **options) as going_on:
                yield going_on
        finally:
            left = proposal if going_on is not None and self._proposal is proposal else None
            if going_on is not None and left is not None and (planned is not None or left.is_of(going_on.result)):
                self._proposal = self._ran(left, left.steps, left.start or start, going_on)

    def _waiting(self, steps: Iterable[str] | None) -> tuple[Proposal, tuple[str, ...]]:
        """What was proposed, and the steps that are to be done."""
        if self._proposal is None:
            raise ConfigError(f"no plan waits to be run; make one first: {self.name}.propose(task)")
        said: Any = self.plan if steps is None else steps
        is_list = isinstance(said, Iterable) and not isinstance(said, str)
        given: list[Any] = list(cast("Iterable[Any]", said)) if is_list else [said]
        if not given or not all(isinstance(step, str) and step.strip() for step in given):
            raise ConfigError(f"plan: expected one step or more, each a text that is not empty; got {given!r}")
        return self._proposal, tuple([" ".join(step.split()) for step in given])
