"""Clues: what there is to say about a server that fails: its stderr, its noise, its HTTP errors."""

from __future__ import annotations

import textwrap
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TextIO, cast

from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

_LINES = 15
_TAIL = 2_000
"""Lines and characters of stderr that an error shows at most, from its end."""
_NOISE = 200
_HTTP_ERROR = 400


class Clues:
    """Collected while a server runs. `mask` takes the secrets out of what is shown."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._folder = TemporaryDirectory(prefix="nbagent-mcp-")
        self._noise = ""
        self._http = ""
        self._last = ""
        """The end of stderr when the file was removed."""

    @cached_property
    def stderr(self) -> TextIO:
        """A real file for the server to write to: the `sys.stderr` of a notebook is none."""
        return self._path.open("a", encoding="utf-8")

    def forget(self) -> None:
        """Begins anew, for another try."""
        self._noise = self._http = ""
        self.stderr.truncate(0)

    async def hear(self, message: Any) -> None:
        """Takes what comes without having been asked for; what is no message at all is a clue."""
        if isinstance(message, ValidationError):
            line: object = cast("Any", message.errors(include_url=False)[0])["input"]
            self._noise = str(line)[:_NOISE]

    async def answered(self, response: Any) -> None:
        """Takes an HTTP response."""
        if response.status_code >= _HTTP_ERROR:
            self._http = f"{response.status_code} {response.reason_phrase}".rstrip()

    def __str__(self) -> str:
        """The clues as lines to be put behind an error's text, each with a line break before it."""
        tail = self._tail()
        found = [
            f"\nHTTP: {self._http}" if self._http else "",
            f"\non stdout, where only messages may be: {self._noise!r}" if self._noise else "",
            f"\nthe end of its stderr:\n{textwrap.indent(tail, '  ')}" if tail else "",
        ]
        return self._mask("".join(found))

    def close(self) -> None:
        """Removes the file. What is known is kept."""
        self._last = self._tail()
        if "stderr" in self.__dict__:
            self.stderr.close()
        self._folder.cleanup()

    @property
    def _path(self) -> Path:
        return Path(self._folder.name) / "stderr.txt"

    def _tail(self) -> str:
        try:
            written = self._path.read_bytes()
        except OSError:
            return self._last
        text = written.decode("utf-8", "replace").strip()
        tail = "\n".join(text.splitlines()[-_LINES:])[-_TAIL:]
        return tail if len(tail) == len(text) else f"…{tail}"
