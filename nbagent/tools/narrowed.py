"""NarrowedTools: some of the tools of a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from nbagent.tools.registry import OnConflict, ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbagent.messages import ToolSchema
    from nbagent.texts.phrase import Phrase
    from nbagent.tools.tool import Tool


class NarrowedTools(ToolRegistry):
    """A view of a registry with those of its tools that `keeps` keeps.

    What is added, replaced or removed later, in the registry or by the view, is so in both. `forbids`: bool, whether a
    model that calls a tool that is not kept reads that it may not (`refusal`); else there is no such tool for it.
    """

    def __init__(self, whole: ToolRegistry, keeps: Callable[[Tool], bool], *, forbids: bool) -> None:
        self._whole = whole
        self._keeps = keeps
        self._forbids = forbids
        self._read: tuple[ToolSchema, ...] | None = None
        """The schemas of the whole that were read last: as long as they are the same tuple, so are the view's."""
        self._shown: tuple[ToolSchema, ...] = ()

    def register(self, tool: Tool | Callable[..., Any], *, overwrite: bool = False) -> Tool:
        """Adds a tool to the registry; it is seen here where it is kept."""
        return self._whole.register(tool, overwrite=overwrite)

    def register_all(
        self, tools: Iterable[Tool | Callable[..., Any]], *, on_conflict: OnConflict = "error"
    ) -> list[str]:
        """Adds several tools to the registry; names that are hidden here are taken, too."""
        return self._whole.register_all(tools, on_conflict=on_conflict)

    def remove(self, name: str) -> Tool:
        """Takes a tool out of the registry, where it is seen here."""
        self._known(name)
        return self._whole.remove(name)

    def get(self, name: str) -> Tool | None:
        tool = self._whole.get(name)
        return tool if tool is not None and self._keeps(tool) else None

    def copied(self, of: Callable[[Any], Any]) -> Self:
        """The same view of a registry of its own."""
        return type(self)(of(self._whole), self._keeps, forbids=self._forbids)

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """What a model is told of the tools; the same tuple until something changes in the registry."""
        whole = self._whole.schemas
        if whole is not self._read:
            self._read, self._shown = whole, tuple([tool.schema for tool in self])
        return self._shown

    def refusal(self, name: str) -> Phrase | None:
        """What the model reads where it called a tool that it may not call; nothing where it may, or there is none."""
        if name in self:
            return None
        hidden_here = self._forbids and name in self._whole
        return self._not_permitted(name) if hidden_here or self._whole.refusal(name) else None

    def __iter__(self) -> Iterator[Tool]:
        return filter(self._keeps, self._whole)

    def __len__(self) -> int:
        return len(self.schemas)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None
