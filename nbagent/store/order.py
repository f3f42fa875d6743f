"""Order: which of the events in a file are the run, and in which order. Only lines are added; this says what they mean.

Calls that run side by side come back as they please, and are then put into the order of their calls; a run that goes
on leaves out its interruption. Neither changes a line that is there: a later line says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Order:
    """The numbers of the events, from 0 as they stand in the file, in the order of the run."""

    __slots__ = ("count", "numbers")

    def __init__(self) -> None:
        self.count = 0
        """How many events the file has."""
        self.numbers: list[int] = []

    def add(self) -> int:
        """The number of one more event."""
        number = self.count
        self.count += 1
        self.numbers.append(number)
        return number

    def may_settle(self, start: int, numbers: Sequence[int]) -> bool:
        """Whether these are the events from `start` on, in any order."""
        return 0 <= start <= len(self.numbers) and sorted(self.numbers[start:]) == sorted(numbers)

    def settle(self, start: int, numbers: Sequence[int]) -> None:
        """Raises ValueError where these are other events."""
        if not self.may_settle(start, numbers):
            raise ValueError("it puts events into an order that are not there")
        self.numbers[start:] = numbers

    def cut(self, length: int) -> None:
        """The run is its first so many events. Raises ValueError where it has fewer."""
        if not 0 <= length <= len(self.numbers):
            raise ValueError("it keeps more events than there are")
        del self.numbers[length:]
