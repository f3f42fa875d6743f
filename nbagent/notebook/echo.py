"""Echo: what a page sends back, so that by then all has come that it had sent, and had held back, before a click."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

import asyncio
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbagent.notebook.front_end import hear, take_away

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell


@dataclass(frozen=True, slots=True)
class _Waiting:
    number: int
    page: str | None
    action: Callable[[], object]


class Echo:
    """Two hidden numbers, the second of which follows the first in every page.

    A page sends a text that was changed again only when the kernel has heard what it was before, but a click at once.
    So where the kernel is slow, a click overtakes a text that was written before it. The number changes after the
    click, and a page that hears of it has sent that text.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        import ipywidgets as widgets

        self._shell = shell
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        """That of the cell: what an action changes is sent as if the cell had done it."""
        self._called, self._back = widgets.IntText(), widgets.IntText()
        self._link = widgets.jsdlink((self._called, "value"), (self._back, "value"))
        comm: Any = self._back.comm
        comm.on_msg(self._heard)
        self._waiting: list[_Waiting] = []

    def after(self, page: str | None, action: Callable[[], object]) -> None:
        """Does something when all has come that a page had to send. `page`: of `page_of`; None: the first to answer."""
        number = self._called.value + 1
        self._waiting.append(_Waiting(number, page, action))
        self._called.value = number

    def close(self) -> None:
        """Takes the numbers away. What has waited is not done."""
        self._waiting.clear()
        take_away(self._called, self._back, self._link)

    def _heard(self, message: Any) -> None:
        hear(self._shell, self._back, message)
        number = message["content"]["data"].get("state", {}).get("value")
        if isinstance(number, int):  # on ipykernel 7.0 to 7.3 this is another thread
            page = message["header"]["session"]
            self._loop.call_soon_threadsafe(self._answered, page, number, context=self._context)

    def _answered(self, page: str, number: int) -> None:
        due = [one for one in self._waiting if one.number <= number and one.page in (None, page)]
        self._waiting = [one for one in self._waiting if one not in due]
        for one in due:
            one.action()


def page_of(shell: InteractiveShell) -> str | None:
    """Which page has sent the message that the kernel takes now."""
    kernel: Any = getattr(shell, "kernel", None)
    return kernel.get_parent().get("header", {}).get("session") if kernel is not None else None
