"""Beside: the tool calls of one reply, one by one where it is one, else side by side."""

from __future__ import annotations

import asyncio
import contextvars
import sys
from concurrent.futures import Future
from contextlib import aclosing, closing, suppress
from queue import Empty, SimpleQueue
from threading import Event, Semaphore, Thread
from typing import TYPE_CHECKING, TypeVar

from nbagent.runtime.calling import Heard, Outcome, acall, adriven, call, driven
from nbagent.runtime.capture import streams_kept
from nbagent.runtime.interrupts import HEARTBEAT
from nbagent.runtime.loop_thread import on_loop_thread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from nbagent.runtime.calling import ADrive, Drive, Invocation

T = TypeVar("T")

AT_ONCE = 64
"""How many sync tools of one reply run at the same time."""
CANCEL_GRACE = 0.5
"""Seconds that a cancelled async tool has to end before the run goes on without it."""


def call_all(invocations: tuple[Invocation, ...], drive: Drive) -> Generator[Heard]:
    """Runs the invocations for a sync driver: a lone one here, several side by side; tells of each as it ends."""
    if _one_by_one(invocations):
        for one in invocations:
            if one.run is None:
                yield one, call(one)
            else:
                yield from driven(one, one.run, drive)
        return
    with streams_kept():
        yield from _Threads(drive).heard(invocations)


async def acall_all(invocations: tuple[Invocation, ...], drive: ADrive) -> AsyncGenerator[Heard]:
    """The same for an async driver: a lone async tool is awaited in the driver's own task."""
    if len(invocations) == 1 or _one_by_one(invocations):
        for one in invocations:
            if one.run is not None:
                async with aclosing(adriven(one, one.run, drive)) as inside:
                    async for heard in inside:
                        yield heard
            else:
                yield one, (await acall(one) if one.tool.is_async else call(one))
        return
    with streams_kept():
        async with aclosing(_Tasks(drive).heard(invocations)) as together:
            async for heard in together:
                yield heard


def _one_by_one(invocations: tuple[Invocation, ...]) -> bool:
    """What runs in this thread: a lone one that is not async, and all of them where there are no threads (Pyodide)."""
    if len(invocations) == 1:
        return not invocations[0].tool.is_async
    return sys.platform == "emscripten" and not any(one.tool.is_async and one.run is None for one in invocations)


class _Threads:
    """Side by side for a sync driver: async tools on the loop thread, everything else in a thread each."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._room = Semaphore(AT_ONCE)
        self._news = SimpleQueue[Heard | BaseException]()
        self._left = Event()

    def _next(self) -> Heard | BaseException:
        """What there is to hear next. Without a limit, an interrupt just before the wait would be noticed after it."""
        while True:
            with suppress(Empty):
                return self._news.get(timeout=HEARTBEAT)

    def heard(self, invocations: tuple[Invocation, ...]) -> Generator[Heard]:
        futures: list[Future[None]] = []
        try:
            for one in invocations:
                futures.append(future := self._begun(one))
                future.add_done_callback(self._ended)
            running = len(futures)
            while running:
                said = self._next()
                if isinstance(said, BaseException):
                    raise said
                running -= isinstance(said[1], Outcome)
                yield said
        except BaseException:
            self._left.set()
            for future in futures:
                future.cancel()
            raise

    def _begun(self, one: Invocation) -> Future[None]:
        if one.run is None and one.tool.is_async:
            return on_loop_thread(self._awaited(one), one.tool.name)
        return in_thread(lambda: self._called(one), one.tool.name, self._room)

    def _ended(self, future: Future[None]) -> None:
        """What nobody foresaw must not leave the driver waiting."""
        if not future.cancelled() and (error := future.exception()) is not None:
            self._news.put(error)

    async def _awaited(self, one: Invocation) -> None:
        self._news.put((one, await acall(one)))

    def _called(self, one: Invocation) -> None:
        if one.run is None:
            self._news.put((one, call(one)))
            return
        with closing(driven(one, one.run, self._drive)) as inside:
            for said in inside:
                self._news.put(said)
                if self._left.is_set():
                    return  # the run around it is over, so this one is closed before it does anything more


def in_thread(function: Callable[[], T], name: str, room: Semaphore) -> Future[T]:
    """Calls a function in a thread of its own, with a copy of this context.

    Neither asyncio's pool (six threads on two cores: sixteen calls would take three rounds) nor an executor (Python
    waits for its threads before it exits, also for a tool that was given up after Ctrl-C).
    """
    future, context = Future[T](), contextvars.copy_context()

    def run() -> None:
        with room:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(context.run(function))
                except BaseException as error:  # noqa: BLE001 - belongs to whoever waits for the future
                    future.set_exception(error)

    Thread(target=run, name=f"nbagent-tool-{name}", daemon=True).start()
    return future


class _Tasks:
    """Side by side for an async driver: a task each; a sync tool has a thread besides."""

    def __init__(self, drive: ADrive) -> None:
        self._drive = drive
        self._room = Semaphore(AT_ONCE)
        self._news = asyncio.Queue[Heard | BaseException]()
        self._tasks: list[asyncio.Task[None]] = []

    async def heard(self, invocations: tuple[Invocation, ...]) -> AsyncGenerator[Heard]:
        self._tasks += [asyncio.ensure_future(self._one(one)) for one in invocations]
        running = len(self._tasks)
        try:
            while running:
                said = await self._news.get()
                if isinstance(said, BaseException):
                    raise said
                running -= isinstance(said[1], Outcome)
                yield said
        except BaseException:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks, timeout=CANCEL_GRACE)
            raise

    async def _one(self, one: Invocation) -> None:
        try:
            await self._performed(one)
        except asyncio.CancelledError as stop:
            self._news.put_nowait(stop)
            raise
        except BaseException as error:  # noqa: BLE001 - raised by whoever hears of it
            self._news.put_nowait(error)

    async def _performed(self, one: Invocation) -> None:
        if one.run is not None:
            async with aclosing(adriven(one, one.run, self._drive)) as inside:
                async for said in inside:
                    self._news.put_nowait(said)
            return
        outcome = await self._called(one)
        self._news.put_nowait((one, outcome))
        if isinstance(outcome.error, KeyboardInterrupt):
            # At once, or the others, which have not begun, would hold the thread one after the other.
            for task in self._tasks:
                if task is not asyncio.current_task():
                    task.cancel()

    async def _called(self, one: Invocation) -> Outcome:
        if one.tool.is_async:
            return await acall(one)
        if sys.platform == "emscripten":
            return call(one)
        return await asyncio.wrap_future(in_thread(lambda: call(one), one.tool.name, self._room))
