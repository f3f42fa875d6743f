"""Keywords: ranking by the words that a query and a text have in common (BM25).

Source: bm25s, with Lucene's form of the formula; Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

from nbagent.prompt.context import arguments
from nbagent.prompt.context.ranking import highest_first
from nbagent.prompt.context.words import Words, languages

if TYPE_CHECKING:
    from collections.abc import Sequence


class KeywordRanking:
    """Texts by their words; rare words count for more, long texts for less. A text fits with its first word."""

    def __init__(self, texts: Sequence[str], language: str | None = "english") -> None:
        self._words = Words(language)
        self._ids: dict[str, int] = {}
        found = [[self._ids.setdefault(word, len(self._ids)) for word in self._words.of_text(text)] for text in texts]
        self._index = _index(found, self._ids) if self._ids else None

    def hits(self, query: str) -> list[tuple[int, float]]:
        known = [self._ids[word] for word in self._words.of_query(query) if word in self._ids]
        if self._index is None or not known:
            return []
        scores = cast("list[float]", self._index.get_scores_from_ids(known).tolist())
        return highest_first((place, score) for place, score in enumerate(scores) if score > 0)


def need(who: str, language: str | None) -> None:
    """Raises ConfigError where a library is not installed, and for a language that is not known."""
    arguments.packages(("bm25s",) if language is None else ("bm25s", "Stemmer"), who, "context")
    if language is not None and language not in languages():
        raise arguments.unexpected(f"{who}: language", f"None or one of {', '.join(languages())}", language)


def _index(found: list[list[int]], ids: dict[str, int]) -> Any:
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.NOTSET)  # its import asks for every debug message
    index: Any = bm25s.BM25(dtype="float64")
    index.index((found, dict(ids)), show_progress=False)
    return index
