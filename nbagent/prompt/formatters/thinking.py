"""Thinking: what some models write in tags before their answer."""

from __future__ import annotations

import re
from typing import NamedTuple

_BLOCK = re.compile(r"\s*<(think|thinking)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)


class Plain(NamedTuple):
    """An answer without thinking in front of it."""

    text: str
    repairs: tuple[str, ...]


def without_thinking(text: str) -> Plain:
    """The answer that follows all `<think>…</think>` and `<thinking>…</thinking>` at the beginning of the text.

    Where there is none, or where one is not closed, the text stays as it is.
    """
    end = 0
    while block := _BLOCK.match(text, end):
        end = block.end()
    return Plain(text[end:], ("left out the model's thinking",)) if end else Plain(text, ())
