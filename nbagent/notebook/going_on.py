"""Going on: the rest of a cell's run that waits, as long as somebody decides about what it waits for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbagent.agents.parts import with_schemas
from nbagent.errors import DecisionError
from nbagent.notebook.approval_question import ApprovalQuestion
from nbagent.notebook.deciding import decided, decided_now, interrupted, waits, who_decides
from nbagent.notebook.panel import Unanswered

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.approvals.pending import PendingAction
    from nbagent.notebook.deciding import Way, Who
    from nbagent.notebook.job import Job
    from nbagent.notebook.show import Output
    from nbagent.notebook.suspended import Suspended
    from nbagent.runtime.result import RunResult


async def go_on(
    shell: InteractiveShell, job: Job, output: Output, heard: Callable[[Job, Output], Awaitable[None]],
    suspended: Suspended,
) -> None:  # fmt: skip
    """Asks whoever decides, and goes on, until the run ends. `heard` runs a job; `suspended` are the runs whose cells
    end before somebody has decided.

    Raises RunInterrupted where nobody decides, DecisionsLeftOver where the cell decides about what was not asked.
    """
    who, question, said = who_decides(shell, job.on_approval, quiet=job.quiet), ApprovalQuestion(()), ""
    while pendings := _waiting(job):
        result, question = job.agent.last, question.again(pendings, said)
        way = await decided(output, who, question)
        if way is Unanswered.LEFT:
            return  # and the cell, which was started once more, asks anew
        if who == "later" and way is Unanswered.NOBODY:
            raise suspended.error(job, output, question)
        job, said = _rest(job, way, result, pendings), ""
        try:
            await heard(job, output)
        except DecisionError as error:
            said = _to_say(error, who)


def go_on_now(
    shell: InteractiveShell, job: Job, output: Output, heard: Callable[[Job, Output], None], suspended: Suspended
) -> None:
    """The same where nothing can be awaited."""
    who, question, said = who_decides(shell, job.on_approval, quiet=job.quiet), ApprovalQuestion(()), ""
    while pendings := _waiting(job):
        result, question = job.agent.last, question.again(pendings, said)
        way = decided_now(output, who, question)
        if who == "later" and way is Unanswered.NOBODY:
            raise suspended.error(job, output, question)
        job, said = _rest(job, way, result, pendings), ""
        try:
            heard(job, output)
        except DecisionError as error:
            said = _to_say(error, who)


def _waiting(job: Job) -> tuple[PendingAction, ...]:
    """The calls that the job's run waits for."""
    result = job.agent.last
    return () if result is job.before else with_schemas(job.agent, waits(result))


def _rest(job: Job, way: Way | Unanswered, result: RunResult | None, pendings: tuple[PendingAction, ...]) -> Job:
    """The rest of the run whose result this is; the agent may have ended another one while it was asked about this.
    Raises RunInterrupted where nobody has decided."""
    if isinstance(way, Unanswered) or result is None or result.interrupt is None:
        raise interrupted(job.agent.name, pendings)
    return replace(job, way=replace(way, scope=result.interrupt.scope))


def _to_say(error: DecisionError, who: Who) -> str:
    """What a person is told who has decided what cannot be. Raises it where no person has."""
    if who not in ("person", "words"):
        raise error
    return str(error)
