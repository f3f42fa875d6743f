"""Network: connections that keep a deadline and a size, whatever the other side sends, and however slowly.

A transport's own timeout starts anew with each byte, and does not count bytes: a server that drips its headers, or the
body of an error, would hold a call for ever.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from nbagent.models.wires.failures import failure

if TYPE_CHECKING:
    from collections.abc import Generator

MAX_BYTES = 64 * 2**20
"""An answer of a model is shorter than this."""


class Deadline:
    """Until when an answer has to be there."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._bytes = 0

    def left(self, timeout: float | None) -> float:
        """How many seconds the next step may take, at most `timeout`. Raises ModelError where none are left."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise failure("timeout", f"not done after {self._seconds:g} seconds")
        return left if timeout is None else min(timeout, left)

    def count(self, data: bytes) -> bytes:
        """Counts what came. Raises ModelError where it is more than any answer has."""
        self._bytes += len(data)
        if self._bytes > MAX_BYTES:
            raise failure("bad_response", f"more than {MAX_BYTES:,} bytes")
        return data

    def shorten(self, seconds: float) -> None:
        """Leaves at most so many seconds from now on."""
        self._end = min(self._end, time.monotonic() + seconds)


_current: ContextVar[Deadline | None] = ContextVar("nbagent_deadline", default=None)


@contextmanager
def until(deadline: Deadline) -> Generator[None]:
    """What is sent and read in the body keeps this deadline."""
    before = _current.get()
    _current.set(deadline)
    try:
        yield
    finally:
        _current.set(before)  # not by a token: a generator may be closed in another context


def keep_deadlines(client: Any) -> None:
    """Makes the connections of an httpx client keep the deadline of whoever uses them."""
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001 - there is no public way in
        pool: Any = getattr(transport, "_pool", None)
        if hasattr(pool, "_network_backend"):
            pool._network_backend = _Backend(pool._network_backend)  # noqa: SLF001


class _Backend:
    """Opens connections; sync and async ones alike, since each method only hands on what the other gives."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *args: Any, **options: Any) -> Any:
        made = self._inner.connect_tcp(*args, **options)
        return _connected(made) if hasattr(made, "__await__") else _Stream(made)


async def _connected(made: Any) -> _AsyncStream:
    return _AsyncStream(await made)


class _Stream:
    """A connection."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:  # write, close, get_extra_info
        return getattr(self._inner, name)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        deadline = _current.get()
        if deadline is None:
            return self._inner.read(max_bytes, timeout)
        return deadline.count(self._inner.read(max_bytes, deadline.left(timeout)))

    def start_tls(self, *args: Any, **options: Any) -> _Stream:
        return _Stream(self._inner.start_tls(*args, **options))


class _AsyncStream:
    """The same for `await`."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as it is called
        deadline = _current.get()
        if deadline is None:
            return await self._inner.read(max_bytes, timeout)
        return deadline.count(await self._inner.read(max_bytes, deadline.left(timeout)))

    async def start_tls(self, *args: Any, **options: Any) -> _AsyncStream:
        return _AsyncStream(await self._inner.start_tls(*args, **options))
