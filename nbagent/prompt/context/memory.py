"""Memory: a provider of what was put into it before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.prompt.context import arguments
from nbagent.prompt.context.base import BaseProvider
from nbagent.prompt.context.block import ContextBlock
from nbagent.prompt.context.embedder import AnyEmbedder, Unit, embedder, units
from nbagent.prompt.context.provider import TOP_K
from nbagent.prompt.context.vectors import closest

if TYPE_CHECKING:
    from nbagent.prompt.context.block import ContextQuery


class VectorMemory(BaseProvider):
    """Remembers entries, and finds those that are about the same as the query.

    What is embedded is `key: value`, once, when it is inserted; the text of a block is the value alone, and its
    metadata are `{"key": key}`. `embedding_function`: a function of a text, or an object with `embed(texts)`. `top_k`:
    how many entries it gives at most, however many it is asked for. `query_threshold`: the least cosine with the query,
    from -1 to 1; what is a good one depends on the embedding. `memory_size`: how many entries it holds; the oldest one
    goes first. Raises ConfigError for what makes no sense.

    Source: masfactory's class of this name, with its defaults.
    """

    def __init__(
        self,
        embedding_function: AnyEmbedder,
        top_k: int = 10,
        query_threshold: float = 0.8,
        memory_size: int = 20,
        context_label: str = "SEMANTIC_KNOWLEDGE",
        *,
        passive: bool = True,
        active: bool = False,
    ) -> None:
        super().__init__(passive=passive, active=active, context_label=context_label)
        self._embedder = embedder(embedding_function, "VectorMemory: embedding_function")
        self._top_k = arguments.count(top_k, "VectorMemory: top_k")
        self._threshold = arguments.cosine(query_threshold, "VectorMemory: query_threshold")
        self._size = arguments.count(memory_size, "VectorMemory: memory_size")
        self._entries: dict[str, tuple[str, Unit]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def insert(self, key: str, value: str) -> None:
        """Remembers `value` as the newest entry. What was inserted under the same key before is forgotten.

        A blank value is nothing to remember (a model may answer with nothing): it changes nothing.
        """
        for what, given in (("key", key), ("value", value)):
            if not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise arguments.unexpected(f"VectorMemory: {what}", "a str", given)
        if not value.strip():
            return
        vector = units(self._embedder, [f"{key}: {value}"])[0]
        self._entries.pop(key, None)
        self._entries[key] = (value, vector)
        while len(self._entries) > self._size:
            del self._entries[next(iter(self._entries))]

    def get_blocks(self, query: ContextQuery, *, top_k: int = TOP_K) -> list[ContextBlock]:
        """The entries that are close enough, closest first; of equally close ones the older first."""
        entries = list(self._entries.items())
        hits = closest(self._embedder, [vector for _, (_, vector) in entries], query.query_text, self._threshold)
        found = [(*entries[place], score) for place, score in hits[: max(0, min(top_k, self._top_k))]]
        return [ContextBlock(value, score=score, metadata={"key": key}) for key, (value, _), score in found]

    def reset(self) -> None:
        """Forgets everything."""
        self._entries.clear()
