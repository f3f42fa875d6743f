"""Line: how a line of a stored run is checked.

    {"seq":7,"prev":"<sum of line 6>",…,"sum":"<hash of all before it in this line>"}

A line is one JSON object in ASCII. Its sum covers what it says, where it stands and, through `prev`, every line before
it: what is changed, left out, repeated, moved or put in is found, all but lines missing at the very end.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING

from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIGITS = 32
NO_SUM = "0" * _DIGITS
"""What the first line has in the place of the sum before it."""
_END = re.compile(rb',"sum":"([0-9a-f]{32})"\}\Z')
_START = re.compile(rb'\A\{"seq":(0|[1-9][0-9]{0,14}),"prev":"([0-9a-f]{32})",')


class Place(Struct, frozen=True):
    """Where a file ends: what the next line has to say of it."""

    seq: int = 0
    """The number of the next line, from 0, which is the header."""
    prev: str = NO_SUM
    """The sum of the line before."""
    size: int = 0
    """How many bytes there are."""


class BadLine(Exception):
    """A line that is not what was written there. `line`: what is there."""

    def __init__(self, reason: str, line: bytes = b"") -> None:
        super().__init__(reason)
        self.line = line


def framed(body: bytes, place: Place) -> tuple[bytes, Place]:
    """The line for a JSON object, with its line break, and where it leaves the file."""
    said = b'{"seq":%d,"prev":"%s",%s' % (place.seq, place.prev.encode("ascii"), body[1:-1])
    total = _sum(said)
    line = b'%s,"sum":"%s"}\n' % (said, total.encode("ascii"))
    return line, Place(place.seq + 1, total, place.size + len(line))


def unframed(line: bytes, place: Place) -> tuple[bytes, Place]:
    """The JSON object of a line without its line break, and where it leaves the file. Raises BadLine."""
    body, seq, prev, total = parted(line)
    if seq != place.seq:
        which = "lines are missing before it" if seq > place.seq else "it is repeated, or out of its place"
        raise BadLine(f"it says that it is line {seq + 1}: {which}")
    if prev != place.prev:
        raise BadLine("it does not follow the line before it: one of them was put there from elsewhere")
    return body, Place(seq + 1, total, place.size + len(line) + 1)


def parted(line: bytes) -> tuple[bytes, int, str, str]:
    """The JSON object of a line, its number, the sum before it and its own. Raises BadLine where it was changed."""
    end, start = _END.search(line), _START.match(line)
    if end is None or start is None:
        raise BadLine("it is not a line of a run")
    said, total = line[: end.start()], end[1].decode("ascii")
    if _sum(said) != total:
        raise BadLine("it was changed: its checksum is another one")
    return b"{%s}" % said[start.end() :], int(start[1]), start[2].decode("ascii"), total


class Lines:
    """The JSON objects of a file, checked one by one. Raises BadLine at the first that is not what was written."""

    def __init__(self, data: bytes) -> None:
        self.place = Place()
        """Behind the last object that was asked for."""
        self.torn = 0
        """How many bytes at the end are a line that was not written to its end; known when all lines are."""
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        *lines, tail = self._data.split(b"\n")
        for line in lines:
            try:
                body, place = unframed(line, self.place)
            except BadLine as error:
                raise BadLine(str(error), line) from None
            yield body
            self.place = place
        if tail:
            self.torn = len(tail)
            self._check_break(tail)

    def _check_break(self, tail: bytes) -> None:
        """What is behind the last line break may be a whole line, whose line break was changed."""
        try:
            unframed(tail[:-1], self.place)
        except BadLine:
            return
        raise BadLine("its line break was changed", tail)


def _sum(said: bytes) -> str:
    return blake2b(said, digest_size=_DIGITS // 2).hexdigest()
