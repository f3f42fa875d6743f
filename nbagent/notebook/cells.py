"""Cells: what happens when an agent cell or an `%agent` line runs. Parse, build, run, show."""

from __future__ import annotations

import asyncio
from collections import ChainMap
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from nbagent.agents.plan_agent import PlanAgent
from nbagent.errors import CellError, MissingKey
from nbagent.notebook.build import Namespace, build, draft, images
from nbagent.notebook.cell import Cell, parse_cell, parse_line
from nbagent.notebook.config import apply, register
from nbagent.notebook.described import inputs, text
from nbagent.notebook.identity import CellIdentity
from nbagent.notebook.keeping import look_after
from nbagent.notebook.show import Output, show
from nbagent.prompt.inputs import Inputs
from nbagent.redact import know_environment

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Generator, Mapping, MutableMapping

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.base import BaseAgent
    from nbagent.agents.task import RunOptions
    from nbagent.events import StreamEvent
    from nbagent.notebook.spec import CellSpec
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

    def stream(self) -> Generator[StreamEvent]:
        """What happens in the run."""
        agent = self.agent
        if self.what == "run" or not isinstance(agent, PlanAgent):
            return agent.stream(self.given, **self.how)
        if self.what == "propose":
            return agent.stream_proposal(self.given, **self.how)
        return agent.stream_plan(key=self.how.get("key"))

    def astream(self) -> AsyncGenerator[StreamEvent]:
        """The same for `async for`."""
        agent = self.agent
        if self.what == "run" or not isinstance(agent, PlanAgent):
            return agent.astream(self.given, **self.how)
        if self.what == "propose":
            return agent.astream_proposal(self.given, **self.how)
        return agent.astream_plan(key=self.how.get("key"))


async def _heard(job: Job, output: Output) -> None:
    async with aclosing(job.astream()) as events:
        async for event in events:
            output.take(event)


async def _decided(job: Job, output: Output) -> Job:
    """Asks whoever is there what to do with the plan that the job has proposed, and does it."""
    agent, result = job.agent, job.agent.last
    if not isinstance(agent, PlanAgent) or result is None or result.status != "interrupted":
        return job
    steps = await output.ask(result, agent.plan)
    if steps is None:
        return job
    agent.plan[:] = steps
    run = replace(job, what="run_plan")
    await _heard(run, output)
    return run


class _Skipped(Exception):
    """The cell is not run, and says so."""


