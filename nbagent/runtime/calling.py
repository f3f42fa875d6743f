"""Calling: runs a tool function, or the run of another agent, and brings home whatever comes of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any

from nbagent.errors import ConfigError
from nbagent.runtime.capture import Scope, inside
from nbagent.runtime.interrupts import interruptible
from nbagent.tools.failure import is_cancelled, refuse_coroutine
from nbagent.values import Struct

if TYPE_CHECKING:
    from nbagent.errors import HarnessError
    from nbagent.events import StreamEvent
    from nbagent.runtime.run import Run
    from nbagent.tools.tool import Tool


class Invocation(Struct):
    """A tool call whose arguments have been checked."""

    index: int
    tool: Tool
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    run: Run | None = None
    """The run of another agent that it is."""


class Outcome(Struct):
    """What came of an invocation: a value, or whatever was raised."""

    value: Any = None
    error: BaseException | None = None
    printed: str = ""
    fault: HarnessError | None = None
    """An error of the test set-up that came up inside, whatever the tool made of it."""


Heard = tuple[Invocation, "Outcome | StreamEvent"]
"""What there is to hear of an invocation: its outcome, or before it something that happens in a run inside."""
Drive = Callable[["Run"], Generator["StreamEvent"]]
ADrive = Callable[["Run"], AsyncGenerator["StreamEvent"]]


@interruptible
def call(invocation: Invocation) -> Outcome:
    """Runs a sync tool here. Catches everything, KeyboardInterrupt and SystemExit too: the run decides about it."""
    value, error = None, None
    with Scope(invocation.index) as scope:
        try:
            value = invocation.tool.function(*invocation.args, **invocation.kwargs)
            refuse_coroutine(value, invocation.tool.name)
        except BaseException as raised:  # noqa: BLE001
            error = raised
    return Outcome(value, error, scope.printed, scope.fault)


@interruptible
async def acall(invocation: Invocation) -> Outcome:
    """Awaits an async tool. A cancellation of the task itself goes through."""
    value, error = None, None
    with Scope(invocation.index) as scope:
        try:
            value = await invocation.tool.function(*invocation.args, **invocation.kwargs)
        except BaseException as raised:
            if is_cancelled(raised):
                raise
            error = raised
    return Outcome(value, error, scope.printed, scope.fault)


def driven(invocation: Invocation, run: Run, drive: Drive) -> Generator[Heard]:
    """The run of another agent, to its end."""
    around = inside.get()
    try:
        inside.set((*around, invocation.index))
        with closing(drive(run)) as events:
            for event in events:
                yield invocation, event
    except _OF_A_RUN as error:
        yield invocation, _failed(error)
        return
    finally:
        inside.set(around)
    yield invocation, Outcome(run.result)


async def adriven(invocation: Invocation, run: Run, drive: ADrive) -> AsyncGenerator[Heard]:
    """The same for an async driver."""
    around = inside.get()
    try:
        inside.set((*around, invocation.index))
        async with aclosing(drive(run)) as events:
            async for event in events:
                yield invocation, event
    except _OF_A_RUN as error:
        yield invocation, _failed(error)
        return
    finally:
        inside.set(around)
    yield invocation, Outcome(run.result)


_OF_A_RUN = (Exception, SystemExit)
"""What the run of another agent may end with; KeyboardInterrupt and CancelledError end the run around it, too."""


def _failed(error: BaseException) -> Outcome:
    """The error as an outcome of the tool. Raises one that says that the agent is described wrongly."""
    if isinstance(error, ConfigError):
        raise error
    return Outcome(error=error)
