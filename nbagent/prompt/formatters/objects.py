"""Objects: where a text holds what looks like a JSON object, and what stands around it.

One pass over the text. Quotes, brackets and fences inside the strings of an object are data; a bracket outside of all
objects is prose, unless a key or a closing bracket follows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CUT_OFF = 8
"""How many objects without an end are looked at: each costs a look at all the text behind it."""


_FENCE = r"(?P<fence>`{3,}|~{3,})(?P<tag>[\w+#.-]*)"
_DOUBLE = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SINGLE = r"'[^'\\]*+(?:\\.[^'\\]*+)*+'"
_KEY = r"""(?:["'}*]|//|/\*|[\w$-]++\s*+:)"""
"""What an object begins with, even one that is no JSON: whatever is in that is not the answer by itself."""
_OPENING = re.compile(rf"{_FENCE}|(?P<array>\[\s*+)?\{{\s*+{_KEY}")
"""A code fence, the beginning of an object, or that of an array of objects."""
JSON = re.compile(rf'{_DOUBLE}|["{{}}\[\]]', re.DOTALL)
"""A bracket, a whole string, or the quote that a string without an end begins with."""
PYTHON = re.compile(rf"""{_DOUBLE}|{_SINGLE}|["'{{}}\[\]]""", re.DOTALL)
"""The same, of Python."""
FENCE_LINE = re.compile(r"^[ \t]*+(?=`{3}|~{3})", re.MULTILINE)
"""The blanks in front of a fence that begins a line."""
FENCE_OR_END = re.compile(r"\s*+(?:`{3}|~{3}|\Z)")
"""What follows where nothing else does: a fence, or the end of the text."""
_BLANK = re.compile(r"\s*+")


@dataclass(frozen=True, slots=True)
class Found:
    """A stretch that looks like an object."""

    text: str
    closed: bool
    """Whether all its brackets and strings have an end; where not, it goes to the end of its fence or of the text."""
    fenced: bool
    alone: bool
    """Whether nothing else is in its fence, or else in the whole text."""
    start: int = 0
    """Where it begins."""

    @property
    def end(self) -> int:
        """Where the text goes on behind it."""
        return self.start + len(self.text)

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """The lower, the likelier it is the answer. Objects that are alone in their fence are all alike."""
        if self.fenced and self.alone:
            return (False, False, 0)
        return (True, not self.closed, -len(self.text))


def objects(text: str, token: re.Pattern[str] = JSON) -> list[Found]:
    """The objects that are in no other object or array: first those with a fence of their own, then the widest."""
    return sorted(_scan(text, token), key=lambda found: found.rank)


def end_of(text: str, start: int, token: re.Pattern[str]) -> int:
    """Where the object or array that begins here ends, or -1."""
    depth = 0
    for match in token.finditer(text, start):
        mark = match[0]
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if not depth:
                return match.end()
        elif len(mark) == 1:
            return -1
    return -1


def _scan(text: str, token: re.Pattern[str]) -> Iterator[Found]:
    at = content = cut_off = 0
    fence = ""
    behind: re.Match[str] | None = None
    while opening := _OPENING.search(text, at):
        if opening["fence"]:
            at = opening.end()
            fence, content = _after(opening, fence, content)
            continue
        start = opening.start()
        at = end_of(text, start, token)
        closed = at >= 0
        if not closed:
            cut_off += 1
            at = _fence_end(text, start, fence)
            behind = FENCE_LINE.search(text, start) if not fence else None
        if not opening["array"]:
            alone = _is_alone(text, content, start, at, fence)
            yield Found(text[start:at], closed, bool(fence), alone, start)
        if cut_off == MAX_CUT_OFF:
            return
        if not closed and behind:
            at = behind.start()  # a brace in prose; what has a fence of its own may still be the answer


def _after(mark: re.Match[str], fence: str, content: int) -> tuple[str, int]:
    """Which fence we are in behind this mark, and where what it holds begins; 0 where we are in none."""
    if not fence:
        return mark["fence"], mark.end()
    if mark["fence"].startswith(fence) and not mark["tag"]:
        return "", 0
    return fence, content


def _fence_end(text: str, start: int, fence: str) -> int:
    """Where the text in the fence ends that we are in, without the blanks in front of its mark; or else all text."""
    close = re.compile(rf"{fence}++(?![\w+#.-])").search(text, start) if fence else None
    return start + len(text[start : close.start()].rstrip()) if close else len(text)


def _is_alone(text: str, content: int, start: int, end: int, fence: str) -> bool:
    after = FENCE_OR_END.match(text, end) if fence else _BLANK.fullmatch(text, end)
    return bool(_BLANK.fullmatch(text, content, start) and after)
