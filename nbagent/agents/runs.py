"""Runs: what an agent has done, and the conversations that came of it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from nbagent.agents.conversation import Conversation
from nbagent.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from nbagent.agents.sessions import SessionStore
    from nbagent.request import ModelRequest
    from nbagent.runtime.result import RunResult

KEPT = 50
"""How many results and requests an agent keeps."""


class Runs:
    """The results, requests and conversations of an agent."""

    def __init__(self, agent: str = "", store: SessionStore | None = None) -> None:
        """`store`: where the conversations of this agent are kept; None keeps them in memory."""
        self._agent = agent
        self._store = store
        self.last: RunResult | None = None
        self.results: dict[int, RunResult] = {}
        self.requests: deque[ModelRequest] = deque(maxlen=KEPT)
        self.count = 0
        self.conversations: dict[Hashable, Conversation] = {}

    def conversation(self, scope: Hashable) -> Conversation:
        """The conversation of a scope; a new one where there is none yet."""
        if scope not in self.conversations:
            store = self._store
            self.conversations[scope] = Conversation() if store is None else store.conversation(self._agent, scope)
        return self.conversations[scope]

    @property
    def scopes(self) -> tuple[Hashable, ...]:
        """Those in which something was said, and those that are on disk."""
        said = [scope for scope, conversation in self.conversations.items() if conversation.messages]
        stored = () if self._store is None else self._store.scopes(self._agent)
        return tuple(dict.fromkeys([*said, *stored]))

    def begin(self) -> int:
        """The number of a new run, from 1."""
        self.count += 1
        return self.count

    def keep(self, result: RunResult, number: int) -> None:
        self.results[number] = result
        while len(self.results) > KEPT:  # of runs side by side, those that end last need not be the newest
            self.results.pop(min(list(self.results)), None)  # a thread may have done so at the same time
        self.last = result

    def fork(self, agent: str) -> Runs:
        """The same conversations for another agent, which go on apart; it has done nothing yet."""
        store = self._store
        if store is not None and agent == self._agent:
            raise ConfigError("fork: with a session store the new agent needs a name of its own; give one")
        if store is not None and store.scopes(agent):
            raise ConfigError(f"fork: the session store holds conversations of an agent {agent!r}; give another name")
        made = Runs(agent, store)
        stored = () if store is None else store.scopes(self._agent)
        for scope in dict.fromkeys([*self.conversations, *stored]):
            self.conversation(scope).copied_to(made.conversation(scope))
        return made
