"""Nearest: of known names those that somebody may have meant who wrote another one."""

from __future__ import annotations

from difflib import SequenceMatcher, get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

MOST = 2
"""So many names are offered."""
_MARGIN = 0.15
"""How much less likely than the likeliest another one may be."""


def nearest(word: str, known: Collection[str]) -> list[str]:
    """The likeliest first: those that are spelt nearly so; else those that have it as a word, or are a word of it."""
    meant = word[:100].lower().lstrip("-").replace("-", "_")
    names = {each.lstrip("-").replace("-", "_"): each for each in known}
    # `script` is in `description`, and nobody who writes the one means the other.
    near = [name for name in names if abs(len(name) - len(meant)) < 5]
    if found := get_close_matches(meant, near, n=MOST):
        least = SequenceMatcher(None, found[0], meant).ratio() - _MARGIN
        return [names[name] for name in found if SequenceMatcher(None, name, meant).ratio() >= least]
    return [names[name] for name in names if _has(name, meant) or _has(meant, name)][:MOST]


def _has(name: str, word: str) -> bool:
    """Whether it is a whole word of the name."""
    return bool(word) and f"_{word}_" in f"_{name}_"
