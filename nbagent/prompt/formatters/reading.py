"""Reading: what was made of a model's answer, or why nothing could be."""

from __future__ import annotations

from typing import Any

from nbagent.redact import redact
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
    """An answer that does not have the form it was asked for. Its str is the text that the model reads."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


def unreadable(text: str, *, expected: str, wrong: str, advice: str) -> Unreadable:
    """The error about this answer, in a few lines: what was expected, what is wrong, what came, what to do."""
    came = f"The answer was: {excerpt(redact(text))}" if text.strip() else "The answer was empty."
    return Unreadable(f"The answer cannot be read. Expected: {expected}.\nWhat is wrong: {wrong}.\n{came}\n{advice}")


def excerpt(text: str) -> str:
    """The text itself, or its beginning and its end where it is longer than MAX_SHOWN."""
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - _TAIL - 3]} … {text[-_TAIL:]}"
