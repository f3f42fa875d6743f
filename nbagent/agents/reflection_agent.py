"""ReflectionAgent: an agent that has its answer reviewed, and writes it anew until nothing is left to mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import Unpack

from nbagent.agents.base import BaseAgent
from nbagent.agents.options import Options, own_options
from nbagent.agents.reflection import reflect_and_refine
from nbagent.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from nbagent.agents.loop import Setup
    from nbagent.prompt.inputs import Text
    from nbagent.runtime.effects import Loop


class ReflectionAgent(BaseAgent):
    """Writes a draft, then has it criticised and writes it anew, round by round, until the critique passes.

    A critique passes where all it says is `GOOD ENOUGH` (in Chinese `已达最佳`). n rounds take at most 1 + 2n model
    calls, more where the critic calls tools; only the critic may. `result.rounds` has draft, critique and refinement of
    each.

    Source: the interface follows agentmaker's `ReflectionAgent`.
    """

    strategy = "reflection"

    def __init__(
        self,
        name: str,
        model: object,
        system_prompt: Text | None = None,
        *,
        max_turns: int = 3,
        **options: Unpack[Options],
    ) -> None:
        """An agent; nothing is sent.

        max_turns: how many rounds of critique and refinement there are at most. The other options are those of `Agent`.
        Raises `ConfigError` (a ValueError) naming what is wrong.
        """
        super().__init__(name, model, system_prompt, max_turns, own_options(options))

    def _loop(self, setup: Setup) -> Loop:
        return reflect_and_refine(setup)

    def _prompt_tools(self, tools: ToolRegistry) -> ToolRegistry:  # noqa: ARG002
        return ToolRegistry()  # the author of a draft has none
