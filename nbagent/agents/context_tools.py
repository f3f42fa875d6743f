"""Context tools: how a model asks the active context providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.prompt.context.block import ContextQuery
from nbagent.prompt.context.provider import TOP_K
from nbagent.prompt.context.sources import Sources
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.tool import Tool, tool

if TYPE_CHECKING:
    from collections.abc import Iterable


class ContextTools:
    """What a model can ask the active providers, in one turn of the conversation."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    @tool
    def list_context_sources(self) -> dict[str, Any]:
        """List the sources that retrieve_context can ask."""
        return self._sources.list()

    @tool
    def retrieve_context(self, source: str, query: str = "", top_k: int = TOP_K) -> dict[str, Any]:
        """Look something up in one of the context sources.

        Args:
            source: The source's name, as list_context_sources gives it.
            query: What to look for; empty for the user's own question.
            top_k: How many passages to give at most.
        """
        return self._sources.retrieve(source, query, top_k)


def joined(own: ToolRegistry, providers: Iterable[Any], query: ContextQuery | None) -> ToolRegistry:
    """The agent's own tools, and those that ask the active providers, under names that are free."""
    tools = ContextTools(Sources(providers, query or ContextQuery("")))
    registry = ToolRegistry(own)
    for each in (tools.list_context_sources, tools.retrieve_context):
        registry.register(each if each.name not in own else Tool(each, name=_free(each.name, own)))
    return registry


def _free(name: str, own: ToolRegistry) -> str:
    free, number = f"nbagent_{name}", 1
    while free in own:
        number += 1
        free = f"nbagent_{name}_{number}"
    return free
