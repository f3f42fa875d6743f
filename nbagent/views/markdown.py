"""Markdown: blocks for places that read Markdown. Text from outside is always inside code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbagent.views.block import Block, Name
from nbagent.views.safe import inline, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbagent.views.block import Title

_TICKS = re.compile("`+")
_BOXED = re.compile(r"^(\[.\] \d+)\.")


def blocks_markdown(blocks: Iterable[Block]) -> str:
    """Nothing in it but our own words is read as Markdown. What is in a run inside is quoted."""
    lines: list[str] = []
    before: Block | None = None
    for block in blocks:
        for paragraph in _paragraphs(block):
            if before is not None and not (before.listed and block.listed):
                lines.append(_quote(min(before.depth, block.depth)))
            lines += [_quote(block.depth, line) for line in paragraph.split("\n")]
            before = block
    return "\n".join(lines)


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
    if block.listed:
        # A number behind a box is the beginning of another list for some readers.
        yield "- " + _BOXED.sub(r"\1\\.", _line(block.title))
        return
    yield _heading(block.title) if block.is_heading else _line(block.title)
    if block.body is not None:
        yield fence(block.body, block.language)


def _line(title: Title) -> str:
    return "".join(span(part.text) if isinstance(part, Name) else part for part in title)


def _heading(title: Title) -> str:
    """Our words before the first name, in bold."""
    words = title[0] if isinstance(title[0], str) else ""
    bold = f"**{words[0].upper()}{words[1:].rstrip()}**" if words else ""
    return bold + words[len(words.rstrip()) :] + _line(title[1:] if words else title)


def _quote(depth: int, line: str = "") -> str:
    """The line as one of a quote in quotes, so many deep."""
    marks = ">" * depth
    return f"{marks} {line}" if depth and line else marks + line


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
