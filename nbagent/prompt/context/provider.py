"""Provider: what gives blocks for a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbagent.prompt.context.block import ContextBlock, ContextQuery

TOP_K = 8
"""How many blocks a provider is asked for, and how many a prompt takes from all of them."""


@runtime_checkable
class ContextProvider(Protocol):
    """What gives blocks for a query. Any object with this method is one; the attributes may be missing.

    - `context_label`: str, by default the name of the class; how its blocks are marked.
    - `passive`: bool, True; its blocks are put into each prompt.
    - `active`: bool, False; the model may ask it, with the tool `retrieve_context`.
    - `supports_passive`, `supports_active`: bool, True; whether it can be used so at all.
    """

    def get_blocks(self, query: ContextQuery, *, top_k: int = TOP_K) -> Iterable[ContextBlock]:
        """The blocks that fit the query, at most `top_k`."""
        ...
