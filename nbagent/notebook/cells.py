"""Cells: what happens when an agent cell or an `%agent` line runs. Parse, build, run, show."""

from __future__ import annotations

import asyncio
from collections import ChainMap
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

from nbagent.agents.plan_agent import PlanAgent
from nbagent.errors import CellError, MissingKey
from nbagent.notebook.blame import blaming, placed
from nbagent.notebook.branch_line import compared, forked, is_at_a_turn
from nbagent.notebook.build import Namespace, build, changes, draft, find, images, strategy_of
from nbagent.notebook.cell import Cell, parse_cell, parse_line
from nbagent.notebook.config import apply, register
from nbagent.notebook.deciding import Way, waits
from nbagent.notebook.described import inputs, text
from nbagent.notebook.going_on import go_on, go_on_now
from nbagent.notebook.identity import CellIdentity
from nbagent.notebook.job import Job, heard, heard_now
from nbagent.notebook.keeping import look_after, viewed
from nbagent.notebook.looks import Looks
from nbagent.notebook.panel import Unanswered
from nbagent.notebook.plan_question import PlanQuestion
from nbagent.notebook.show import Output, show
from nbagent.notebook.spec import COMPARING, DECIDING, STORED
from nbagent.notebook.suspended import Suspended
from nbagent.prompt.inputs import Inputs
from nbagent.prompt.observe import NothingToSay
from nbagent.redact import know_environment
from nbagent.views.bundle import bundle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.base import BaseAgent
    from nbagent.agents.task import RunOptions
    from nbagent.messages import Prompt
    from nbagent.notebook.cell import LineCell
    from nbagent.notebook.plan_question import Steps
    from nbagent.notebook.spec import CellSpec
    from nbagent.views.html import Section


def _question(job: Job) -> PlanQuestion | None:
    """What is to be asked about the plan that a job has proposed."""
    agent, result = job.agent, job.agent.last
    if job.what != "propose" or not isinstance(agent, PlanAgent) or result is None or not result.interrupted:
        return None
    return None if waits(result) else PlanQuestion(agent.plan)


def _next(job: Job, steps: Steps | Unanswered | None) -> Job | None:
    """The run that does the steps, if that was decided."""
    if steps is None or isinstance(steps, Unanswered) or not isinstance(job.agent, PlanAgent):
        return None
    job.agent.plan[:] = steps
    # Decisions of the cell are those of the proposal already.
    return replace(job, what="run_plan", how={"key": job.how.get("key")})


def _stop_of_this_cell() -> Callable[[], object] | None:
    """Ends the cell as the kernel's interrupt does."""
    task = asyncio.current_task()
    return None if task is None else task.cancel


class _Skipped(Exception):
    """The cell is not run, and says so."""


