"""A server on loopback that plays scripted bytes: what it answers, the bodies of three APIs, and what can go wrong.

    with Server() as server:
        server.play(reply("chat", stream=True, text="Hello."))
        ...                      # a client of server.url
        [request] = server.requests

Import `server` for the fixture, which fails the test when a request came that had no answer left.
"""

from __future__ import annotations

import gzip
import json
import socket
import socketserver
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from http import HTTPStatus
from http.client import parse_headers
from itertools import chain, groupby, zip_longest
from typing import Any, BinaryIO, Literal, Self

import pytest

PATIENCE = 30.0
"""Seconds after which a silent connection is given up, and which a stall takes when nobody ends it."""

MOST = 1000
"""Requests on one connection; it bounds a loop, no test comes near."""


# --- an answer


@dataclass(frozen=True)
class Pause:
    """Send nothing for so long; it ends at once when the server closes or the client leaves."""

    seconds: float = PATIENCE


@dataclass(frozen=True)
class Cut:
    """Break the connection off (RST); what follows counts for the length and is never sent."""


@dataclass(frozen=True)
class Close:
    """End the connection in order (FIN), wherever the body is; what follows is never sent."""


@dataclass(frozen=True)
class Raw:
    """Bytes that are sent as they are: never made a chunk, never split."""

    data: bytes


Part = bytes | Pause | Cut | Close | Raw


@dataclass(frozen=True)
class Answer:
    """What one request gets. Without further options the body has its true Content-Length and the connection stays."""

    body: bytes | Sequence[Part] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    _: KW_ONLY
    chunked: bool = False  # each part is a chunk
    content_length: int | None = None  # what is said, whatever is sent
    until_close: bool = False  # no length is said; the end of the connection is the end
    split: int | None = None  # pieces of so many bytes, each its own chunk
    split_at: int | None = None  # two pieces
    delay: float = 0.0  # seconds before the first byte
    head: bytes | None = None  # sent in place of the status line and the headers

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.body,) if isinstance(self.body, bytes) else tuple(self.body)

    @property
    def length(self) -> int:
        """The bytes of the body, also those behind a cut."""
        return sum(len(_bytes_of(part)) for part in self.parts)

    @property
    def closes(self) -> bool:
        """Whether nothing more can be read from the connection afterwards."""
        lies = self.content_length not in {None, self.length} and not self.chunked
        asked = self.headers.get("connection", "").lower() == "close"
        return lies or asked or self.until_close or self.head is not None

    def start(self) -> bytes:
        """The status line and the headers."""
        if self.head is not None:
            return self.head
        reason = HTTPStatus(self.status).phrase if self.status in set(HTTPStatus) else "Status"
        lines = [f"HTTP/1.1 {self.status} {reason}", *(f"{name}: {value}" for name, value in self._headers().items())]
        return "".join(line + "\r\n" for line in [*lines, ""]).encode()

    def _headers(self) -> dict[str, str]:
        headers = dict(self.headers)
        said = self.length if self.content_length is None else self.content_length
        if self.chunked:
            headers["transfer-encoding"] = "chunked"
        elif not self.until_close:
            headers["content-length"] = str(said)
        if self.until_close or (said < self.length and not self.chunked):
            headers["connection"] = "close"
        return headers

    def pieces(self) -> Iterator[Pause | Cut | Close | bytes]:
        """What is done after the start, in order: bytes to send, and the rest."""
        for part in self._split_parts():
            if isinstance(part, Raw):
                yield part.data
            elif not isinstance(part, bytes):
                yield part
            elif part:  # an empty chunk would end the body
                yield b"%x\r\n%b\r\n" % (len(part), part) if self.chunked else part
        if self.chunked:
            yield b"0\r\n\r\n"

    def _split_parts(self) -> Iterator[Part]:
        if self.split is None and self.split_at is None:
            yield from self.parts
            return
        done = 0
        for are_bytes, run in groupby(self.parts, lambda part: isinstance(part, bytes)):
            if not are_bytes:
                yield from run
                continue
            data = b"".join(run)
            yield from self._split_bytes(data, done)
            done += len(data)

    def _split_bytes(self, data: bytes, done: int) -> list[bytes]:
        if self.split is not None:
            return [data[at : at + self.split] for at in range(0, len(data), self.split)]
        at = max(self.split_at - done, 0)
        return [data[:at], data[at:]]


def _bytes_of(part: Part) -> bytes:
    if isinstance(part, Raw):
        return part.data
    return part if isinstance(part, bytes) else b""


# --- the server


@dataclass(frozen=True)
class Request:
    """What came: `headers` in lower case, `body` parsed when it is JSON, `connection` counted from 1."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    connection: int
    raw: bytes = b""


class Server:
    """An HTTP/1.1 server on 127.0.0.1 that lives as long as its `with` block."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.unexpected: list[str] = []
        """Requests without an answer, and errors of the server itself."""
        self.connections = 0
        self.hangup = threading.Event()
        """Set when a client left in the middle of an answer."""
        self.closing = False
        self._answers: deque[Answer] = deque()
        self._repeat = False
        self._lock = threading.Lock()

    def play(self, *answers: Answer, repeat: bool = False) -> None:
        """Queue answers, one for each request to come. With `repeat` the last one stays until more is played."""
        with self._lock:
            if self._repeat and self._answers:
                self._answers.pop()
            self._answers.extend(answers)
            self._repeat = repeat

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.server_address[1]}"

    def take(self, request: Request) -> Answer:
        """Record a request and give its answer."""
        with self._lock:
            self.requests.append(request)
            if not self._answers:
                self.unexpected.append(f"{request.method} {request.path} came and no answer was left")
                return Answer(b"no answer left", 599, {"content-type": "text/plain"})
            if self._repeat and len(self._answers) == 1:
                return self._answers[0]
            return self._answers.popleft()

    def connect(self) -> int:
        """Count a connection, and say which one it is."""
        with self._lock:
            self.connections += 1
            return self.connections

    def __enter__(self) -> Self:
        self._listener = _Listener(self)
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing = True
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join(PATIENCE)


