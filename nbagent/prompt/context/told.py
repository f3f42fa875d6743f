"""Told: an error of a provider in one line, the same in every process."""

from __future__ import annotations

from nbagent.errors import FOREIGN
from nbagent.redact import redact
from nbagent.text import without_addresses

_LONGEST = 300


def told(error: BaseException) -> str:
    """`KeyError: 'x'`, or `KeyError` where it says nothing; at most 300 characters, without addresses and secrets."""
    name = type(error).__name__
    try:
        words = " ".join(without_addresses(str(error)).split())
    except FOREIGN:  # an error's text is the user's code
        return name
    whole = redact(f"{name}: {words}" if words else name)
    return whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 1]}…"
