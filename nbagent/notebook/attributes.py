"""Attributes: notebook variables as the attributes of an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import copy
from typing import Any


class NotebookAttributes(MutableMapping[str, Any]):
    """The variables that a cell pulls, as they are now; what is set becomes a variable of the notebook.

    `local`: variables of the function that a line magic stands in; they hide the notebook's. `others`: attributes that
    the agent had before, and that are no variables.
    """

    def __init__(
        self,
        variables: MutableMapping[str, Any],
        pulled: Mapping[str, str],
        local: Mapping[str, Any] | None = None,
        others: Mapping[str, Any] | None = None,
    ) -> None:
        self._variables = variables
        self.pulled = tuple(pulled)
        """The names of the variables."""
        self._local = {name: value for name, value in (local or {}).items() if name in pulled}
        self._others = others or {}

    def fork(self, copied: Callable[[Any], Any]) -> NotebookAttributes:
        """Those of a fork: the variables are still the notebook's, its other attributes are its own."""
        made = copy(self)
        made._others = copied(dict(self._others))  # noqa: SLF001 - it is one of its own class
        return made

    def __getitem__(self, name: str) -> Any:
        if name not in self.pulled:
            return self._others[name]
        return self._local[name] if name in self._local else self._variables[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._variables[name] = value

    def __delitem__(self, name: str) -> None:
        del self._variables[name]

    def __iter__(self) -> Iterator[str]:
        here = [name for name in self.pulled if name in self._local or name in self._variables]
        return iter([*here, *(name for name in self._others if name not in self.pulled)])

    def __len__(self) -> int:
        return len(list(iter(self)))
