"""Block: a title and what stands below it. The plain transcript and the Markdown one are both made of these.

Everything from outside is in a `Name` or in a body, so each format has only these two to make safe.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Name:
    """Text from outside that belongs on one line."""

    text: str


Title = tuple[str | Name, ...]
"""Our words, and names."""


def behind(mark: str, text: str) -> Title:
    """A mark of ours and a text from outside, such as `: no such city`; nothing where there is no text."""
    return (mark, Name(text)) if text else ()


@dataclass(frozen=True, slots=True)
class Block:
    """A title of our words and of names, and below it text from outside."""

    level: int
    """0 for a section, 1 for what is in it, 2 for what belongs to that, and so on."""
    title: Title
    body: str | None = None
    language: str = ""
    listed: bool = False
    """Whether it is a line of a list; it has no body."""
    heads: bool = False
    """Whether it is the head of what follows, though it is no section."""
    depth: int = 0
    """How many runs it is inside of."""
    is_whole: bool = False
    """Whether nothing of it is ever cut short."""

    @property
    def is_heading(self) -> bool:
        """Whether it is a head in our words alone."""
        named = any(isinstance(part, Name) for part in self.title)
        return self.heads or (self.level == 0 and not named and not self.listed)


def below(level: int, blocks: Iterable[Block], *, inside: bool = False) -> Iterator[Block]:
    """The blocks, so many levels lower. `inside`: they are of a run inside."""
    for block in blocks:
        yield replace(block, level=block.level + level, depth=block.depth + inside, heads=block.is_heading)


def names_title(*names: str) -> Title:
    """The names, each once: `weather · scripted`."""
    return tuple(word for name in dict.fromkeys(names) for word in (" · ", Name(name)))[1:]
