"""Drivers: take the steps of a run and yield its events. One for plain code, one for `await`; no other difference."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from time import monotonic, sleep
from typing import TYPE_CHECKING

from nbagent.events import is_fleeting
from nbagent.runtime.asking import Ask, Pause
from nbagent.runtime.batch import Use
from nbagent.runtime.beside import acall_all, call_all
from nbagent.runtime.calling import Outcome
from nbagent.runtime.consult import aconsulted, consulted
from nbagent.runtime.interrupts import gated, interruptible, listening
from nbagent.runtime.telling import atelling, telling

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterator, Sequence

    from nbagent.events import StreamEvent
    from nbagent.models.model import Piece
    from nbagent.runtime.run import Run, Step

BREATH = 0.05
"""Seconds an awaited run may go without letting the event loop do anything else, such as cancel it."""


def drive(run: Run) -> Generator[StreamEvent]:
    """Drives a run from plain code; its errors are raised. Closing the generator early cancels the run."""
    return _drive(run) if run.hooks is None else telling(run, run.hooks, _drive(run))


def adrive(run: Run) -> AsyncGenerator[StreamEvent]:
    """Drives a run from a coroutine; its errors are raised. Closing the generator early cancels the run."""
    return _adrive(run) if run.hooks is None else atelling(run, run.hooks, _adrive(run))


def _drive(run: Run) -> Generator[StreamEvent]:
    steps, news = run.steps(), _News(run)
    error: BaseException | None = None
    with gated():  # a cell that awaits elsewhere has a handler that would wait for the loop, which this blocks
        while True:
            try:
                step = next(steps) if error is None else steps.throw(error)
            except StopIteration:
                yield from news.take()
                return
            try:
                error = None
                yield from news.take()
                yield from _take(step, news)
            except BaseException as raised:  # noqa: BLE001 - the run decides what it means, and raises it again
                error = raised


async def _adrive(run: Run) -> AsyncGenerator[StreamEvent]:
    steps, news, breath = run.steps(), _News(run), _Breath()
    error: BaseException | None = None
    with listening():
        while True:
            try:
                step = next(steps) if error is None else steps.throw(error)
            except StopIteration:
                for event in news.take():
                    yield event
                return
            except KeyboardInterrupt as stop:
                # Out of a task it would go through the event loop, and end a kernel.
                raise asyncio.CancelledError("stopped by the user") from stop
            try:
                error = None
                await breath.taken()
                for event in news.take():
                    yield event
                async with aclosing(_atake(step, news)) as events:
                    async for event in events:
                        yield event
            except BaseException as raised:  # noqa: BLE001 - the run decides what it means, and raises it again
                error = raised


@interruptible
def _take(step: Step, news: _News) -> Generator[StreamEvent]:
    if isinstance(step, Ask):
        for piece in step.model.stream(step.request):
            yield from step.receive(piece)
    elif isinstance(step, Use):
        for invocation, heard in call_all(step.invocations, drive):
            if isinstance(heard, Outcome):
                step.done(invocation, heard)
            elif is_fleeting(heard):
                yield step.inside(invocation, heard)
            yield from news.take()
    elif isinstance(step, Pause):
        for seconds, then in _countdown(step.seconds):
            yield step.waiting(seconds)
            sleep(then)
    else:
        consulted(step)


async def _atake(step: Step, news: _News) -> AsyncGenerator[StreamEvent]:
    if isinstance(step, Ask):
        async with aclosing(_pieces(step)) as pieces:
            async for piece in pieces:
                for event in step.receive(piece):
                    yield event
    elif isinstance(step, Use):
        async with aclosing(acall_all(step.invocations, adrive)) as returned:
            async for invocation, heard in returned:
                if isinstance(heard, Outcome):
                    step.done(invocation, heard)
                elif is_fleeting(heard):
                    yield step.inside(invocation, heard)
                for event in news.take():
                    yield event
    elif isinstance(step, Pause):
        for seconds, then in _countdown(step.seconds):
            yield step.waiting(seconds)
            await asyncio.sleep(then)
    else:
        await aconsulted(step)


def _countdown(seconds: float) -> Iterator[tuple[float, float]]:
    """How much is left, and how long to wait until the next look at it: at most a second."""
    end = monotonic() + seconds
    while (left := end - monotonic()) > 0:
        yield left, min(left, 1.0)


@interruptible
async def _pieces(step: Ask) -> AsyncGenerator[Piece]:
    async for piece in step.model.astream(step.request):
        yield piece


class _News:
    """The journal's events that have not been yielded yet."""

    __slots__ = ("_events", "_seen")

    def __init__(self, run: Run) -> None:
        self._events = run.journal.events
        self._seen = 0

    def take(self) -> Sequence[StreamEvent]:
        """What has come since the last time."""
        seen, self._seen = self._seen, len(self._events)
        return self._events[seen:] if seen < self._seen else ()


class _Breath:
    """Lets the event loop have a turn now and then; a scripted run would otherwise never give it one."""

    def __init__(self) -> None:
        self._last = monotonic()

    async def taken(self) -> None:
        if monotonic() - self._last > BREATH:
            await asyncio.sleep(0)
            self._last = monotonic()
