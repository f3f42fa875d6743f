"""Loop thread: the one thread of nbagent, with an event loop, where async tools run for the sync driver."""

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
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="nbagent-loop", daemon=True).start()
    return loop
