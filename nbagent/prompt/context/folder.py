"""Folder: the text files of a folder, as they are now."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from nbagent.errors import ConfigError
from nbagent.prompt.context import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 10_000_000
"""How many bytes a file has at most."""


_NEVER = (-1,)
"""The stamp of what was not read; no file has it."""


class _Seen(NamedTuple):
    """A file when it was last read."""

    stamp: tuple[int, ...]
    """How many bytes it has, when it was changed last, when its entry was (both in nanoseconds; the second also where
    a copy has kept the first), and which file it is."""
    text: str
    reason: str
    """Why it was not read, where it was not."""


class Folder:
    """The files that match. Hidden ones are not seen, and links that lead out of the folder are not followed.

    Raises ConfigError where there is no such folder, and for a pattern that leads out of it.
    """

    def __init__(self, path: str | Path, patterns: str | Iterable[str], who: str) -> None:
        if not isinstance(path, str | Path) or not Path(path).is_dir():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise arguments.unexpected(f"{who}: folder", "a folder that is there", path)
        self._name = str(path)
        self._root = Path(path).resolve()  # the folder of the process may change
        self._patterns = _patterns(patterns, f"{who}: pattern")
        self._seen: dict[str, _Seen] = {}

    def look(self) -> None:
        """Reads what is new or was changed (in size or in either of its times) since the last time.

        Forgets what is gone.
        """
        if not self._root.is_dir():
            raise ConfigError(f"the folder {self._name} is gone")
        self._seen = dict(self._files())

    @property
    def texts(self) -> dict[str, str]:
        """The text of each file by its path within the folder, with `/`; in the order of the paths."""
        return {name: seen.text for name, seen in self._seen.items() if not seen.reason}

    @property
    def skipped(self) -> dict[str, str]:
        """Why a file that matches was not read, by its path."""
        return {name: seen.reason for name, seen in self._seen.items() if seen.reason}

    def _files(self) -> Iterator[tuple[str, _Seen]]:
        paths = {path.relative_to(self._root): path for each in self._patterns for path in self._root.glob(each)}
        for inside, path in sorted(paths.items(), key=lambda item: item[0].as_posix()):
            seen = None if _is_hidden(inside) else self._file(inside.as_posix(), path)
            if seen:
                yield inside.as_posix(), seen

    def _file(self, name: str, path: Path) -> _Seen | None:
        try:
            if not path.is_file():
                return None
            target = path.resolve()
            if not target.is_relative_to(self._root):
                return _Seen(_NEVER, "", "a link that leads out of the folder")
            if _is_hidden(target.relative_to(self._root)):
                return _Seen(_NEVER, "", "a link to a hidden file")
            status = path.stat()
            stamp = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            known = self._seen.get(name)
            return known if known and known.stamp == stamp else _read(path, stamp)
        except OSError as error:
            return _Seen(_NEVER, "", _told(error))


def _patterns(given: object, what: str) -> tuple[str, ...]:
    patterns = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(cast("Any", given))
    if not patterns:
        raise arguments.unexpected(what, "at least one, such as **/*.md", patterns)
    return tuple([_pattern(each, what) for each in patterns])


def _pattern(given: object, what: str) -> str:
    pattern = Path(arguments.text(given, what))
    odd = [part for part in pattern.parts if part == ".." or ("**" in part and part != "**")]
    if pattern.is_absolute() or odd or not pattern.parts:
        raise arguments.unexpected(what, "one such as **/*.md, inside the folder", given)
    return str(given)


def _is_hidden(inside: Path) -> bool:
    return any(part.startswith(".") for part in inside.parts)


def _read(path: Path, stamp: tuple[int, ...]) -> _Seen:
    if stamp[0] > LARGEST:
        return _Seen(stamp, "", f"larger than {LARGEST:,} bytes")
    try:
        data = path.read_bytes()
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        return _Seen(stamp, "", "no text in UTF-8")
    return (
        _Seen(stamp, "", "binary") if "\0" in text else _Seen(stamp, text.replace("\r\n", "\n").replace("\r", "\n"), "")
    )


def _told(error: OSError) -> str:
    return f"cannot be read: {error.strerror or type(error).__name__}"  # its own words hold the whole path
