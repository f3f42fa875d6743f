"""Ranking: which texts fit a query, and how well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

DIGITS = 4
"""Of a score. With all of them, it would differ in the last ones from machine to machine."""


class Ranking(Protocol):
    """Texts that were read once, to be asked for many times."""

    def hits(self, query: str) -> list[tuple[int, float]]:
        """Those that fit: their places in the texts and their scores, highest first, equal ones in their order."""
        ...


if TYPE_CHECKING:
    Rank = Callable[[Sequence[str]], Ranking]


def highest_first(hits: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    rounded = [(place, round(score, DIGITS)) for place, score in hits]
    return sorted(rounded, key=lambda hit: (-hit[1], hit[0]))
