"""Loop thread: a thread with an event loop, where async tools run for the sync driver. One, but for nested agents."""

from __future__ import annotations

import asyncio
import sys
import threading
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from nbagent.errors import NBAgentError

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from concurrent.futures import Future

T = TypeVar("T")


def on_loop_thread(coroutine: Coroutine[Any, Any, T], what: str) -> Future[T]:
    """Runs a coroutine on the loop thread, in a copy of the caller's context.

    `what` names it in the error that browsers get, which have no threads.
    """
    if sys.platform == "emscripten":
        coroutine.close()
        raise NBAgentError(f"{what!r} is async, and a browser has no threads: use `await agent.arun(…)` here")
    return asyncio.run_coroutine_threadsafe(coroutine, _loop(_level() + 1))


class _LoopThread(threading.Thread):
    """A thread with an event loop. `level` 0 serves the others; each further one serves tools of the one before.

    So a tool that blocks its loop by running another agent waits for a thread that it does not hold.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, level: int) -> None:
        super().__init__(target=loop.run_forever, name=f"nbagent-loop-{level}", daemon=True)
        self.level = level


def _level() -> int:
    thread = threading.current_thread()
    return thread.level if isinstance(thread, _LoopThread) else -1


@cache
def _loop(level: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    _LoopThread(loop, level).start()
    return loop
