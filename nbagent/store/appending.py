"""Appending: adds checked lines to a file; each is there whole, or not at all."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from nbagent.store.disk import write_all
from nbagent.store.line import Place, framed

if TYPE_CHECKING:
    from nbagent.store.disk import Disk


class Appending:
    """An open file that is sound up to `place`; what is behind that is taken away. Not for several threads at once."""

    def __init__(self, disk: Disk, fd: int, place: Place | None = None) -> None:
        """May raise OSError."""
        self.place = place or Place()
        self.broken = ""
        """Why nothing may be added any more; empty where something may."""
        self.disk = disk
        self._fd = fd
        if disk.size(fd) > self.place.size:
            disk.truncate(fd, self.place.size)
            disk.sync(fd)

    def put(self, body: bytes, *, durable: bool = False) -> None:
        """Adds the line of a JSON object, or leaves the file as it was and raises.

        durable: return when no loss of power takes it away.
        """
        line, place = framed(body, self.place)
        syncing = False
        try:
            write_all(self.disk, self._fd, line)
            if durable:
                syncing = True
                self.disk.sync(self._fd)
            self.place = place
        except BaseException:
            # What could not be synced may be lost with all before it, whatever the next sync says.
            self._take_back(for_good="the disk could not make sure of what was written" if syncing else "")
            raise

    def close(self) -> None:
        """A second time is without effect."""
        fd, self._fd = self._fd, -1
        self.broken = self.broken or "it is closed"
        if fd >= 0:
            with suppress(OSError):  # all that had to last was synced
                self.disk.close(fd)

    def _take_back(self, for_good: str) -> None:
        """Takes away what was written of a line. Until that is done, nothing may be written behind it."""
        self.broken = "a line was begun, and could not be taken back"
        with suppress(OSError):
            self.disk.truncate(self._fd, self.place.size)
            self.broken = for_good
