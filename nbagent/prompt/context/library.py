"""Library: passages with a ranking, made when it is first needed and kept."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbagent.prompt.context.block import ContextBlock
    from nbagent.prompt.context.passages import Passage
    from nbagent.prompt.context.ranking import Rank, Ranking


class Library:
    """Passages that can be asked for. `rank` makes the ranking of their texts."""

    def __init__(self, passages: tuple[Passage, ...], rank: Rank) -> None:
        self.passages = passages
        self._rank = rank

    @cached_property
    def ranking(self) -> Ranking:
        return self._rank([passage.text for passage in self.passages])

    def blocks(self, query: str, top_k: int) -> list[ContextBlock]:
        """The passages that fit best, at most `top_k`."""
        if not self.passages or not query.strip():
            return []
        return [self.passages[place].block(score) for place, score in self.ranking.hits(query)[: max(top_k, 0)]]
