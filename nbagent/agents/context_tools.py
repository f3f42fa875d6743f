"""Context tools: how a model asks the active context providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from nbagent.prompt.context.block import ContextQuery
from nbagent.prompt.context.provider import TOP_K
from nbagent.prompt.context.sources import Sources
from nbagent.texts.pack import DEFAULT, Texts
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.tool import Tool, tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbagent.texts.phrase import Phrase


class ContextTools:
    """What a model can ask the active providers, in one turn of the conversation."""

    def __init__(
        self, providers: Iterable[Any], query: Callable[[], ContextQuery] | None, texts: Texts = DEFAULT
    ) -> None:  # fmt: skip
        """`query`: gives the question of the run, where a source is asked without one."""
        self._providers = tuple(providers)
        self._query = query
        self._texts = texts

    def _sources(self) -> Sources:
        return Sources(self._providers, self._query() if self._query else ContextQuery(""), self._texts)

    def tools(self, own: ToolRegistry) -> Iterator[Tool]:
        """Both, under names that are free, in the words of the language."""
        texts = self._texts
        for made, parameters in (
            (self.list_context_sources, ()),
            (self.retrieve_context, ("source", "query", "top_k")),
        ):
            key = f"tool.{made.name}"
            told = {name: texts[f"{key}_{name}"] for name in parameters}
            name = made.name if made.name not in own else _free(made.name, own)
            tool = made.retold(name, texts[key], told)
            tool.origin = f"context:{made.name}"
            yield tool

    @tool
    def list_context_sources(self) -> dict[str, Any]:
        return self._sources().list()

    @tool
    def retrieve_context(self, source: str, query: str = "", top_k: int = TOP_K) -> dict[str, Any]:
        return self._sources().retrieve(source, query, top_k)


class JoinedTools(ToolRegistry):
    """The agent's own tools, and those that ask the active providers, under names that are free."""

    def __init__(
        self, own: ToolRegistry, providers: Iterable[Any], query: Callable[[], ContextQuery] | None,
        texts: Texts = DEFAULT,
    ) -> None:  # fmt: skip
        super().__init__(own)
        self._own = own
        for made in ContextTools(providers, query, texts).tools(own):
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

    def copied(self, of: Callable[[Any], Any]) -> Self:
        """The same of a registry of its own."""
        made = super().copied(of)
        made._own = of(self._own)  # noqa: SLF001 - it is one of its own class
        return made

    def refusal(self, name: str) -> Phrase | None:
        """What is refused by the agent's own tools is refused here."""
        return self._not_permitted(name) if name not in self and self._own.refusal(name) else None


def _free(name: str, own: ToolRegistry) -> str:
    free, number = f"nbagent_{name}", 1
    while free in own:
        number += 1
        free = f"nbagent_{name}_{number}"
    return free
