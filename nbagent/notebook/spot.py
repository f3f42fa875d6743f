"""Spot: an output of a cell that can be changed while the cell runs."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_numbers = count(1)


class Spot:
    """Its id is not saved with it."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._id = ""
        self._data: dict[str, Any] = {}

    @property
    def is_used(self) -> bool:
        """Whether anything was displayed here."""
        return bool(self._id)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to see of it."""
        return not self._data

    @property
    def data(self) -> dict[str, Any]:
        """What is displayed here."""
        return self._data

    def put(self, data: dict[str, Any]) -> None:
        """Displays a MIME bundle in the place of what is there."""
        if self._id and data == self._data:
            return
        self._data = data
        update, self._id = bool(self._id), self._id or f"nbagent-{next(_numbers)}"
        shell: Any = self._shell
        shell.display_pub.publish(data, transient={"display_id": self._id}, update=update)
