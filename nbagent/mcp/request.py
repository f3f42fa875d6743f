"""Request: what is asked of a server, and the answer, which can be given up at any moment and from any thread."""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from mcp import Client

T = TypeVar("T")


class Request(Generic[T]):
    """`what` names it in errors, `perform` does it. Cancelling `answer` cancels it.

    The answer is there before anything is asked: an interrupt may come right after, when no one has a task yet.
    """

    def __init__(self, what: str, perform: Callable[[Client], Awaitable[T]]) -> None:
        self.what = what
        self.perform = perform
        self.answer: Future[T] = Future()

    def settle(self, task: asyncio.Task[T]) -> None:
        """Takes over what came of the task that performed it."""
        error = None if task.cancelled() else task.exception()
        with suppress(InvalidStateError):  # given up meanwhile
            if task.cancelled():
                self.answer.cancel()
            elif error is not None:
                self.answer.set_exception(error)
            else:
                self.answer.set_result(task.result())
