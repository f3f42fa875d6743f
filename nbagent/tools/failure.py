"""Failure: what a tool raised: whether it ends the run; else in words, short for the model and whole for people."""

from __future__ import annotations

import asyncio
import linecache
import traceback
from types import CoroutineType
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import FOREIGN, HarnessError
from nbagent.redact import redact
from nbagent.text import cut, sound, without_addresses
from nbagent.tools.callables import innermost

if TYPE_CHECKING:
    from types import CodeType, TracebackType

_MAX_MESSAGE = 4_000
_MAX_LINE = 200
_MAX_CAUSES = 3


def describe_error(error: BaseException, function: Any) -> tuple[str, str]:
    """What the model reads, and the whole traceback. Never raises.

    The model gets the exception and the last line of the tool's own file that was running: no path, no address. Of a
    tool that comes with nbagent no line: it would say nothing, and change with each version.
    """
    core = innermost(function)
    ours = core is not None and (core.__module__ or "").partition(".")[0] == __name__.partition(".")[0]
    where = "" if core is None or ours else _where(error.__traceback__, core.__code__)
    return sound(headline(error) + _causes(error) + where), _whole(error)


def headline(error: BaseException) -> str:
    """`ValueError: no such city`."""
    name = type(error).__name__
    try:
        message = str(error)
        notes = [str(note) for note in getattr(error, "__notes__", ())]
    except FOREIGN as failure:  # an exception's text is the user's code
        return f"{name} (its text cannot be shown: {type(failure).__name__})"
    if isinstance(error, SystemExit):
        message = _exit(error)
    text = "\n".join([f"{name}: {message}" if message else name, *notes])
    return cut(redact(without_addresses(text)), _MAX_MESSAGE)[0]


def let_through(error: BaseException) -> None:
    """Raises what ends a run, also where the tool's error is a group that holds it, or came of it."""
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        seen.add(id(one))
        if isinstance(one, KeyboardInterrupt | HarnessError):
            raise one
        inner = cast("tuple[BaseException, ...]", getattr(one, "exceptions", ()))  # of a group
        waiting += [e for e in (*inner, one.__cause__, one.__context__) if e is not None and id(e) not in seen]


def is_cancelled(error: BaseException) -> bool:
    """Whether this task is cancelled, and not something that the tool waited for."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def refuse_coroutine(value: Any, name: str) -> None:
    """Raises TypeError where a tool that is not async returned what only an `await` makes a value of."""
    if type(value) is CoroutineType:
        value.close()
        raise TypeError(f"{name} returned a coroutine that nobody awaits: wrap it in an `async def`")


def _exit(error: SystemExit) -> str:
    if isinstance(error.code, str):
        return error.code
    code = "" if error.code is None else f" with code {error.code}"
    return f"the tool tried to end Python{code}; Python goes on"


def _causes(error: BaseException) -> str:
    """The exceptions of a group, such as a TaskGroup raises: its own text only counts them."""
    if not isinstance(error, BaseExceptionGroup):
        return ""
    causes = cast("BaseExceptionGroup[BaseException]", error).exceptions
    more = f"\n- and {len(causes) - _MAX_CAUSES} more" if len(causes) > _MAX_CAUSES else ""
    return "".join(f"\n- {headline(cause)}" for cause in causes[:_MAX_CAUSES]) + more


def _where(trace: TracebackType | None, tool: CodeType) -> str:
    own: TracebackType | None = None
    while trace is not None:
        own = trace if trace.tb_frame.f_code.co_filename == tool.co_filename else own
        trace = trace.tb_next
    if own is None:
        return ""
    frame, number = own.tb_frame, own.tb_lineno
    # linecache also knows the cells of a notebook.
    line = linecache.getline(tool.co_filename, number, frame.f_globals).strip()[:_MAX_LINE]
    return f"\nin {frame.f_code.co_name}, line {number}" + (f": {line}" if line else "")


def _whole(error: BaseException) -> str:
    try:
        return redact("".join(traceback.format_exception(error)))
    except FOREIGN:  # an exception may lie about its cause, its notes, its text
        return headline(error)
