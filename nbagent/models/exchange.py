"""Exchange: one answer of a model behind a network, from its first byte to the reply.

It is read here, byte by byte, since only so it can be told whether a reply is whole.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Protocol

from nbagent.models.wires.draft import table
from nbagent.models.wires.failures import failure, stream_failure
from nbagent.models.wires.sse import Decoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.messages import ModelReply
    from nbagent.models.model import Piece

MAX_BYTES = 64 * 2**20
"""A reply of a model is shorter than this."""
_HTML = ("<!doctype", "<html", "<?xml", "<head", "<body")


class Reader(Protocol):
    """Reads a reply in one protocol."""

    def event(self, name: str, data: Any) -> Iterator[Piece]: ...
    def whole(self, data: dict[str, Any]) -> Iterator[Piece]: ...
    def fits(self, data: dict[str, Any]) -> bool: ...
    def reply(self) -> ModelReply: ...


class Exchange:
    """One answer, from its first byte to the reply. Knows no network."""

    def __init__(self, reader: Reader, seconds: float) -> None:
        self._reader = reader
        self._decoder = Decoder()
        self._end = time.monotonic() + seconds
        self._seconds = seconds
        self._body = bytearray()
        self._read = 0
        self._streamed: bool | None = None
        """Whether it is a stream of events; None while that is not known."""
        self._type = ""

    def head(self, content_type: str) -> None:
        """What the answer says it is."""
        self._type = content_type.partition(";")[0].strip().lower()
        if self._type == "text/event-stream":
            self._streamed = True

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """The pieces in these bytes. Raises ModelError."""
        if time.monotonic() > self._end:
            raise failure("timeout", f"not done after {self._seconds:g} seconds")
        self._read += len(chunk)
        if self._read > MAX_BYTES:
            raise failure("bad_response", f"more than {MAX_BYTES:,} bytes")
        if not self._streamed:
            self._body += chunk
            if self._streamed is None and len(self._body.lstrip()) >= 6:
                # Not every server names the type of a stream rightly.
                self._streamed = self._body.lstrip().startswith((b"data:", b"event:", b":"))
            if not self._streamed:
                return
            chunk, self._body = bytes(self._body), bytearray()
        yield from self._events(self._decoder.feed(chunk))

    def end(self) -> Iterator[Piece]:
        """The rest, after the last byte; the reply is the last of it. Raises ModelError."""
        if self._streamed:
            yield from self._events(self._decoder.end())
        else:
            yield from self._whole(bytes(self._body))
        yield self._reader.reply()

    def _events(self, events: Iterator[Any]) -> Iterator[Piece]:
        for event in events:
            if event.data == "[DONE]":
                yield from self._reader.event(event.name, event.data)
                continue
            data = table(_json(event.data, transient=True))
            if isinstance(data.get("error"), dict) and event.name != "error" and not data.get("choices"):
                raise stream_failure(data["error"])
            yield from self._reader.event(event.name, data)

    def _whole(self, body: bytes) -> Iterator[Piece]:
        text = body.decode("utf-8")
        if not text.strip():
            raise failure("incomplete", "the answer is empty", transient=True)
        if self._type == "text/html" or text.lstrip()[:20].lower().startswith(_HTML):
            raise failure("bad_response", f"{self._type or 'HTML'}: {text}")
        data = table(_json(text))
        if isinstance(data.get("error"), dict):
            raise stream_failure(data["error"])
        if not self._reader.fits(data):
            raise failure("bad_response", text)
        yield from self._reader.whole(data)


def _json(text: str, *, transient: bool = False) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise failure("bad_response", f"not JSON: {text}", transient=transient) from None
