"""ToolRegistry: the tools of an agent, by name."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from nbagent.errors import ToolDefinitionError
from nbagent.tools.callables import source_of
from nbagent.tools.tool import Tool, as_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbagent.messages import ToolSchema

_MAX_NAME = 64


class ToolRegistry:
    """Tools in the order of their registration. `tools`: Tools or callables that can become one, none by default."""

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._schemas: tuple[ToolSchema, ...] | None = None
        for each in tools:
            self.register(each)

    def register(self, tool: Tool | Callable[..., Any], *, overwrite: bool = False) -> Tool:
        """Adds a tool and returns it.

        Raises ToolDefinitionError for what is no tool, and for a name that is taken unless `overwrite` (False) is set.
        """
        made = as_tool(tool)
        taken = self._tools.get(made.name)
        if taken is not None and not overwrite:
            raise ToolDefinitionError(
                f"there is a tool {made.name!r} already: {source_of(taken.function)}; "
                f"now it would be {source_of(made.function)}; "
                f'give one another name, @tool(name="..."), or register it with overwrite=True'
            )
        self._tools[made.name] = made
        self._schemas = None
        return made

    def get(self, name: str) -> Tool | None:
        """The tool of exactly this name, or None: a model's near miss is never guessed at."""
        return self._tools.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """What a model is told of the tools; the same tuple until something is registered."""
        if self._schemas is None:
            self._schemas = tuple(tool.schema for tool in self)
        return self._schemas

    def list_tools(self) -> list[Tool]:
        return list(self)

    def unknown(self, name: str) -> str:
        """What the model reads where it called a tool that is not here: the real names, the closest first."""
        shown = json.dumps(name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…", ensure_ascii=False)
        if not self._tools:
            return f"there is no tool {shown}: you have no tools; answer without"
        closest = sorted(self._tools, key=lambda known: -_likeness(name[:_MAX_NAME], known))
        return f"there is no tool {shown}; your tools are: {', '.join(closest)}"

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __repr__(self) -> str:
        return f"ToolRegistry({list(self._tools)})"


def _likeness(name: str, known: str) -> float:
    return SequenceMatcher(None, name.casefold(), known.casefold()).ratio()