class _Listener(socketserver.ThreadingTCPServer):
    """Takes connections, and ends all of them when it closes."""

    request_queue_size = 128

    def __init__(self, owner: Server) -> None:
        self.owner = owner
        self.open: dict[socket.socket, threading.Thread] = {}
        super().__init__(("127.0.0.1", 0), _Connection)

    def process_request(self, request: socket.socket, client_address: Any) -> None:
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        self.open[request] = thread
        thread.start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        self.owner.unexpected.append(f"the server failed: {sys.exc_info()[1]!r}")

    def server_close(self) -> None:
        super().server_close()
        for connection, thread in self.open.items():
            with suppress(OSError):  # it may have ended already
                connection.shutdown(socket.SHUT_RDWR)  # wakes a pause, a read and a send
            thread.join(PATIENCE)


class _Connection(socketserver.BaseRequestHandler):
    """One connection: requests in, pieces out."""

    request: socket.socket
    server: _Listener

    def handle(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request.settimeout(PATIENCE)
        with self.request.makefile("rb") as lines:
            end = self._answer_all(lines)
        if end == "cut":
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.request.close()  # without a shutdown before it: this is what makes it an RST

    def _answer_all(self, lines: BinaryIO) -> str:
        owner = self.server.owner
        number = owner.connect()
        for _ in range(MOST):
            try:
                request = _read_request(lines, number)
            except OSError:
                return "close"
            if request is None or owner.closing:
                return "close"
            end = self._play(owner.take(request))
            if end != "stay" or request.headers.get("connection", "").lower() == "close":
                return end
        return "close"

    def _play(self, answer: Answer) -> str:
        try:
            for piece in chain([Pause(answer.delay), answer.start()], answer.pieces()):
                match piece:
                    case bytes():
                        self.request.sendall(piece)
                    case Pause(seconds):
                        self._pause(seconds)
                    case Cut():
                        return "cut"
                    case Close():
                        return "close"
        except OSError:
            if not self.server.owner.closing:
                self.server.owner.hangup.set()
            return "close"
        return "close" if answer.closes else "stay"

    def _pause(self, seconds: float) -> None:
        if not seconds:
            return
        self.request.settimeout(seconds)
        try:
            if not self.request.recv(1, socket.MSG_PEEK):
                raise ConnectionError("the other side, or the server, has closed")
        except TimeoutError:
            return  # nothing came, as it should
        finally:
            self.request.settimeout(PATIENCE)


def _read_request(lines: BinaryIO, connection: int) -> Request | None:
    """The next request; None when the client is done."""
    line = lines.readline(65536)
    if not line:
        return None
    method, path, _ = line.decode("latin-1").split()
    headers = {name.lower(): value for name, value in parse_headers(lines).items()}
    size = int(headers.get("content-length", "0"))
    body = lines.read(size)
    if len(body) < size:
        return None
    return Request(method, path, headers, _parsed(body), connection, body)


def _parsed(body: bytes | str) -> Any:
    """The JSON that a text holds, or the text itself."""
    try:
        return json.loads(body)
    except ValueError:
        return body


def running() -> Iterator[Server]:
    """A running server; fails afterwards when a request came that had no answer left."""
    with Server() as made:
        yield made
    if made.unexpected:
        pytest.fail("; ".join(made.unexpected))


server = pytest.fixture(running, name="server")


# --- bodies: what the three have in common

Api = Literal["chat", "responses", "anthropic"]
Call = tuple[str, str, str]  # id, name, arguments as they come over the wire
Json = dict[str, Any]

APIS: tuple[Api, ...] = ("chat", "responses", "anthropic")
PATHS = {"chat": "/chat/completions", "responses": "/responses", "anthropic": "/v1/messages"}

MODEL = "test-model"
TEXT = "Hello, wörld."
CALLS: tuple[Call, ...] = (
    ("call_1", "get_weather", '{"city": "Paris"}'),
    ("call_2", "get_weather", '{"city": "Zürich", "days": 2}'),
)
CHAT_USAGE: Json = {
    "prompt_tokens": 20,
    "completion_tokens": 7,
    "total_tokens": 27,
    "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
RESPONSES_USAGE: Json = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 3},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 27,
}
ANTHROPIC_USAGE: Json = {
    "input_tokens": 12,
    "cache_creation_input_tokens": 3,
    "cache_read_input_tokens": 5,
    "output_tokens": 7,
}
"""The same tokens as in the two above: Anthropic counts cached ones apart, OpenAI inside the input."""


