"""Forks: an agent, and the agents that are its tools, each copied once, so that all of them go on on their own."""

from __future__ import annotations

from collections import deque
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar, cast

from nbagent.agents.memory import HistoryMemory
from nbagent.agents.sub_agent import AgentTool
from nbagent.agents.surroundings import Surroundings
from nbagent.models.scripted import ScriptedLLM
from nbagent.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

    from nbagent.agents.base import BaseAgent
    from nbagent.agents.marks import Marks
    from nbagent.agents.prompting import Prompting
    from nbagent.models.model import Model

T = TypeVar("T")
A = TypeVar("A", bound="BaseAgent")


class Forks:
    """The copies that belong to one fork. What several agents have in common, their copies have in common, too."""

    def __init__(self, prefix: str, *, is_kept: bool = True) -> None:
        """prefix: what stands before the name of an agent inside that needs another one, for its session store.
        is_kept: whether their conversations are on disk, where those of the agents are."""
        self._prefix = prefix
        self.is_kept = is_kept
        self._made: dict[int, tuple[Any, Any]] = {}
        """What was copied and its copy, by the id of the first, which stays alive here."""

    def begin(self, agent: A, made: A) -> A:
        """The copy of an agent, before it has tools: one of them may be the agent itself."""
        self._made[id(agent)] = agent, made
        return made

    def inside(self, agent: BaseAgent) -> BaseAgent:
        """An agent that is a tool of another one; with a session store it gets a name of its own there."""
        name = agent.name if agent.session_store is None or not self.is_kept else f"{self._prefix}.{agent.name}"
        return self._once(agent, lambda: agent.forked(self, name))

    def model(self, model: Model) -> Model:
        """A script goes on on its own; every other model is the same."""
        return self._once(model, model.fork) if isinstance(model, ScriptedLLM) else model

    def prompting(self, prompting: Prompting, name: str) -> Prompting:
        """How the prompts of the fork come about, with attributes, tools and a history of its own."""
        made = copy(prompting)
        made.agent = name
        made.attributes = self.attributes(prompting.attributes)
        made.own_tools = self.tools(prompting.own_tools)
        made.context = self._surroundings(prompting.context)
        return made

    def attributes(self, attributes: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """The attributes, with dicts, lists and sets in them copied; other values are the same objects."""
        return self._once(attributes, lambda: _copied_attributes(attributes))

    def tools(self, registry: ToolRegistry) -> ToolRegistry:
        """A registry of the same tools, in which each agent is its fork; a view stays one, of such a registry."""
        return self._once(registry, lambda: registry.copied(self._part))

    def marks(self, marks: Marks) -> Marks:
        """The same places in the scripts of the fork."""
        return marks.in_others(self.model)

    def _part(self, one: Any) -> Any:
        """Of a registry: a tool, or the registry that it is a view of."""
        if isinstance(one, ToolRegistry):
            return self.tools(one)
        if isinstance(one, AgentTool):
            return self._once(one, lambda: one.with_agent(self.inside(one.agent)))
        return one

    def _surroundings(self, context: Surroundings) -> Surroundings:
        if context.memory is None:
            return context
        given = context.options
        memories, retrievers = [[self._provider(one) for one in given[key]] for key in ("memories", "retrievers")]
        return Surroundings(memories, retrievers, given["context_policy"])

    def _provider(self, one: Any) -> Any:
        """A memory that holds what an agent has said is copied; whatever else is asked or told is the user's own."""
        return self._once(one, lambda: one.fork(self.marks)) if isinstance(one, HistoryMemory) else one

    def _once(self, one: T, make: Callable[[], T]) -> T:
        if id(one) not in self._made:
            made = make()
            self._made.setdefault(id(one), (one, made))
        return self._made[id(one)][1]


def _copied_attributes(attributes: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    fork: Callable[..., MutableMapping[str, Any]] | None = getattr(attributes, "fork", None)
    return fork(copied) if callable(fork) else copied(dict(attributes))


def copied(value: T) -> T:
    """The value, with the dicts, lists and sets in it copied, each once; other objects are the same."""
    return _copied(value, {})


def _copied(value: Any, done: dict[int, Any]) -> Any:
    if (known := done.get(id(value))) is not None:
        return known
    if type(value) is tuple:  # it is made after what is in it, which may hold the tuple
        return tuple([_copied(one, done) for one in cast("tuple[Any, ...]", value)])
    if not isinstance(value, dict | list | set | deque | bytearray):
        return value
    done[id(cast("object", value))] = made = copy(cast("Any", value))
    if isinstance(value, dict):
        made.update({key: _copied(one, done) for key, one in cast("Mapping[Any, Any]", value).items()})
    elif isinstance(value, list):
        made[:] = [_copied(one, done) for one in cast("list[Any]", value)]
    elif isinstance(value, deque):
        made.clear()
        made.extend([_copied(one, done) for one in cast("deque[Any]", value)])
    return made
