"""AgentTool: an agent as a tool of another one."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from nbagent.agents.base import BaseAgent
from nbagent.agents.options import own_options
from nbagent.errors import ConfigError, ToolDefinitionError
from nbagent.runtime.nested import Nest, NestingTool
from nbagent.texts.phrase import Phrase
from nbagent.texts.template import shown
from nbagent.tools.arguments import InvalidArguments
from nbagent.tools.tool import NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from contextlib import AbstractContextManager

    from nbagent.messages import ToolSchema
    from nbagent.models.model import Model
    from nbagent.runtime.run import Run


class AgentTool(NestingTool):
    """An agent that another one may call, with one argument: the task.

    - `agent`: the agent, of any strategy.
    - `name`: str; by default the agent's.
    - `description`: str; what it is good at, for the model that calls it; by default the agent's, or the first
      paragraph of its system prompt, as they are when somebody asks.
    - `scope`: which of its conversations the calls belong to; by default none, so that each call starts afresh.

    A call is a run of its own inside the run that makes it: shown inside it, counted with it, stopped with it, and
    where it waits for a decision, both wait. Several calls of one reply run side by side, unless they share a script.
    What ends the test set-up (a script that is too short) is never hidden from the test.

    Source: agentmaker's `AgentTool`.
    """

    varies = True
    variable = ""
    """The variable whose agent it is, whichever that is; empty where it has one agent of its own."""

    def __init__(
        self, agent: BaseAgent, name: str | None = None, description: str | None = None, scope: Hashable = None
    ) -> None:
        if not isinstance(agent, BaseAgent):  # pyright: ignore[reportUnnecessaryIsInstance]  # notebooks are not type-checked
            raise ConfigError(f"AgentTool: expected an agent, got {type(agent).__name__}: {agent!r}")
        self._agent = agent
        self.scope = own_options({"scope": scope, "description": description}).get("scope")
        self._said = description or ""
        super().__init__(_asking(self), name=_tool_name(name or agent.name), description=self._said, parallel=True)
        self.origin = f"agent:{agent.name}"
        self._told: tuple[str, str] | None = None
        """What it has said of itself and of its argument, when its schema was made."""
        self._shown = super().schema

    @property
    def agent(self) -> BaseAgent:
        """The agent that it runs."""
        return self._agent

    def with_agent(self, agent: BaseAgent) -> AgentTool:
        """The same tool, of another agent."""
        made = copy(self)
        made._agent = agent  # noqa: SLF001 - it is one of its own class
        made.function = made.__wrapped__ = _asking(made)
        return made

    @property
    def schema(self) -> ToolSchema:
        """How it is described to a model; the same value as long as its agent says the same of itself."""
        told = self._said or _describes(self.agent), self.agent.texts["tool.agent_task"]
        if told != self._told:
            self._told, self._shown = told, self._shown.retold(self.name, told[0], {"task": told[1]})
        return self._shown

    def bind(self, arguments: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call. Raises InvalidArguments, also for a task that says nothing."""
        args, kwargs = super().bind(arguments)
        if not kwargs["task"].strip():
            raise InvalidArguments(Phrase("arguments.no_task"))
        return args, kwargs

    @property
    def models(self) -> tuple[Model, ...]:
        return self.agent.models

    def opened(self, arguments: Mapping[str, Any], nest: Nest) -> AbstractContextManager[Run]:
        return self.agent.nested(arguments["task"], nest, self.scope)


def _tool_name(name: object) -> str:
    """The name, where a model may call a tool by it. Raises ToolDefinitionError."""
    if isinstance(name, str) and NAME.fullmatch(name):
        return name
    raise ToolDefinitionError(
        f"an agent as a tool has a name of 1 to 64 letters from a to z, digits, _ or -; {name!r} is none; "
        'give the tool one of its own, AgentTool(agent, name="..."), or the agent another one'
    )


def _asking(tool: AgentTool) -> Callable[[str], str]:
    """What calls the tool as a function."""

    def run(task: str) -> str:
        """Ask it."""
        return str(tool.agent.run(task))

    return run


def _describes(agent: BaseAgent) -> str:
    """What it says of itself, or the first paragraph of its system prompt; what is around that, in its language."""
    if said := (agent.description or "").strip():
        return said
    said = " ".join(shown(agent.prompting.blueprint.system).strip().partition("\n\n")[0].split())
    if said:
        return agent.texts.text("tool.agent_told", agent=agent.name, system=said)
    return agent.texts.text("tool.agent", agent=agent.name)
