"""Held: what is done when a tool has held the thread of the cell for a while, where nothing else can be done then."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Held:
    """It is done on another thread, and never after `end`."""

    def __init__(self, do: Callable[[], object]) -> None:
        self._do = do
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def begin(self, seconds: float) -> None:
        """In so many seconds, unless it ends before."""
        self.end()
        if sys.platform != "emscripten":  # which has no threads
            timer = threading.Timer(seconds, copy_context().run, (self._is_held,))
            timer.daemon = True
            self._timer = timer
            timer.start()

    def end(self) -> None:
        """The thread is not held any more. What is being done is waited for."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None

    def _is_held(self) -> None:
        with self._lock, suppress(Exception):  # the thread of the cell does it again, and says what is wrong
            if self._timer is threading.current_thread():
                self._do()
