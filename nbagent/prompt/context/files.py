"""Files: a provider that looks a query up in a folder of text files."""

from __future__ import annotations

import re
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from nbagent.prompt.context import arguments, keywords
from nbagent.prompt.context.base import BaseProvider
from nbagent.prompt.context.embedder import embedder
from nbagent.prompt.context.folder import Folder
from nbagent.prompt.context.keywords import KeywordRanking
from nbagent.prompt.context.library import Library
from nbagent.prompt.context.passages import CHARACTERS, Document, passages
from nbagent.prompt.context.provider import TOP_K
from nbagent.prompt.context.vectors import THRESHOLD, VectorRanking

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from nbagent.prompt.context.block import ContextBlock, ContextQuery
    from nbagent.prompt.context.embedder import AnyEmbedder
    from nbagent.prompt.context.ranking import Rank

PATTERNS = ("**/*.md", "**/*.txt")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")


class FileRetriever(BaseProvider):
    """Finds passages in the text files of a folder, as they are at the time of the query.

    `pattern`: one or several globs, relative to the folder; by default all .md and .txt files in it and below.
    `ranking`: "keyword" (BM25, needs `pip install "jupyter-nbagent[context]"`), or an embedder such as
    `LocalEmbedder()`. The uri of a block is the path within the folder, with `/`; its title the first heading of a
    Markdown file, else the file's name. `language`: of "keyword"; `similarity_threshold`: of an embedder;
    `chunk_size`: characters of a passage; all as in KeywordRetriever and VectorRetriever.

    Each query looks at the folder, reads the files whose time or size has changed, and ranks anew only where a text
    has. Hidden files, and links that lead out of the folder, are not read. Raises ConfigError for what makes no sense,
    and where the folder is missing.
    """

    def __init__(
        self,
        folder: str | Path,
        pattern: str | Iterable[str] = PATTERNS,
        *,
        ranking: str | AnyEmbedder = "keyword",
        language: str | None = "english",
        similarity_threshold: float = THRESHOLD,
        chunk_size: int | None = CHARACTERS,
        passive: bool = True,
        active: bool = False,
        context_label: str = "FILES",
    ) -> None:
        super().__init__(passive=passive, active=active, context_label=context_label)
        self._folder = Folder(folder, pattern, "FileRetriever")
        self._size = None if chunk_size is None else arguments.count(chunk_size, "FileRetriever: chunk_size")
        self._rank = _rank(ranking, language, similarity_threshold)
        self._texts: dict[str, str] = {}
        self._library = Library((), self._rank)

    @property
    def skipped(self) -> dict[str, str]:
        """The files that match and cannot be read now, by their paths, with the reasons."""
        self._folder.look()
        return self._folder.skipped

    def get_blocks(self, query: ContextQuery, *, top_k: int = TOP_K) -> list[ContextBlock]:
        """The passages that fit, best first, at most `top_k`. Raises ConfigError where the folder is gone."""
        self._folder.look()
        texts = self._folder.texts
        if texts != self._texts:
            documents = [Document(text, name, title(name, text)) for name, text in texts.items()]
            self._library = Library(passages(documents, self._size), self._rank)
            self._texts = texts
        return self._library.blocks(query.query_text, top_k)


def title(name: str, text: str) -> str:
    """The first heading of a Markdown file, code aside, else the file's name."""
    path = PurePosixPath(name)
    fence = ""
    for line in text.splitlines() if path.suffix.lower() in {".md", ".markdown"} else ():
        mark = _FENCE.match(line)
        heading = _HEADING.match(line)
        if mark and fence in {"", mark[1]}:
            fence = "" if fence else mark[1]
        elif heading and heading[1] and not fence:
            return heading[1]
    return path.name


def _rank(ranking: str | AnyEmbedder, language: str | None, threshold: float) -> Rank:
    if ranking == "keyword":
        keywords.need('FileRetriever(ranking="keyword")', language)
        return partial(KeywordRanking, language=language)
    checked = embedder(ranking, 'FileRetriever: ranking (other than "keyword")')
    least = arguments.cosine(threshold, "FileRetriever: similarity_threshold")
    return partial(VectorRanking, embedder=checked, threshold=least)
