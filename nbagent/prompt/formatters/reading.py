"""Reading: what was made of a model's answer, or why nothing could be."""

from __future__ import annotations

from typing import Any

from nbagent.redact import redact
from nbagent.texts.phrase import Phrase
from nbagent.values import Struct

MAX_SHOWN = 300
"""How many characters of a wrong answer the model gets to see again."""

_TAIL = 80


class Reading(Struct, frozen=True):
    """What an answer says."""

    value: dict[str, Any]
    repairs: tuple[str, ...] = ()
    """What had to be done to the text for it, in the order of the text: `removed trailing commas`."""


class Unreadable(ValueError):
    """An answer that does not have the form it was asked for. What it says is for the model: a phrase, or a text."""

    def __init__(self, message: Phrase | str) -> None:
        super().__init__(redact(message) if isinstance(message, str) else message)


def unreadable(text: str, *, expected: Phrase, wrong: Phrase | str, advice: Phrase) -> Unreadable:
    """The error about this answer, in a few lines: what was expected, what is wrong, what came, what to do."""
    came = Phrase("answer.came", answer=excerpt(redact(text))) if text.strip() else Phrase("answer.empty")
    return Unreadable(Phrase("answer.unreadable", expected=expected, wrong=wrong, came=came, advice=advice))


def excerpt(text: str) -> str:
    """The text itself, or its beginning and its end where it is longer than MAX_SHOWN."""
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - _TAIL - 3]} … {text[-_TAIL:]}"
