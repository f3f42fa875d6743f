"""Looks: the views of runs that are open in a notebook. There are only so many; each ends with its output."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from nbagent.notebook.front_end import somebody_is_there
from nbagent.notebook.identity import running_cell

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.base import BaseAgent
    from nbagent.notebook.looking_back import LookingBack
    from nbagent.runtime.result import RunResult

MOST = 4
"""Views that are open at once; where another one is opened, the oldest is closed."""
_BEFORE_CELLS = "pre_run_cell"


class Looks:
    """Those of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._open: list[LookingBack] = []
        self._listens = False

    def look(self, agent: BaseAgent, name: str, result: RunResult) -> None:
        """Opens a view below the run's output, where somebody is there who can use it."""
        if not self._can_be_used() or not result.events:
            return
        from nbagent.notebook.looking_back import LookingBack

        self._begin_cell()
        for one in self._open[: max(len(self._open) - MOST + 1, 0)]:
            one.close()
        view = LookingBack(self._shell, agent, name, result)
        self._open = [one for one in (*self._open, view) if not one.is_closed]
        view.show()
        if not self._listens:
            events: Any = self._shell.events  # pyright: ignore[reportUnknownMemberType]
            events.register(_BEFORE_CELLS, self._begin_cell)
            self._listens = True

    def _can_be_used(self) -> bool:
        if getattr(self._shell, "kernel", None) is None or not somebody_is_there(self._shell):
            return False
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True

    def _begin_cell(self, *_: object) -> None:
        """What a cell has opened when it ran before has no output any more."""
        cell, request = running_cell(self._shell)
        for one in [one for one in self._open if cell and one.cell[0] == cell and one.cell[1] != request]:
            one.take_away()
        self._open = [one for one in self._open if not one.is_closed]
