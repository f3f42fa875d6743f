"""Reading: a stored run, as far as it is sound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from nbagent.errors import StoreError, StoreFailed
from nbagent.events import Event, RunFinished
from nbagent.store import loose
from nbagent.store.codec import take_event
from nbagent.store.disk import why
from nbagent.store.header import Header, refuse_later, take_header
from nbagent.store.jsontext import loads
from nbagent.store.line import BadLine, Lines, Place
from nbagent.store.order import Order
from nbagent.values import Struct

if TYPE_CHECKING:
    from pathlib import Path

    from nbagent.store.disk import Disk

MASKED = b',"masked":true}'
"""How the body of a line ends in which a secret was masked."""


class Stored(Struct, frozen=True):
    """A run as it is on disk."""

    header: Header | None
    """None where its writer ended before anything was written."""
    events: tuple[Event, ...] = ()
    torn: str = ""
    """What had been begun at the end of the file, was never acknowledged, and is left out; empty for nothing."""
    damage: str = ""
    """Why nothing after these events can be used, where somebody looks at a damaged run all the same."""
    masked: tuple[int, ...] = ()
    """The places in `events` where a secret was masked: what is there now is not what happened."""

    @property
    def finished(self) -> RunFinished | None:
        """Its end; None where it has none yet, or its process ended before it."""
        last = self.events[-1] if self.events else None
        return last if isinstance(last, RunFinished) else None


class Reading:
    """A file, line by line."""

    def __init__(self, data: bytes) -> None:
        self.header: Header | None = None
        self.order = Order()
        self.bodies: list[bytes] = []
        """Of each event in the file, by number, what was encoded."""
        self.error: StoreError | None = None
        self._events: list[Event] = []
        self._masked: set[int] = set()
        self._lines = Lines(data)
        self._read()

    @classmethod
    def begun(cls, header: Header) -> Reading:
        """That of a file with nothing but its header."""
        made = cls(b"")
        made.header = header
        return made

    @property
    def place(self) -> Place:
        """Where what is sound ends."""
        return self._lines.place

    @property
    def stored(self) -> Stored:
        numbers = self.order.numbers
        events = tuple([self._events[number] for number in numbers])
        masked = tuple([at for at, number in enumerate(numbers) if number in self._masked]) if self._masked else ()
        return Stored(self.header, events, self._torn, str(self.error or ""), masked)

    @property
    def _torn(self) -> str:
        torn = 0 if self.error else self._lines.torn
        return f"the last {torn:,} bytes are a line that was not written to its end; it is left out" if torn else ""

    def _read(self) -> None:
        try:
            for body in self._lines:
                if self.header is None:
                    self.header = take_header(body)
                else:
                    self._apply(body)
        except StoreError as error:
            self.error = error
        except BadLine as error:
            later = None if self.place.seq else _later(error.line)
            self.error = later or _damaged(self.place.seq + 1, str(error))
        except ValueError as error:  # what is there was written so: by another version, or by somebody else
            self.error = _damaged(self.place.seq + 1, f"it cannot be read: {error}")

    def _apply(self, body: bytes) -> None:
        words = loads(body, loose.take)
        match words:
            case {"kind": _}:
                event = take_event(words)
                if body.endswith(MASKED):
                    self._masked.add(self.order.count)
                    body = body.removesuffix(MASKED) + b"}"
                self._events.append(event)
                self.bodies.append(body)
                self.order.add()
            case {"from": int(start), "order": numbers}:
                self.order.settle(start, msgspec.convert(numbers, list[int]))
            case {"keep": int(length)}:
                self.order.cut(length)
            case _:
                raise ValueError("it is neither an event nor what becomes of some")


def _damaged(number: int, reason: str) -> StoreError:
    before = f"lines 1 to {number - 1} can be looked at" if number > 2 else "nothing of it can be used"
    return StoreError(f"line {number}: {reason}. The run cannot go on from this file; {before}", line=number)


def _later(line: bytes) -> StoreError | None:
    """What to say where a later version frames its lines in another way."""
    try:
        refuse_later(loads(line))
    except StoreError as error:
        return error
    except ValueError:
        pass
    return None


def reading_of(path: Path, disk: Disk) -> Reading:
    """What there is of a run. Raises StoreError where there is no file, StoreFailed where it cannot be read."""
    try:
        return Reading(disk.read(path))
    except FileNotFoundError:
        raise StoreError(f"store: there is no run {path.stem!r} in {path.parent}") from None
    except OSError as error:
        raise StoreFailed(f"store: {path} cannot be read: {why(error)}") from error


def sound(path: Path, reading: Reading) -> Reading:
    """Raises StoreError, with the file's name, where it is damaged."""
    if (error := reading.error) is not None:
        raise StoreError(f"store: {path.name}, {error}", line=error.line)
    return reading
