"""Text: the plain transcript of a run. Whatever comes from outside is indented below a title of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.block import Block, Name, Title
from nbagent.views.safe import inline, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


ENDS = 6
"""So many lines of a long body are shown from each of its ends, where a text is brief."""
WIDE = 1_000
"""So many characters of a longer line are shown then, half of them from each of its ends."""


def blocks_text(blocks: Iterable[Block], *, brief: bool = False) -> str:
    """`brief`: whether long bodies and long lines are cut short, all but the answer and what somebody decides about."""
    lines = (line for block in blocks for line in _lines(block, brief=brief and not block.is_whole))
    return "\n".join(lines).removeprefix("\n")


def _lines(block: Block, *, brief: bool) -> Iterator[str]:
    if block.level == 0 and not block.listed:
        yield ""
    margin, title = "  " * block.level, _title(block.title)
    yield margin + (f" {_left_out(title)} ".join(_ends(title)) if brief else title)
    if block.body is not None:
        lines = visible(block.body).split("\n")
        yield from _brief(lines, margin) if brief else _indented(lines, margin)


def _title(title: Title) -> str:
    return "".join(inline(part.text) if isinstance(part, Name) else part for part in title)


def _indented(lines: Iterable[str], margin: str) -> Iterator[str]:
    return (f"{margin}  {line}" if line else "" for line in lines)


def _brief(lines: Sequence[str], margin: str) -> Iterator[str]:
    """Both ends of what is long. What is left out is said farther to the left than anything from outside stands."""
    over = len(lines) - 2 * ENDS
    if over > 1:
        yield from _brief(lines[:ENDS], margin)
        yield f"{margin}… {over:,} lines left out"
        yield from _brief(lines[-ENDS:], margin)
        return
    for line in lines:
        head, *tail = _ends(line)
        yield from _indented([head], margin)
        if tail:
            yield margin + _left_out(line)
            yield from _indented(tail, margin)


def _ends(line: str) -> list[str]:
    return [line] if len(line) <= WIDE else [line[: WIDE // 2], line[-WIDE // 2 :]]


def _left_out(line: str) -> str:
    return f"… {len(line) - WIDE:,} characters left out"
