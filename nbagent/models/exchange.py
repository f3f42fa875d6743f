"""Exchange: one answer of a model behind a network, from its first byte to the reply.

It is read here, byte by byte, since only so it can be told whether a reply is whole.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol, cast

from nbagent.errors import ModelError
from nbagent.models.wires.draft import table
from nbagent.models.wires.failures import failure, stream_failure
from nbagent.models.wires.sse import Decoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.messages import ModelReply
    from nbagent.models.model import Piece
    from nbagent.models.wires.draft import Draft
    from nbagent.models.wires.sse import ServerEvent

_HTML = ("<!doctype", "<html", "<?xml", "<head", "<body")


class Reader(Protocol):
    """Reads a reply in one protocol."""

    def event(self, name: str, data: Any) -> Iterator[Piece]: ...
    def whole(self, data: dict[str, Any]) -> Iterator[Piece]: ...
    def fits(self, data: dict[str, Any]) -> bool: ...
    def reply(self) -> ModelReply: ...
    @property
    def draft(self) -> Draft: ...


class Exchange:
    """One answer, from its first byte to the reply. Knows no network."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._decoder = Decoder()
        self._body = bytearray()
        self._streamed: bool | None = None
        """Whether it is a stream of events; None while that is not known."""
        self._type = ""

    def head(self, content_type: str) -> None:
        """What the answer says it is."""
        self._type = content_type.partition(";")[0].strip().lower()

    @property
    def ended(self) -> bool:
        """Whether the protocol's own end has come: what follows does not matter."""
        return bool(self._streamed) and self._reader.draft.ended and bool(self._reader.draft.finish)

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """The pieces in these bytes. Raises ModelError."""
        if not self._streamed:
            self._body += chunk
            if self._streamed is None and len(self._body.strip(_BLANK)) >= 6:
                # Not every server names the type of its answer rightly: what it looks like is what it is.
                self._streamed = self._body.lstrip(_BLANK).startswith((b"data:", b"event:", b":", b"id:", b"retry:"))
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

    def _events(self, events: Iterator[ServerEvent]) -> Iterator[Piece]:
        try:
            for event in events:
                yield from self._event(event)
        except (ModelError, ValueError):  # ValueError: bytes that are no events
            if not self.ended:
                raise

    def _event(self, event: ServerEvent) -> Iterator[Piece]:
        said = event.data.strip()
        if not said:
            return  # a sign of life
        if said == "[DONE]":
            yield from self._reader.event(event.name, said)
            return
        data = table(_json(said, transient=True))
        if event.name != "error" and (error := _error_in(data)) is not None:
            raise stream_failure(error)
        yield from self._reader.event(event.name, data)

    def _whole(self, body: bytes) -> Iterator[Piece]:
        text = body.decode("utf-8")
        if not text.strip():
            raise failure("incomplete", "the answer is empty", transient=True)
        if self._type == "text/html" or text.lstrip()[:20].lower().startswith(_HTML):
            raise failure("bad_response", f"{self._type or 'HTML'}: {text}")
        data = table(_json(text.lstrip("\ufeff")))
        if (error := _error_in(data)) is not None:
            raise stream_failure(error)
        if not self._reader.fits(data):
            raise failure("bad_response", text)
        yield from self._reader.whole(data)


_BLANK = b" \t\r\n\xef\xbb\xbf"


def _error_in(data: dict[str, Any]) -> dict[str, Any] | None:
    """An error that a server sends in the place of an answer, in any of the forms there are."""
    error = data.get("error")
    if isinstance(error, dict) and not data.get("choices"):
        return table(cast("object", error))
    if isinstance(error, str) and error and not data.get("choices"):
        return {"message": error}
    return data if data.get("object") == "error" else None


def _json(text: str, *, transient: bool = False) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise failure("bad_response", f"not JSON: {text}", transient=transient) from None
