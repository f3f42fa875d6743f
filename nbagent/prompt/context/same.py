"""Same: which blocks are one and the same, and which one is better."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbagent.prompt.context.block import ContextBlock


def key(block: ContextBlock) -> tuple[str, ...]:
    """Blocks with the same key are the same one: its `dedupe_key`, or uri with chunk_id, or else its text."""
    if block.dedupe_key is not None:
        return ("key", block.dedupe_key)
    if block.uri is not None and block.chunk_id is not None:
        return ("place", block.uri, block.chunk_id)
    return ("text", block.text)


def best_first(blocks: Iterable[ContextBlock]) -> list[ContextBlock]:
    """Highest score first, those without a score last; equal ones stay in the order in which they came."""
    return sorted(blocks, key=lambda block: (block.score is None, -(block.score or 0.0)))


def distinct(blocks: Iterable[ContextBlock]) -> list[ContextBlock]:
    """The blocks in their order, without blank ones and without those that came before."""
    first: dict[tuple[str, ...], ContextBlock] = {}
    for block in blocks:
        if block.text.strip():
            first.setdefault(key(block), block)
    return list(first.values())
