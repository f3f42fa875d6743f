"""ToolPermissions: which tools a model is told of and may call.

Source: the lists and what they mean are those of agentmaker's `ToolPermissions`; that `mcp` stands for every server is
ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.errors import ConfigError
from nbagent.tools.names import names_of
from nbagent.tools.narrowed import NarrowedTools
from nbagent.tools.tool import NAME

if TYPE_CHECKING:
    from collections.abc import Collection

    from nbagent.tools.registry import ToolRegistry
    from nbagent.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class ToolPermissions:
    """Which tools are permitted, by their names and by where they come from (`Tool.origin`).

        ToolPermissions(deny=["delete_file"], deny_origins=["mcp:files"])

    - `deny`, `deny_origins`: collections of str, empty by default. What one of them names is not permitted, whatever
      else is said.
    - `allow`, `allow_origins`: collections of str, or None (the default) for no such list. Where there is one, or both,
      only what one of them names is permitted; an empty one names nothing.

    Names and origins match exactly; the origin `mcp` is every `mcp:SERVER`. A server chooses the names of its tools,
    but not their origin: to trust one, allow the origin. Raises ConfigError for a lone text, and for what is no name.
    """

    allow: Collection[str] | None = None
    deny: Collection[str] = ()
    allow_origins: Collection[str] | None = None
    deny_origins: Collection[str] = ()

    def __post_init__(self) -> None:
        for key in ("allow", "deny", "allow_origins", "deny_origins"):
            given = getattr(self, key)
            if given is not None:
                listed = _origins(key, given) if key.endswith("origins") else _names(key, given)
                object.__setattr__(self, key, tuple(sorted(listed)))  # of a set as well, the same in each process

    def permits(self, tool: Tool) -> bool:
        """Whether the tool may be called."""
        if tool.name in self.deny or _comes_from(tool, self.deny_origins):
            return False
        if self.allow is None and self.allow_origins is None:
            return True
        return tool.name in (self.allow or ()) or _comes_from(tool, self.allow_origins or ())

    def permitted(self, registry: ToolRegistry) -> ToolRegistry:
        """A view of the registry without what is not permitted, now and later; a call of that is refused in words."""
        return NarrowedTools(registry, self.permits, forbids=True)


def _comes_from(tool: Tool, origins: Collection[str]) -> bool:
    return tool.origin in origins or tool.origin.partition(":")[0] in origins


def _names(key: str, given: Collection[str]) -> tuple[str, ...]:
    names = names_of(key, given)
    for name in names:
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"{key}: expected names of tools, of letters, digits, _ and -, which match exactly; got {name!r}"
            )
    return names


def _origins(key: str, given: Collection[str]) -> tuple[str, ...]:
    origins = names_of(key, given)
    for origin in origins:
        if not origin or origin.endswith((":", "*")):
            raise ConfigError(f"{key}: expected origins, such as 'function', 'mcp' or 'mcp:files'; got {origin!r}")
    return origins
