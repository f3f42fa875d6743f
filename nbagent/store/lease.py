"""Lease: one writer for each file. The operating system takes it back when its process ends, however that is."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from datetime import UTC, datetime
from time import monotonic, sleep
from typing import TYPE_CHECKING

import msgspec
from filelock import FileLock, Timeout

from nbagent.errors import RunHeld
from nbagent.store.disk import FILE
from nbagent.values import Struct

if TYPE_CHECKING:
    from pathlib import Path

    from nbagent.store.disk import Disk

_PATIENCE = 1.0
"""Seconds until it is said that a holder has not given its name."""
_GLANCE = 0.05
"""Seconds that it is tried at least: somebody who only looks who has it has it for a moment."""


class Holder(Struct, frozen=True):
    """Who writes a file."""

    pid: int
    host: str
    since: str
    """For people."""

    def __str__(self) -> str:
        if not self.pid:
            return "another process"
        who = "this process" if self.is_this else f"process {self.pid} on {self.host}"
        return f"{who} since {self.since}"

    @property
    def is_this(self) -> bool:
        return (self.pid, self.host) == (os.getpid(), socket.gethostname())

    @property
    def is_gone(self) -> bool:
        """Whether it is a process of this machine that has ended."""
        if self.host != socket.gethostname() or os.name == "nt":  # there, to ask is to end it
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False  # somebody else's
        return False


_UNNAMED = Holder(0, "", "")
"""Whoever has it has not said so."""


class Lease:
    """The right to write a file, from `take` to `release`."""

    def __init__(self, folder: Path, name: str, disk: Disk) -> None:
        self._lock = FileLock(folder / f"{name}.lock", mode=FILE, thread_local=False)
        self._note = folder / f"{name}.holder"
        self._disk = disk

    def take(self, what: str, seconds: float = 0.0) -> None:
        """Raises RunHeld, which names the holder, where another one has it for longer than these seconds.

        `what`: "the run bot-1", for people.
        """
        try:
            self._lock.acquire(timeout=max(seconds, _GLANCE), poll_interval=_GLANCE / 5)
        except Timeout:
            held = self._held()
            raise RunHeld(
                f"store: {what} is being written by {held or _UNNAMED}; wait until it has ended, or end it (a kernel: "
                "shut it down), and open it again",
                holder=str(held or ""),
            ) from None
        said = Holder(os.getpid(), socket.gethostname(), datetime.now(UTC).isoformat(sep=" ", timespec="seconds"))
        with suppress(OSError):  # it is for people; the lock holds without it
            self._disk.replace(self._note, msgspec.json.encode(said))

    def release(self) -> None:
        """Without effect where it was not taken."""
        if not self._lock.is_locked:
            return
        with suppress(OSError):
            self._disk.remove(self._note)
        self._lock.release()

    def holder(self) -> Holder | None:
        """Who has it; None for nobody. Whatever a note says: its process may have been killed, and its number be that
        of another one by now.
        """
        if self._lock.is_locked:
            return self._noted()
        if not os.path.exists(self._lock.lock_file):
            return None
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return self._noted() or _UNNAMED
        except OSError:  # it may not be asked here
            return self._noted()
        self._lock.release()
        return None

    def _noted(self) -> Holder | None:
        """Who has said last that it has it, and may be there."""
        try:
            held = msgspec.json.decode(self._disk.read(self._note), type=Holder)
        except (OSError, ValueError):
            return None
        return None if held.is_gone else held

    def _held(self) -> Holder | None:
        """Whoever has it may not have said so yet."""
        end = monotonic() + _PATIENCE
        while (held := self._noted()) is None and monotonic() < end:
            sleep(0.01)
        return held
