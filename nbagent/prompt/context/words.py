"""Words: a text as the words that it is searched by."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKED = "\u0300-\u036f\u0900-\u0963\u0966-\u0dff\u1000-\u109f"
"""Scripts of India and Burma, whose vowel signs are marks and no letters to Python; and accents."""
_POINTS = re.compile("[\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0640]")
"""The vowel points of Hebrew and Arabic, which most texts leave out."""
_UNSPACED = (
    "\u0e01-\u0eff\u1780-\u17d3\u3005-\u3007\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
)
"""Thai, Lao, Khmer, Japanese, Chinese and Korean: no blanks between words, or with endings grown together."""
_RUN = re.compile(rf"([{_UNSPACED}]+)|(?:[^\W_{_UNSPACED}]|[{_MARKED}])+")


class Words:
    """Cuts texts into words: lower case, stemmed, without those that are in every text (of this language).

    `language`: one of `languages()`; None leaves all words as they are. Text of scripts that put no blanks between
    words is cut into pairs of characters.
    """

    def __init__(self, language: str | None = "english") -> None:
        self._stem: Any = None
        self._left_out: frozenset[str] = frozenset()
        if language is not None:
            self._stem, self._left_out = _snowball().Stemmer(language), _stopwords(language)

    def of_text(self, text: str) -> list[str]:
        """The words of a text to be found, repeated ones too. Also the single characters of pairs."""
        return list(self._words(text, singles=True))

    def of_query(self, text: str) -> list[str]:
        """The words to look for. A single character counts only where it stands alone."""
        return list(self._words(text, singles=False))

    def _words(self, text: str, *, singles: bool) -> Iterator[str]:
        for match in _RUN.finditer(_POINTS.sub("", unicodedata.normalize("NFKC", text).casefold())):
            run = match[0]
            if match[1] is not None:
                yield from (run[place : place + 2] for place in range(len(run) - 1))
                yield from run if singles or len(run) == 1 else ()
            elif run not in self._left_out:
                yield self._stem.stemWord(run) if self._stem is not None else run


def languages() -> list[str]:
    """The names of the languages whose endings Snowball knows: `english`, `german`, …"""
    return _snowball().algorithms()


def _snowball() -> Any:
    import Stemmer

    return cast("Any", Stemmer)


def _stopwords(language: str) -> frozenset[str]:
    """Those that bm25s brings; it has none for some languages."""
    import bm25s

    name = "STOPWORDS_EN_PLUS" if language == "english" else f"STOPWORDS_{language.upper()}"
    return frozenset(getattr(bm25s.stopwords, name, ()))
