"""Consult: a function of the user that a run asks, or tells something: a guardrail, a hook."""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from nbagent.runtime.interrupts import interruptible
from nbagent.runtime.loop_thread import on_loop_thread
from nbagent.tools.failure import headline, is_cancelled
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping

_NO_KEYWORDS: Mapping[str, Any] = {}
_MISLEADING = (StopIteration, StopAsyncIteration, asyncio.CancelledError, CancelledError)
"""What means something else where a generator or a task raises it."""


class Consult(Struct):
    """A step for a driver: call this, await what it returns where that can be awaited, and put it into `value`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    name: str
    """What it is called in errors."""
    keywords: Mapping[str, Any] = _NO_KEYWORDS
    value: Any = None


def consult(function: Callable[..., Any], args: tuple[Any, ...], name: str) -> Generator[Consult, None, Any]:
    """Asks a driver to call the function; gives what it returns. What it raises is raised."""
    step = Consult(function, args, name)
    yield step
    return step.value


@interruptible
def consulted(step: Consult) -> None:
    """Takes the step for a sync driver: what can be awaited runs on the loop thread."""
    try:
        value = step.function(*step.args, **step.keywords)
        step.value = _waited(value, step.name) if isawaitable(value) else value
    except _MISLEADING as error:
        raise _raised(step, error) from error


@interruptible
async def aconsulted(step: Consult) -> None:
    """The same for an async driver. A cancellation of the task itself goes through."""
    try:
        value = step.function(*step.args, **step.keywords)
        step.value = await value if isawaitable(value) else value
    except _MISLEADING as error:
        if is_cancelled(error):
            raise
        raise _raised(step, error) from error


def _waited(value: Awaitable[Any], name: str) -> Any:
    future = on_loop_thread(_awaited(value), name)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _raised(step: Consult, error: BaseException) -> RuntimeError:
    return RuntimeError(f"{step.name} raised {headline(error)}")
