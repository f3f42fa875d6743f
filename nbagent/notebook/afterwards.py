"""Afterwards: a run that waits though its cell has ended, and goes on in its place when somebody has decided."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from nbagent.agents.parts import with_schemas
from nbagent.errors import FOREIGN, DecisionError
from nbagent.notebook.build import agents
from nbagent.notebook.deciding import Way
from nbagent.notebook.header import shorten
from nbagent.notebook.identity import running_cell
from nbagent.notebook.notice import Notice
from nbagent.notebook.panel import Panel
from nbagent.runtime.interrupts import stoppable
from nbagent.runtime.pendings import pendings_of
from nbagent.tools.failure import headline
from nbagent.views.safe import inline

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.base import BaseAgent
    from nbagent.approvals.decision import Decision
    from nbagent.approvals.pending import PendingAction
    from nbagent.notebook.approval_question import ApprovalQuestion
    from nbagent.notebook.job import Job
    from nbagent.notebook.panel import Question
    from nbagent.notebook.show import Output
    from nbagent.runtime.result import RunResult

_STOP, _GO_ON = "Stop", "Go on"
_SHORT = 300
"""Characters of an answer or an error; the rest is in the result."""
_CHANGED = "another agent has that name by now, or none, so this run does not go on."


class Afterwards:
    """While it waits there is no task, thread or timer: a click makes a task of the kernel's event loop, which ends
    when the run waits again, or is over."""

    def __init__(self, shell: InteractiveShell, job: Job, output: Output, result: RunResult) -> None:
        """`result`: that of the run, which waits."""
        self._shell = shell
        self._job = job
        self._output = output
        self._root = output.leave()
        self._result = result
        self._names = [name for name in agents(self._variables) if self._variables[name] is job.agent]
        self._question: ApprovalQuestion | None = None
        self._asked: tuple[PendingAction, ...] = ()
        """What it asks about now."""
        self.cell = running_cell(shell)
        self.task: asyncio.Task[None] | None = None
        """What goes on with it now."""
        self.is_over = False
        self.is_decided_elsewhere: Callable[[Afterwards], bool] = lambda _: False
        """Whether a cell goes on with it now."""

    @property
    def agent(self) -> BaseAgent:
        return self._job.agent

    @property
    def run_id(self) -> str:
        return self._result.run_id

    @property
    def _newest(self) -> RunResult:
        """What the run has come to by now, whatever else its agent has run since."""
        found = [one for one in self.agent.results.values() if one.run_id == self.run_id]
        return found[-1] if found else self._result

    @property
    def pendings(self) -> tuple[PendingAction, ...]:
        """The calls of the run that wait, as far as its agent still knows of them."""
        return with_schemas(self.agent, self._waiting_in(self._result))

    def _waiting_in(self, result: RunResult) -> list[PendingAction]:
        known = {one.digest for interrupt in self.agent.waiting.values() for one in interrupt.pendings}
        return [one for one in pendings_of(result.events) if one.digest in known]

    @property
    def asked(self) -> set[str]:
        """The digests of what it asks about, or goes on with."""
        return {one.digest for one in self._asked}

    @property
    def _variables(self) -> MutableMapping[str, Any]:
        return cast("MutableMapping[str, Any]", self._shell.user_ns)  # pyright: ignore[reportUnknownMemberType]

    @property
    def _name(self) -> str:
        return self._names[0] if self._names else self.agent.name

    # asking

    def ask(self, question: ApprovalQuestion) -> None:
        """Asks about the calls that wait."""
        self._question, self._asked = question, question.pendings
        self._show(question, lambda decisions: self._go(Way(decisions, run=self.run_id)))

    def _show(self, question: Question[Any], then: Callable[[Any], object]) -> None:
        def decided(future: asyncio.Future[Any]) -> None:
            if self.is_over or future.cancelled():
                return
            if (error := future.exception()) is None:
                then(future.result())
            else:
                self._fail(error)
                self._settle(headline(error))

        Panel(self._shell, question, self._root).ask(decided)

    def look(self) -> None:
        """Looks whether the run still waits, when a cell has ended."""
        if self.task is None and not self.is_over and (said := self._became()):
            self._end(said)

    def _became(self) -> str:
        """What became of the run, if it does not wait any more."""
        if self._names and not any(self._variables.get(name) is self.agent for name in self._names):
            return f"{self._name}: {_CHANGED}"
        if self.is_decided_elsewhere(self):
            return f"Already decided, in another place; {self._name} goes on there."
        newest = self._newest
        if newest is not self._result:
            if {one.digest for one in self._asked} <= {one.digest for one in self._waiting_in(newest)}:
                self._result = newest  # somebody has decided what cannot be; it waits as before
                return ""
            return f"Already decided, in another place. {self._told(newest)}"
        if len(self.pendings) < len(self._asked):
            return f"Already decided: {self._name} does not wait for this any more. The run was dropped or replaced."
        return ""

    # going on

    def _go(self, way: Way) -> None:
        self.task = asyncio.get_running_loop().create_task(self._gone_on(way))

    def stop(self) -> asyncio.Task[None] | None:
        """Ends it where it goes on now; it can be gone on with. What there is to wait for."""
        if self.task is not None:
            self.task.cancel()
        return self.task

    async def _gone_on(self, way: Way) -> None:
        if said := self._became():
            self.task = None
            self._end(said)
            return
        self._job = job = replace(self._job, way=way, before=self.agent.last)
        loop, error, said = asyncio.get_running_loop(), None, ""
        try:
            with self._output.overhearing(), stoppable(lambda: loop.call_soon_threadsafe(self.stop)) as listen:
                self._show(Notice(self._goes_on(way.decision), _STOP), lambda _: self.stop())
                async with aclosing(job.astream()) as events:
                    async for event in events:
                        listen()
                        self._output.take(event)
        except DecisionError as wrong:
            said = str(wrong)
        except (asyncio.CancelledError, KeyboardInterrupt):
            said = "it was stopped"
        except FOREIGN as raised:
            error, said = raised, headline(raised)
            self._fail(raised)
        finally:
            self.task = None
            self._output.end_stretch()
        self._settle(said, error)

    def _goes_on(self, decisions: dict[str, Decision]) -> str:
        known = [one for one in self._asked if one.digest in decisions]
        said = [f"{type(decisions[one.digest]).__name__}: {one.shown}" for one in known]
        return "\n".join([*[f"Already decided. {inline(line)}" for line in said], f"{self._name} goes on …"])

    def _settle(self, said: str, error: BaseException | None = None) -> None:
        """What there is to see when a stretch of the run is over. `said`: why it has not come to its end."""
        if self.is_over:
            return
        if (result := self._newest) is not self._result:
            self._keep(result)
        question, pendings = self._question, self.pendings
        if pendings and question is not None:
            self.ask(question.again(pendings, said))
        elif said and error is None:
            self._asked = ()
            self._show(Notice(f"{self._name}: {said}", _GO_ON), lambda _: self._go(Way({}, run=self.run_id)))
        else:
            self._end(self._told(self._result, said))

    def _keep(self, result: RunResult) -> None:
        out = self._job.out
        if out and self._variables.get(out) is self._result:
            self._variables[out] = result
        self._result = result
        self._output.end_again(result)

    def _fail(self, error: BaseException) -> None:
        """Tells the kernel's log, too: nobody awaits a click."""
        self._shell.log.error("%s went on after its cell, and failed: %s", self.run_id, headline(error))  # pyright: ignore[reportUnknownMemberType]

    # the end

    def _told(self, result: RunResult, said: str = "") -> str:
        """How a run has ended, in short, and where the rest is."""
        status = result.status.replace("_", " ")
        about = said or (str(result) if result.status == "completed" else result.stop_reason)
        short = shorten(inline(about), _SHORT)
        where = f"All of it: `{self._name}.last`, `%agent view {self._name}`."
        if result.status == "failed" and self.agent.store is not None:
            where += f" `%agent resume {inline(self.run_id)}` tries again."
        return f"{self._name} went on after its cell had ended: {status}{f' · {short}' if short else ''}\n{where}"

    def _end(self, said: str) -> None:
        self.is_over = True
        notice = Notice(said)
        self._root.end(notice.widgets(Panel(self._shell, notice, self._root)), said)

    def close(self) -> None:
        """Takes it away, since the output is gone."""
        self.is_over = True
        self._root.take_away()
