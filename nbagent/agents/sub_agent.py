"""AgentTool: an agent as a tool of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.agents.base import BaseAgent
from nbagent.errors import ConfigError
from nbagent.prompt.template import shown
from nbagent.runtime.nested import Nest, NestingTool
from nbagent.tools.arguments import InvalidArguments

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from contextlib import AbstractContextManager

    from nbagent.models.model import Model
    from nbagent.runtime.run import Run


class AgentTool(NestingTool):
    """An agent that another one may call, with one argument: the task.

    - `agent`: the agent, of any strategy.
    - `name`: str; by default the agent's.
    - `description`: str; what it is good at, for the model that calls it; by default the agent's, or the first
      paragraph of its system prompt.
    - `scope`: which of its conversations the calls belong to; by default none, so that each call starts afresh.

    A call is a run of its own inside the run that makes it: shown inside it, counted with it, stopped with it, and
    where it waits for a decision, both wait. Several calls of one reply run side by side, unless they share a script.
    What ends the test set-up (a script that is too short) is never hidden from the test.

    Source: agentmaker's `AgentTool`.
    """

    def __init__(
        self, agent: BaseAgent, name: str | None = None, description: str | None = None, *, scope: Hashable = None
    ) -> None:
        if not isinstance(agent, BaseAgent):  # pyright: ignore[reportUnnecessaryIsInstance]  # notebooks are not type-checked
            raise ConfigError(f"AgentTool: expected an agent, got {type(agent).__name__}: {agent!r}")
        self.agent = agent
        self.scope = scope
        said = description or _describes(agent)

        def run(task: str) -> str:
            """Ask it.

            Args:
                task: What it has to do, complete on its own: it sees nothing of this conversation.
            """
            return str(agent.run(task))

        super().__init__(run, name=name or agent.name, description=said, parallel=True)
        self.origin = f"agent:{agent.name}"

    def bind(self, arguments: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call. Raises InvalidArguments, also for a task that says nothing."""
        args, kwargs = super().bind(arguments)
        if not kwargs["task"].strip():
            raise InvalidArguments("task: expected what has to be done, got an empty text")
        return args, kwargs

    @property
    def models(self) -> tuple[Model, ...]:
        return self.agent.models

    def opened(self, arguments: Mapping[str, Any], nest: Nest) -> AbstractContextManager[Run]:
        return self.agent.nested(arguments["task"], nest, self.scope)


def _describes(agent: BaseAgent) -> str:
    """What it says of itself, or the first paragraph of its system prompt."""
    if agent.description:
        return agent.description
    said = shown(agent.prompting.blueprint.system).strip().partition("\n\n")[0]
    about = f"Gives a task to {agent.name}, another agent"
    return f"{about}. It was told: {' '.join(said.split())}" if said else f"{about}."
