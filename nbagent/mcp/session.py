"""Session: the way to a server, which is started when it is first needed, and again after it was lost."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, TypeVar

from nbagent.mcp.connection import Connection
from nbagent.mcp.request import Request
from nbagent.mcp.waiting import await_, wait

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp import Client

    from nbagent.mcp.target import Target

T = TypeVar("T")


class Session:
    """Asks a server. Each use starts it at most once: what is lost is an error first, and started again by the next.

    Both ways of asking raise ConfigError where the server cannot start, else MCPCallFailed.
    """

    def __init__(self, target: Target, label: str, start_timeout: float, call_timeout: float) -> None:
        self.target = target
        self.label = label
        self._start_timeout = start_timeout
        self._call_timeout = call_timeout
        self._lock = threading.Lock()
        self._held: Connection | None = None

    @property
    def is_open(self) -> bool:
        return self._held is not None and not self._held.spent

    def ask(self, what: str, perform: Callable[[Client], Awaitable[T]]) -> T:
        """Asks from plain code, also where an event loop is running."""
        asked = Request(what, perform)
        return wait(asked, lambda: self._connection().ask(asked))

    async def aask(self, what: str, perform: Callable[[Client], Awaitable[T]]) -> T:
        """Asks from a coroutine."""
        asked = Request(what, perform)
        return await await_(asked, lambda: self._connection().ask(asked))

    def close(self) -> None:
        """Ends the server and waits until it is gone."""
        with self._lock:
            held, self._held = self._held, None
        if held is not None:
            held.close()

    def _connection(self) -> Connection:
        with self._lock:
            if self._held is None or self._held.spent:
                self._held = Connection(self.target, self.label, self._start_timeout, self._call_timeout)
                # A cell that is run again makes another server; the one before would stay until the kernel ends.
                weakref.finalize(self, self._held.stop).atexit = False
            return self._held
