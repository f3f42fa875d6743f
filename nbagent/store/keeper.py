"""Keeper: what is told of each event of a run before the run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.events import Event


class Keeper(Protocol):
    """Keeps the events of one run. What it raises ends the run, and the event then has not happened."""

    def keep(self, event: Event, durable: bool) -> None:
        """Returns when the event is kept; `durable`: so that not even a loss of power takes it away."""
        ...

    def settle(self, start: int, events: Sequence[Event]) -> None:
        """The events from `start` on are in this order now."""
        ...
