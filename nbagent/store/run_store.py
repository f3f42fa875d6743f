"""RunStore: a folder of stored runs."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from nbagent.errors import StoreError, StoreFailed
from nbagent.store.disk import Disk, why
from nbagent.store.header import Header, later_header, take_header
from nbagent.store.jsontext import loads
from nbagent.store.lease import Lease
from nbagent.store.line import BadLine, parted
from nbagent.store.names import file_name, name_of
from nbagent.store.reading import Stored, reading_of, sound
from nbagent.store.run_file import RunFile, begun, opened
from nbagent.values import Struct

_SUFFIX = ".jsonl"
_NUMBERED = re.compile(r"(.*)-(\d+)\Z", re.DOTALL)
_BEGUN = ".begun"
"""The files in the order in which their runs began. Where it is gone, their names tell; nothing else depends on it."""
_LOCKS = ".locks"
_END = 64 * 1024
"""Bytes of the end of a file that are looked at first for its last line."""


class Listed(Struct, frozen=True):
    """A run in a list."""

    run_id: str
    agent: str
    status: str
    """That of its end; `running` while somebody writes it; `unfinished` where its process ended before; `damaged`;
    `later format` where a later nbagent has written it."""
    when: str
    """When it began, for people."""
    holder: str = ""
    """Who writes it, and since when."""


class RunStore:
    """A folder with one file of JSON lines for each run, `ID.jsonl`, which is only ever appended to.

    folder: where; made, for the user alone, when the first run is put down.
    """

    def __init__(self, folder: str | Path = ".nbagent/runs", *, disk: Disk | None = None) -> None:
        self.folder = Path(folder)
        self._disk = disk or Disk()
        self._highest: dict[str, int] = {}
        """The highest number of each agent whose runs were looked for here; others may have begun more since."""

    def create(self, run_id: str, header: Header) -> RunFile:
        """The file of a run that begins now. Its `run_id` is this one, `AGENT-n`, where that is free; else the next one
        of the agent that is. Raises StoreFailed where the disk does not take it; nothing is left of it then.
        """
        try:
            self._disk.make_folder(self.folder)
            self._disk.make_folder(self.folder / _LOCKS)
            file = self._created(run_id, header)
        except OSError as error:
            raise StoreFailed(
                f"store: no run can be begun in {self.folder}: {why(error)}. Make room, or name a folder that can be "
                "written to"
            ) from error
        self._note(file.run_id)
        file.store = self
        return file

    def open(self, run_id: str) -> RunFile:
        """The file of a run that goes on; `go_on` gives the events it goes on from.

        Raises RunHeld where another one writes it, StoreError where it is damaged, StoreFailed where it cannot be
        written. A line that was not written to its end is taken away: `stored.torn` says so.
        """
        try:
            self._disk.make_folder(self.folder / _LOCKS)
        except OSError as error:
            raise StoreFailed(f"store: {self.folder} cannot be written to: {why(error)}") from error
        file = opened(self._path(run_id), self._disk, self._lease(run_id), run_id)
        file.store = self
        return file

    def read(self, run_id: str) -> Stored:
        """What there is of a run; takes no lease. Raises StoreError for a damaged one, with the line and the reason."""
        path = self._path(run_id)
        return sound(path, reading_of(path, self._disk)).stored

    def look(self, run_id: str) -> Stored:
        """The same, and of a damaged run what is before the damage; `damage` says what it is."""
        return reading_of(self._path(run_id), self._disk).stored

    def fork(self, run_id: str, replies: int) -> str:
        """A run of its own that has begun as this one has; its id, for `agent.resume(run=…)`. This one stays as it is.

        replies: int; how many replies of the model are kept, with all that came of them, of runs inside too; what came
        later is undone. What was approved for the rest of the run is asked about again. Raises ConfigError for a number
        that the run has not, StoreError for a file that is damaged or in which a secret is masked.
        """
        from nbagent.store.forking import fork

        return fork(self, run_id, replies)

    def __contains__(self, run_id: str) -> bool:
        """Whether there is a run of this id."""
        return self._path(run_id).exists()

    def list(self) -> tuple[Listed, ...]:
        """The runs, in the order in which they began. Of each only the first and the last line are read."""
        found = {name_of(name) for name in self._names()}
        noted = [run_id for run_id in dict.fromkeys(self._noted()) if run_id in found]
        rest = sorted(found - set(noted), key=_parts)
        return tuple([self._listed(run_id) for run_id in [*noted, *rest]])

    def __repr__(self) -> str:
        return f"RunStore({str(self.folder)!r})"

    def _created(self, run_id: str, header: Header) -> RunFile:
        wanted = run_id
        while True:
            try:
                file = begun(self._path(wanted), self._disk, self._lease(wanted), header.begun(wanted))
            except FileExistsError:
                wanted = self._next(wanted)
                continue
            agent, number = _parts(wanted)
            if agent in self._highest:
                self._highest[agent] = max(self._highest[agent], number)
            return file

    def _next(self, run_id: str) -> str:
        """The id after the highest of this agent that is known, and after this one, which is taken."""
        agent, number = _parts(run_id)
        if agent not in self._highest:
            others = [_parts(name_of(name)) for name in self._names()]
            self._highest[agent] = max([other for name, other in others if name == agent], default=0)
        return f"{agent}-{max(self._highest[agent], number) + 1}"

    def _names(self) -> tuple[str, ...]:
        return tuple([name for name in self._disk.names(self.folder, _SUFFIX) if not name.startswith(".")])

    def _path(self, run_id: str) -> Path:
        try:
            return self.folder / f"{file_name(run_id)}{_SUFFIX}"
        except ValueError as error:
            raise StoreError(f"store: {error}") from None

    def _lease(self, run_id: str) -> Lease:
        return Lease(self.folder / _LOCKS, file_name(run_id), self._disk)

    def _note(self, run_id: str) -> None:
        """Puts down that it has begun. Only the order of a list depends on it, so a disk that refuses is no error."""
        with suppress(OSError):
            fd = self._disk.open(self.folder / _BEGUN, make=True)
            try:
                # The break comes first: behind a line that was not written to its end, this one is whole.
                self._disk.write(fd, f"\n{file_name(run_id)}".encode("ascii"))
            finally:
                self._disk.close(fd)

    def _noted(self) -> tuple[str, ...]:
        try:
            names = self._disk.read(self.folder / _BEGUN).decode("ascii", "replace").split("\n")
        except OSError:
            return ()
        return tuple([name_of(name) for name in names if name])

    def _listed(self, run_id: str) -> Listed:
        holder = self._lease(run_id).holder()
        try:
            header, status = self._ends(self._path(run_id))
        except (OSError, ValueError, BadLine):
            return Listed(run_id, "", "damaged", "", str(holder or ""))
        if not status:
            status = "running" if holder else "unfinished"
        agent, when = ("", "") if header is None else (header.agent, header.when)
        return Listed(run_id, agent, status, when, str(holder or ""))

    def _ends(self, path: Path) -> tuple[Header | None, str]:
        """The header, and the status of the end; None and empty where they are not written yet."""
        first, last = self._first(path), self._last(path)
        if first is None:
            return None, ""
        try:
            header = take_header(parted(first)[0])
        except (StoreError, BadLine):
            if (header := later_header(first)) is None:
                raise
            return header, "later format"
        words: dict[str, Any] = {} if last is None else loads(parted(last)[0])
        return header, str(words["event"]["status"]) if words.get("kind") == "RunFinished" else ""

    def _first(self, path: Path) -> bytes | None:
        size = _END
        while True:
            data = self._disk.read(path, size=size)
            if b"\n" in data:
                return data[: data.index(b"\n")]
            if len(data) < size:
                return None
            size *= 4

    def _last(self, path: Path) -> bytes | None:
        size = _END
        while True:
            data = self._disk.read(path, -size)
            lines = data.split(b"\n")
            if len(data) < size or len(lines) > 2:
                return lines[-2] if len(lines) > 1 else None
            size *= 4


def _parts(run_id: str) -> tuple[str, int]:
    """`("bot", 1)` of `bot-1`."""
    numbered = _NUMBERED.match(run_id)
    return (numbered[1], int(numbered[2])) if numbered else (run_id, 0)
