"""Calling: runs tool functions, one or several side by side, and brings home whatever comes of it."""

from __future__ import annotations

import asyncio
import contextvars
import sys
from concurrent.futures import Future, as_completed
from threading import Semaphore, Thread
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from nbagent.runtime.capture import Scope, streams_kept
from nbagent.runtime.interrupts import interruptible
from nbagent.runtime.loop_thread import on_loop_thread
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from nbagent.errors import HarnessError
    from nbagent.tools.tool import Tool

AT_ONCE = 64
"""How many sync tools of one reply run at the same time."""
CANCEL_GRACE = 0.5
"""Seconds that a cancelled async tool has to end before the run goes on without it."""


class Invocation(Struct):
    """A tool call whose arguments have been checked."""

    index: int
    tool: Tool
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Outcome(Struct):
    """What came of an invocation: a value, or whatever was raised."""

    value: Any = None
    error: BaseException | None = None
    printed: str = ""
    fault: HarnessError | None = None
    """An error of the test set-up that came up inside, whatever the tool made of it."""


Done = tuple[Invocation, Outcome]


@interruptible
def call(invocation: Invocation) -> Outcome:
    """Runs a sync tool here. Catches everything, KeyboardInterrupt and SystemExit too: the run decides about it."""
    value, error = None, None
    with Scope() as scope:
        try:
            value = invocation.tool.function(*invocation.args, **invocation.kwargs)
        except BaseException as raised:  # noqa: BLE001
            error = raised
    if type(value) is CoroutineType:
        value.close()
        error = TypeError(f"{invocation.tool.name} returned a coroutine that nobody awaits: wrap it in an `async def`")
    return Outcome(value, error, scope.printed, scope.fault)


@interruptible
async def acall(invocation: Invocation) -> Outcome:
    """Awaits an async tool. A cancellation of the task itself goes through."""
    value, error = None, None
    with Scope() as scope:
        try:
            value = await invocation.tool.function(*invocation.args, **invocation.kwargs)
        except asyncio.CancelledError as raised:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            error = raised
        except BaseException as raised:  # noqa: BLE001
            error = raised
    return Outcome(value, error, scope.printed, scope.fault)


def call_all(invocations: tuple[Invocation, ...]) -> Iterator[Done]:
    """Runs the invocations for a sync driver: a lone sync tool here, others side by side; yields each as it ends."""
    if _one_by_one(invocations):
        for invocation in invocations:
            yield invocation, call(invocation)
        return
    with streams_kept():
        room = Semaphore(AT_ONCE)
        futures = {_submit(invocation, room): invocation for invocation in invocations}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            raise


async def acall_all(invocations: tuple[Invocation, ...]) -> AsyncGenerator[Done]:
    """The same for an async driver: a lone async tool is awaited in the driver's own task."""
    if len(invocations) == 1 and invocations[0].tool.is_async:
        yield invocations[0], await acall(invocations[0])
        return
    if _one_by_one(invocations):
        for invocation in invocations:
            yield invocation, call(invocation)
        return
    with streams_kept():
        room = Semaphore(AT_ONCE)
        tasks: list[asyncio.Task[Done]] = []

        async def one(invocation: Invocation) -> Done:
            done = await _arun(invocation, room)
            if isinstance(done[1].error, KeyboardInterrupt):
                # At once, or the others, which have not begun, would hold the thread one after the other.
                for task in tasks:
                    if task is not asyncio.current_task():
                        task.cancel()
            return done

        tasks += [asyncio.ensure_future(one(invocation)) for invocation in invocations]
        try:
            for task in asyncio.as_completed(tasks):
                yield await task
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=CANCEL_GRACE)
            raise


def _one_by_one(invocations: tuple[Invocation, ...]) -> bool:
    """Sync tools that run in this thread: a lone one, and all of them where there are no threads (Pyodide)."""
    if len(invocations) == 1:
        return not invocations[0].tool.is_async
    return sys.platform == "emscripten" and not any(invocation.tool.is_async for invocation in invocations)


def _submit(invocation: Invocation, room: Semaphore) -> Future[Outcome]:
    if invocation.tool.is_async:
        return on_loop_thread(acall(invocation), invocation.tool.name)
    return _in_thread(invocation, room)


def _in_thread(invocation: Invocation, room: Semaphore) -> Future[Outcome]:
    """Runs a sync tool in a thread of its own, with a copy of this context.

    Neither asyncio's pool (six threads on two cores: sixteen calls would take three rounds) nor an executor (Python
    waits for its threads before it exits, also for a tool that was given up after Ctrl-C).
    """
    future, context = Future[Outcome](), contextvars.copy_context()

    def run() -> None:
        with room:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(context.run(call, invocation))
                except BaseException as error:  # noqa: BLE001 - belongs to whoever waits for the future
                    future.set_exception(error)

    Thread(target=run, name=f"nbagent-tool-{invocation.tool.name}", daemon=True).start()
    return future


async def _arun(invocation: Invocation, room: Semaphore) -> Done:
    if invocation.tool.is_async:
        return invocation, await acall(invocation)
    if sys.platform == "emscripten":
        return invocation, call(invocation)
    return invocation, await asyncio.wrap_future(_in_thread(invocation, room))
