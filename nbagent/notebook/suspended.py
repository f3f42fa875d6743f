"""Suspended: the runs of a notebook that wait though their cells have ended."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nbagent.errors import CellError
from nbagent.notebook.afterwards import Afterwards
from nbagent.notebook.deciding import interrupted
from nbagent.notebook.identity import running_cell

if TYPE_CHECKING:
    from collections.abc import Generator

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.errors import RunInterrupted
    from nbagent.notebook.approval_question import ApprovalQuestion
    from nbagent.notebook.job import Job
    from nbagent.notebook.show import Output

_AFTER_CELLS = "post_run_cell"
"""When it is looked whether somebody has decided in a cell: the only time at which that can have happened."""


class Suspended:
    """Those of one shell. Each is gone on with once, whoever decides first."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._all: list[Afterwards] = []
        self._in_cells: list[Job] = []
        """What cells go on with now."""
        self._listens = False

    def error(self, job: Job, output: Output, question: ApprovalQuestion) -> RunInterrupted:
        """Leaves the question where it is, for as long as the kernel runs; gives the error with which the cell ends."""
        result = job.agent.last
        if result is None or not _has_loop():
            return interrupted(job.agent.name, question.pendings)
        one = Afterwards(self._shell, job, output, result)
        one.is_decided_elsewhere = self._is_decided_in_a_cell
        self._all.append(one)
        one.ask(question)
        if not self._listens:
            self._events.register(_AFTER_CELLS, self._look)
            self._listens = True
        return interrupted(job.agent.name, question.pendings, by_buttons=True)

    @property
    def _events(self) -> Any:
        return self._shell.events  # pyright: ignore[reportUnknownMemberType]

    def _look(self, *_: object) -> None:
        for one in self._all:
            one.look()
        if all(one.is_over for one in self._all):
            self._events.unregister(_AFTER_CELLS, self._look)
            self._listens = False

    @contextmanager
    def in_cell(self, job: Job) -> Generator[None]:
        """While a cell goes on with a run. Raises CellError where a click does so now."""
        for one in self._all:
            if one.task is not None and _is_about(job, one):
                raise CellError(
                    f"{one.run_id} goes on already, where its cell is; stop it there, or wait until it has ended"
                )
        self._in_cells.append(job)
        try:
            yield
        finally:
            self._in_cells.remove(job)

    def _is_decided_in_a_cell(self, one: Afterwards) -> bool:
        return any(_is_about(job, one) for job in self._in_cells)

    async def begin_cell(self) -> None:
        """When a cell begins: what it has left when it ran before has no output any more. What goes on is stopped."""
        if going := self.begin_cell_now():
            await asyncio.wait(going)

    def begin_cell_now(self) -> list[asyncio.Task[None]]:
        """The same where nothing can be awaited; gives what ends now."""
        cell, request = running_cell(self._shell)
        earlier = [one for one in self._all if cell and one.cell[0] == cell and one.cell[1] != request]
        going: list[asyncio.Task[None]] = []
        for one in earlier:
            if (task := one.stop()) is not None:
                going.append(task)
            one.close()
            self._all.remove(one)
        return going


def _is_about(job: Job, one: Afterwards) -> bool:
    """Whether a job goes on with this very run."""
    if job.agent is not one.agent or job.way is None:
        return False
    return job.way.run == one.run_id or not one.asked.isdisjoint(job.way.decision)


def _has_loop() -> bool:
    """Without one nothing could go on: the code of a thread, a plain terminal."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