def event(data: Any, name: str | None = None) -> bytes:
    """One server-sent event; a str is sent as it is, anything else as JSON."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return f"{f'event: {name}' + chr(10) if name else ''}data: {text}\n\n".encode()


def events(body: bytes) -> list[bytes]:
    """The events of a stream, each as its bytes; together they are the body."""
    return [part + b"\n\n" for part in body.split(b"\n\n") if part]


def _dumps(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode()


def _cut(text: str | None, size: int | None) -> list[str]:
    """A text in parts of `size` characters; in one part without a size; no part without a text."""
    step = size or len(text or "") or 1
    return [text[at : at + step] for at in range(0, len(text or ""), step)]


# --- bodies: Chat Completions


def chat_sse(
    text: str | None = TEXT,
    calls: Sequence[Call] = (),
    finish: str | None = "auto",
    usage: Json | None = CHAT_USAGE,
    *,
    reasoning: str | None = None,
    refusal: str | None = None,
    done: bool = True,
    size: int | None = 4,
    index: Literal["given", "missing", "null", "late", "same", "reversed"] = "given",
    ids: Literal["first", "repeated", "missing", "null", "empty"] = "first",
    interleaved: bool = False,
    usage_at: Literal["end", "finish"] = "end",
) -> bytes:
    """A streamed chat completion.

    finish       "auto" is `tool_calls` or `stop`; None leaves the chunk out
    size         characters in a delta; None puts a text, or a whole call, into one
    index        of a call's deltas; `late` leaves it out of the first, `same` is 0 for all, `reversed` counts down
    ids          `first` is in the first delta of a call only
    interleaved  the deltas of the calls take turns
    usage_at     in a chunk of its own with `choices: []`, or in the one that has the finish reason
    """
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": part} for part in _cut(reasoning, size)]
    deltas += [{"content": part} for part in _cut(text, size)]
    deltas += [{"refusal": part} for part in _cut(refusal, size)]
    deltas += [{"tool_calls": [delta]} for delta in _chat_call_deltas(calls, size, index, ids, interleaved)]
    chunks = [_chat_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    if finish is not None:
        choice = {"index": 0, "delta": {}, "finish_reason": _chat_finish(finish, calls)}
        chunks.append(_chat_chunk([choice], usage if usage_at == "finish" else None))
    if usage is not None and usage_at == "end":
        chunks.append(_chat_chunk([], usage))
    return b"".join(map(event, chunks)) + (event("[DONE]") if done else b"")


def chat_json(
    text: str | None = TEXT,
    calls: Sequence[Call] = (),
    finish: str | None = "auto",
    usage: Json | None = CHAT_USAGE,
    *,
    reasoning: str | None = None,
    refusal: str | None = None,
) -> bytes:
    """A whole chat completion; without a finish its reason is null."""
    message: Json = {"role": "assistant", "content": text, "refusal": refusal}
    if calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in calls
        ]
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _chat_finish(finish, calls)}
    return _dumps(_chat_object("chat.completion", [choice], usage))


def _chat_finish(finish: str | None, calls: Sequence[Call]) -> str | None:
    return ("tool_calls" if calls else "stop") if finish == "auto" else finish


def _chat_chunk(choices: list[Json], usage: Json | None = None) -> Json:
    return _chat_object("chat.completion.chunk", choices, usage)


def _chat_object(kind: str, choices: list[Json], usage: Json | None) -> Json:
    head = {"id": "chatcmpl-1", "object": kind, "created": 1700000000, "model": MODEL}
    return head | {"choices": choices, "usage": usage}


def _chat_call_deltas(
    calls: Sequence[Call], size: int | None, index: str, ids: str, interleaved: bool
) -> Iterable[Json]:
    each = [
        [
            _chat_call_index(index, number, len(calls), first=not at)
            | _chat_call_id(ids, call[0], first=not at)
            | delta
            for at, delta in enumerate(_chat_call_parts(call, size))
        ]
        for number, call in enumerate(calls)
    ]
    if interleaved:
        each = [[delta for delta in turn if delta] for turn in zip_longest(*each)]
    return chain.from_iterable(each)


def _chat_call_parts(call: Call, size: int | None) -> list[Json]:
    _, name, arguments = call
    if size is None:
        return [{"type": "function", "function": {"name": name, "arguments": arguments}}]
    first = {"type": "function", "function": {"name": name, "arguments": ""}}
    return [first, *({"function": {"arguments": part}} for part in _cut(arguments, size))]


def _chat_call_index(index: str, number: int, count: int, *, first: bool) -> Json:
    if index == "missing" or (index == "late" and first):
        return {}
    return {"index": {"null": None, "same": 0, "reversed": count - 1 - number}.get(index, number)}


def _chat_call_id(ids: str, id: str, *, first: bool) -> Json:
    if ids == "missing" or (ids == "first" and not first):
        return {}
    return {"id": {"null": None, "empty": ""}.get(ids, id)}


# --- bodies: Responses


def responses_sse(
    text: str | None = TEXT,
    calls: Sequence[Call] = (),
    finish: str | None = "completed",
    usage: Json | None = RESPONSES_USAGE,
    *,
    reason: str | None = None,
    error: Json | None = None,
    reasoning: str | None = None,
    encrypted: str | None = None,
    refusal: str | None = None,
    done: bool = False,
    size: int | None = 4,
) -> bytes:
    """A streamed response.

    finish   the status at the end, in the event `response.<finish>`; "error" ends with an `error` event, None with none
    reason   why it is incomplete
    error    why it failed: `code` and `message`
    done     whether `[DONE]` follows, as from some compatible servers; OpenAI sends none
    """
    items = _response_items(text, calls, finish, reasoning, encrypted, refusal)
    started = _response_object([], "in_progress")
    told: list[Json] = [{"type": f"response.{name}", "response": started} for name in ("created", "in_progress")]
    for number, item in enumerate(items):
        told += _response_item_events(number, item, size)
    if finish == "error":
        told.append({"type": "error", **_response_error(error), "param": None})
    elif finish is not None:
        told.append({"type": f"response.{finish}", "response": _response_object(items, finish, usage, reason, error)})
    body = b"".join(event(data | {"sequence_number": number}, data["type"]) for number, data in enumerate(told))
    return body + (event("[DONE]") if done else b"")


def responses_json(
    text: str | None = TEXT,
    calls: Sequence[Call] = (),
    finish: str | None = "completed",
    usage: Json | None = RESPONSES_USAGE,
    *,
    reason: str | None = None,
    error: Json | None = None,
    reasoning: str | None = None,
    encrypted: str | None = None,
    refusal: str | None = None,
) -> bytes:
    """A whole response; without a finish its status is null."""
    items = _response_items(text, calls, finish, reasoning, encrypted, refusal)
    return _dumps(_response_object(items, finish, usage, reason, error))


def _response_error(error: Json | None) -> Json:
    return error or {"code": "server_error", "message": "The server had an error while processing your request."}


def _response_object(
    output: list[Json],
    status: str | None,
    usage: Json | None = None,
    reason: str | None = None,
    error: Json | None = None,
) -> Json:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1700000000,
        "status": status,
        "error": _response_error(error) if status == "failed" else None,
        "incomplete_details": {"reason": reason or "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "metadata": {},
        "model": MODEL,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": usage,
    }


def _response_items(
    text: str | None,
    calls: Sequence[Call],
    finish: str | None,
    reasoning: str | None,
    encrypted: str | None,
    refusal: str | None,
) -> list[Json]:
    items: list[Json] = []
    if reasoning is not None or encrypted is not None:
        summary = [{"type": "summary_text", "text": reasoning}] if reasoning is not None else []
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": encrypted})
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}] if text is not None else []
    content += [{"type": "refusal", "refusal": refusal}] if refusal is not None else []
    if content:
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content})
    items += [
        {"type": "function_call", "id": f"fc_{number}", "call_id": id, "name": name, "arguments": arguments}
        | {"status": "completed"}
        for number, (id, name, arguments) in enumerate(calls, 1)
    ]
    if finish == "incomplete" and items and "status" in items[-1]:
        items[-1]["status"] = "incomplete"
    return items


def _response_item_events(number: int, item: Json, size: int | None) -> list[Json]:
    place = {"output_index": number, "item_id": item["id"]}
    match item["type"]:
        case "reasoning":
            begun, inner = item | {"summary": [], "encrypted_content": None}, _response_summary_events(item, size)
        case "message":
            begun, inner = item | {"content": [], "status": "in_progress"}, _response_content_events(item, size)
        case _:
            begun, inner = item | {"arguments": "", "status": "in_progress"}, _response_call_events(item, size)
    return [
        {"type": "response.output_item.added", "output_index": number, "item": begun},
        *(data | place for data in inner),
        {"type": "response.output_item.done", "output_index": number, "item": item},
    ]


def _response_summary_events(item: Json, size: int | None) -> Iterator[Json]:
    for at, part in enumerate(item["summary"]):
        place, name = {"summary_index": at}, "response.reasoning_summary"
        yield {"type": f"{name}_part.added", "part": part | {"text": ""}, **place}
        for delta in _cut(part["text"], size):
            yield {"type": f"{name}_text.delta", "delta": delta, **place}
        yield {"type": f"{name}_text.done", "text": part["text"], **place}
        yield {"type": f"{name}_part.done", "part": part, **place}


def _response_content_events(item: Json, size: int | None) -> Iterator[Json]:
    for at, part in enumerate(item["content"]):
        kind, key = part["type"], part["type"].removeprefix("output_")
        place = {"content_index": at} | ({"logprobs": []} if key == "text" else {})
        yield {"type": "response.content_part.added", "content_index": at, "part": part | {key: ""}}
        for delta in _cut(part[key], size):
            yield {"type": f"response.{kind}.delta", "delta": delta, **place}
        yield {"type": f"response.{kind}.done", key: part[key], **place}
        yield {"type": "response.content_part.done", "content_index": at, "part": part}


def _response_call_events(item: Json, size: int | None) -> Iterator[Json]:
    for delta in _cut(item["arguments"], size):
        yield {"type": "response.function_call_arguments.delta", "delta": delta}
    whole = {"name": item["name"], "arguments": item["arguments"]}
    yield {"type": "response.function_call_arguments.done", **whole}


# --- bodies: Anthropic Messages


def anthropic_sse(
    text: str | None = TEXT,
    calls: Sequence[Call] = (),
    finish: str | None = "auto",
    usage: Json | None = ANTHROPIC_USAGE,
    *,
    thinking: str | None = None,
    signature: str = "c2lnbmF0dXJl",
    redacted: str | None = None,
    stop_details: Json | None = None,
    done: bool = True,
    ping: bool = True,
    size: int | None = 4,
) -> bytes:
    """A streamed message.

    finish   "auto" is `tool_use` or `end_turn`; None leaves the stop reason null
    usage    None leaves it out everywhere; with neither finish nor usage there is no `message_delta`
    done     whether `message_stop` comes
    """
    blocks = _anthropic_blocks(text, calls, thinking, signature, redacted)
    begun = {} if usage is None else {"usage": usage | {"output_tokens": 1}}
    told: list[Json] = [{"type": "message_start", "message": _anthropic_object([], None) | begun}]
    told += [{"type": "ping"}] if ping else []
    for number, block in enumerate(blocks):
        told += _anthropic_block_events(number, block, size)
    if finish is not None or usage is not None:
        delta = {"stop_reason": _anthropic_finish(finish, calls), "stop_sequence": None, "stop_details": stop_details}
        told.append({"type": "message_delta", "delta": delta} | ({} if usage is None else {"usage": usage}))
    told += [{"type": "message_stop"}] if done else []
    return b"".join(event(data, data["type"]) for data in told)


def anthropic_json(
    text: str | None = TEXT,
    calls: Sequence[Call] = (),
    finish: str | None = "auto",
    usage: Json | None = ANTHROPIC_USAGE,
    *,
    thinking: str | None = None,
    signature: str = "c2lnbmF0dXJl",
    redacted: str | None = None,
    stop_details: Json | None = None,
) -> bytes:
    """A whole message. Arguments that are no JSON stay a string, which a true server never sends."""
    blocks = [
        block | {"input": _parsed(block["input"] or "{}")} if block["type"] == "tool_use" else block
        for block in _anthropic_blocks(text, calls, thinking, signature, redacted)
    ]
    message = _anthropic_object(blocks, _anthropic_finish(finish, calls)) | {"stop_details": stop_details}
    return _dumps(message | ({} if usage is None else {"usage": usage}))


def _anthropic_finish(finish: str | None, calls: Sequence[Call]) -> str | None:
    return ("tool_use" if calls else "end_turn") if finish == "auto" else finish


def _anthropic_object(content: list[Json], stop_reason: str | None) -> Json:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL}
    return head | {"content": content, "stop_reason": stop_reason, "stop_sequence": None}


def _anthropic_blocks(
    text: str | None, calls: Sequence[Call], thinking: str | None, signature: str, redacted: str | None
) -> list[Json]:
    """The blocks; the input of a call is still a string."""
    blocks: list[Json] = []
    if thinking is not None:
        blocks.append({"type": "thinking", "thinking": thinking, "signature": signature})
    if redacted is not None:
        blocks.append({"type": "redacted_thinking", "data": redacted})
    if text is not None:
        blocks.append({"type": "text", "text": text})
    return blocks + [{"type": "tool_use", "id": id, "name": name, "input": input} for id, name, input in calls]


def _anthropic_block_events(number: int, block: Json, size: int | None) -> list[Json]:
    match block["type"]:
        case "thinking":
            begun = block | {"thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": part} for part in _cut(block["thinking"], size)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "text":
            begun = block | {"text": ""}
            deltas = [{"type": "text_delta", "text": part} for part in _cut(block["text"], size)]
        case "tool_use":
            begun = block | {"input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in ["", *_cut(block["input"], size)]]
        case _:
            begun, deltas = block, []
    return [
        {"type": "content_block_start", "index": number, "content_block": begun},
        *({"type": "content_block_delta", "index": number, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": number},
    ]


# --- bodies: errors

OPENAI_OVERFLOW = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. "
    "Please reduce the length of the messages."
)
ANTHROPIC_OVERFLOW = "prompt is too long: 210000 tokens > 200000 maximum"

OPENAI_ERRORS: dict[int | str, tuple[str, str | None, str]] = {
    400: ("invalid_request_error", "invalid_value", "Invalid value: 'x'. Supported values are: 'user'."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-te**********-key."),
    403: ("request_forbidden", "unsupported_country_region_territory", "Country, region, or territory not supported"),
    404: ("invalid_request_error", "model_not_found", f"The model `{MODEL}` does not exist."),
    408: ("request_timeout", None, "Request timed out."),
    409: ("conflict_error", None, "The resource is locked by another request."),
    413: ("invalid_request_error", "request_too_large", "The request is too large."),
    422: ("invalid_request_error", None, "The request could not be processed."),
    429: ("tokens", "rate_limit_exceeded", "Rate limit reached for test-model on tokens per min (TPM): Limit 30000."),
    500: ("server_error", None, "The server had an error while processing your request. Sorry about that!"),
    503: ("service_unavailable_error", None, "The engine is currently overloaded, please try again later"),
    529: ("overloaded_error", None, "Overloaded"),
    "context_overflow": ("invalid_request_error", "context_length_exceeded", OPENAI_OVERFLOW),
    "context_overflow_other": ("invalid_request_error", None, ANTHROPIC_OVERFLOW),
    "quota": ("insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan."),
}
"""Type, code and message."""

ANTHROPIC_ERRORS: dict[int | str, tuple[str, str]] = {
    400: ("invalid_request_error", "messages.0.role: Input should be 'user' or 'assistant'"),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", f"model: {MODEL}"),
    408: ("timeout_error", "Request timed out."),
    409: ("conflict_error", "The resource is locked by another request."),
    413: ("request_too_large", "Request exceeds the maximum size"),
    422: ("invalid_request_error", "The request could not be processed."),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit of 30,000 input tokens."),
    500: ("api_error", "Internal server error"),
    503: ("api_error", "Service unavailable"),
    529: ("overloaded_error", "Overloaded"),
    "context_overflow": ("invalid_request_error", ANTHROPIC_OVERFLOW),
    "context_overflow_other": ("invalid_request_error", OPENAI_OVERFLOW),
    "quota": ("billing_error", "Your credit balance is too low to access the Anthropic API."),
}
"""Type and message."""

STATUS = {"context_overflow": 400, "context_overflow_other": 400, "quota": 429}
"""The status of an error that has a name."""


def error_body(api: Api, kind: int | str) -> bytes:
    """The JSON body of an error; `kind` is a status, or one of `STATUS`. An overflow comes in its own form, the
    `other` one in that of the other service, as routers pass it on."""
    return _dumps(_error_object(api, kind))


def error_event(api: Api, kind: int | str = 529, *, nested: bool = False) -> bytes:
    """The same in the middle of a stream. Responses has a flat form, which is documented, and a nested one."""
    if api == "chat":
        return event(_error_object(api, kind))
    if api == "anthropic":
        return event(_error_object(api, kind), "error")
    error = _error_object(api, kind)["error"]
    flat = {"code": error["code"] or error["type"], "message": error["message"], "param": None}
    return event({"type": "error", "sequence_number": 99} | ({"error": error} if nested else flat), "error")


def error(api: Api, kind: int | str, headers: Mapping[str, str] | None = None) -> Answer:
    """An error as the service answers it."""
    return json_answer(error_body(api, kind), status=STATUS.get(kind, kind), headers=headers)


def _error_object(api: Api, kind: int | str) -> Json:
    if api == "anthropic":
        type, message = ANTHROPIC_ERRORS[kind]
        return {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_1"}
    type, code, message = OPENAI_ERRORS[kind]
    return {"error": {"message": message, "type": type, "param": None, "code": code}}


# --- answers of the three

BUILDERS: dict[tuple[Api, bool], Callable[..., bytes]] = {
    ("chat", True): chat_sse,
    ("chat", False): chat_json,
    ("responses", True): responses_sse,
    ("responses", False): responses_json,
    ("anthropic", True): anthropic_sse,
    ("anthropic", False): anthropic_json,
}

JSON_TYPE, SSE_TYPE, HTML_TYPE = "application/json", "text/event-stream; charset=utf-8", "text/html; charset=utf-8"


def json_answer(body: bytes, *, headers: Mapping[str, str] | None = None, **options: Any) -> Answer:
    """A whole body as JSON; `options` are those of `Answer`."""
    return Answer(body, headers={"content-type": JSON_TYPE, **(headers or {})}, **options)


def stream_answer(body: bytes | Sequence[Part], **options: Any) -> Answer:
    """A stream, one chunk for each event; `options` are those of `Answer`."""
    parts = events(body) if isinstance(body, bytes) else body
    return Answer(parts, headers={"content-type": SSE_TYPE}, **({"chunked": True} | options))


def reply(api: Api, stream: bool, **options: Any) -> Answer:
    """A good answer; `options` are those of the builder."""
    return _answer(stream, BUILDERS[api, stream](**options))


def _answer(stream: bool, body: bytes, **options: Any) -> Answer:
    return stream_answer(body, **options) if stream else json_answer(body, **options)


# --- faults

Fault = Callable[[Api, bool], Answer]

ELSEWHERE = "http://localhost:9/elsewhere"
"""Where a redirect leads: another host by name, where nobody listens."""

HTML = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>gateway</h1></body></html>"
HALF = '{"city": "Par'


def _status(kind: int | str, headers: Mapping[str, str] | None = None) -> Fault:
    return lambda api, stream: error(api, kind, headers)


def _same(answer: Answer) -> Fault:
    return lambda api, stream: answer


def _replied(chat: Json, responses: Json, anthropic: Json, **shared: Any) -> Fault:
    """A well-formed answer with the options of its API."""
    options = {"chat": chat, "responses": responses, "anthropic": anthropic}
    return lambda api, stream: reply(api, stream, **shared, **options[api])


def _shaped(value: Any) -> Fault:
    """An answer whose one list, the choices or the content, is something else."""
    key = {"chat": "choices", "responses": "output", "anthropic": "content"}

    def fault(api: Api, stream: bool) -> Answer:
        data = {key[api]: value}
        if not stream:
            return json_answer(_dumps(data))
        if api == "chat":
            return stream_answer(event(data) + event("[DONE]"))
        if api == "responses":
            told = {"type": "response.completed", "sequence_number": 0, "response": data | {"status": "completed"}}
            return stream_answer(event(told, "response.completed"))
        start = event({"type": "message_start", "message": data}, "message_start")
        return stream_answer(start + event({"type": "message_stop"}, "message_stop"))

    return fault


def _json_that_is(data: Any) -> Fault:
    """JSON, but no object."""
    return lambda api, stream: stream_answer(event(data, "message_start")) if stream else json_answer(_dumps(data))


def _middle(parts: Sequence[bytes]) -> int:
    return len(parts) // 2


def _parts(api: Api, stream: bool, **options: Any) -> list[bytes]:
    """A good body in parts: its events, or two halves."""
    body = BUILDERS[api, stream](**options)
    return events(body) if stream else [_half(body), body.removeprefix(_half(body))]


def _half(data: bytes) -> bytes:
    """The first half, and no half letter."""
    return data[: len(data) // 2].decode(errors="ignore").encode()


def _broken(*then: Part, at: Callable[[Sequence[bytes]], int] = _middle, **options: Any) -> Fault:
    """A good body into which something comes, in the middle or after the first piece."""

    def fault(api: Api, stream: bool) -> Answer:
        parts = _parts(api, stream, **options)
        place = at(parts)
        body = [*parts[:place], *then, *parts[place:]]
        return stream_answer(body) if stream else Answer(body, headers={"content-type": JSON_TYPE})

    return fault


def _after_first(parts: Sequence[bytes]) -> int:
    return 1


def _cut_in_chunk(api: Api, stream: bool) -> Answer:
    first, second, *_ = _parts(api, stream)
    body = [first, Raw(b"%x\r\n%b" % (len(second), second[: len(second) // 2])), Close()]
    return Answer(body, headers={"content-type": SSE_TYPE if stream else JSON_TYPE}, chunked=True)


def _cut_in_call(api: Api, stream: bool) -> Answer:
    """The connection breaks when a call's arguments are half there."""
    body = BUILDERS[api, stream](text=None, calls=CALLS[:1])
    found = body.find(b"delta" if stream else b"Paris", body.find(b"get_weather"))
    if stream:
        done = events(body)
        count = len(events(body[:found])) + 1
        return stream_answer([*done[:count], Cut(), *done[count:]])
    return Answer([body[:found], Cut(), body[found:]], headers={"content-type": JSON_TYPE})


