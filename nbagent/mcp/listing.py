"""Listing: all that a server has of a kind, in its order, however many pages it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from nbagent.mcp.failure import MCPCallFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable


class _Page(Protocol):
    next_cursor: str | None


P = TypeVar("P", bound=_Page)
T = TypeVar("T")

_PAGES = 1_000


async def every(page_at: Callable[[str | None], Awaitable[P]], items: Callable[[P], Iterable[T]]) -> list[T]:
    """The items of all pages; none where the server has nothing of the kind. Raises what the SDK raises."""
    from mcp import MCPError
    from mcp_types import METHOD_NOT_FOUND

    found: list[T] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        try:
            page = await page_at(cursor)
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                return []
            raise
        found += items(page)
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise MCPCallFailed(f"the server's list does not end: {_PAGES:,} pages, and it says that there are more")
