"""HistoryMemory: a conversation that several agents may share, and how much of it a prompt takes."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

from nbagent.agents.conversation import Conversation
from nbagent.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbagent.agents.marks import Marks
    from nbagent.messages import Message


class HistoryMemory:
    """What was said, as messages between the system prompt and the new one.

    It holds questions and answers, not the prompts that were made of them, and repeats what was said twice. Agents that
    are given the same one share a conversation. `top_k`: how many of the newest messages a prompt takes, 10 by default,
    0 for all; an answer never comes without its question. `memory_size`: how many messages it holds, 1,000; the oldest
    exchanges go first.

    Source: masfactory's `HistoryMemory`.
    """

    def __init__(self, top_k: int = 10, memory_size: int = 1000, context_label: str = "CONVERSATION_HISTORY") -> None:
        self.top_k = _count("top_k", top_k)
        self.memory_size = _count("memory_size", memory_size)
        self.context_label = context_label
        self.conversation = Conversation()

    def get_messages(self, query: Any = None, *, top_k: int = -1) -> tuple[Message, ...]:  # noqa: ARG002
        """The newest messages; at most `top_k` (-1: as many as the memory gives, 0: all)."""
        return self.newest(self.conversation.messages, top_k)

    def newest(self, messages: tuple[Message, ...], top_k: int = -1) -> tuple[Message, ...]:
        """Those of the messages that a prompt takes."""
        limit = self.top_k if top_k < 0 else top_k
        if limit == 0 or len(messages) <= limit:
            return messages
        first = len(messages) - limit
        while first < len(messages) and messages[first].role != "user":
            first += 1
        return messages[first:]

    def trim(self) -> None:
        """Forgets the oldest exchanges where there are too many messages."""
        exchanges = self.conversation.exchanges
        while self.memory_size and sum(len(exchange.messages) for exchange in exchanges) > self.memory_size:
            exchanges.pop(0)

    def insert(self, question: str, answer: str) -> None:
        """Adds a question and its answer, as if an agent had been asked."""
        self.conversation.add(question, answer)
        self.trim()

    def reset(self) -> None:
        """Forgets everything."""
        self.conversation.clear()

    def fork(self, marks: Callable[[Marks], Marks]) -> Self:
        """A memory like this one, which goes on from here on its own. `marks`: what becomes of places in scripts."""
        made = copy(self)
        made.conversation = Conversation()
        self.conversation.copied_to(made.conversation, marks)
        return made

    def __repr__(self) -> str:
        return f"HistoryMemory({len(self.conversation.messages)} messages, top_k={self.top_k})"


def _count(what: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError(f"HistoryMemory: {what}: expected a whole number from 0, got {value!r}")
    return value
