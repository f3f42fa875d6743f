"""Waiting: for an answer from a server's thread, in a way that a kernel interrupt can end."""

from __future__ import annotations

import asyncio
from concurrent.futures import wait as wait_for
from typing import TYPE_CHECKING, TypeVar

from nbagent.runtime.interrupts import HEARTBEAT, gated, interruptible, listening

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbagent.mcp.request import Request

T = TypeVar("T")


@interruptible
def wait(request: Request[T], begin: Callable[[], None]) -> T:
    """Asks, and waits in plain code. An interrupt cancels the request, and is raised."""
    with gated():
        try:
            begin()
            while not request.answer.done():
                wait_for((request.answer,), HEARTBEAT)  # without a limit Windows would not notice Ctrl-C
            return request.answer.result()
        except BaseException:
            request.answer.cancel()
            raise


async def await_(request: Request[T], begin: Callable[[], None]) -> T:
    """Asks, and waits in a coroutine, on any event loop. Cancelling it cancels the request."""
    with listening():
        try:
            begin()
            return await asyncio.wrap_future(request.answer)
        except BaseException:  # an interrupt is no cancellation
            request.answer.cancel()
            raise
