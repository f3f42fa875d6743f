"""Named agent: an agent of the notebook as a tool of another one, by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.agents.base import BaseAgent
from nbagent.agents.sub_agent import AgentTool
from nbagent.errors import CellError
from nbagent.notebook.look_up import look_up
from nbagent.notebook.named_model import kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping


class NamedAgent(AgentTool):
    """The agent that a notebook variable holds whenever the tool is used: what the notebook shows is what is called.

    variable: its name, or names with dots between them. owner: the agent whose tool it is.
    """

    def __init__(self, variable: str, variables: Mapping[str, Any], owner: str) -> None:
        self.variable = variable
        self._variables = variables
        self._owner = owner
        super().__init__(self.agent)
        del self._agent  # it may be another one the next time

    @property
    def agent(self) -> BaseAgent:
        """The agent of this name now. Raises CellError where there is none."""
        where = f"the tool agent:{self.variable} of {self._owner!r}"
        value = look_up(self.variable, self._variables, where)
        if not isinstance(value, BaseAgent):
            raise CellError(
                f"{where}: {self.variable!r} is {kind_of(value)} now, not an agent; run the cell that describes it"
            )
        return value

    def with_agent(self, agent: BaseAgent) -> AgentTool:
        """The same tool, of an agent of its own."""
        made = AgentTool(agent, self.name)
        made.origin = self.origin
        return made