def _short_body(api: Api, stream: bool) -> Answer:
    body = BUILDERS[api, stream]()
    headers = {"content-type": SSE_TYPE if stream else JSON_TYPE}
    return Answer(_half(body), headers=headers, content_length=len(body))


def _long_body(api: Api, stream: bool) -> Answer:
    body = BUILDERS[api, stream]()
    headers = {"content-type": SSE_TYPE if stream else JSON_TYPE}
    return Answer(body, headers=headers, content_length=len(_half(body)))


def _cut_json(api: Api, stream: bool) -> Answer:
    """JSON that ends in the middle, in an orderly body; of a stream it is the data of the last event."""
    if not stream:
        return json_answer(_parts(api, stream)[0])
    *parts, last = (part for part in _parts(api, stream) if b"[DONE]" not in part)
    return stream_answer([*parts, last[:-7] + b"\n\n"])


def _no_done(api: Api, stream: bool) -> Answer:
    """A finish reason, and then no end of the protocol; a whole body lacks its last byte."""
    if not stream:
        return json_answer(BUILDERS[api, stream]()[:-1])
    return reply(api, stream, finish=None) if api == "responses" else reply(api, stream, done=False)


def _no_end(api: Api, stream: bool) -> Answer:
    """A clean end with neither a finish reason nor the end of the protocol."""
    if not stream:
        return reply(api, stream, finish=None, usage=None)
    return reply(api, stream, finish=None, usage=None, done=False)


