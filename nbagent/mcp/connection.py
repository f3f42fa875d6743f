"""Connection: one run of a server, from its start to its end."""

from __future__ import annotations

import asyncio
import atexit
import threading
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from nbagent.errors import ConfigError
from nbagent.mcp import sdk
from nbagent.mcp.clues import Clues
from nbagent.mcp.failure import MCPServerLost
from nbagent.mcp.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp import Client

    from nbagent.mcp.request import Request
    from nbagent.mcp.target import Target

T = TypeVar("T")

_FAREWELL = 5.0
"""Seconds that a server has to take note of the end. A process has about two, then it is told, then it is killed."""
_LIMIT = 15.0
"""Seconds that closing waits at most, whatever happens."""


class Connection:
    """A thread with an event loop, whose main task owns the session: it enters it, waits, and leaves it.

    The thread is not one of `on_loop_thread`: tools run there, and one that waits for a server in plain code (an agent
    inside a tool does) would hold the very thread that has to answer it. Starts at once, in the background.
    """

    def __init__(self, target: Target, label: str, start_timeout: float, call_timeout: float) -> None:
        self._client_class = sdk.client_class()
        self._target = target
        self._start_timeout = start_timeout
        self._call_timeout = call_timeout
        self._clues = Clues(target.secrets.mask)
        self._trouble = Trouble(target, label, self._clues)
        self._client: Client | None = None
        self._limit: asyncio.Timeout | None = None
        """Of the start."""
        self._settled = asyncio.Event()
        """It runs, or will never."""
        self._stopping = asyncio.Event()
        self._failure = ""
        """Why it did not start."""
        self._asks: set[asyncio.Task[Any]] = set()
        self._lock = threading.Lock()
        self._over = False
        self.spent = False
        """It is over, and somebody has been told."""
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = self._runner.get_loop()
        self._thread = threading.Thread(target=self._run, name=f"nbagent-mcp-{label}", daemon=True)
        _at_exit()
        _alive.add(self)
        self._thread.start()

    def ask(self, request: Request[Any]) -> None:
        """Performs the request on the connection's loop once the server has started.

        Its answer is ConfigError where the server did not start, else MCPCallFailed. Both are raised at once where the
        connection is over.
        """
        with self._lock:
            if not self._over:
                self._loop.call_soon_threadsafe(self._begin, request)
                return
        raise self._end_of(request.what)

    def stop(self) -> None:
        """Begins to end it. What was asked and has no answer fails."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._stop)

    def close(self) -> None:
        """Ends it and waits until the server is gone."""
        self.stop()
        self._thread.join(_LIMIT)

    def _begin(self, request: Request[Any]) -> None:
        if request.answer.cancelled():
            return
        task = self._loop.create_task(self._perform(request.what, request.perform))
        self._asks.add(task)
        task.add_done_callback(self._asks.discard)
        task.add_done_callback(request.settle)
        request.answer.add_done_callback(lambda _: self._give_up(task))

    def _give_up(self, task: asyncio.Task[Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(task.cancel)

    async def _perform(self, what: str, perform: Callable[[Client], Awaitable[T]]) -> T:
        import anyio

        try:
            await self._settled.wait()
            if self._client is None:
                raise self._end_of(what)
            with anyio.fail_after(self._call_timeout):
                return await perform(self._client)
        except asyncio.CancelledError:
            if self._stopping.is_set() or self._over:
                raise self._trouble.lost(what, "ended" if self.spent else "was closed") from None
            raise
        except Exception as error:  # noqa: BLE001 - the SDK's, anyio's, httpx2's, pydantic's
            failure = self._trouble.of_call(what, error, self._call_timeout)
            if isinstance(failure, MCPServerLost):
                self.spent = True
                self._stop()
            raise failure from None

    def _end_of(self, what: str) -> ConfigError | MCPServerLost:
        self.spent = True
        return ConfigError(self._failure) if self._failure else self._trouble.lost(what, "has ended")

    def _stop(self) -> None:
        self._stopping.set()
        if self._limit is not None and not self._settled.is_set():
            self._limit.reschedule(self._loop.time())

    def _run(self) -> None:
        try:
            with self._runner:
                self._runner.run(self._serve())
        finally:
            self._clues.close()
            _alive.discard(self)

    async def _serve(self) -> None:
        try:
            await self._start_and_hold()
        except Exception as error:  # noqa: BLE001 - whatever ends a session; who asks next is told
            if not self._settled.is_set() and not self._stopping.is_set():
                self._failure = self._trouble.of_start(error, self._start_timeout)
        finally:
            self._client = None
            self._settled.set()
            with self._lock:
                self._over = True
            await asyncio.sleep(0)  # what was asked just before becomes a task
            await self._end_asks()

    async def _start_and_hold(self) -> None:
        try:
            await self._hold("auto")
        except Exception as error:
            # A process may end when it is first asked which versions it knows, as servers of before 2026 are not.
            if self._settled.is_set() or not self._target.is_process or not self._trouble.is_closed(error):
                raise
            self._clues.forget()
            await self._hold("legacy")

    async def _hold(self, mode: str) -> None:
        """Starts a session, keeps it until it is to stop, and ends it: all scopes are left by the task that entered."""
        import anyio

        if self._stopping.is_set():
            return
        client = self._client_class(self._target.connect(self._clues), mode=mode, message_handler=self._clues.hear)
        try:
            # A start is cancelled once. A scope of anyio would do so again and again, and asyncio, in the middle of
            # starting a process, could not wait for its end.
            async with asyncio.timeout(self._start_timeout) as self._limit:
                with anyio.CancelScope() as farewell:  # which lets the SDK see a process to its end
                    async with client:
                        self._limit.reschedule(None)
                        await self._serve_asks(client)
                        farewell.deadline = anyio.current_time() + _FAREWELL
        finally:
            self._limit = None

    async def _serve_asks(self, client: Client) -> None:
        self._client = client
        self._settled.set()
        await self._stopping.wait()
        await self._end_asks()

    async def _end_asks(self) -> None:
        self._client = None
        await asyncio.sleep(0)  # who has not begun finds that out, and says why
        if waiting := tuple(self._asks):
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)


_alive: set[Connection] = set()


@cache
def _at_exit() -> None:
    atexit.register(_close_all)


def _close_all() -> None:
    for connection in tuple(_alive):
        connection.stop()
    for connection in tuple(_alive):
        connection.close()
