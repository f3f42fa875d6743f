"""Interrupts: how a kernel interrupt (Ctrl-C) reaches a run that is awaited.

While a cell is awaited, ipykernel's own SIGINT handler only cancels the cell's task. That is right while the run
waits, if something wakes the loop; but code that holds the thread, such as a sync tool, would never notice.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import CodeType, FrameType

HEARTBEAT = 0.25
"""Seconds between wake-ups of the event loop. Measured: without one an interrupt waits for the next event."""

F = TypeVar("F", bound="Callable[..., Any]")

_interruptible: set[CodeType] = set()


def interruptible(function: F) -> F:
    """Marks a function of ours that runs foreign code: an interrupt that comes inside it is raised on the spot."""
    _interruptible.add(function.__code__)
    return function


class _Gate:
    """The SIGINT handler while runs are awaited. Shared: the first run puts it in place, the last takes it out."""

    def __init__(self) -> None:
        self._users = 0
        self._before: Any = None
        self.stops: list[Callable[[], object]] = []
        """What ends each of the runs that no cell awaits."""

    def enter(self) -> None:
        self._users += 1
        self.stay()

    def stay(self) -> None:
        """A kernel sets its own handler anew for each cell, also while a run of an earlier one goes on."""
        if signal.getsignal(signal.SIGINT) not in (self._handle, signal.default_int_handler):
            self._before = signal.signal(signal.SIGINT, self._handle)

    def leave(self) -> None:
        self._users -= 1
        if self._users == 0 and signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        inner = frame
        while inner is not None:
            if inner.f_code in _interruptible:
                raise KeyboardInterrupt
            inner = inner.f_back
        for stop in tuple(self.stops):
            stop()
        if callable(self._before):
            self._before(number, frame)


_gate = _Gate()


@contextmanager
def listening() -> Generator[None]:
    """While the body is awaited: interrupts reach tools that hold the thread, and the loop wakes up for the others."""
    loop = asyncio.get_running_loop()

    def beat() -> None:
        nonlocal handle
        handle = loop.call_later(HEARTBEAT, beat)

    handle = loop.call_later(HEARTBEAT, beat)
    try:
        with gated():
            yield
    finally:
        handle.cancel()


@contextmanager
def gated() -> Generator[None]:
    """While the body runs: an interrupt is raised on the spot where it comes inside foreign code."""
    if not _needs_gate():
        yield
        return
    _gate.enter()
    try:
        yield
    finally:
        _gate.leave()


@contextmanager
def stoppable(stop: Callable[[], object]) -> Generator[Callable[[], None]]:
    """While the body goes on, which no cell awaits: an interrupt is raised inside foreign code, or else calls `stop`.

    A kernel in which no cell runs ignores interrupts, and says so again whenever a cell has ended. So what this gives
    is to be called before anything that may hold the thread.
    """
    if not _can_listen():
        yield _nothing
        return
    _gate.enter()
    _gate.stops.append(stop)
    try:
        yield _gate.stay
    finally:
        _gate.stops.remove(stop)
        _gate.leave()


def _nothing() -> None:
    pass


@contextmanager
def interrupts(*, awaited: bool) -> Generator[None]:
    """Around foreign code that no driver runs. `awaited`: an interrupt must not go through an event loop."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if awaited:
            raise asyncio.CancelledError("stopped by the user") from stop
        raise


def _needs_gate() -> bool:
    """Python's own handler already raises on the spot."""
    if not _can_listen():
        return False
    return signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, signal.SIG_IGN, signal.SIG_DFL, None)


def _can_listen() -> bool:
    """Only the main thread can have a handler."""
    return sys.platform != "emscripten" and threading.current_thread() is threading.main_thread()
