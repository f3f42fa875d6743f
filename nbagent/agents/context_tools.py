"""Context tools: how a model asks the active context providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.prompt.context.block import ContextQuery
from nbagent.prompt.context.provider import TOP_K
from nbagent.prompt.context.sources import Sources
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.tool import Tool, tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class ContextTools:
    """What a model can ask the active providers, in one turn of the conversation."""

    def __init__(self, providers: Iterable[Any], query: Callable[[], ContextQuery] | None) -> None:
        """`query`: gives the question of the run, where a source is asked without one."""
        self._providers = tuple(providers)
        self._query = query

    def _sources(self) -> Sources:
        return Sources(self._providers, self._query() if self._query else ContextQuery(""))

    @tool
    def list_context_sources(self) -> dict[str, Any]:
        """List the sources that retrieve_context can ask."""
        return self._sources().list()

    @tool
    def retrieve_context(self, source: str, query: str = "", top_k: int = TOP_K) -> dict[str, Any]:
        """Look something up in one of the context sources.

        Args:
            source: The source's name, as list_context_sources gives it.
            query: What to look for; empty for the user's own question.
            top_k: How many passages to give at most.
        """
        return self._sources().retrieve(source, query, top_k)


class JoinedTools(ToolRegistry):
    """The agent's own tools, and those that ask the active providers, under names that are free."""

    def __init__(self, own: ToolRegistry, providers: Iterable[Any], query: Callable[[], ContextQuery] | None) -> None:
        super().__init__(own)
        self._own = own
        tools = ContextTools(providers, query)
        for each in (tools.list_context_sources, tools.retrieve_context):
            made = each if each.name not in own else Tool(each, name=_free(each.name, own))
            made.origin = f"context:{each.name}"
            super().register(made)

    def register(self, tool: Tool | Callable[..., Any], *, overwrite: bool = False) -> Tool:
        """Adds a tool to the agent's own, too."""
        made = super().register(tool, overwrite=overwrite)
        own: ToolRegistry | None = getattr(self, "_own", None)
        return made if own is None else own.register(made, overwrite=overwrite)

    def remove(self, name: str) -> Tool:
        """Takes a tool out, also of the agent's own."""
        gone = super().remove(name)
        return self._own.remove(name) if name in self._own else gone

    def refusal(self, name: str) -> str:
        """What is refused by the agent's own tools is refused here."""
        return self._not_permitted(name) if name not in self and self._own.refusal(name) else ""


def _free(name: str, own: ToolRegistry) -> str:
    free, number = f"nbagent_{name}", 1
    while free in own:
        number += 1
        free = f"nbagent_{name}_{number}"
    return free
