"""Sources: the active providers, as the model sees them: each with a name, to list and to ask."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches
from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from nbagent.errors import FOREIGN, HarnessError
from nbagent.prompt.context.answer import blocks_of, failed
from nbagent.prompt.context.info import ProviderInfo, read_provider
from nbagent.prompt.context.provider import TOP_K
from nbagent.prompt.context.rendering import rendered
from nbagent.prompt.context.same import best_first, distinct
from nbagent.texts.pack import DEFAULT, Texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nbagent.prompt.context.block import ContextBlock, ContextQuery
    from nbagent.prompt.context.provider import ContextProvider


class Sources:
    """The active ones among the providers, each under a name of its own.

    `query` is the turn's: what a source is asked where the model names no query. `texts`: what is said of them and of
    what is wrong; by default in English. Raises ConfigError for what is no provider.
    """

    def __init__(self, providers: Iterable[ContextProvider], query: ContextQuery, texts: Texts = DEFAULT) -> None:
        self._texts = texts
        known = [read_provider(provider) for provider in providers]
        self._infos = _named([info for info in known if info.active])
        self._query = query

    @property
    def names(self) -> Mapping[str, ContextProvider]:
        """Every active provider by its name: its label where no other has it, else `LABEL#1`, `LABEL#2`, …

        A number that makes the label of another provider is left out.
        """
        return {name: info.provider for name, info in self._infos.items()}

    def list(self) -> dict[str, Any]:
        """`{"sources": [{"name", "label", "type"}, …]}`, in the order of the providers; `type` is the class."""
        return {"sources": [{"name": n, "label": info.label, "type": info.type} for n, info in self._infos.items()]}

    def retrieve(self, source: str, query: str = "", top_k: int = TOP_K) -> dict[str, Any]:
        """Asks one source: `{"provider", "query", "blocks", "rendered"}`, at most `top_k` blocks, best first.

        `query`: what to look for; where it is blank, the turn's query. `blocks` are dicts with the fields of
        ContextBlock, without blank and repeated ones. Raises ValueError where no source has this name, or several
        have this label, for a `top_k` under 1, and where the source fails.
        """
        info = self._find(source)
        if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(self._texts.text("context.top_k", number=repr(top_k)))
        asked = replace(self._query, query_text=query) if query.strip() else self._query
        try:
            given = blocks_of(info, asked, top_k)
        except HarnessError:
            raise
        except FOREIGN as error:
            raise ValueError(f"source {source} {failed(error)}") from error
        blocks = distinct(best_first(given))[:top_k]
        return {
            "provider": source,
            "query": asked.query_text,
            "blocks": [_fields(block) for block in blocks],
            "rendered": rendered(blocks, source, self._texts),
        }

    def _find(self, source: str) -> ProviderInfo:
        if source in self._infos:
            return self._infos[source]
        shared = [name for name, info in self._infos.items() if info.label == source]
        if shared:
            raise ValueError(self._texts.text("context.ambiguous", source=source, names=str(shared)))
        names = str(sorted(self._infos))
        if near := get_close_matches(source[:100], self._infos, n=1):
            raise ValueError(self._texts.text("context.unknown_near", source=source, names=names, near=repr(near[0])))
        raise ValueError(self._texts.text("context.unknown", source=source, names=names))


def _named(infos: list[ProviderInfo]) -> dict[str, ProviderInfo]:
    labels = Counter(info.label for info in infos)
    named: dict[str, ProviderInfo] = {}
    for info in infos:
        numbered = (f"{info.label}#{number}" for number in count(1))
        free = (name for name in numbered if name not in labels and name not in named)
        named[info.label if labels[info.label] == 1 else next(free)] = info
    return named


def _fields(block: ContextBlock) -> dict[str, Any]:
    return {**asdict(block), "metadata": dict(block.metadata)}
