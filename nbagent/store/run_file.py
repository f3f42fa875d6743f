"""RunFile: the journal of one run on disk, while it is written. Lines are only ever added."""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Self

from nbagent.errors import StoreError, StoreFailed
from nbagent.events import innermost
from nbagent.redact import redact
from nbagent.store.appending import Appending
from nbagent.store.codec import encode
from nbagent.store.disk import why
from nbagent.store.header import put_header
from nbagent.store.jsontext import dumps
from nbagent.store.open_places import open_places
from nbagent.store.reading import MASKED, Reading, Stored, reading_of, sound

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nbagent.events import Event, StreamEvent
    from nbagent.store.disk import Disk
    from nbagent.store.header import Header
    from nbagent.store.lease import Lease
    from nbagent.store.line import Place
    from nbagent.store.order import Order
    from nbagent.store.run_store import RunStore


class RunFile:
    """Where the events of a run are put down; a `Keeper`, and a context manager that closes itself.

    Whoever has one has the lease of the run: nobody else writes it until `close`. Keys and passwords that are known
    here are masked in what is written; a line says so where that has happened. An event that cannot be written is not
    there, and neither is half of it.

    Of a run that goes on, the events that are there already are not written again, in whatever order they come.
    """

    def __init__(self, path: Path, lines: Appending, lease: Lease, reading: Reading) -> None:
        """By `begun` and `opened` only."""
        self.path = path
        self.stored: Stored = reading.stored
        """What was there when it was opened."""
        self._lines = lines
        self._lease = lease
        self._order: Order = reading.order
        self._there: dict[bytes, list[int]] = {}
        """Events in the file that this run has not come to, by what was encoded."""
        for number in reversed(reading.order.numbers):
            self._there.setdefault(reading.bodies[number], []).append(number)
        self._numbers: dict[int, int] = {}
        """The numbers in the file of the events that were kept, by their ids."""
        self._kept: list[StreamEvent] = []
        """The same events, so that no other one gets an id of theirs."""
        self._bodies = reading.bodies
        self._known: dict[int, int] = {}
        """The numbers in the file of the events that the run goes on from, by their ids."""
        self._owed: list[bytes] = []
        """What has to be put down before anything else is."""
        self._lock = Lock()
        self.store: RunStore | None = None
        """Whose file it is."""

    @property
    def place(self) -> Place:
        """Where it ends."""
        return self._lines.place

    @property
    def run_id(self) -> str:
        return "" if self.stored.header is None else self.stored.header.run

    def keep(self, event: Event, durable: bool) -> None:
        """Puts an event down, where it is not there yet; `durable`: so that no loss of power takes it away.

        Raises StoreFailed where the disk does not take it, StoreError for an event that cannot be put down.
        """
        inner = innermost(event)
        with self._lock:
            number = self._known.pop(id(inner), None)
            if number is None:
                number = self._number(event, durable=durable)
            else:
                self._there[self._bodies[number]].remove(number)
            self._numbers[id(inner)] = number
            self._kept.append(inner)

    def _number(self, event: Event, *, durable: bool) -> int:
        """The number of an event in the file, where it is put down if it is not there."""
        body, is_masked = self._encoded(event)
        if there := self._there.get(body):
            return there.pop()
        self._put(body[:-1] + MASKED if is_masked else body, durable=durable)
        return self._order.add()

    def settle(self, start: int, events: Sequence[Event]) -> None:
        """Puts down that the events from `start` on are in this order now; nothing where they are already."""
        with self._lock:
            numbers = [self._numbers[id(innermost(event))] for event in events]
            if self._order.numbers[start:] == numbers or not self._order.may_settle(start, numbers):
                return  # of a run that goes on, some may still be to come; it settles them with its next batch
            self._put(dumps({"from": start, "order": numbers}).encode("ascii"))
            self._order.settle(start, numbers)

    def go_on(self, begun: Sequence[Event] | None = None) -> tuple[Event, ...]:
        """The events that the run goes on from, which its keeper is told of again; what comes then is added.

        These are all but an end (an interruption, a failure) behind them, and behind runs inside; what is left out
        stays in the file, which says so when something is added, and not before. begun: the same events as the run
        knows them, where it does: none of them is written again, even if it would be put down in another form by now.
        """
        events = self.stored.events
        places = open_places(events)
        begun = tuple([events[place] for place in places]) if begun is None else tuple(begun)
        with self._lock:
            numbers = [self._order.numbers[place] for place in places]
            self._leave_only(numbers)
            self._known.update({id(innermost(one)): number for one, number in zip(begun, numbers, strict=True)})
            self._kept += [innermost(one) for one in begun]
        return begun

    def _leave_only(self, numbers: list[int]) -> None:
        """The run is these events, which are in their order."""
        left = set(numbers)
        dropped = [number for number in self._order.numbers if number not in left]
        if not dropped:
            return
        moved, there = [*numbers, *dropped], self._order.numbers
        if moved != there:
            start = next(place for place, number in enumerate(there) if number != moved[place])
            self._owed.append(dumps({"from": start, "order": moved[start:]}).encode("ascii"))
            self._order.settle(start, moved[start:])
        self._owed.append(dumps({"keep": len(numbers)}).encode("ascii"))
        self._order.cut(len(numbers))
        for number in dropped:
            self._there[self._bodies[number]].remove(number)

    def drop(self) -> None:
        """Closes it, and takes the file away where no event was put down: its run has not begun."""
        with self._lock:
            self._lines.close()
            if not self._order.count:
                with suppress(OSError):
                    self._lines.disk.remove(self.path)
        self._lease.release()

    def close(self) -> None:
        """Gives the lease back. What was put down stays; a second time is without effect."""
        with self._lock:
            self._lines.close()
        self._lease.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RunFile({self.path.name!r}, {self._lines.place.seq} lines)"

    def _encoded(self, event: Event) -> tuple[bytes, bool]:
        """The event, and whether anything in it was masked."""
        is_masked = False

        def mask(text: str) -> str:
            nonlocal is_masked
            shown = redact(text)
            is_masked = is_masked or shown is not text
            return shown

        try:
            return encode(event, mask), is_masked
        except ValueError as error:
            raise StoreError(f"store: {self.run_id}: this cannot be put down: {error}") from None

    def _put(self, body: bytes, *, durable: bool = False) -> None:
        lines = self._lines
        if lines.broken:
            raise StoreFailed(f"store: nothing more can be written to {self.path}: {lines.broken}; open it again")
        try:
            while self._owed:
                lines.put(self._owed[0])
                del self._owed[0]
            lines.put(body, durable=durable)
        except OSError as error:
            raise StoreFailed(
                f"store: {self.path} cannot be written: {why(error)}. The run stops before what was to be put down, "
                "and can go on from there: make room, or make the folder writable"
            ) from error


