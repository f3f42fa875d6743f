"""Capture: what a tool prints and warns goes into its observation, also where several run side by side."""

from __future__ import annotations

import inspect
import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from nbagent.errors import HarnessError

_scope: ContextVar[Scope | None] = ContextVar("nbagent_scope", default=None)
"""The tool call of this task or thread. A context variable, so that tools that run side by side stay apart."""

At = tuple[int, ...]
"""Where a tool runs: which call of its reply it is, after those of the calls that its run is inside of."""

_heard: ContextVar[Callable[[At, str], object] | None] = ContextVar("nbagent_heard", default=None)
"""Who hears of what tools print while they run."""

inside: ContextVar[At] = ContextVar("nbagent_inside", default=())
"""The calls that the run of this task or thread is inside of."""

_sys: Any = sys
"""Its streams may be anything that writes."""

_DEBUGGERS = frozenset({"bdb", "cmd", "pdb", "IPython.core.debugger", "IPython.terminal.debugger"})


class _Router:
    """Stands for `sys.stdout` or `sys.stderr` while a tool runs: prints of tools go to their sink, others through."""

    def __init__(self, under: TextIO) -> None:
        self.under = under

    def write(self, text: str, /) -> int:
        # A debugger that a tool starts talks to the person, not to the observation. print() has no frame of its own.
        frame = inspect.currentframe()
        asked_by = frame.f_back.f_globals.get("__name__") if frame and frame.f_back else None
        scope = None if asked_by in _DEBUGGERS else _scope.get()
        if scope is None or scope.is_over:  # a task may outlive the tool that has begun it
            return self.under.write(text)
        scope.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str], /) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # flush, encoding, fileno, isatty … are the real stream's
        return getattr(self.under, name)


@dataclass(slots=True, eq=False)
class _Routers:
    """Those that were put in place together."""

    out: _Router
    err: _Router
    users: int = 0
    """How many tools print through them now."""


class _Routing:
    """The routers in place, shared by all tools that run now: the first puts them in, the last takes them out.

    Where a tool has put a stream of its own in place (`redirect_stdout`) and then runs an agent, the tools of that
    agent get routers above that stream.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._used: list[_Routers] = []
        self._idle = _Routers(_Router(sys.stdout), _Router(sys.stderr))
        self._showwarning = self._warn

    @property
    def active(self) -> bool:
        """Whether any tool prints into its observation now."""
        return bool(self._used)

    def enter(self) -> _Routers:
        with self._lock:
            out, err = _sys.stdout, _sys.stderr
            for routers in self._used:
                if routers.out is out and routers.err is err:
                    routers.users += 1
                    return routers
            if not self._used:
                self._show, warnings.showwarning = warnings.showwarning, self._showwarning
            routers = self._idle
            if routers.users or routers.out.under is not out or routers.err.under is not err:
                self._idle = routers = _Routers(_Router(out), _Router(err))
            self._used.append(routers)
            routers.users = 1
            _sys.stdout, _sys.stderr = routers.out, routers.err
            return routers

    def leave(self, routers: _Routers) -> None:
        with self._lock:
            routers.users -= 1
            if routers.users:
                return
            self._used.remove(routers)
            # Somebody may have put something of their own in place meanwhile; that is left alone.
            if _sys.stdout is routers.out:
                _sys.stdout = routers.out.under
            if _sys.stderr is routers.err:
                _sys.stderr = routers.err.under
            if not self._used and warnings.showwarning is self._showwarning:
                warnings.showwarning = self._show

    def _warn(self, message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        # The standard form names a file, which in a kernel has the process id in its path.
        if (scope := _scope.get()) is None or scope.is_over:
            self._show(message, category, *where, **more)
            return
        scope.warned = True
        scope.write(f"{category.__name__}: {message}\n")


_routing = _Routing()


@contextmanager
def streams_kept() -> Generator[None]:
    """Puts `sys.stdout` and `sys.stderr` back as they were.

    For tools that run side by side: `redirect_stdout` in two of them at once may leave the one's stream for good.
    """
    out, err = _under(_sys.stdout), _under(_sys.stderr)
    try:
        yield
    finally:
        if not _routing.active:
            sys.stdout, sys.stderr = out, err


def _under(stream: TextIO | _Router) -> TextIO:
    return stream.under if isinstance(stream, _Router) else stream


class Scope:
    """Between `with Scope(index) as scope:` and its end a tool runs: what it prints, warns and must not hide."""

    __slots__ = ("_at", "_routers", "_token", "fault", "is_over", "pieces", "warned")

    def __init__(self, index: int) -> None:
        """`index`: which call of its reply it is."""
        self._at = (*inside.get(), index)
        self.is_over = False

    def __enter__(self) -> Self:
        self.pieces: list[str] = []
        self.warned = False
        self.fault: HarnessError | None = None
        """The first error of the test set-up that a run inside the tool ended with, whatever the tool made of it."""
        self._token = _scope.set(self)
        self._routers = _routing.enter()
        return self

    def __exit__(self, *raised: object) -> None:
        self.is_over = True
        _routing.leave(self._routers)
        _scope.reset(self._token)
        if self.warned:
            with warnings.catch_warnings():
                # Python then forgets what it has warned of, so that a cell that runs again warns again.
                pass

    def write(self, text: str) -> None:
        self.pieces.append(text)
        if (heard := _heard.get()) is not None:
            heard(self._at, text)

    @property
    def printed(self) -> str:
        return "".join(self.pieces) if self.pieces else ""


@contextmanager
def overheard(heard: Callable[[At, str], object]) -> Generator[None]:
    """While the body runs: `heard` is told what tools print while they print it, and where they run. It is called in
    the thread of the tool."""
    token = _heard.set(heard)
    try:
        yield
    finally:
        _heard.reset(token)


def report(fault: HarnessError) -> None:
    """Tells the tool in which this run happens, if there is one, of an error that it must not hide."""
    scope = _scope.get()
    if scope is not None and scope.fault is None:
        scope.fault = fault
