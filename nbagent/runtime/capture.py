"""Capture: what a tool prints and warns goes into its observation, also where several run side by side."""

from __future__ import annotations

import inspect
import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

_sink: ContextVar[list[str] | None] = ContextVar("nbagent_printed", default=None)
"""Where this task or thread prints to. A context variable, so that tools that run side by side stay apart."""


_DEBUGGERS = frozenset({"bdb", "cmd", "pdb", "IPython.core.debugger", "IPython.terminal.debugger"})


class _Router:
    """Stands for `sys.stdout` or `sys.stderr` while a tool runs: prints of tools go to their sink, others through."""

    def __init__(self, under: TextIO) -> None:
        self.under = under

    def write(self, text: str, /) -> int:
        # A debugger that a tool starts talks to the person, not to the observation. print() has no frame of its own.
        frame = inspect.currentframe()
        asked_by = frame.f_back.f_globals.get("__name__") if frame and frame.f_back else None
        sink = None if asked_by in _DEBUGGERS else _sink.get()
        if sink is None:
            return self.under.write(text)
        sink.append(text)
        return len(text)

    def writelines(self, lines: Iterable[str], /) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # flush, encoding, fileno, isatty … are the real stream's
        return getattr(self.under, name)


class _Routing:
    """The routers in place, shared by all tools that run now: the first puts them in, the last takes them out."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._routers = (_Router(sys.stdout), _Router(sys.stderr))

    @property
    def active(self) -> bool:
        """Whether any tool prints into its observation now."""
        return self._users > 0

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._install()

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._remove()

    def _install(self) -> None:
        self._show = warnings.showwarning
        warnings.showwarning = self._warn
        out, err = self._routers
        if out.under is not sys.stdout or err.under is not sys.stderr:
            self._routers = out, err = _Router(sys.stdout), _Router(sys.stderr)
        sys.stdout, sys.stderr = cast("tuple[TextIO, TextIO]", (out, err))

    def _remove(self) -> None:
        out, err = self._routers
        # Somebody may have put something of their own in place meanwhile; that is left alone.
        if sys.stdout is out:
            sys.stdout = out.under
        if sys.stderr is err:
            sys.stderr = err.under
        if warnings.showwarning == self._warn:
            warnings.showwarning = self._show

    def _warn(self, message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        # The standard form names a file, which in a kernel has the process id in its path.
        if (sink := _sink.get()) is None:
            self._show(message, category, *where, **more)
            return
        sink.append(f"{category.__name__}: {message}\n")
        with warnings.catch_warnings():
            # Python then forgets what it has warned of, so that a cell that runs again warns again.
            pass


_routing = _Routing()


@contextmanager
def streams_kept() -> Generator[None]:
    """Puts `sys.stdout` and `sys.stderr` back as they were.

    For tools that run side by side: `redirect_stdout` in two of them at once may leave the one's stream for good.
    """
    out, err = _under(sys.stdout), _under(sys.stderr)
    try:
        yield
    finally:
        if not _routing.active:
            sys.stdout, sys.stderr = out, err


def _under(stream: TextIO) -> TextIO:
    one: Any = stream
    return one.under if isinstance(one, _Router) else stream


class Printing:
    """Collects what is printed and warned between `with Printing() as printed:` and its end, in `printed.text`."""

    __slots__ = ("_sink", "_token")

    def __enter__(self) -> Self:
        self._sink: list[str] = []
        self._token = _sink.set(self._sink)
        _routing.enter()
        return self

    def __exit__(self, *raised: object) -> None:
        _routing.leave()
        _sink.reset(self._token)

    @property
    def text(self) -> str:
        return "".join(self._sink)
