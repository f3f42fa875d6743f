"""Runs: what an agent has done, and the conversations that came of it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from nbagent.agents.conversation import Conversation
from nbagent.agents.waiting import Waiting
from nbagent.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from nbagent.agents.marks import Marks
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
        self.waiting = Waiting(agent)

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

    def number_of(self, result: RunResult) -> int:
        """Its number; a new one where it has been kept no longer."""
        return next((number for number, one in self.results.items() if one is result), 0) or self.begin()

    def check_fork(self, agent: str) -> None:
        """Raises ConfigError where the session store cannot keep the conversations for an agent of this name, too."""
        store = self._store
        if store is not None and agent == self._agent:
            raise ConfigError("fork: with a session store the new agent needs a name of its own; give one")
        if store is not None and store.scopes(agent):
            raise ConfigError(f"fork: the session store holds conversations of an agent {agent!r}; give another name")

    def fork(self, agent: str, marks: Callable[[Marks], Marks], *, is_kept: bool = True) -> Runs:
        """The same conversations for another agent, which go on apart; it has done nothing yet. `marks`: what becomes
        of places in scripts. `is_kept`: whether they go on on disk, where these are there.
        """
        store = self._store
        made = Runs(agent, store if is_kept else None)
        stored = () if store is None else store.scopes(self._agent)
        for scope in dict.fromkeys([*self.conversations, *stored]):
            self.conversation(scope).copied_to(made.conversation(scope), marks)
        return made