class Cells:
    """Runs the agent cells of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._identity = CellIdentity()
        self._config = register(shell)
        self._suspended = Suspended(shell)
        self._looks = Looks(shell)
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
        await self._suspended.begin_cell()
        await self._arun(self._prepare(cell, self._namespace))

    def run_cell_plainly(self, line: str, body: str, magic: str = "agent") -> None:
        """An `%%agent` cell inside another cell magic, such as `%%capture`, where nothing can be awaited."""
        self._suspended.begin_cell_now()
        self._run(self._prepare(parse_cell(line, body, magic), self._namespace))

    async def arun_line(self, line: str, local: Mapping[str, Any] | None, magic: str = "agent") -> None:
        """An `%agent` line at top level."""
        await self._suspended.begin_cell()
        await self._arun(self._line(line, local, magic))

    def run_line(self, line: str, local: Mapping[str, Any] | None, magic: str = "agent") -> None:
        """An `%agent` line where nothing can be awaited, as inside a `def`."""
        self._suspended.begin_cell_now()
        self._run(self._line(line, local, magic))

    def run_prompt(self, line: str, local: Mapping[str, Any] | None) -> None:
        """A `%prompt` line: what a run would send, what one has sent, or how two differ."""
        from nbagent.notebook.prompt_line import run_prompt

        run_prompt(self._shell, line, ChainMap(dict(local or {}), self._namespace))

    def _run(self, job: Job | None) -> None:
        if job is not None:
            with self._suspended.in_cell(job):
                self._run_job(job)

    def _run_job(self, job: Job) -> None:
        output = self._output(job)
        try:
            heard_now(job, output)
            if (question := _question(job)) and (run := _next(job, output.ask_now(question))):
                job = run
                heard_now(job, output)
            go_on_now(self._shell, job, output, heard_now, self._suspended)
        except NothingToSay as error:
            raise _nothing_to_say(error, job) from None
        finally:
            self._end(job, output)

    async def _arun(self, job: Job | None) -> None:
        if job is not None:
            with self._suspended.in_cell(job):
                await self._arun_job(job)

    async def _arun_job(self, job: Job) -> None:
        output = self._output(job, _stop_of_this_cell())
        try:
            await heard(job, output)
            if (question := _question(job)) and (run := _next(job, await output.ask(question))):
                job = run
                await heard(job, output)
            await go_on(self._shell, job, output, heard, self._suspended)
        except asyncio.CancelledError:
            # The kernel's interrupt cancels the cell's task; what its user did is Ctrl-C.
            raise KeyboardInterrupt from None
        except NothingToSay as error:
            raise _nothing_to_say(error, job) from None
        finally:
            self._end(job, output)

    def _output(self, job: Job, stop: Callable[[], object] | None = None) -> Output:
        def request(prompt: Prompt) -> Section:
            from nbagent.notebook import dry

            return dry.request_of(job.agent, prompt)

        return Output(self._shell, quiet=job.quiet, live=self._config.live, stop=stop, request=request)

    def _end(self, job: Job, output: Output) -> None:
        result = job.agent.last
        if result is job.before:
            result = None  # the run did not even begin
        if job.out and result is not None:
            self._namespace[job.out] = result
        is_beside = job.fork is not None and result is not None and not result.interrupted
        output.end(result, job.fork.compared(result) if is_beside and job.fork and result else None)

    def _line(self, line: str, local: Mapping[str, Any] | None, magic: str) -> Job | None:
        parsed = parse_line(line or "--help", magic)
        namespace: Namespace = ChainMap(dict(local or {}), self._namespace)
        if parsed.subcommand is None or parsed.cell.help is not None:
            return self._prepare(parsed.cell, namespace)
        if parsed.subcommand in DECIDING:
            return self._resumed(parsed, namespace)
        if parsed.subcommand in STORED:
            return self._from_store(parsed, namespace)
        if parsed.subcommand == "fork" and is_at_a_turn(parsed.cell.task):
            fork, spec = forked(parsed.cell.task, namespace), parsed.cell.spec
            how: RunOptions = {}
            return Job(
                fork.agent, Inputs(), how, spec.out, bool(spec.quiet), fork.agent.last, on_approval=spec.on_approval,
                fork=fork,
            )  # fmt: skip
        if parsed.subcommand in COMPARING:
            show(self._shell, compared(parsed.cell.task, namespace).bundle)
            return None
        if parsed.subcommand == "view":
            self._view(parsed, namespace)
            return None
        if said := look_after(parsed, namespace, self._namespace):
            show(self._shell, {"text/plain": said})
        return None

    def _view(self, line: LineCell, namespace: Namespace) -> None:
        """A run once more; to whoever is there also event by event."""
        agent, result = viewed(line, namespace)
        show(self._shell, dict(bundle(result.events)))
        self._looks.look(agent, line.cell.spec.name, result)
        Output(self._shell, quiet=False).end_figures(result)

    def _resumed(self, line: LineCell, namespace: Namespace) -> Job | None:
        """What a line decides about a run that waits. None where it only shows or drops one."""
        from nbagent.notebook.decision_line import decide

        said, spec = decide(line, namespace), line.cell.spec
        if isinstance(said, str):
            show(self._shell, {"text/plain": said})
            return None
        return _goes_on(said.agent, spec, Way(said.decision, scope=said.scope, revoke=said.revoke))

    def _from_store(self, line: LineCell, namespace: Namespace) -> Job | None:
        """A run on disk that goes on. None where the line only lists them."""
        from nbagent.notebook.stored_line import at_store

        said, spec = at_store(line, namespace, self._config.store), line.cell.spec
        for note in [said] if isinstance(said, str) else said.notes:
            show(self._shell, {"text/plain": note})
        if isinstance(said, str):
            return None
        return _goes_on(said.agent, spec, Way(said.decision, run=said.run))

    def _prepare(self, cell: Cell, namespace: Namespace) -> Job | None:
        """Builds what the cell describes. None where there is nothing to run; that is then shown."""
        if cell.help is not None:
            show(self._shell, {"text/plain": cell.help})
            return None
        with blaming(cell.origins):
            return self._job(cell, namespace)

    def _job(self, cell: Cell, namespace: Namespace) -> Job | None:
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
        kept = find(spec.name, namespace)
        if given is not None and kept is not None:
            kept.check_free(spec.scope, self._identity.key_to_come(self._shell))  # before anything changes
        what = _what(cell, kept, given)
        written = None if spec.decisions is None else spec.decisions.written()
        try:
            agent = self._built(cell, namespace, given)
        except _Skipped as skipped:
            show(self._shell, {"text/plain": str(skipped)})
            return None
        if given is None and what != "run_plan":
            if not spec.quiet:
                show(self._shell, agent.card)
            return None
        how: RunOptions = {"images": shown, "key": self._identity.next_key(self._shell), "scope": spec.scope}
        if spec.retries is not None:
            how["retries"] = spec.retries
        if written is not None:
            how["decisions"] = written
        before, quiet = agent.last, bool(spec.quiet)
        return Job(
            agent, given or Inputs(), how, spec.out, quiet, before, what, cell.origins, spec.on_approval
        )  # fmt: skip

    def _built(self, cell: Cell, namespace: Namespace, given: Inputs | None) -> BaseAgent:
        """The cell's agent. Raises `_Skipped` where its key is missing and the cell says what to do then."""
        spec = cell.spec
        why = self._skipped.get(spec.name)
        if why is not None and spec.model is None and spec.script is None:
            # The agent that its newest description would have made is not there; an older one must not answer.
            raise _Skipped(why) if spec.skip_without_key else CellError(f"agent {spec.name!r} is not there: {why}")
        try:
            agent = build(cell, namespace=namespace, bind=self._namespace, given=given, store=self._config.store)
        except MissingKey as missing:
            if not spec.skip_without_key:
                raise
            why = f"skipped: {str(missing).removeprefix('no key: ').partition('. ')[0]}"
            self._skipped[spec.name] = why
            raise _Skipped(why) from None
        self._skipped.pop(spec.name, None)
        return agent


