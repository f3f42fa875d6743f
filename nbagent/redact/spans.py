"""Spans: secrets in a text, also where the text so far ends before they do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from nbagent.redact.kinds import PRIVATE_KEY_END

if TYPE_CHECKING:
    import re

_LAST_LINE = 80
"""More characters than the last line of a private key has."""


class Span(NamedTuple):
    """A secret in a text."""

    start: int
    rank: int
    """Among secrets with the same start the least one gives the label: a known one before others, a long one first."""
    end: int
    label: str
    tail: Tail | None = None
    """Where the text so far ends before the secret does."""

    def going_on(self, text: str) -> Span:
        """The same in a text that goes on."""
        end = self.tail.end(text) if self.tail else self.end
        if end is None:
            return self._replace(end=len(text), tail=self.tail and self.tail.after(text))
        return self._replace(end=end, tail=None)

    def moved(self, by: int) -> Span:
        return self._replace(start=self.start - by, end=self.end - by, tail=self.tail and self.tail.moved(by))


class Tail(NamedTuple):
    """The rest of a secret: up to the next `stop`, which belongs to it only if it is the last line of a private key."""

    stop: re.Pattern[str]
    since: int
    limit: int | None = None

    def end(self, text: str, following: Following | None = None) -> int | None:
        """Where the secret ends, or None where that is not in `text`."""
        found = (following or Following(text)).first(self.stop, self.since)
        end = found and (found[1] if self.stop is PRIVATE_KEY_END else found[0])
        if self.limit is not None:
            end = self.limit if end is None else min(end, self.limit)
        return end if end is not None and end <= len(text) else None

    def after(self, text: str) -> Tail:
        """The rest where it does not end in `text`. Of many keys that do not end there is one rest, or they add up."""
        return self._replace(since=max(self.since, len(text) - _LAST_LINE if self.limit else len(text)))

    def moved(self, by: int) -> Tail:
        return self._replace(since=max(0, self.since - by), limit=self.limit and self.limit - by)


class Following:
    """The first match at a place or after it, remembered: many places have the same, and a search goes far."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[re.Pattern[str], tuple[int, tuple[int, int] | None]] = {}

    def first(self, pattern: re.Pattern[str], place: int) -> tuple[int, int] | None:
        """Its start and its end."""
        since, span = self._known.get(pattern, (sys.maxsize, None))
        if since <= place and (span is None or place <= span[0]):
            return span
        match = pattern.search(self._text, place)
        self._known[pattern] = place, match.span() if match else None
        return self._known[pattern][1]
