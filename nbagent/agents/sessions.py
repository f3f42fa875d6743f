"""SessionStore: conversations on disk, so that what was said survives a restart."""

from __future__ import annotations

from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from nbagent.agents.conversation import Conversation
from nbagent.agents.exchange import Exchange
from nbagent.agents.marks import Marks
from nbagent.errors import ConfigError, MemoryFailed
from nbagent.messages import Message
from nbagent.redact import redact
from nbagent.store.disk import Disk, why
from nbagent.store.jsontext import dumps, loads
from nbagent.store.line import BadLine, Lines, Place
from nbagent.store.names import file_name, name_of

if TYPE_CHECKING:
    from collections.abc import Hashable

_SUFFIX = ".jsonl"
_LOCKS = ".locks"
_PATIENCE = 10.0
"""Seconds until another process has written its line."""
_DEFAULT = "_default"
"""The file of the conversation that has no scope."""


class SessionStore:
    """A folder with one file of JSON lines for each conversation, `AGENT/SCOPE.jsonl`.

    folder: where; made, for the user alone, when something is said. The files are only ever appended to, a checked line
    for each exchange that was made, made again or taken back, which no loss of power takes away; keys and passwords
    that are known here are masked in them. A scope has to be a text. Several processes may read the same folder; of two
    agents that go on with the same conversation, the one that does so second is refused.

    Source: agentmaker's `SessionStore`.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        if not isinstance(folder, str | PathLike) or not str(folder).strip():  # pyright: ignore[reportUnnecessaryIsInstance]  # notebooks are not type-checked
            raise ConfigError(f"SessionStore: expected the path of a folder, got {folder!r}")
        self.folder = Path(folder)

    def conversation(self, agent: str, scope: Hashable) -> Conversation:
        """What is on disk, and where it goes on. Raises ConfigError for a file that is no session, and
        MemoryFailed where it cannot be read.
        """
        path = self.folder / _file(agent) / f"{_named(scope)}{_SUFFIX}"
        exchanges, place, size = _read(path)
        conversation = Conversation(_Written(path, place, size))
        conversation.exchanges += exchanges
        return conversation

    def scopes(self, agent: str) -> tuple[Hashable, ...]:
        """The scopes that the agent has on disk, None for that without a name, in the order of their names."""
        names = sorted(path.name.removesuffix(_SUFFIX) for path in (self.folder / _file(agent)).glob(f"*{_SUFFIX}"))
        return tuple([None if name == _DEFAULT else name_of(name) for name in names])

    def __repr__(self) -> str:
        return f"SessionStore({str(self.folder)!r})"


def _named(scope: Hashable) -> str:
    if scope is None:
        return _DEFAULT
    if not isinstance(scope, str) or not scope:
        raise ConfigError(f"scope: in a session store it is a text that is not empty; got {scope!r}")
    return _file(scope)


def _file(name: str) -> str:
    try:
        return file_name(name)
    except ValueError as error:
        raise ConfigError(f"session_store: {error}") from None


class _Written:
    """Where a conversation is written to."""

    def __init__(self, path: Path, place: Place, size: int) -> None:
        self._path = path
        self._place = place
        """Where it ended, as far as it was sound."""
        self._size = size
        """How large the file was when it was read or written here."""
        self._disk = Disk()
        self._lines: list[bytes] = []
        """What could not be written yet."""

    def check(self) -> None:
        """Raises ConfigError where another one has written to the file: the places in it are no longer known here."""
        if self._found not in (0, self._size):
            raise ConfigError(
                f"session_store: {self._name}: another agent goes on with this conversation; make this agent anew to "
                "go on with what that one has said, or give it a name or a scope of its own"
            )

    @property
    def _name(self) -> str:
        return f"{name_of(self._path.parent.name)}/{name_of(self._path.name.removesuffix(_SUFFIX))}"

    @property
    def _found(self) -> int:
        """How large the file is; 0 without one."""
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def put(self, place: int, exchange: Exchange) -> None:
        said = [cast("dict[str, Any]", msgspec.to_builtins(message)) for message in exchange.messages]
        for message in said:
            message["content"] = redact(message["content"])
        self._append({"at": place, "key": _of_json(exchange.key), "said": said})

    def cut(self, length: int) -> None:
        self._append({"keep": length})

    def _append(self, line: dict[str, Any]) -> None:
        self._lines.append(dumps(line).encode("ascii"))
        try:
            self._disk.make_folder(self._path.parent)
            self._write()
        except OSError as error:
            raise MemoryFailed(
                f"what was said cannot be written to the session store {self._path.parent}: {why(error)}"
            ) from error

    def _write(self) -> None:
        from nbagent.store.appending import Appending  # who keeps nothing needs no locks
        from nbagent.store.lease import Lease

        locks = self._path.parent.parent / _LOCKS / self._path.parent.name
        self._disk.make_folder(locks)
        lease = Lease(locks, self._path.stem, self._disk)
        lease.take(f"the conversation {self._name}", _PATIENCE)
        try:
            self.check()
            fd = self._disk.open(self._path, make=True)
            try:
                file = Appending(self._disk, fd, self._place if self._found else None)
                while self._lines:
                    file.put(self._lines[0], durable=True)
                    del self._lines[0]
                self._place = file.place
            finally:
                self._size = self._found
                with suppress(OSError):
                    self._disk.close(fd)
        finally:
            lease.release()


def _of_json(key: Hashable) -> Any:
    """A key that JSON can hold, as it is; None for any other, which then names nothing after a restart."""
    if key is None or isinstance(key, str | int):
        return key
    if isinstance(key, tuple):
        parts = [_of_json(part) for part in cast("tuple[Hashable, ...]", key)]
        return None if None in parts else parts
    return None


def _key(said: Any) -> Hashable:
    return tuple([_key(part) for part in cast("list[Any]", said)]) if isinstance(said, list) else said


def _read(path: Path) -> tuple[list[Exchange], Place, int]:
    """The exchanges, where the file ends as far as it is sound, and how large it is."""
    try:
        data = Disk().read(path)
    except FileNotFoundError:
        return [], Place(), 0
    except OSError as error:
        raise MemoryFailed(f"the session store {path.parent} cannot be read: {why(error)}") from error
    exchanges: list[Exchange] = []
    lines = Lines(data)
    try:
        for body in lines:
            _apply(loads(body.decode()), exchanges)
    except (BadLine, ValueError, KeyError, TypeError, IndexError) as error:
        number = lines.place.seq + 1
        raise ConfigError(f"session_store: {path.name}, line {number}: not a line of a session ({error})") from None
    return exchanges, lines.place, len(data)


def _apply(line: dict[str, Any], exchanges: list[Exchange]) -> None:
    if "keep" in line:
        del exchanges[line["keep"] :]
        return
    said = tuple(msgspec.convert(message, Message) for message in line["said"])
    place, exchange = line["at"], Exchange(_key(line["key"]), Marks(), Marks(), said)
    exchanges[place : place + 1] = [exchange]
