"""Retrievers: providers that look a query up in documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, cast

from nbagent.prompt.context import arguments, keywords
from nbagent.prompt.context.base import BaseProvider
from nbagent.prompt.context.embedder import AnyEmbedder
from nbagent.prompt.context.embedder import embedder as checked_embedder
from nbagent.prompt.context.keywords import KeywordRanking
from nbagent.prompt.context.library import Library
from nbagent.prompt.context.passages import CHARACTERS, Document, passages
from nbagent.prompt.context.provider import TOP_K
from nbagent.prompt.context.vectors import THRESHOLD, VectorRanking

if TYPE_CHECKING:
    from nbagent.prompt.context.block import ContextBlock, ContextQuery
    from nbagent.prompt.context.ranking import Rank


class _Retriever(BaseProvider):
    """A provider over documents that do not change. `chunk_size`: characters; None leaves the documents whole."""

    def __init__(
        self,
        documents: Mapping[str, str] | Iterable[str],
        rank: Rank,
        *,
        chunk_size: int | None,
        passive: bool,
        active: bool,
        context_label: str,
    ) -> None:
        super().__init__(passive=passive, active=active, context_label=context_label)
        who = type(self).__name__
        size = None if chunk_size is None else arguments.count(chunk_size, f"{who}: chunk_size")
        self._library = Library(passages(_documents(documents, who), size), rank)

    def get_blocks(self, query: ContextQuery, *, top_k: int = TOP_K) -> list[ContextBlock]:
        """The passages that fit, best first, at most `top_k`."""
        return self._library.blocks(query.query_text, top_k)


class KeywordRetriever(_Retriever):
    """Finds documents by their words (BM25). Needs `pip install "jupyter-nbagent[context]"`.

    `documents`: texts by their id, which becomes the uri of a block, or just texts. `language`: whose endings and
    filler words do not count, in English by its name; None counts every word as it is. Chinese, Japanese and Korean
    are found in any language. `chunk_size`: documents are cut into passages of whole paragraphs, of at most so many
    characters; None leaves them whole. The index is made at the first query. Raises ConfigError for what makes no
    sense, and where a library is missing.
    """

    def __init__(
        self,
        documents: Mapping[str, str] | Iterable[str],
        *,
        language: str | None = "english",
        chunk_size: int | None = CHARACTERS,
        passive: bool = True,
        active: bool = False,
        context_label: str = "DOCUMENTS",
    ) -> None:
        keywords.need("KeywordRetriever", language)
        super().__init__(
            documents,
            partial(KeywordRanking, language=language),
            chunk_size=chunk_size,
            passive=passive,
            active=active,
            context_label=context_label,
        )


class VectorRetriever(_Retriever):
    """Finds documents by what they are about.

    `documents` and `chunk_size`: as for KeywordRetriever. `embedder`: an object with `embed(texts)`, for example
    `LocalEmbedder()`, or a function of a text; the documents are embedded once, at the first query.
    `similarity_threshold`: the least cosine of a hit, from -1 to 1; what is a good one depends on the embedder.
    Raises ConfigError for what makes no sense.
    """

    def __init__(
        self,
        documents: Mapping[str, str] | Iterable[str],
        embedder: AnyEmbedder,
        *,
        similarity_threshold: float = THRESHOLD,
        chunk_size: int | None = CHARACTERS,
        passive: bool = True,
        active: bool = False,
        context_label: str = "DOCUMENTS",
    ) -> None:
        threshold = arguments.cosine(similarity_threshold, "VectorRetriever: similarity_threshold")
        super().__init__(
            documents,
            partial(
                VectorRanking, embedder=checked_embedder(embedder, "VectorRetriever: embedder"), threshold=threshold
            ),
            chunk_size=chunk_size,
            passive=passive,
            active=active,
            context_label=context_label,
        )


def _documents(documents: object, who: str) -> list[Document]:
    what = f"{who}: documents"
    if isinstance(documents, str | bytes) or not isinstance(documents, Iterable):
        raise arguments.unexpected(what, "a dict of texts, or several texts", documents)
    if isinstance(documents, Mapping):
        items = cast("Mapping[object, object]", documents).items()
        return [Document(_text(text, what), str(name)) for name, text in items]
    return [Document(_text(text, what)) for text in cast("Iterable[object]", documents)]


def _text(text: object, what: str) -> str:
    if not isinstance(text, str):
        raise arguments.unexpected(what, "each one to be a str", text)
    return text