class Cells:
    """Runs the agent cells of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._identity = CellIdentity()
        self._config = register(shell)
        self._skipped: dict[str, str] = {}
        """Why the newest description of an agent was skipped, by its name."""

    @property
    def _namespace(self) -> MutableMapping[str, Any]:
        return cast("MutableMapping[str, Any]", self._shell.user_ns)  # pyright: ignore[reportUnknownMemberType]

    def run_cell(self, line: str, body: str, magic: str = "agent") -> Awaitable[None]:
        """An `%%agent` cell. Its errors are real exceptions; the run so far is shown before they are raised."""
        if not self._shell.autoawait:  # nobody would await what is returned, and the cell would do nothing
            raise CellError("an agent cell is awaited, and %autoawait is off; run `%autoawait on` first")
        return self._run_cell(parse_cell(line, body, magic))

    async def _run_cell(self, cell: Cell) -> None:
        await self._arun(self._prepare(cell, self._namespace))

    def run_cell_plainly(self, line: str, body: str, magic: str = "agent") -> None:
        """An `%%agent` cell inside another cell magic, such as `%%capture`, where nothing can be awaited."""
        self._run(self._prepare(parse_cell(line, body, magic), self._namespace))

    async def arun_line(self, line: str, local: Mapping[str, Any] | None, magic: str = "agent") -> None:
        """An `%agent` line at top level."""
        await self._arun(self._line(line, local, magic))

    def run_line(self, line: str, local: Mapping[str, Any] | None, magic: str = "agent") -> None:
        """An `%agent` line where nothing can be awaited, as inside a `def`."""
        self._run(self._line(line, local, magic))

    def run_prompt(self, line: str, local: Mapping[str, Any] | None) -> None:
        """A `%prompt` line: what a run would send, what one has sent, or how two differ."""
        from nbagent.notebook.prompt_line import run_prompt

        run_prompt(self._shell, line, ChainMap(dict(local or {}), self._namespace))

    def _run(self, job: Job | None) -> None:
        if job is None:
            return
        output = Output(self._shell, quiet=job.quiet)
        try:
            with closing(job.stream()) as events:
                for event in events:
                    output.take(event)
        finally:
            self._end(job, output)

    async def _arun(self, job: Job | None) -> None:
        if job is None:
            return
        output = Output(self._shell, quiet=job.quiet)
        try:
            await _heard(job, output)
            if job.what == "propose":
                job = await _decided(job, output)
        except asyncio.CancelledError:
            # The kernel's interrupt cancels the cell's task; what its user did is Ctrl-C.
            raise KeyboardInterrupt from None
        finally:
            self._end(job, output)

    def _end(self, job: Job, output: Output) -> None:
        result = job.agent.last
        if result is None or result is job.before:
            return  # the run did not even begin
        if job.out:
            self._namespace[job.out] = result
        output.end(result)

    def _line(self, line: str, local: Mapping[str, Any] | None, magic: str) -> Job | None:
        parsed = parse_line(line or "--help", magic)
        namespace: Namespace = ChainMap(dict(local or {}), self._namespace)
        if parsed.subcommand is None:
            return self._prepare(parsed.cell, namespace)
        if said := look_after(parsed, namespace, self._namespace):
            show(self._shell, {"text/plain": said})
        return None

    def _prepare(self, cell: Cell, namespace: Namespace) -> Job | None:
        """Builds what the cell describes. None where there is nothing to run; that is then shown."""
        if cell.help is not None:
            show(self._shell, {"text/plain": cell.help})
            return None
        spec = cell.spec
        if spec.out == spec.name:
            raise CellError(f"out: {spec.out!r} is the agent's own name; its result is {spec.name}.last")
        task = text(cell.task, namespace, "task", cell.task_lines)
        if cell.task and not "".join(piece.text for piece in task).strip():
            raise CellError(f"Cell line {cell.task_line}: the task is empty, since its references have empty values")
        given, shown = inputs(cell, task, namespace), images(spec, namespace)
        know_environment()
        if spec.script is None:  # a scripted cell needs nothing of providers and keys
            apply(self._config, self._shell)
        if spec.dry:
            from nbagent.notebook import dry

            agent, key = draft(cell, namespace, self._namespace), self._identity.key_to_come(self._shell)
            prompt = agent.observe(given or Inputs(), images=shown, key=key)
            dry.show_prompt(self._shell, dry.shown(agent, prompt), prompt)
            return None
        try:
            agent = self._built(cell, namespace, given)
        except _Skipped as skipped:
            show(self._shell, {"text/plain": str(skipped)})
            return None
        what = _what(spec, agent, given)
        if given is None and what != "run_plan":
            if not spec.quiet:
                show(self._shell, agent.card)
            return None
        how: RunOptions = {"images": shown, "key": self._identity.next_key(self._shell), "scope": spec.scope}
        if spec.retries is not None:
            how["retries"] = spec.retries
        return Job(agent, given or Inputs(), how, spec.out, bool(spec.quiet), agent.last, what)

    def _built(self, cell: Cell, namespace: Namespace, given: Inputs | None) -> BaseAgent:
        """The cell's agent. Raises `_Skipped` where its key is missing and the cell says what to do then."""
        spec = cell.spec
        why = self._skipped.get(spec.name)
        if why is not None and spec.model is None and spec.script is None:
            # The agent that its newest description would have made is not there; an older one must not answer.
            raise _Skipped(why) if spec.skip_without_key else CellError(f"agent {spec.name!r} is not there: {why}")
        try:
            agent = build(cell, namespace=namespace, bind=self._namespace, given=given)
        except MissingKey as missing:
            if not spec.skip_without_key:
                raise
            why = f"skipped: {str(missing).removeprefix('no key: ').partition('. ')[0]}"
            self._skipped[spec.name] = why
            raise _Skipped(why) from None
        self._skipped.pop(spec.name, None)
        return agent


def _what(spec: CellSpec, agent: BaseAgent, given: Inputs | None) -> Literal["run", "propose", "run_plan"]:
    """What a cell does with its agent. Raises CellError where that cannot be done."""
    if not spec.propose and not spec.run:
        return "run"
    word = "propose" if spec.propose else "run"
    if not isinstance(agent, PlanAgent):
        raise CellError(f"{word}: only a plan is proposed, and {spec.name!r} is no plan agent; begin with `%%plan`")
    if spec.propose and spec.run:
        raise CellError("propose and run: one makes a plan, the other does it; keep one of them")
    if spec.run and given is not None:
        raise CellError("run: the plan has its task already; leave the task out")
    if spec.run and not agent.plan:
        raise CellError(f"run: no plan waits; make one first: `%%plan {spec.name} --propose` with a task")
    return "propose" if spec.propose else "run_plan"
