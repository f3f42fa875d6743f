"""Cells: what happens when an agent cell or an `%agent` line runs. Parse, build, run, show."""

from __future__ import annotations

import asyncio
from collections import ChainMap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import CellError, MissingKey
from nbagent.notebook.build import Namespace, agents, build, find, images, text
from nbagent.notebook.cell import Cell, LineCell, parse_cell, parse_line
from nbagent.notebook.config import apply, register
from nbagent.notebook.identity import CellIdentity
from nbagent.notebook.show import show, show_run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Hashable, Mapping, MutableMapping

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.agent import Agent
    from nbagent.messages import Image
    from nbagent.prompt.observe import Text
    from nbagent.runtime.result import RunResult


@dataclass(frozen=True, slots=True)
class Job:
    """A run that a cell asks for."""

    agent: Agent
    task: Text
    key: Hashable
    out: str | None
    images: tuple[Image, ...]
    quiet: bool
    before: RunResult | None
    """The agent's newest result before this run."""


class Cells:
    """Runs the agent cells of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._identity = CellIdentity()
        self._config = register(shell)

    @property
    def _namespace(self) -> MutableMapping[str, Any]:
        return cast("MutableMapping[str, Any]", self._shell.user_ns)  # pyright: ignore[reportUnknownMemberType]

    def run_cell(self, line: str, body: str) -> Awaitable[None]:
        """An `%%agent` cell. Its errors are real exceptions; the run so far is shown before they are raised."""
        if not self._shell.autoawait:  # nobody would await what is returned, and the cell would do nothing
            raise CellError("an agent cell is awaited, and %autoawait is off; run `%autoawait on` first")
        return self._run_cell(line, body)

    async def _run_cell(self, line: str, body: str) -> None:
        await self._arun(self._prepare(parse_cell(line, body), self._namespace))

    def run_cell_plainly(self, line: str, body: str) -> None:
        """An `%%agent` cell inside another cell magic, such as `%%capture`, where nothing can be awaited."""
        self._run(self._prepare(parse_cell(line, body), self._namespace))

    async def arun_line(self, line: str, local: Mapping[str, Any] | None) -> None:
        """An `%agent` line at top level."""
        await self._arun(self._line(line, local))

    def run_line(self, line: str, local: Mapping[str, Any] | None) -> None:
        """An `%agent` line where nothing can be awaited, as inside a `def`."""
        self._run(self._line(line, local))

    def _run(self, job: Job | None) -> None:
        if job is None:
            return
        try:
            job.agent.run(job.task, images=job.images, key=job.key)
        finally:
            self._end(job)

    async def _arun(self, job: Job | None) -> None:
        if job is None:
            return
        try:
            await job.agent.arun(job.task, images=job.images, key=job.key)
        except asyncio.CancelledError:
            # The kernel's interrupt cancels the cell's task; what its user did is Ctrl-C.
            raise KeyboardInterrupt from None
        finally:
            self._end(job)

    def _end(self, job: Job) -> None:
        result = job.agent.last
        if result is None or result is job.before:
            return  # the run did not even begin
        if job.out:
            self._namespace[job.out] = result
        if not job.quiet:
            show_run(self._shell, result)

    def _line(self, line: str, local: Mapping[str, Any] | None) -> Job | None:
        parsed = parse_line(line or "--help")
        namespace: Namespace = ChainMap(dict(local or {}), self._namespace)
        if parsed.subcommand is None:
            return self._prepare(parsed.cell, namespace)
        self._look_after(parsed, namespace)
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
        shown = images(spec, namespace)
        apply(self._config, self._shell)
        try:
            agent = build(cell, namespace=namespace, bind=self._namespace)
        except MissingKey as missing:
            if not spec.skip_without_key:
                raise
            show(self._shell, {"text/plain": f"skipped: {str(missing).removeprefix('no key: ').partition('. ')[0]}"})
            return None
        if not cell.task:
            if not spec.quiet:
                show(self._shell, agent.card)
            return None
        return Job(agent, task, self._identity.next_key(self._shell), spec.out, shown, bool(spec.quiet), agent.last)

    def _look_after(self, parsed: LineCell, namespace: Namespace) -> None:
        """A subcommand of `%agent`."""
        name, rest = parsed.cell.spec.name, parsed.cell.task
        if parsed.subcommand != "reset":
            raise CellError(
                f"`%agent {parsed.subcommand}` does not exist; write `%agent NAME TASK…` or `%agent reset NAME`"
            )
        if rest:
            raise CellError(f"`%agent reset NAME` takes one name; got {rest!r} after it")
        agent = find(name, namespace)
        if agent is None:
            raise CellError(f"no agent {name!r} to reset; {_agents(self._namespace)}")
        agent.reset()


def _agents(namespace: Namespace) -> str:
    names = agents(namespace)
    return f"there are: {', '.join(names)}" if names else "there are no agents yet"
