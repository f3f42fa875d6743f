"""Local: an embedder that needs no network and no graphics card."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbagent.prompt.context import arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class LocalEmbedder:
    """Vectors of 256 numbers, from the static model that comes inside the package wordllama (MIT).

    It adds up a vector for each word part, and knows no word order; so it finds what uses related words, mostly in
    English. Related texts get cosines of about 0.3 and more. Nothing is downloaded; the model (16 MB) is read at
    the first use and then shared. Raises ConfigError where wordllama is not installed.
    """

    def __init__(self) -> None:
        arguments.packages(("wordllama",), "LocalEmbedder", "embeddings")

    def embed(self, texts: Sequence[str]) -> Iterable[Iterable[float]]:
        return _model().embed(list(texts)).tolist()


@cache
def _model() -> Any:
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    import wordllama

    root.setLevel(level)  # its import sets up logging for the whole process
    root.handlers[:] = handlers
    # Its own search misses the tokenizer that is in the package, and would go and download it.
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
