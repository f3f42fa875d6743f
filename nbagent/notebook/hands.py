"""Hands: what a person does with the widgets of a cell that has ended, and how often these are drawn anew."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from nbagent.errors import FOREIGN
from nbagent.notebook.echo import page_of
from nbagent.tools.failure import headline

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.notebook.root import Root

INTERVAL = 0.1
"""Seconds from one drawing to the next, at least."""
_SHARE = 3
"""So many times as long as it takes to draw, nothing is drawn again."""


class Hands:
    """Everything is done on the event loop, as if the cell had done it."""

    def __init__(self, shell: InteractiveShell, root: Root, fail: Callable[[str], object]) -> None:
        """`fail`: is told of an error in what a person does, since nobody would see it."""
        self._shell = shell
        self._root = root
        self._fail = fail
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._handle: asyncio.TimerHandle | None = None
        self._next = 0.0
        """When it may be drawn again."""
        self.is_closed = False

    def button(self, label: str, action: Callable[[], object], layout: Any, style: str = "") -> Any:
        """A button. `action` is done when all has come that was written before the click."""
        import ipywidgets as widgets

        def clicked(_: Any) -> None:  # on ipykernel 7.0 to 7.3 on another thread
            page = page_of(self._shell)
            self._soon(lambda: self._root.after(page, lambda: self._do(action)))

        button = widgets.Button(description=label, button_style=style, layout=layout)
        button.on_click(clicked)
        return button

    def quick_button(self, label: str, action: Callable[[], object], layout: Any) -> Any:
        """A button beside which nothing is written, so that there is nothing to wait for."""
        import ipywidgets as widgets

        button = widgets.Button(description=label, layout=layout)
        button.on_click(lambda _: self._soon(lambda: self._do(action)))
        return button

    def watch(self, widget: Any, action: Callable[[], object], name: str = "value") -> None:
        """Does something when a person, or anything else, has changed a widget."""
        widget.observe(lambda _: self._soon(lambda: self._do(action)), name)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Something that takes its time."""
        return self._loop.create_task(work, context=self._context)

    def draw(self, action: Callable[[], object]) -> None:
        """Draws something, not too often. Whatever was asked for last is drawn in the end."""
        if self._handle is None and not self.is_closed:
            wait = max(0.0, self._next - self._loop.time())
            self._handle = self._loop.call_later(wait, self._drawn, action, context=self._context)

    def _drawn(self, action: Callable[[], object]) -> None:
        self._handle, began = None, self._loop.time()
        self._do(action)
        now = self._loop.time()
        self._next = now + max(INTERVAL, _SHARE * (now - began))

    def close(self) -> None:
        """Nothing is done any more."""
        self.is_closed = True
        if self._handle is not None:
            self._handle.cancel()

    def _soon(self, action: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(action, context=self._context)

    def _do(self, action: Callable[[], object]) -> None:
        if self.is_closed:
            return
        try:
            action()
        except FOREIGN as error:
            self._fail(headline(error))
