"""Drivers: take the steps of a run and yield its events. One for plain code, one for `await`; no other difference."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from time import monotonic
from typing import Any, cast

from nbagent.errors import ModelError
from nbagent.events import StreamEvent, TextDelta
from nbagent.messages import ModelReply
from nbagent.models.model import Piece
from nbagent.runtime.calling import acall_all, call_all
from nbagent.runtime.interrupts import interruptible, listening
from nbagent.runtime.run import Ask, Run

BREATH = 0.05
"""Seconds an awaited run may go without letting the event loop do anything else, such as cancel it."""


def drive(run: Run) -> Generator[StreamEvent]:
    """Drives a run from plain code; its errors are raised. Closing the generator early cancels the run."""
    steps, news = run.steps(), _News(run)
    advance, value = steps.send, cast("Any", None)
    while True:
        try:
            step = advance(value)
        except StopIteration:
            yield from news
            return
        advance, value = steps.send, None
        try:
            yield from news
            if isinstance(step, Ask):
                for piece in step.model.stream(step.request):
                    if isinstance(piece, ModelReply):
                        value = piece
                    else:
                        yield TextDelta(step.turn, piece)
                _check_whole(value, step)
            else:
                for invocation, outcome in call_all(step.invocations):
                    step.done(invocation, outcome)
                    yield from news
        except BaseException as error:  # noqa: BLE001 - the run decides what it means, and raises it again
            advance, value = steps.throw, error


async def adrive(run: Run) -> AsyncGenerator[StreamEvent]:
    """Drives a run from a coroutine; its errors are raised. Closing the generator early cancels the run."""
    steps, news = run.steps(), _News(run)
    advance, value = steps.send, cast("Any", None)
    breathed = monotonic()
    with listening():
        while True:
            try:
                step = advance(value)
            except StopIteration:
                for event in news:
                    yield event
                return
            advance, value = steps.send, None
            try:
                if monotonic() - breathed > BREATH:
                    await asyncio.sleep(0)
                    breathed = monotonic()
                for event in news:
                    yield event
                if isinstance(step, Ask):
                    async with aclosing(_pieces(step)) as pieces:
                        async for piece in pieces:
                            if isinstance(piece, ModelReply):
                                value = piece
                            else:
                                yield TextDelta(step.turn, piece)
                    _check_whole(value, step)
                else:
                    async with aclosing(acall_all(step.invocations)) as returned:
                        async for invocation, outcome in returned:
                            step.done(invocation, outcome)
                            for event in news:
                                yield event
            except BaseException as error:  # noqa: BLE001 - the run decides what it means, and raises it again
                advance, value = steps.throw, error


class _News:
    """The journal's events that have not been yielded yet; iterating moves on."""

    def __init__(self, run: Run) -> None:
        self._events = run.journal.events
        self._seen = 0

    def __iter__(self) -> Generator[StreamEvent]:
        while self._seen < len(self._events):
            self._seen += 1
            yield self._events[self._seen - 1]


@interruptible
async def _pieces(step: Ask) -> AsyncGenerator[Piece]:
    async for piece in step.model.astream(step.request):
        yield piece


def _check_whole(reply: ModelReply | None, step: Ask) -> None:
    if reply is None:
        raise ModelError(
            f"model {step.model.name!r} ended its stream in turn {step.turn} without a reply", kind="incomplete"
        )
