"""Surroundings: the memories and retrievers of an agent, asked for prompts or by the model, and told what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.agents.checks import listed
from nbagent.agents.memory import HistoryMemory
from nbagent.errors import FOREIGN, ConfigError, MemoryFailed
from nbagent.prompt.context.block import ContextQuery
from nbagent.prompt.context.info import read_provider
from nbagent.prompt.context.told import told
from nbagent.prompt.observe import Context
from nbagent.runtime.interrupts import gated, interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nbagent.messages import Message
    from nbagent.prompt.context.selection import ContextPolicy
    from nbagent.texts.pack import Texts
    from nbagent.tools.registry import ToolRegistry


class Surroundings:
    """The context providers of an agent.

    `memories` and `retrievers` differ in this: memories come first, one of them may hold the history (`get_messages`),
    and those with `insert(question, answer)` are told of each completed run.
    """

    def __init__(
        self, memories: Iterable[Any] | None = None, retrievers: Iterable[Any] | None = None,
        policy: ContextPolicy | None = None,
    ) -> None:  # fmt: skip
        kept = listed("memories", memories, "context providers")
        more = listed("retrievers", retrievers, "context providers")
        self.options: dict[str, Any] = {"memories": kept, "retrievers": more, "context_policy": policy}
        """How they were given."""
        self.providers = (*kept, *more)
        histories = [one for one in self.providers if hasattr(one, "get_messages")]
        if len(histories) > 1:
            raise ConfigError(f"memories: one of them may hold the history, not {len(histories)}")
        self.history: Any = histories[0] if histories else None
        """What gives the messages of the history; None where that is the agent itself."""
        asked = [one for one in self.providers if one is not self.history or hasattr(one, "get_blocks")]
        for one in asked:
            read_provider(one)  # what is no provider is said here
        self._asked = tuple(asked)
        self._told = tuple(one for one in self.providers if hasattr(one, "insert") and one is not self.memory)
        self._policy = policy

    @property
    def passive(self) -> tuple[Any, ...]:
        """Those that are asked for each prompt."""
        return tuple([one for one in self._asked if read_provider(one).passive])

    @property
    def active(self) -> tuple[Any, ...]:
        """Those that the model may ask."""
        return tuple([one for one in self._asked if read_provider(one).active])

    @property
    def memory(self) -> HistoryMemory | None:
        """The memory whose conversation is the agent's."""
        return self.history if isinstance(self.history, HistoryMemory) else None

    def newest(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The history that a prompt takes, of what the agent has said and heard. Raises where its memory fails."""
        if self.memory is not None:
            return self.memory.newest(messages)
        if self.history is None:
            return messages
        from nbagent.agents.stages import messages_of

        with gated():
            return tuple(messages_of(_asked_for_messages(self.history)))

    def ask(self, query: ContextQuery, texts: Texts) -> Context:
        """Asks the passive providers, and chooses among their blocks."""
        with gated():
            return self._ask(query, texts)

    @interruptible
    def _ask(self, query: ContextQuery, texts: Texts) -> Context:
        from nbagent.prompt.context.gathering import gather
        from nbagent.prompt.context.selection import DEFAULT

        gathered = gather(self.passive, query, self._policy or DEFAULT, texts)
        return Context(gathered.pieces, gathered.left_out)

    def joined(self, own: ToolRegistry, query: Callable[[], ContextQuery] | None, texts: Texts) -> ToolRegistry:
        """The agent's own tools, and those that ask the active providers, under names that are free."""
        from nbagent.agents.context_tools import JoinedTools

        return JoinedTools(own, self.active, query, texts)

    def remember(self, said: tuple[Message, ...]) -> None:
        """Tells the memories of a completed run: its question and its answer."""
        if self.memory is not None:
            self.memory.trim()
        question, answer = said
        with gated():
            for one in self._told:
                _tell(one, question.content, answer.content)


@interruptible
def _asked_for_messages(history: Any) -> Any:
    try:
        return history.get_messages(ContextQuery(""), top_k=-1)
    except FOREIGN as error:
        raise MemoryFailed(f"the memory {type(history).__name__} gives no messages: {told(error)}") from error


@interruptible
def _tell(memory: Any, question: str, answer: str) -> None:
    try:
        memory.insert(question, answer)
    except FOREIGN as error:
        raise MemoryFailed(
            f"the run is complete, its result is `last`; but the memory {type(memory).__name__} "
            f"could not be told of it: {told(error)}"
        ) from error