def _error_after_start(*, nested: bool) -> Fault:
    """An error in a stream that began well; for a whole body, an error with status 200, as routers send it."""

    def fault(api: Api, stream: bool) -> Answer:
        if not stream:
            return json_answer(error_body(api, 529))
        parts = _parts(api, stream)
        return stream_answer([*parts[: _middle(parts)], error_event(api, nested=nested)])

    return fault


def _garbled(api: Api, stream: bool) -> Answer:
    """An event, or a body, that is not JSON, where all the rest is good."""
    parts = _parts(api, stream)
    at = _middle(parts)
    parts[at] = parts[at].replace(b'"', b"'")
    return _answer(stream, b"".join(parts))


def _bad_utf8(api: Api, stream: bool) -> Answer:
    """Good in all, but for one letter of the text."""
    return _answer(stream, BUILDERS[api, stream]().replace("ö".encode(), b"\xff\xfe"))


def _wrong_mode(api: Api, stream: bool) -> Answer:
    """A whole body where a stream was asked for, and the other way round."""
    return reply(api, not stream)


def _gzip_garbage(api: Api, stream: bool) -> Answer:
    headers = {"content-type": SSE_TYPE if stream else JSON_TYPE, "content-encoding": "gzip"}
    return Answer(b"\x00this was never gzip" * 8, headers=headers)


