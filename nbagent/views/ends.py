"""Ends: the beginning and the end of a text that is too long to be whole in a run's output, and where the whole is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nbagent.redact import redact
from nbagent.views.block import Name, behind
from nbagent.views.html import title_html
from nbagent.views.safe import escape
from nbagent.views.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.views.block import Block, Title

MOST = 24_000
"""Characters; a text of at most so many is whole."""
HEAD, TAIL = 8_000, 4_000
"""So many of a longer one are shown."""


class Ends(NamedTuple):
    """What is shown of a long text."""

    head: str
    tail: str
    left_out: str
    """`… 988,000 of 1,000,000 characters left out`."""

    @classmethod
    def of(cls, text: str) -> Ends | None:
        """None where the text is whole."""
        if len(text) <= MOST:
            return None
        text = redact(text)  # before it is cut, so that no secret is cut in two
        if len(text) <= MOST:
            return None
        said = f"… {len(text) - HEAD - TAIL:,} of {count(len(text), 'character')} left out"
        return cls(text[:HEAD], text[-TAIL:], said)


def whole_or_ends(text: str, where: Title = ()) -> str:
    """The text as HTML. `where`: how to see all of it."""
    ends = Ends.of(text)
    if ends is None:
        return escape(text)
    rest = f": {title_html(where)}" if where else ""
    cut = f'<span class="nbagent-cut">\n{ends.left_out}{rest} …\n</span>'
    return escape(ends.head) + cut + escape(ends.tail)


def cut_name(mark: str, text: str, where: Title) -> Title:
    """A mark of ours and a text in a title, or its beginning, a line of ours, and its end."""
    ends = Ends.of(text)
    if ends is None:
        return behind(mark, text)
    return (mark, Name(ends.head), f" {ends.left_out}: ", *where, " … ", Name(ends.tail))


def cut_blocks(block: Block, where: Title = ()) -> Iterator[Block]:
    """The block, or its beginning, a line of ours, and its end: nothing in a text can look like that line."""
    from dataclasses import replace

    ends = Ends.of(block.body) if block.body is not None and not block.is_whole else None
    if ends is None:
        yield block
        return
    yield replace(block, body=ends.head)
    title = (ends.left_out, *((": ", *where) if where else ()))
    yield replace(block, title=title, body=ends.tail, language="", heads=False)
