"""Text: the plain transcript of a run. Whatever comes from outside is indented below a title of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.block import Block, Name, Title
from nbagent.views.safe import inline, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def blocks_text(blocks: Iterable[Block]) -> str:
    lines = (line for block in blocks for line in _lines(block))
    return "\n".join(lines).removeprefix("\n")


def _lines(block: Block) -> Iterator[str]:
    if block.level == 0 and not block.listed:
        yield ""
    yield "  " * block.level + _title(block.title)
    if block.body is not None:
        margin = "  " * (block.level + 1)
        yield from (margin + line if line else "" for line in visible(block.body).split("\n"))


def _title(title: Title) -> str:
    return "".join(inline(part.text) if isinstance(part, Name) else part for part in title)
