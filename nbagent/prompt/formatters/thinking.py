"""Thinking: what some models write in tags before their answer."""

from __future__ import annotations

import re
from typing import NamedTuple

_END = re.compile(r"(?:(?!<think(?:ing)?>).)*?</think(?:ing)?>\s*", re.DOTALL | re.IGNORECASE)
_BLOCK = re.compile(r"\s*<(think|thinking)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)


class Plain(NamedTuple):
    """An answer without thinking in front of it."""

    text: str
    repairs: tuple[str, ...]


def without_thinking(text: str) -> Plain:
    """The answer that follows all `<think>…</think>` and `<thinking>…</thinking>` at the beginning of the text.

    Also behind a lone `</think>`, unless the text begins like an answer. Where there is none, or where one is not
    closed, the text stays as it is.
    """
    end = 0
    while block := _BLOCK.match(text, end):
        end = block.end()
    if not end and text.lstrip()[:1] not in ("{", "[", "`"):  # some templates swallow the opening tag
        block = _END.match(text)
        end = block.end() if block else 0
    return Plain(text[end:], ("left out the model's thinking",)) if end else Plain(text, ())
