"""Passages: documents, cut into pieces that are short enough for a prompt."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from nbagent.prompt.context.block import ContextBlock
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHARACTERS = 1_000
"""How long a passage is at most, unless told otherwise."""

_GAP = re.compile(r"\n(?:[^\S\n]*\n)+")
_SENTENCE = re.compile(r"[.!?…][)\"'”’]*\s+|[。！？]|\n\s*")
_SPACE = re.compile(r"\s+")


class Document(Struct, frozen=True):
    """A text, with where it is."""

    text: str
    uri: str | None = None
    title: str | None = None


class Passage(Struct, frozen=True):
    """A stretch of a document, exactly as it is there."""

    text: str
    uri: str | None = None
    title: str | None = None
    number: str | None = None
    """Which one of its document, counted from "1"; None where it is the whole document."""

    def block(self, score: float) -> ContextBlock:
        """The passage as a block. Two folders may both have a README.md, so what makes it the same is its text, too."""
        print_of_text = sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        same = f"{self.uri}#{self.number or ''}:{print_of_text}" if self.uri else None
        return ContextBlock(self.text, self.uri, self.number, score, self.title, dedupe_key=same)


def passages(documents: Iterable[Document], size: int | None = CHARACTERS) -> tuple[Passage, ...]:
    """All passages of at most `size` characters, in order; None: each document whole. Blank documents have none."""
    found: list[Passage] = []
    for one in documents:
        if size is None:
            found += [Passage(one.text, one.uri, one.title)] if one.text.strip() else []
        else:
            found += [Passage(text, one.uri, one.title, str(n)) for n, text in enumerate(cut(one.text, size), 1)]
    return tuple(found)


def cut(text: str, size: int) -> list[str]:
    """Stretches of at most `size` characters: as many whole paragraphs as fit, and pieces of those that are longer."""
    stretches: list[tuple[int, int]] = []
    for start, end in _spans(text, size):
        if stretches and end - stretches[-1][0] <= size:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
    return [text[start:end].rstrip() for start, end in stretches]


def _spans(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Where each paragraph begins and ends; one that is longer than `size` comes in pieces. None is blank."""
    edges = [0, *(place for gap in _GAP.finditer(text) for place in gap.span()), len(text)]
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        start = first
        while start < end:
            stop = end if end - start <= size else start + _stop(text[start : start + size])
            if text[start:stop].strip():
                yield start, stop
            start = stop


def _stop(window: str) -> int:
    """Where to end a piece: after the last sentence, else after the last blank, of its second half; else at its end."""
    for pattern in (_SENTENCE, _SPACE):
        ends = [match.end() for match in pattern.finditer(window) if match.end() > len(window) // 2]
        if ends:
            return ends[-1]
    return len(window)
