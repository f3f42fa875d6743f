"""SessionStore: conversations on disk, so that what was said survives a restart."""

from __future__ import annotations

import json
from os import SEEK_END
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import quote, unquote

import msgspec

from nbagent.agents.conversation import Conversation, Exchange
from nbagent.agents.marks import Marks
from nbagent.errors import ConfigError, MemoryFailed
from nbagent.messages import Message
from nbagent.redact import redact
from nbagent.text import sound

if TYPE_CHECKING:
    from collections.abc import Hashable

_SUFFIX = ".jsonl"
_LONGEST = 200
_DEFAULT = "_default"
"""The file of the conversation that has no scope."""


class SessionStore:
    """A folder with one file of JSON lines for each conversation, `AGENT/SCOPE.jsonl`.

    folder: where; made when something is said. The files are only ever appended to, a line for each exchange that was
    made, made again or taken back; keys and passwords that are known here are masked in them. A scope has to be a text.
    Several processes may read the same folder; of two agents that go on with the same conversation, the one that does
    so second is refused.

    Source: agentmaker's `SessionStore`.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def conversation(self, agent: str, scope: Hashable) -> Conversation:
        """What is on disk, and where it goes on. Raises ConfigError for a file that is no session, and
        MemoryFailed where it cannot be read.
        """
        path = self.folder / _file(agent) / f"{_named(scope)}{_SUFFIX}"
        exchanges, size = _read(path)
        conversation = Conversation(_Written(path, size))
        conversation.exchanges += exchanges
        return conversation

    def scopes(self, agent: str) -> tuple[Hashable, ...]:
        """The scopes that the agent has on disk, None for that without a name, in the order of their names."""
        names = sorted(path.name.removesuffix(_SUFFIX) for path in (self.folder / _file(agent)).glob(f"*{_SUFFIX}"))
        return tuple([None if name == _DEFAULT else unquote(name) for name in names])

    def __repr__(self) -> str:
        return f"SessionStore({str(self.folder)!r})"


def _named(scope: Hashable) -> str:
    if scope is None:
        return _DEFAULT
    if not isinstance(scope, str) or not scope:
        raise ConfigError(f"scope: in a session store it is a text that is not empty; got {scope!r}")
    return _file(scope)


def _file(name: str) -> str:
    """A name of its own for each text, on every system: `.`, `/` and capitals are written as numbers."""
    quoted = "".join(
        [f"%{ord(c):02X}" if c.isascii() and (c.isupper() or c in "._~") else quote(c, safe="") for c in name]
    )
    if len(quoted) > _LONGEST:
        raise ConfigError(
            f"session_store: a name is a file, and takes at most {_LONGEST} characters; got {name[:40]!r}…"
        )
    return quoted


class _Written:
    """Where a conversation is written to."""

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._size = size
        """How large the file was when it was read or written here."""
        self._lines: list[bytes] = []
        """What could not be written yet."""

    def check(self) -> None:
        """Raises ConfigError where another one has written to the file: the places in it are no longer known here."""
        if self._found not in (0, self._size):
            agent, scope = self._path.parent.name, self._path.name.removesuffix(_SUFFIX)
            raise ConfigError(
                f"session_store: {unquote(agent)}/{unquote(scope)}: another agent goes on with this conversation; make "
                "this agent anew to go on with what that one has said, or give it a name or a scope of its own"
            )

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
        self._lines.append(sound(f"{json.dumps(line, ensure_ascii=False)}\n").encode())
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self.check()
            self._write()
        except OSError as error:
            folder, why = self._path.parent, error.strerror or type(error).__name__
            raise MemoryFailed(f"what was said cannot be written to the session store {folder}: {why}") from error

    def _write(self) -> None:
        try:
            with self._path.open("a+b") as file:
                _drop_a_torn_line(file)
                file.write(b"".join(self._lines))
            self._lines.clear()
        finally:
            self._size = self._found


def _drop_a_torn_line(file: BinaryIO) -> None:
    """What a process had begun to write when it ended."""
    end = file.seek(0, SEEK_END)
    if not end or (file.seek(end - 1), file.read(1))[1] == b"\n":
        return
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)


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


def _read(path: Path) -> tuple[list[Exchange], int]:
    """The exchanges, and how large the file is."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise MemoryFailed(f"the session store {path.parent} cannot be read: {why}") from error
    lines = data.split(b"\n")
    exchanges: list[Exchange] = []
    for number, line in enumerate(lines, 1):
        try:
            if line:
                _apply(json.loads(line.decode()), exchanges)
        except (ValueError, KeyError, TypeError, IndexError, msgspec.ValidationError) as error:
            if number == len(lines):
                break  # the process ended while it wrote this one
            raise ConfigError(f"session_store: {path.name}, line {number}: not a line of a session ({error})") from None
    return exchanges, len(data)


def _apply(line: dict[str, Any], exchanges: list[Exchange]) -> None:
    if "keep" in line:
        del exchanges[line["keep"] :]
        return
    said = tuple(msgspec.convert(message, Message) for message in line["said"])
    place, exchange = line["at"], Exchange(_key(line["key"]), Marks(), Marks(), said)
    exchanges[place : place + 1] = [exchange]
