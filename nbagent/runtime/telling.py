"""Telling: the hooks of a run hear of each event before it goes out. For both drivers; no difference but `await`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nbagent.errors import FOREIGN
from nbagent.events import is_fleeting
from nbagent.runtime.consult import aconsulted, consulted
from nbagent.runtime.hooks import HookFailed, cause
from nbagent.tools.failure import headline

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterator

    from nbagent.events import Event, StreamEvent
    from nbagent.runtime.consult import Consult
    from nbagent.runtime.hooks import Hooks
    from nbagent.runtime.run import Run


def telling(run: Run, hooks: Hooks, events: Generator[StreamEvent]) -> Generator[StreamEvent]:
    """The events of a driven run. A hook that raises fails it; what it raises after the end is raised, too."""
    untold = _Untold(run, hooks)
    error: BaseException | None = None
    while True:
        try:
            event = next(events) if error is None else events.throw(error)
        except StopIteration:
            return
        except BaseException as raised:  # noqa: BLE001 - raised below
            ended = cause(raised)
            break
        try:
            error = None
            for step in untold.of(event):
                consulted(step)
        except BaseException as raised:  # noqa: BLE001 - the run decides what it means, and raises it again
            error = _failed(raised)
            continue
        try:
            yield event
        except BaseException as raised:  # noqa: BLE001 - the same
            error = raised
    for step in untold.rest(ended):
        try:
            consulted(step)
        except FOREIGN as raised:
            _add(raised, ended)
    raise ended


async def atelling(run: Run, hooks: Hooks, events: AsyncGenerator[StreamEvent]) -> AsyncGenerator[StreamEvent]:
    """The same for an async driver."""
    untold = _Untold(run, hooks)
    error: BaseException | None = None
    while True:
        try:
            event = await anext(events) if error is None else await events.athrow(error)
        except StopAsyncIteration:
            return
        except BaseException as raised:  # noqa: BLE001 - raised below
            ended = cause(raised)
            break
        try:
            error = None
            for step in untold.of(event):
                await aconsulted(step)
        except BaseException as raised:  # noqa: BLE001 - the run decides what it means, and raises it again
            error = _failed(raised)
            continue
        try:
            yield event
        except BaseException as raised:  # noqa: BLE001 - the same
            error = raised
    for step in untold.rest(ended):
        try:
            await aconsulted(step)
        except FOREIGN as raised:
            _add(raised, ended)
        except KeyboardInterrupt as stop:
            ended = stop
    if isinstance(ended, KeyboardInterrupt):  # out of a task it would go through the event loop, and end a kernel
        raise asyncio.CancelledError("stopped by the user") from ended
    raise ended


class _Untold:
    """What the hooks of a run have not heard of yet."""

    def __init__(self, run: Run, hooks: Hooks) -> None:
        self._run = run
        self._hooks = hooks
        self._told = 0
        """How many events of the journal they have heard of."""

    def of(self, event: StreamEvent) -> Iterator[Consult]:
        """Whom to tell of an event that the driver yields."""
        if not is_fleeting(event):
            self._told += 1
            yield from self._new(event, None)  # pyright: ignore[reportArgumentType]  # of a journal

    def rest(self, error: BaseException) -> Iterator[Consult]:
        """Whom to tell of what the driver did not yield any more."""
        for event in self._run.journal.events[self._told :]:
            yield from self._new(event, error)

    def _new(self, event: Event, error: BaseException | None) -> Iterator[Consult]:
        if self._run.recorded(event):
            self._hooks.skipped(event)
        else:
            yield from self._hooks.told(event, self._run, error)


def _failed(error: BaseException) -> BaseException:
    """KeyboardInterrupt and a cancelled task stop the run, everything else fails it."""
    return HookFailed(error) if isinstance(error, FOREIGN) else error


def _add(raised: BaseException, ended: BaseException) -> None:
    ended.add_note(f"a hook that was told of it raised {headline(raised)}")
