"""StopButton: stops a run that goes on, where a click arrives; else it says what does."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from nbagent.notebook.front_end import may_hear, page_answers

if TYPE_CHECKING:
    from collections.abc import Callable

_STOP, _STOPPING = "Stop", "Stopping …"
_BY_KERNEL = "To stop it, interrupt the kernel."
_HELD = "While this tool runs, interrupt the kernel to stop."


class StopButton:
    """Its `widgets`: the button, and a note beside it."""

    def __init__(self, stop: Callable[[], object]) -> None:
        """`stop`: is called on the event loop that runs now."""
        import ipywidgets

        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._button = ipywidgets.Button(
            description=_STOP, icon="stop", tooltip="Stop the run", layout=ipywidgets.Layout(display="none")
        )
        self._button.on_click(self._clicked)
        self._said = "" if may_hear() else _BY_KERNEL
        self._note = ipywidgets.Label(self._said)
        self.widgets: tuple[Any, ...] = (self._button, self._note)
        self._is_pressed = self._is_over = False
        self._ping: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Finds out whether a click would arrive, and then shows the button. Its widgets are displayed already."""
        if may_hear():
            self._ping = self._loop.create_task(self._heard())

    async def _heard(self) -> None:
        if await page_answers():
            self._button.layout.display = ""
        else:
            self._said = self._note.value = _BY_KERNEL

    def held(self, is_held: bool) -> None:
        """Whether something holds the thread, so that no click arrives for now."""
        if self._is_pressed or self._is_over:
            return
        self._button.disabled = is_held
        self._note.value = _HELD if is_held else self._said

    def end(self) -> None:
        """There is nothing left to stop: a click that is on its way would stop what comes next in the cell."""
        self._is_over = True
        if self._ping is not None:
            self._ping.cancel()

    def _clicked(self, _: Any) -> None:  # on ipykernel 7.0 to 7.3 on another thread
        self._loop.call_soon_threadsafe(self._press, context=self._context)

    def _press(self) -> None:
        if not (self._is_pressed or self._is_over):
            self._is_pressed = True
            self._button.disabled, self._button.description = True, _STOPPING
            self._stop()
