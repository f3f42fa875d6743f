"""Gathering: the context of one prompt: the passive providers asked, the blocks chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from nbagent.messages import Segment, Source
from nbagent.prompt.context.answer import Answer, ask
from nbagent.prompt.context.info import ProviderInfo, read_provider
from nbagent.prompt.context.rendering import dropped, failures, render
from nbagent.prompt.context.selection import DEFAULT, Chosen, ContextPolicy, select
from nbagent.texts.pack import DEFAULT as ENGLISH
from nbagent.texts.pack import Texts
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbagent.messages import Piece
    from nbagent.prompt.context.block import ContextQuery
    from nbagent.prompt.context.provider import ContextProvider


class Gathered(Struct, frozen=True):
    """What the providers answered, and what was chosen from it."""

    answers: tuple[Answer, ...]
    chosen: tuple[Chosen, ...]
    skipped: tuple[Segment, ...] = ()
    """What providers say that they could not read."""
    texts: Texts = ENGLISH

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The text for the prompt; none where no block was kept."""
        return render(self.chosen, self.texts)

    @property
    def left_out(self) -> tuple[Segment, ...]:
        """What is not in the prompt, for its record: the providers that failed, then the blocks that were dropped."""
        label = self.texts["payload.context"]
        return (*failures(self.answers, label), *self.skipped, *dropped(self.chosen, label))


def gather(
    providers: Iterable[ContextProvider], query: ContextQuery, policy: ContextPolicy = DEFAULT, texts: Texts = ENGLISH
) -> Gathered:
    """Asks each passive provider once, in order, and chooses. Raises ConfigError for what is no provider."""
    known = [read_provider(provider) for provider in providers]
    answers = tuple(ask(info, query, policy.top_k) for info in known if info.passive)
    skipped = tuple(segment for info in known if info.passive for segment in _skipped(info, texts["payload.context"]))
    return Gathered(answers, select(answers, policy), skipped, texts)


def _skipped(info: ProviderInfo, label: str) -> Iterator[Segment]:
    """What a provider names under `skipped`: files, pages, with the reason."""
    given: Any = getattr(info.provider, "skipped", None)
    skipped = cast("dict[object, object]", given) if isinstance(given, dict) else {}
    for name, reason in skipped.items():
        yield Segment("user", label, "", Source("context", info.label, str(name)), kept=False, reason=str(reason))
