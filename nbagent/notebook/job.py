"""Job: a run that a cell or a line asks for."""

from __future__ import annotations

from contextlib import aclosing, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from nbagent.agents.plan_agent import PlanAgent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping

    from nbagent.agents.base import BaseAgent
    from nbagent.agents.plan_agent import PlanOptions
    from nbagent.agents.task import RunOptions
    from nbagent.events import StreamEvent
    from nbagent.notebook.branch_line import RunFork
    from nbagent.notebook.deciding import Way
    from nbagent.notebook.decisions import OnApproval
    from nbagent.notebook.show import Output
    from nbagent.prompt.inputs import Inputs
    from nbagent.runtime.result import RunResult


@dataclass(frozen=True, slots=True)
class Job:
    """A run that a cell asks for."""

    agent: BaseAgent
    given: Inputs
    how: RunOptions
    out: str | None
    quiet: bool
    before: RunResult | None
    """The agent's newest result before this run."""
    what: Literal["run", "propose", "run_plan"] = "run"
    """`propose`: only make a plan; `run_plan`: do the one that was proposed."""
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where each field stands that the cell says."""
    on_approval: OnApproval | None = None
    way: Way | None = None
    """How a run that waits goes on."""
    fork: RunFork | None = None
    """The run that it is forked from, and where."""

    def stream(self) -> Generator[StreamEvent]:
        """What happens in the run."""
        agent = self.agent
        if self.way is not None:
            return agent.stream_resume(self.way.said, **self.way.options)
        if self.fork is not None:
            return agent.stream_fork(self.fork.run, **self.fork.how)
        if self.what == "run" or not isinstance(agent, PlanAgent):
            return agent.stream(self.given, **self.how)
        if self.what == "propose":
            return agent.stream_proposal(self.given, **self.how)
        return agent.stream_plan(**self._plan)

    def astream(self) -> AsyncGenerator[StreamEvent]:
        """The same for `async for`."""
        agent = self.agent
        if self.way is not None:
            return agent.astream_resume(self.way.said, **self.way.options)
        if self.fork is not None:
            return agent.astream_fork(self.fork.run, **self.fork.how)
        if self.what == "run" or not isinstance(agent, PlanAgent):
            return agent.astream(self.given, **self.how)
        if self.what == "propose":
            return agent.astream_proposal(self.given, **self.how)
        return agent.astream_plan(**self._plan)

    @property
    def _plan(self) -> PlanOptions:
        """How a plan is done."""
        return {"key": self.how.get("key"), "decisions": self.how.get("decisions")}


async def heard(job: Job, output: Output) -> None:
    """Shows what happens in the run."""
    with output.overhearing():
        async with aclosing(job.astream()) as events:
            async for event in events:
                output.take(event)


def heard_now(job: Job, output: Output) -> None:
    """The same where nothing can be awaited."""
    with output.overhearing(), closing(job.stream()) as events:
        for event in events:
            output.take(event)
