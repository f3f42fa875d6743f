"""Entries: names with their texts, as an answer gives them, and the fields that were asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbagent.prompt.formatters.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_BLANK_LINES = re.compile(r"(?:[ \t]*\r?\n)*")  # not possessive: of nested ones Python 3.11.2 matches too much


class Declared:
    """The fields that were asked for, however an answer spells their names."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)
        self._folded = {name.casefold(): name for name in reversed(names)}  # of two that differ in case, the first

    def name(self, word: str) -> str:
        """The field that the answer means: of this name, or one that differs in case only, or none of ours."""
        return word if word in self._names else self._folded.get(word.casefold(), word)

    def repairs(self, words: Iterable[str]) -> tuple[str, ...]:
        """What was done to these names, one note for each spelling."""
        return tuple(f"read `{word}` as `{name}`" for word in dict.fromkeys(words) if (name := self.name(word)) != word)


def any_of(names: Sequence[str]) -> str:
    """A pattern for these names."""
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


def collected(entries: Sequence[tuple[str, str]], names: Sequence[str]) -> Reading:
    """The entries as a dict; texts of one name are joined by line ends."""
    declared = Declared(names)
    texts: dict[str, list[str]] = {}
    for word, text in entries:
        texts.setdefault(declared.name(word), []).append(text)
    return Reading(
        {name: joined(parts) for name, parts in texts.items()}, declared.repairs(word for word, _ in entries)
    )


def joined(texts: Iterable[str]) -> str:
    """The texts that say something, in lines."""
    return "\n".join(text for text in texts if text)


def trimmed(text: str) -> str:
    """The text without the blank lines before it and the blanks behind it."""
    text = text.rstrip()
    blank = _BLANK_LINES.match(text)
    return text[blank.end() :] if blank else text