def begun(path: Path, disk: Disk, lease: Lease, header: Header) -> RunFile:
    """The file of a new run, with its header on disk. Raises FileExistsError where there is one of that name."""
    fd = disk.create(path)
    try:
        # Whoever opens it before there is a header is refused, and gives the lease back at once.
        lease.take(f"the run {header.run}", seconds=30.0)
        lines = Appending(disk, fd)
        lines.put(put_header(header), durable=True)
        disk.sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            disk.remove(path)
        with suppress(OSError):
            disk.close(fd)
        lease.release()
        raise
    return RunFile(path, lines, lease, Reading.begun(header))


def opened(path: Path, disk: Disk, lease: Lease, run_id: str) -> RunFile:
    """The file of a run that goes on, without a line that was not written to its end."""
    if not path.exists():
        reading_of(path, disk)  # raises
    fd = -1
    try:
        lease.take(f"the run {run_id}")
        reading = sound(path, reading_of(path, disk))
        header = reading.header
        if header is None or header.run != run_id:
            what = "its process ended before it began" if header is None else f"it is that of {header.run}"
            raise StoreError(f"store: {path.name} cannot go on: {what}; run it anew")
        fd = disk.open(path)
        lines = Appending(disk, fd, reading.place)
    except BaseException as error:
        if fd >= 0:
            with suppress(OSError):
                disk.close(fd)
        lease.release()
        if isinstance(error, OSError):
            raise StoreFailed(f"store: {path} cannot be opened for writing: {why(error)}") from error
        raise
    return RunFile(path, lines, lease, reading)
