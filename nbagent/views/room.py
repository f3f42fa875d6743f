"""Room: how much HTML a long text or a long list may take. Of what is longer, its beginning and its end are shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from nbagent.redact import redact
from nbagent.views.safe import escape, inline
from nbagent.views.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Item = TypeVar("Item")

LIMIT = 60 * 1024
"""Bytes of HTML, style sheet included, that a prompt may take."""

_SMALLEST = 512
_FRAME = 240
"""Bytes of what stands around a text: its elements, and the line that says what was left out."""
_LONG_ITEMS = 4
"""So many items of a list may be long."""
_LABEL = 120
_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes for each text and each list, in UTF-8 and with what escaping adds."""

    size: int
    rest: str = ""
    """How to see what had no room; HTML of ours."""

    def text(self, text: str) -> str:
        """The text, escaped, with its middle left out where it is too long."""
        text = redact(text)  # before it is cut, so that no secret is cut in two
        if _fitting(text, self.size) == len(text):
            return escape(text)
        head, tail = _fitting(text, self.size // 2), _fitting(text, self.size // 2, -1)
        left_out = self._left_out(len(text) - head - tail, "character")
        return escape(text[:head]) + left_out + escape(text[len(text) - tail :])

    def list(self, items: Sequence[Item], draw: Callable[[Item, Room], str], noun: str) -> str:
        """The items, each with its part of the room where they need it, without those in the middle if too many."""
        room, half = self.part(min(len(items), _LONG_ITEMS)), self.size // 2
        drawn: list[str] = []
        for each in (self, room):
            drawn = _within(self.size, (draw(item, each) for item in items))
            if len(drawn) == len(items):
                return "".join(drawn)
        head = _within(half, drawn)
        tail = _within(half, (draw(item, room) for item in reversed(items[len(head) :])))
        between = len(items) - len(head) - len(tail)
        left_out = self._left_out(between, noun) if between else ""
        return "".join((*head, left_out, *reversed(tail)))

    def shared(self, draw: Callable[[Room], str], parts: int) -> str:
        """Something of so many parts, of which each may take all of the room as long as they fit together."""
        drawn = draw(self)
        return drawn if _bytes(drawn) <= self.size else draw(self.part(parts))

    def part(self, parts: int) -> Room:
        """The room that each of so many has."""
        return replace(self, size=max(self.size // max(parts, 1) - _FRAME, 64))

    def _left_out(self, number: int, noun: str) -> str:
        rest = f": {self.rest}" if self.rest else ""
        return f'<span class="nbagent-cut">\n… {count(number, noun)} left out{rest} …\n</span>'


def fitted(draw: Callable[[Room], str], limit: int = LIMIT, rest: str = "") -> str:
    """What is drawn, with as much room as it may have to stay within so many bytes."""
    size = limit
    while (needed := _bytes(drawn := draw(Room(size, rest)))) > limit and size > _SMALLEST:
        size = min(size * 3 // 4, size * limit // needed)
    return drawn


def label(text: str, most: int = _LABEL) -> str:
    """A name from outside, on one line and with so many characters at most, escaped."""
    text = redact(text)
    name = inline(text[:most])
    return escape(name if len(name) <= most >= len(text) else f"{name[:most]}…")


def _bytes(text: str) -> int:
    return len(text.encode())


def _fitting(text: str, size: int, end: int = 1) -> int:
    """How many characters from the beginning (from the end: -1) have so many bytes when they are escaped.

    Block by block, so that the cost is that of what is shown, not of all that there is.
    """
    number, step = 0, _BLOCK
    while number < len(text) and step:
        start = number if end > 0 else max(len(text) - number - step, 0)
        block = text[start : start + step] if end > 0 else text[start : len(text) - number]
        needed = _bytes(escape(block))
        if needed > size:
            step //= 2
        else:
            number, size = number + len(block), size - needed
    return number


def _within(size: int, drawn: Iterable[str]) -> list[str]:
    """As many of the first as fit."""
    kept: list[str] = []
    for each in drawn:
        size -= _bytes(each)
        if size < 0:
            break
        kept.append(each)
    return kept
