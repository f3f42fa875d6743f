"""Rule: which calls of which tools something is said about."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import ConfigError
from nbagent.tools.condition import Condition, Undetermined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbagent.tools.registry import ToolRegistry
    from nbagent.tools.tool import Tool

_RULE = re.compile(r"(?P<what>[^()\s]+)\s*(?:\((?P<condition>.*)\))?", re.DOTALL)
_NAME = re.compile(r"[A-Za-z0-9_\-*?\[\]!]+", re.ASCII)
_ORIGIN = re.compile(r"(?P<origin>[A-Za-z0-9_\-]+:[^/\s]+)(?:/(?P<name>.+))?")
EVERYTHING = "all"


class Rule:
    """A tool by its exact name (`search`), by a pattern with `*` (`read_*`), by where it comes from (`mcp:files`,
    `mcp:*`, `agent:translator`), by both (`mcp:files/read_*`), or every tool (`all`); each may have a condition about
    the arguments of the call: `pay(amount > 100)`.

    Names match exactly: `read` is not `read_and_delete`. Raises ConfigError for what is none of these.
    """

    def __init__(self, text: str) -> None:
        match = _RULE.fullmatch(text.strip())
        if match is None:
            raise ConfigError(f"{_EXPECTED}; got {text!r}")
        self.what = match["what"]
        said = match["condition"]
        self.condition = None if said is None or not said.strip() else Condition(said)
        origin = _ORIGIN.fullmatch(self.what)
        self._origin = origin["origin"] if origin else None
        self._name = (origin["name"] or "*") if origin else self.what
        if not _NAME.fullmatch(self._name):
            raise ConfigError(f"{_EXPECTED}; got {text!r}")

    @property
    def is_everything(self) -> bool:
        """Whether it is `all`, which stands for what no other rule names."""
        return self.what == EVERYTHING

    def names(self, tool: Tool) -> bool:
        """Whether it is about this tool."""
        if self.is_everything:
            return True
        if self._origin is not None and not fnmatchcase(tool.origin, self._origin):
            return False
        return fnmatchcase(tool.name, self._name)

    def holds(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        """Whether its condition holds for a call of a tool that it is about. Raises Undetermined."""
        return self.condition is None or self.condition.holds(_with_defaults(tool, arguments))

    def check(self, tools: ToolRegistry) -> None:
        """Raises ConfigError where its condition speaks of an argument that a tool which it is about has not."""
        for tool in tools:
            if self.condition is None or not self.names(tool) or self.is_everything:
                continue
            known = list(cast("Mapping[str, Any]", tool.schema.parameters.get("properties", {})))
            for name in self.condition.names:
                if name not in known:
                    there = ", ".join(known) or "none"
                    raise ConfigError(f"{self}: {tool.name} has no argument {name!r}; its arguments: {there}")

    def __str__(self) -> str:
        return self.what if self.condition is None else f"{self.what}({self.condition.text})"

    def __repr__(self) -> str:
        return f"Rule({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rule) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


_EXPECTED = (
    "expected a tool by name (search), by pattern (read_*), by where it comes from (mcp:files), or all, with a "
    "condition about its arguments where you like: pay(amount > 100)"
)


def _with_defaults(tool: Tool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments, and the defaults of those that are left out."""
    properties = cast("Mapping[str, Mapping[str, Any]]", tool.schema.parameters.get("properties", {}))
    defaults = {name: one["default"] for name, one in properties.items() if "default" in one}
    return {**defaults, **arguments}


__all__ = ["EVERYTHING", "Rule", "Undetermined"]
