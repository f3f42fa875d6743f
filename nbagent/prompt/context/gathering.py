"""Gathering: the context of one prompt: the passive providers asked, the blocks chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.prompt.context.answer import Answer, ask
from nbagent.prompt.context.info import read_provider
from nbagent.prompt.context.rendering import dropped, failures, render
from nbagent.prompt.context.selection import DEFAULT, Chosen, ContextPolicy, select
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbagent.messages import Piece, Segment
    from nbagent.prompt.context.block import ContextQuery
    from nbagent.prompt.context.provider import ContextProvider


class Gathered(Struct, frozen=True):
    """What the providers answered, and what was chosen from it."""

    answers: tuple[Answer, ...]
    chosen: tuple[Chosen, ...]

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The text for the prompt; none where no block was kept."""
        return render(self.chosen)

    @property
    def left_out(self) -> tuple[Segment, ...]:
        """What is not in the prompt, for its record: the providers that failed, then the blocks that were dropped."""
        return (*failures(self.answers), *dropped(self.chosen))


def gather(providers: Iterable[ContextProvider], query: ContextQuery, policy: ContextPolicy = DEFAULT) -> Gathered:
    """Asks each passive provider once, in order, and chooses. Raises ConfigError for what is no provider."""
    known = [read_provider(provider) for provider in providers]
    answers = tuple(ask(info, query, policy.top_k) for info in known if info.passive)
    return Gathered(answers, select(answers, policy))