def _goes_on(agent: BaseAgent, spec: CellSpec, way: Way) -> Job:
    """The rest of a run that waits, as a line says it."""
    way = way if spec.decisions is None else replace(way, decide=spec.decisions.written())
    return Job(agent, Inputs(), {}, spec.out, bool(spec.quiet), agent.last, on_approval=spec.on_approval, way=way)


def _nothing_to_say(error: NothingToSay, job: Job) -> CellError:
    return CellError(placed(f"inputs: {error}", job.origins) if "inputs" in job.origins else str(error))


def _what(cell: Cell, agent: BaseAgent | None, given: Inputs | None) -> Literal["run", "propose", "run_plan"]:
    """What a cell does with its agent, as that is before. Raises CellError where that cannot be done."""
    spec = cell.spec
    if not spec.propose and not spec.run:
        return "run"
    word = "propose" if spec.propose else "run"
    if strategy_of(cell, None if cell.describes else agent) != "plan":
        raise CellError(f"{word}: only a plan is proposed, and {spec.name!r} is no plan agent; begin with `%%plan`")
    if spec.propose and spec.run:
        raise CellError("propose and run: one makes a plan, the other does it; keep one of them")
    if spec.run and given is not None:
        raise CellError("run: the plan has its task already; leave the task out")
    if spec.run and not (isinstance(agent, PlanAgent) and agent.plan):
        raise CellError(f"run: no plan waits; make one first: `%%plan {spec.name} --propose` with a task")
    if spec.run and changes(cell):
        raise CellError(
            "run: the plan is that of the agent as it is; leave out what describes it, or propose the plan anew"
        )
    return "propose" if spec.propose else "run_plan"
