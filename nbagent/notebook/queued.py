"""Queued: what a person has started while a cell is awaited, and what runs when that has ended."""

# pyright: basic
# ipykernel is not typed.

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell


def runs_again(shell: InteractiveShell) -> bool:
    """Whether the cell that is awaited now has been started once more. Only ipykernel 7 lets itself be asked.

    It has taken such requests already, each in a task of its own that waits for the cell before it. There is no public
    way to see them; where ipykernel changes, they are not seen.
    """
    kernel: Any = getattr(shell, "kernel", None)
    own = kernel.get_parent() if kernel is not None else {}
    cell = own.get("metadata", {}).get("cellId")
    if cell is None:
        return False
    others = [one for one in map(partial(_request, kernel), _messages()) if one and _id(one) != _id(own)]
    return any(one["metadata"].get("cellId") == cell for one in others)


def _messages() -> Iterator[Any]:
    """What came on the shell channel and waits for its turn, and what has its turn now."""
    for task in asyncio.all_tasks():
        coroutine: Any = task.get_coro()
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None and frame.f_code.co_name == "shell_main":
            yield frame.f_locals.get("msg")


def _request(kernel: Any, message: Any) -> Any:
    """The request to run a cell that a message is; None where it is none, or cannot be read again: with a key to sign
    messages, one that has its turn is read no second time."""
    try:
        _, frames = kernel.session.feed_identities(message, copy=False)
        request = kernel.session.deserialize(frames, content=False, copy=False)
        return request if request["header"]["msg_type"] == "execute_request" else None
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


def _id(request: Any) -> str:
    return request.get("header", {}).get("msg_id", "")
