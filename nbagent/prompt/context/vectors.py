"""Vectors: ranking by what a query and a text are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.prompt.context.embedder import closeness, units
from nbagent.prompt.context.ranking import DIGITS, highest_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.prompt.context.embedder import AnyEmbedder, Unit

THRESHOLD = 0.3
"""How close (as a cosine) a text has to be, unless told otherwise; made for `LocalEmbedder`."""


class VectorRanking:
    """Texts by their vectors, embedded once; those fit whose cosine with the query's is at least the threshold."""

    def __init__(self, texts: Sequence[str], embedder: AnyEmbedder, threshold: float = THRESHOLD) -> None:
        self._embedder = embedder
        self._threshold = threshold
        self._vectors = units(embedder, texts)

    def hits(self, query: str) -> list[tuple[int, float]]:
        return closest(self._embedder, self._vectors, query, self._threshold)


def closest(embedder: AnyEmbedder, vectors: Sequence[Unit], query: str, threshold: float) -> list[tuple[int, float]]:
    """Which vectors are close enough to the query's, closest first. Without vectors, nothing is embedded."""
    if not vectors or not query.strip():
        return []
    asked = units(embedder, [query])[0]
    scores = [round(closeness(asked, vector), DIGITS) for vector in vectors]
    return highest_first((place, score) for place, score in enumerate(scores) if score >= threshold)
