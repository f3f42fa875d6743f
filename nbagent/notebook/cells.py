"""Cells: what happens when an agent cell or an `%agent` line runs. Parse, build, run, show."""

from __future__ import annotations

import asyncio
from collections import ChainMap
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import CellError, MissingKey
from nbagent.notebook.build import Namespace, build, draft, images, known
from nbagent.notebook.cell import Cell, LineCell, parse_cell, parse_line
from nbagent.notebook.config import apply, register
from nbagent.notebook.described import inputs, text
from nbagent.notebook.identity import CellIdentity
from nbagent.notebook.show import Output, show
from nbagent.prompt.inputs import Inputs
from nbagent.redact import know_environment

if TYPE_CHECKING:
    from collections.abc import Awaitable, Hashable, Mapping, MutableMapping

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.agent import Agent
    from nbagent.messages import Image
    from nbagent.runtime.result import RunResult


@dataclass(frozen=True, slots=True)
class Job:
    """A run that a cell asks for."""

    agent: Agent
    given: Inputs
    key: Hashable
    out: str | None
    images: tuple[Image, ...]
    quiet: bool
    before: RunResult | None
    """The agent's newest result before this run."""


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

    def run_prompt(self, line: str, local: Mapping[str, Any] | None) -> None:
        """A `%prompt` line: what a run would send, what one has sent, or how two differ."""
        from nbagent.notebook.prompt_line import run_prompt

        run_prompt(self._shell, line, ChainMap(dict(local or {}), self._namespace))

    def _run(self, job: Job | None) -> None:
        if job is None:
            return
        output = Output(self._shell, quiet=job.quiet)
        try:
            with closing(job.agent.stream(job.given, images=job.images, key=job.key)) as events:
                for event in events:
                    output.take(event)
        finally:
            self._end(job, output)

    async def _arun(self, job: Job | None) -> None:
        if job is None:
            return
        output = Output(self._shell, quiet=job.quiet)
        try:
            async with aclosing(job.agent.astream(job.given, images=job.images, key=job.key)) as events:
                async for event in events:
                    output.take(event)
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
        if given is None:
            if not spec.quiet:
                show(self._shell, agent.card)
            return None
        return Job(agent, given, self._identity.next_key(self._shell), spec.out, shown, bool(spec.quiet), agent.last)

    def _built(self, cell: Cell, namespace: Namespace, given: Inputs | None) -> Agent:
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

    def _look_after(self, parsed: LineCell, namespace: Namespace) -> None:
        """A subcommand of `%agent`."""
        name, rest = parsed.cell.spec.name, parsed.cell.task
        if parsed.subcommand != "reset":
            raise CellError(
                f"`%agent {parsed.subcommand}` does not exist; write `%agent NAME TASK…` or `%agent reset NAME`"
            )
        if rest:
            raise CellError(f"`%agent reset NAME` takes one name; got {rest!r} after it")
        known(name, namespace).reset()
