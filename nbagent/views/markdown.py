"""Markdown: the transcript of a run for places that read Markdown. Text from outside is always inside code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbagent.views.outline import Block, Name, outline
from nbagent.views.safe import inline, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbagent.views.trace import Trace

_TICKS = re.compile("`+")


def markdown(trace: Trace) -> str:
    """The complete transcript; nothing in it but our own words is read as Markdown."""
    return blocks_markdown(outline(trace))


def blocks_markdown(blocks: Iterable[Block]) -> str:
    return "\n\n".join(paragraph for block in blocks for paragraph in _paragraphs(block))


def fence(text: str, language: str = "") -> str:
    """A code block that its own text cannot end."""
    body = visible(text)
    ticks = "`" * max(3, _longest_run(body) + 1)
    return f"{ticks}{language}\n{body}\n{ticks}"


def span(text: str) -> str:
    """A code span that its own text cannot end."""
    body = inline(text)
    if not body.strip():
        return "(empty)" if not body else "(blank)"
    ticks = "`" * (_longest_run(body) + 1)
    pad = " " if body[0] in "` " or body[-1] in "` " else ""
    return f"{ticks}{pad}{body}{pad}{ticks}"


def _paragraphs(block: Block) -> Iterator[str]:
    title = "".join(span(part.text) if isinstance(part, Name) else part for part in block.title)
    is_heading = block.level == 0 and not any(isinstance(part, Name) for part in block.title)
    yield f"**{title[0].upper()}{title[1:]}**" if is_heading else title
    if block.body is not None:
        yield fence(block.body, block.language)


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
