"""Front end: whether a person is there who can answer now, and by what: buttons, or words."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from IPython.core.interactiveshell import InteractiveShell

Means = Literal["buttons", "words", "nobody"]

TRIES = 5
PATIENCE = 0.6
"""Seconds for each. Measured: an answer takes 0.1 s, of ipykernel 7.0 to 7.3 0.7 s, since the first try is lost."""


def somebody_is_there(shell: InteractiveShell) -> bool:
    """Whether a person watches: not under nbclient, nbval, papermill or in a script."""
    kernel: Any = getattr(shell, "kernel", None)
    if kernel is None:
        return bool(sys.stdin and sys.stdin.isatty())
    return bool(getattr(kernel, "_allow_stdin", True))  # JupyterLite's does not say so, and has a person before it


async def way_to_ask(shell: InteractiveShell) -> Means:
    """How the cell that is awaited now can ask. Takes 3 seconds where a front end might have buttons and has not."""
    if not somebody_is_there(shell):
        return "nobody"
    kernel = getattr(shell, "kernel", None)
    return "buttons" if kernel is not None and may_hear() and await page_answers() else "words"


def may_hear() -> bool:
    """Whether a click may reach a cell that is awaited. Before ipykernel 7 nothing does, so nobody need wait for it."""
    ipykernel = sys.modules.get("ipykernel")
    return ipykernel is None or ipykernel.version_info[0] >= 7


async def page_answers() -> bool:
    """Whether a page answers: it is asked to copy a number from one hidden widget to another."""
    import ipywidgets as widgets

    loop, heard, used = asyncio.get_running_loop(), asyncio.Event(), []
    try:
        for _ in range(TRIES):
            one, other = widgets.IntText(), widgets.IntText()
            used += [one, other, widgets.jsdlink((one, "value"), (other, "value"))]
            other.observe(lambda _: loop.call_soon_threadsafe(heard.set), "value")
            one.value = 1
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(heard.wait(), PATIENCE)
                return True
        return False
    finally:
        take_away(*used)


def confirm(shell: InteractiveShell, *used: Any) -> None:
    """Tells the page that these widgets have heard it. It sends the next state of a widget only then.

    ipykernel 7.4 does not say so of what comes while a cell is awaited, so that of a text only the first letter came.
    """
    for widget in _with_parts(used):
        widget.comm.on_msg(partial(hear, shell, widget))


def hear(shell: InteractiveShell, widget: Any, message: Any) -> None:
    """Gives a widget a message of the page, and confirms it."""
    widget._handle_msg(message)  # noqa: SLF001 - what the widget itself has given as its callback
    ipykernel, kernel = sys.modules.get("ipykernel"), getattr(shell, "kernel", None)
    if ipykernel is not None and kernel is not None and ipykernel.version_info[:2] >= (7, 4):
        kernel.session.send(kernel.iopub_socket, "status", {"execution_state": "idle"}, parent=message)


def take_away(*used: Any) -> None:
    """Closes widgets with all that belongs to them."""
    for widget in _with_parts(used):
        widget.close()


def _with_parts(used: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    waiting = list(used)
    while waiting:
        widget = waiting.pop()
        found.append(widget)
        parts = [getattr(widget, name, None) for name in ("layout", "style")]
        waiting += [*getattr(widget, "children", ()), *[part for part in parts if part is not None]]
    return found
