"""Compaction: what was said long ago, as a summary, so that a conversation goes on fitting into its model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbagent.agents.loop import attempted, take_turns
from nbagent.errors import ConfigError
from nbagent.events import StepFinished, StepStarted
from nbagent.messages import Message, Piece, Prompt, Segment, Source, tokens_in
from nbagent.request import Messages
from nbagent.runtime.effects import Assemble, Mark
from nbagent.tools.registry import ToolRegistry
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from nbagent.agents.loop import Setup
    from nbagent.events import Event
    from nbagent.models.model import Model
    from nbagent.runtime.effects import Effect, Loop, Outcome
    from nbagent.texts.pack import Texts


class Compact(Struct, frozen=True):
    """When the history of a conversation is summarised, and how much of it is not.

    tokens: a longer history is (estimated, four characters each); None (default): half of the model's context window,
    where that is known. keep: how many of the newest exchanges stay as they are, 2 by default.

    Source: agentmaker's `HistoryCompactor`.
    """

    tokens: int | None = None
    keep: int = 2

    def __post_init__(self) -> None:
        for name, least in (("tokens", 1), ("keep", 0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise ConfigError(f"compact: {name}: expected a whole number from {least}, got {value!r}")

    def limit(self, model: Model) -> int | None:
        """How many tokens a history may have; None where that is not known."""
        if self.tokens is not None:
            return self.tokens
        window: int | None = getattr(model, "context_window", None)
        return None if window is None else window // 2


def compact_of(given: Any) -> Compact | None:
    """What was given: a Compact, a number of tokens, True, or nothing. Raises ConfigError."""
    if given is None or given is False:
        return None
    if given is True:
        return Compact()
    if isinstance(given, int):
        return Compact(given)
    if isinstance(given, Compact):
        return given
    raise ConfigError(f"compact: expected True, a number of tokens or Compact(tokens=…, keep=…); got {given!r}")


def shortened(setup: Setup, compact: Compact, loop: Callable[[Setup], Loop]) -> Loop:
    """The loop, with a history whose older part is a summary where it is too long. That takes one model call.

    Where the model gives no summary, the history stays as it is.
    """
    limit = compact.limit(setup.model)
    history = setup.history
    first = kept_from(history, compact.keep)
    older, newest = history[:first], history[first:]
    if limit is None or _tokens(history) <= limit or _tokens(older) <= limit // 4:  # a summary would save too little
        return (yield from loop(setup))
    yield Mark(StepStarted("compact", 0))
    outcome = yield from attempted(_asked(setup, older))
    if outcome.status != "completed":
        yield Mark(StepFinished("compact", 0, "failed", None, outcome.stop_reason))
        return (yield from loop(setup))
    yield Mark(StepFinished("compact", 0, "done", outcome.said))
    return (yield from loop(replace(setup, history=(*told(setup.texts, outcome.said), *newest))))


def _tokens(messages: Sequence[Message]) -> int:
    return sum([tokens_in(message.content) for message in messages])


def told(texts: Texts, summary: str) -> tuple[Message, ...]:
    """A summary as the beginning of a conversation."""
    return Message("user", texts.text("compact.told", summary=summary)), Message("assistant", texts["compact.noted"])


def kept_from(history: Sequence[Message], keep: int) -> int:
    """Where the newest exchanges begin that stay as they are: a question is not parted from its answer."""
    first = len(history)
    for _ in range(keep):
        before = [place for place in range(first) if history[place].role == "user"]
        if not before:
            break
        first = before[-1]
    return first


def _asked(setup: Setup, older: Sequence[Message]) -> Generator[Effect, Any, Outcome]:
    lines = "\n".join([f"{message.role}: {message.content}" for message in older])
    said = setup.texts.pieces("compact.ask", conversation=(Piece(lines, Source("history", "older messages")),))
    made = Prompt(tuple([Segment("user", "compact", piece.text, piece.source) for piece in said]))
    prompt: Prompt = yield Assemble(lambda: made, ())
    short = replace(setup, tools=ToolRegistry(), max_turns=2, read=None, schema=None)
    return (yield from take_turns(short, prompt, Messages(prompt.messages)))


def summary_of(events: Iterable[Event]) -> str:
    """The summary that was made in a run; empty without one."""
    done = [e.output for e in events if isinstance(e, StepFinished) and (e.kind, e.status) == ("compact", "done")]
    return done[0] if done else ""
