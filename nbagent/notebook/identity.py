"""Identity: which cell is running, so that a cell that runs again replaces what it said before."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, cast


class CellIdentity:
    """Gives each agent run of a cell a key: the cell's id, and which run of the cell it is (from 0).

    Front ends send the id with the request. Where there is none (nbclient, a terminal), every run is new: key None.
    """

    def __init__(self) -> None:
        self._request = ""
        self._runs = 0

    def next_key(self, shell: object) -> Hashable:
        """The key of the run that begins now."""
        self._request, self._runs, key = self._next(shell)
        return key

    def key_to_come(self, shell: object) -> Hashable:
        """What `next_key` would say, without a run."""
        return self._next(shell)[2]

    def _next(self, shell: object) -> tuple[str, int, Hashable]:
        parent = _parent(shell)
        cell = parent.get("metadata", {}).get("cellId")
        if not cell:
            return self._request, self._runs, None
        request = parent.get("header", {}).get("msg_id", "")
        runs = self._runs + 1 if request == self._request else 0
        return request, runs, (cell, runs)


def running_cell(shell: object) -> tuple[str, str]:
    """The cell that runs now, and the request that runs it; empty where there is none."""
    parent = _parent(shell)
    return parent.get("metadata", {}).get("cellId") or "", parent.get("header", {}).get("msg_id", "")


def _parent(shell: object) -> Mapping[str, Any]:
    """The request that runs now, as Jupyter's message; empty in a plain IPython."""
    get_parent = getattr(shell, "get_parent", None)
    parent = get_parent() if callable(get_parent) else None
    return cast("Mapping[str, Any]", parent) if isinstance(parent, Mapping) else {}
