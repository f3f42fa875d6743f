"""ToolRegistry: the tools of an agent, by name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import copy, deepcopy
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from nbagent.errors import ToolDefinitionError
from nbagent.texts.phrase import Phrase
from nbagent.tools import catalog
from nbagent.tools.callables import source_of
from nbagent.tools.execution import aexecute, execute
from nbagent.tools.names import names_of
from nbagent.tools.tool import Tool, as_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from nbagent.messages import ToolSchema
    from nbagent.tools.response import ToolResponse

OnConflict = Literal["error", "skip", "overwrite"]

_MAX_NAME = 64


class ToolRegistry:
    """Tools in the order of their registration. `tools`: Tools or callables that can become one, none by default.

    Source: the names of the methods are those of agentmaker's `ToolRegistry`.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._schemas: tuple[ToolSchema, ...] | None = None
        self._varying: list[tuple[Tool, ToolSchema]] = []
        """The tools whose schema may change, and what it was when the schemas were made."""
        for each in tools:
            self.register(each)

    @classmethod
    def from_tools(cls, tools: Iterable[Tool | Callable[..., Any]]) -> Self:
        """A registry of its own with these tools, also where they come from another registry."""
        return cls(_several(tools))

    def register(self, tool: Tool | Callable[..., Any], *, overwrite: bool = False) -> Tool:
        """Adds a tool and returns it.

        Raises ToolDefinitionError for what is no tool, and for a name that is taken unless `overwrite` (False) is set.
        """
        made = as_tool(tool)
        taken = self._tools.get(made.name)
        if taken is not None and not overwrite:
            raise _taken(taken, made, "overwrite=True")
        self._tools[made.name] = made
        self._schemas = None
        return made

    def register_all(
        self, tools: Iterable[Tool | Callable[..., Any]], *, on_conflict: OnConflict = "error"
    ) -> list[str]:
        """Adds several tools and returns the names of those that it added, in their order.

        `on_conflict`: what to do about a name that is taken, here or by one before it: `"error"` (the default) raises
        ToolDefinitionError, `"skip"` leaves the later one out, `"overwrite"` takes the later one. Where it raises, also
        for what is no tool, it has added none.
        """
        if on_conflict not in get_args(OnConflict):
            expected = ", ".join(map(repr, get_args(OnConflict)))
            raise ToolDefinitionError(f"on_conflict: expected one of {expected}, got {on_conflict!r}")
        added: dict[str, Tool] = {}
        for made in [as_tool(each) for each in _several(tools)]:
            taken = added.get(made.name) or self.get(made.name)
            if taken is not None and on_conflict == "error":
                raise _taken(taken, made, f"on_conflict={'overwrite'!r}")
            if taken is None or on_conflict == "overwrite":
                added[made.name] = made
        for made in added.values():
            self.register(made, overwrite=on_conflict == "overwrite")
        return list(added)

    def remove(self, name: str) -> Tool:
        """Takes a tool out and returns it. Raises ToolDefinitionError where there is none of this name."""
        gone = self._known(name)
        del self._tools[name]
        self._schemas = None
        return gone

    def get(self, name: str) -> Tool | None:
        """The tool of exactly this name, or None: a model's near miss is never guessed at."""
        return self._tools.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple([tool.name for tool in self])

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """What a model is told of the tools; the same tuple until one is added, removed or described otherwise."""
        if self._schemas is None or any(tool.schema is not shown for tool, shown in self._varying):
            self._schemas = tuple([tool.schema for tool in self])
            self._varying = [(tool, tool.schema) for tool in self if tool.varies]
        return self._schemas

    def copied(self, of: Callable[[Any], Any]) -> Self:
        """A registry of its own, with what `of` makes of each tool; a view is one of what `of` makes of the whole."""
        made = copy(self)
        made._tools = {name: of(tool) for name, tool in self._tools.items()}  # noqa: SLF001 - it is one of its own class
        made._schemas = None  # noqa: SLF001
        return made

    def list_tools(self) -> list[Tool]:
        return list(self)

    def get_catalog(self) -> str:
        """A line for each tool: its name and the first line of its description. Empty without tools."""
        return catalog.catalog(self.schemas)

    def get_tools_description(self, names: Iterable[str] | None = None) -> str:
        """Each tool with its parameters, their types and defaults, and all descriptions, for a prompt of one's own.

        `names`: of which tools, in which order; None is all of them. Raises ToolDefinitionError for one that is not
        here.
        """
        return catalog.descriptions(self._chosen(names))

    def to_openai_schema(self, names: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """`[{"type": "function", "function": {"name", "description", "parameters"}}, …]`, to be changed at will.

        `names`: of which tools, in which order; None is all of them. Raises ToolDefinitionError for one that is not
        here.
        """
        return [deepcopy(tool.as_openai()) for tool in self._chosen(names)]

    def execute_tool(self, name: str, params: Mapping[str, Any] | str | None = None) -> ToolResponse:
        """Calls a tool as a model would, outside of a run: arguments are checked, and what it returns becomes text.

        `params`: a mapping, the JSON text of one, or None for none. What it returned is the `data` of the response. An
        unknown name, wrong arguments and exceptions are responses with status `error`, in the words that a model reads.
        It asks nobody for approval, and what the tool prints is printed. Raises ConfigError for an async tool, and
        what would end a run: KeyboardInterrupt, HarnessError, exceptions of a tool with `on_error="raise"`.
        """
        return execute(self, name, params)

    async def aexecute_tool(self, name: str, params: Mapping[str, Any] | str | None = None) -> ToolResponse:
        """The same for all tools, async ones too; one that is not async runs in this thread."""
        return await aexecute(self, name, params)

    def refusal(self, name: str) -> Phrase | None:  # noqa: ARG002  for those that hide tools
        """What the model reads where it called a tool that there is, and that it may not call; else nothing."""
        return None

    def unknown(self, name: str) -> Phrase:
        """What the model reads where it called a tool that is not here: the real names, the closest first."""
        shown = json.dumps(name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…", ensure_ascii=False)
        return self._cannot("tool.unknown", shown, name)

    def _not_permitted(self, name: str) -> Phrase:
        return self._cannot("tool.not_permitted", repr(name), name)

    def _cannot(self, key: str, shown: str, name: str) -> Phrase:
        if not self.names:
            return Phrase(f"{key}_none", tool=shown)
        closest = sorted(self.names, key=lambda known: -_likeness(name[:_MAX_NAME], known))
        return Phrase(key, tool=shown, tools=", ".join(closest))

    def _known(self, name: str) -> Tool:
        tool = self.get(name)
        if tool is None:
            raise ToolDefinitionError(f"there is no tool {name!r} here; there are: {', '.join(self.names) or 'none'}")
        return tool

    def _chosen(self, names: Iterable[str] | None) -> tuple[ToolSchema, ...]:
        return self.schemas if names is None else tuple([self._known(n).schema for n in names_of("names", names)])

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.names)})"


def _several(tools: Any) -> Iterable[Any]:
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise ToolDefinitionError(
            f"tools: expected a list of functions, got {type(tools).__name__}: {tools!r}; write [{tools!r}]"
        )
    return tools  # pyright: ignore[reportUnknownVariableType]


def _taken(taken: Tool, made: Tool, anyway: str) -> ToolDefinitionError:
    return ToolDefinitionError(
        f"there is a tool {made.name!r} already: {source_of(taken.function)}; "
        f"now it would be {source_of(made.function)}; "
        f'give one another name, @tool(name="..."), or register it with {anyway}'
    )


def _likeness(name: str, known: str) -> float:
    return SequenceMatcher(None, name.casefold(), known.casefold()).ratio()