def _gzip_cut(api: Api, stream: bool) -> Answer:
    packed = gzip.compress(BUILDERS[api, stream](), mtime=0)
    headers = {"content-type": SSE_TYPE if stream else JSON_TYPE, "content-encoding": "gzip"}
    return Answer(packed[: len(packed) // 2], headers=headers)


def _half_call(finish: dict[str, Json], *, input: str) -> Fault:
    """A call that is half written, under a given end; `input` is what a whole message of Anthropic has then."""

    def fault(api: Api, stream: bool) -> Answer:
        arguments = HALF if stream or api != "anthropic" else input
        return reply(api, stream, text=None, calls=[("call_1", "get_weather", arguments)], **finish[api])

    return fault


LENGTH: dict[str, Json] = {
    "chat": {"finish": "length"},
    "responses": {"finish": "incomplete", "reason": "max_output_tokens"},
    "anthropic": {"finish": "max_tokens"},
}
OVERFLOW = {"code": "context_length_exceeded", "message": OPENAI_OVERFLOW}
REFUSAL = "I cannot help with that."

FAULTS: dict[str, Fault] = {
    # the service says no
    **{f"http_{status}": _status(status) for status in OPENAI_ERRORS if isinstance(status, int)},
    "context_overflow": _status("context_overflow"),
    "context_overflow_other": _status("context_overflow_other"),
    "quota_429": _status("quota"),
    "http_429_retry_after_1": _status(429, {"retry-after": "1"}),
    "http_429_retry_after_121": _status(429, {"retry-after": "121"}),
    "http_429_retry_after_minus_5": _status(429, {"retry-after": "-5"}),
    "http_429_retry_after_date": _status(429, {"retry-after": "Fri, 31 Dec 2100 23:59:59 GMT"}),
    "http_429_retry_after_past_date": _status(429, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    "http_502_html": _same(Answer(HTML, 502, {"content-type": HTML_TYPE})),
    "http_504_html": _same(
        Answer(HTML.replace(b"502 Bad Gateway", b"504 Gateway Timeout"), 504, {"content-type": HTML_TYPE})
    ),
    "redirect_307": _same(Answer(b"", 307, {"location": ELSEWHERE})),
    # 200, and not what was asked for
    "html_200": _same(Answer(HTML, headers={"content-type": HTML_TYPE})),
    "empty_body": _same(json_answer(b"")),
    "no_content_204": _same(Answer(status=204)),
    "not_json": _same(json_answer(b"upstream request timeout")),
    "cut_json": _cut_json,
    "shape_null": _shaped(None),
    "shape_empty": _shaped([]),
    "shape_text": _shaped("Hello."),
    "shape_nulls": _shaped([None]),
    "json_list": _json_that_is([]),
    "json_null": _json_that_is(None),
    "wrong_mode": _wrong_mode,
    "gzip_garbage": _gzip_garbage,
    "gzip_cut": _gzip_cut,
    "bad_utf8": _bad_utf8,
    # the connection
    "closed_before_any_byte": _same(Answer([Close()], head=b"")),
    "reset_before_any_byte": _same(Answer([Cut()], head=b"")),
    "not_http": _same(Answer([Close()], head=b"SSH-2.0-OpenSSH_9.2\r\n")),
    "closed_after_status_line": _same(Answer([Close()], head=b"HTTP/1.1 200 OK\r\n")),
    "closed_after_headers": _broken(Close(), at=lambda parts: 0),
    "closed_in_middle": _broken(Close()),
    "reset_in_middle": _broken(Cut()),
    "short_body": _short_body,
    "long_body": _long_body,
    "cut_in_chunk": _cut_in_chunk,
    "cut_in_tool_call": _cut_in_call,
    "stall_before_first_byte": lambda api, stream: Answer([Pause(), Close()], head=b""),
    "stall_after_first_piece": _broken(Pause(), at=_after_first),
    # the stream
    "empty_stream": lambda api, stream: _answer(stream, b"", chunked=True),
    "no_finish": lambda api, stream: reply(api, stream, finish=None),
    "no_done": _no_done,
    "no_end": _no_end,
    "error_event": _error_after_start(nested=False),
    "error_event_nested": _error_after_start(nested=True),
    "failed": _replied({"finish": "error"}, {"finish": "failed"}, {"finish": "error"}),
    "bad_json_event": _garbled,
    # the end that the model came to
    "length": _replied(**LENGTH),
    "length_in_tool_call": _half_call(LENGTH, input="{}"),
    "cut_arguments": _half_call({api: {} for api in APIS}, input=HALF),
    "content_filter": _replied(
        {"finish": "content_filter"}, {"finish": "incomplete", "reason": "content_filter"}, {"finish": "refusal"}
    ),
    "refusal": _replied(
        {"refusal": REFUSAL},
        {"refusal": REFUSAL},
        {"finish": "refusal", "stop_details": {"type": "refusal", "category": "cyber", "explanation": REFUSAL}},
        text=None,
    ),
    "unknown_finish": _replied(
        {"finish": "brand_new_reason"},
        {"finish": "incomplete", "reason": "brand_new_reason"},
        {"finish": "brand_new_reason"},
    ),
    "pause_turn": _replied({"finish": "pause_turn"}, {"finish": "in_progress"}, {"finish": "pause_turn"}),
    "model_context_window_exceeded": _replied(
        {"finish": "model_context_window_exceeded"},
        {"finish": "failed", "error": OVERFLOW},
        {"finish": "model_context_window_exceeded"},
    ),
    "empty_reply": _replied({}, {}, {}, text=None),
    "blank_reply": _replied({}, {}, {}, text=" \n"),
    "only_reasoning": _replied({"reasoning": "Hm."}, {"reasoning": "Hm."}, {"thinking": "Hm."}, text=None),
}
"""What can go wrong: from the API and whether it streams to the answer. Where a fault has no place, the nearest one."""
