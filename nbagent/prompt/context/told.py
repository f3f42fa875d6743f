"""Told: an error of a provider in one line, the same in every process."""

from __future__ import annotations

import re

from nbagent.errors import FOREIGN
from nbagent.redact import redact

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]{6,}")
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


def without_addresses(text: str) -> str:
    """`<Thing at 0x7f12ab>` as `<Thing>`: an address differs in each process."""
    return _ADDRESS.sub("", text)
