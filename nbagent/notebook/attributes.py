"""Attributes: notebook variables as the attributes of an agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any


class NotebookAttributes(MutableMapping[str, Any]):
    """The variables that a cell pulls, as they are now; what is set becomes a variable of the notebook."""

    def __init__(self, variables: MutableMapping[str, Any], names: Mapping[str, str]) -> None:
        self._variables = variables
        self._names = tuple(names)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._variables[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._variables[name] = value

    def __delitem__(self, name: str) -> None:
        del self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in self._names if name in self._variables])

    def __len__(self) -> int:
        return len(list(iter(self)))
