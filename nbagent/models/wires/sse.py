"""SSE: server-sent events out of bytes, however these are split."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_EVENT = 32 * 2**20
"""Characters; an event that is longer is no answer of a model."""


class ServerEvent(Struct, frozen=True, gc=False):
    """One event."""

    name: str
    """Its `event:` line, `message` where there is none."""
    data: str


class Decoder:
    """Takes bytes, gives events. Raises UnicodeDecodeError, and ValueError for an event without end."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("strict").decode
        self._rest: list[str] = []
        self._held = 0
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that end in this chunk."""
        text = self._decode(chunk)
        if "\n" not in text and "\r" not in text:
            self._hold(text)
            return
        lines = ("".join(self._rest) + text).split("\n")
        self._rest, self._held = [], 0
        self._hold(lines.pop())
        for line in lines:
            # `\r\n` ends a line as `\n` does; `\r` alone, which the standard also allows, no server uses.
            yield from self._line(line.removesuffix("\r"))

    def end(self) -> Iterator[ServerEvent]:
        """The event that the stream ended in, which lacks its empty line."""
        self._decode(b"", True)
        rest, self._rest = "".join(self._rest), []
        if rest:
            yield from self._line(rest.removesuffix("\r"))
        yield from self._line("")

    def _hold(self, text: str) -> None:
        self._rest.append(text)
        self._held += len(text)
        if self._held > MAX_EVENT:
            raise ValueError(f"an event of more than {MAX_EVENT:,} characters")

    def _line(self, line: str) -> Iterator[ServerEvent]:
        if not line:
            name, data = self._name, self._data
            self._name, self._data = "", []  # first: whoever takes the event may not come back
            if data:
                yield ServerEvent(name or "message", "\n".join(data))
            return
        field, _, value = line.lstrip("\ufeff").partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
