"""ToolRetriever: the tools that fit a run, where there are too many to tell a model of all."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from nbagent.errors import ConfigError
from nbagent.prompt.context import arguments, keywords
from nbagent.prompt.context.answer import blocks_of
from nbagent.prompt.context.block import ContextQuery
from nbagent.prompt.context.info import read_provider
from nbagent.prompt.context.retrievers import KeywordRetriever
from nbagent.prompt.context.same import best_first
from nbagent.tools.names import names_of
from nbagent.tools.narrowed import NarrowedTools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from nbagent.messages import ToolSchema
    from nbagent.prompt.context.info import ProviderInfo
    from nbagent.prompt.context.provider import ContextProvider
    from nbagent.tools.registry import ToolRegistry

    Retriever = Callable[[Mapping[str, str]], ContextProvider]

OnEmpty = Literal["all", "none"]

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class ToolRetriever:
    """Chooses, for each run, the tools whose names, descriptions and parameters fit what the run is about.

        ToolRetriever(5, always_include=["ask_user"]).select(registry, "How warm is it in Oslo?")

    - `top_k`: int, 8; how many tools at most, besides those that are always included.
    - `always_include`: names of tools that are there whatever the run is about.
    - `on_empty`: where no tool fits, `"all"` (the default) gives all of them, `"none"` only those always included.
    - `retriever`: a function of the tools' texts by their names that gives a context provider over them, for example
      `lambda texts: VectorRetriever(texts, LocalEmbedder())`. By default they are found by their words in English,
      which needs `pip install "jupyter-nbagent[context]"`.

    Raises ConfigError for what makes no sense, and where a library is missing. Source: agentmaker's `ToolRetriever`.
    """

    def __init__(
        self,
        top_k: int = 8,
        always_include: Iterable[str] = (),
        *,
        on_empty: OnEmpty = "all",
        retriever: Retriever | None = None,
    ) -> None:
        self.top_k = arguments.count(top_k, "ToolRetriever: top_k")
        self.always_include = names_of("ToolRetriever: always_include", always_include)
        if on_empty not in get_args(OnEmpty):
            raise arguments.unexpected("ToolRetriever: on_empty", "'all' or 'none'", on_empty)
        self.on_empty: OnEmpty = on_empty
        self._retriever = _checked(retriever)
        self._made: tuple[tuple[ToolSchema, ...], ProviderInfo] | None = None
        """The provider that was asked last, and what it is over."""

    def select(self, tools: ToolRegistry, query: str) -> ToolRegistry:
        """The tools for a run about `query`, in the order of `tools`, of which it is a view; or `tools` itself.

        Of tools that fit equally well, the first ones are taken. Raises ConfigError where a tool that is always
        included is not there, and what the retriever raises.
        """
        for name in self.always_include:
            if name not in tools:
                there = ", ".join(tools.names) or "none"
                raise ConfigError(f"ToolRetriever: always_include: there is no tool {name!r}; there are: {there}")
        if self.top_k >= len(tools):
            return tools
        fitting = self._fitting(tools.schemas, query)
        if not fitting and self.on_empty == "all":
            return tools
        best = [name for name in fitting if name not in self.always_include][: self.top_k]
        chosen = frozenset((*self.always_include, *best))
        return NarrowedTools(tools, lambda tool: tool.name in chosen, forbids=False)

    def _fitting(self, tools: tuple[ToolSchema, ...], query: str) -> list[str]:
        """The names of all that fit, best first."""
        blocks = best_first(blocks_of(self._over(tools), ContextQuery(query), len(tools)))
        known = {tool.name for tool in tools}
        names: dict[str, None] = {}
        for block in blocks:  # of a long text there may be several passages
            if block.uri not in known:
                raise arguments.unexpected("ToolRetriever: retriever", "blocks whose uri is a tool's name", block.uri)
            names[block.uri] = None
        return list(names)

    def _over(self, tools: tuple[ToolSchema, ...]) -> ProviderInfo:
        """A provider over these tools; the same one as long as they are the same."""
        made = self._made
        if made is None or made[0] != tools:
            texts = {tool.name: _text(tool) for tool in tools}
            self._made = made = (tools, read_provider(self._retriever(texts)))
        return made[1]

    def __repr__(self) -> str:
        return f"ToolRetriever({self.top_k}, {list(self.always_include)}, on_empty={self.on_empty!r})"


def _checked(retriever: Any) -> Retriever:
    if retriever is None:
        keywords.need("ToolRetriever", "english")
        return partial(KeywordRetriever, chunk_size=None)
    if not callable(retriever):
        raise arguments.unexpected("ToolRetriever: retriever", "a function of texts by name", retriever)
    return cast("Retriever", retriever)


def _text(tool: ToolSchema) -> str:
    """What a tool is found by."""
    parameters: Mapping[str, Any] = tool.parameters.get("properties") or {}
    return "\n".join([_spelled(tool.name), tool.description, *map(_spelled, parameters)])


def _spelled(name: str) -> str:
    """`createIssue create Issue`: a name as it is, and its words where only capital letters tell them apart."""
    words = _HUMP.sub(" ", name)
    return name if words == name else f"{name} {words}"
