"""Messages: the plain values that everything else is made of. All frozen, all comparable, none knows a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal  # noqa: TC003  msgspec reads the annotations
from hashlib import blake2b
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, Literal, overload

from nbagent.values import PartlyCompared, Struct

Role = Literal["system", "user", "assistant", "tool"]
ObservationStatus = Literal["success", "partial", "error"]
SourceKind = Literal["template", "variable", "history", "framework", "protocol"]

COMPLETE = frozenset({"stop", "tool_calls"})
"""The finish reasons of a whole reply. With any other, none of the reply's tool calls runs."""


class ToolCall(Struct, frozen=True, gc=False):
    """A model's request to run a tool."""

    id: str
    name: str
    arguments: str
    """JSON text, exactly as the model sent it."""


class Reasoning(Struct, frozen=True, gc=False):
    """A piece of a model's reasoning. Its provider wants it back as it was; no other gets to see it."""

    provider: str
    """Who wrote it: `anthropic`."""
    data: str
    """JSON text, opaque to us."""
    text: str = ""
    """What of it may be shown."""


class Image(Struct, frozen=True, gc=False):
    """A picture that a tool returned, or that a model is shown."""

    data: bytes
    media_type: str = "image/png"
    caption: str = ""

    def __repr__(self) -> str:
        return f"Image({len(self.data)} bytes, media_type={self.media_type!r}, caption={self.caption!r})"


class Message(Struct, frozen=True, gc=False):
    """An entry of the conversation."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    """On a `tool` message: which call it answers."""
    images: tuple[Image, ...] = ()
    """On a `user` message: what the model is shown with it."""
    reasoning: tuple[Reasoning, ...] = ()
    """On an `assistant` message: how it came to it."""


class Usage(Struct, frozen=True, gc=False):
    """Tokens of one model call, or of several added up, whatever way its provider counts them."""

    input_tokens: int = 0
    """All of the prompt, with what a cache had of it."""
    output_tokens: int = 0
    """All of the reply, with its reasoning."""
    estimated: bool = False
    """True where nobody counted: about four characters a token."""
    cache_read_tokens: int = 0
    """How many of the input tokens came from a cache."""
    cache_write_tokens: int = 0
    """How many of the input tokens were written to a cache."""
    cost: Decimal | None = None
    """US dollars; None where no price is known."""

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def fresh_tokens(self) -> int:
        """The input tokens that no cache had to do with."""
        return self.input_tokens - self.cache_read_tokens - self.cache_write_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.estimated or other.estimated,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
        )


class ToolFailure(PartlyCompared, frozen=True):
    """Why a tool call has no result."""

    aside = ("traceback",)

    kind: Literal["unknown_tool", "invalid_arguments", "duplicate_id", "exception", "unknown_outcome"]
    message: str
    traceback: str = ""
    """The whole traceback, for people; it holds paths, so it is neither compared nor shown to the model."""


class Observation(PartlyCompared, frozen=True):
    """What came back from a tool call."""

    aside = ("data", "full_text")

    call_id: str
    text: str
    """The result as text, cut to the tool's limit."""
    status: ObservationStatus = "success"
    printed: str = ""
    """What the tool printed and warned, cut to the tool's limit."""
    images: tuple[Image, ...] = ()
    error: ToolFailure | None = None
    data: Any = None
    """The returned value itself."""
    full_text: str | None = None
    """The whole text where `text` was cut, else None."""

    @property
    def content(self) -> str:
        """What the model reads."""
        return f"{self.text}\n\nprinted:\n{self.printed}" if self.printed else self.text

    @property
    def message(self) -> Message:
        return Message("tool", self.content, tool_call_id=self.call_id)


class Source(Struct, frozen=True):
    """Where a piece of a prompt comes from: `Source("variable", "city: str")`."""

    kind: SourceKind
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.detail}".rstrip()


class Segment(Struct, frozen=True):
    """A piece of the assembled prompt, with its source."""

    role: Role
    label: str
    text: str
    source: Source
    kept: bool = True
    reason: str = ""
    """Why it was dropped, where it was."""


class Span(Struct, frozen=True):
    """A stretch of what is sent, whatever part of the request it is in."""

    role: str
    """Of the message it is in; `tools` for the description of a tool."""
    text: str
    source: Source

    @property
    def characters(self) -> int:
        return len(self.text)

    @property
    def tokens(self) -> int:
        """Estimated: about four characters a token."""
        return -(-len(self.text) // 4)


class ToolSchema(Struct, frozen=True):
    """How a tool is described to a model."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON schema of type object."""

    def __hash__(self) -> int:
        return hash(self.name)  # the parameters are a dict


class Prompt(Struct, frozen=True):
    """The assembled prompt: a record first; its messages are a view of it."""

    segments: tuple[Segment, ...]
    history: tuple[Message, ...] = ()
    tools: tuple[ToolSchema, ...] = ()
    images: tuple[Image, ...] = ()
    """What the user's message shows."""

    def __iter__(self) -> Iterator[Any]:
        """So it can be unpacked: `system_prompt, user_prompt, messages = agent.observe(…)`."""
        return iter((self.system, self.user, self.messages))

    @property
    def spans(self) -> tuple[Span, ...]:
        """Everything that is sent, in its order: every character of it is in exactly one of these."""
        kept = [segment for segment in self.segments if segment.kept]
        system = [Span(s.role, s.text, s.source) for s in kept if s.role == "system"]
        history = [span for number, message in enumerate(self.history, 1) for span in _history_spans(message, number)]
        user = [Span(s.role, s.text, s.source) for s in kept if s.role == "user"]
        tools = [Span("tools", _described(tool), Source("framework", f"tool {tool.name}")) for tool in self.tools]
        return (*system, *history, *user, *tools)

    def text(self, role: Role) -> str:
        """The text of all kept segments of this role, in order."""
        return "".join(s.text for s in self.segments if s.kept and s.role == role)

    @property
    def system(self) -> str:
        return self.text("system")

    @property
    def user(self) -> str:
        return self.text("user")

    @property
    def messages(self) -> tuple[Message, ...]:
        """System (only where there is one), history, user."""
        system = self.system
        first = (Message("system", system),) if system else ()
        return (*first, *self.history, Message("user", self.user, images=self.images))


class ModelReply(Struct, frozen=True, gc=False):
    """What a model answered."""

    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    """None where the model did not report any."""
    finish_reason: str = "stop"
    """`stop` and `tool_calls` mean a whole reply; anything else (`length`, `content_filter`, …) does not."""
    reasoning: tuple[Reasoning, ...] = ()

    @property
    def complete(self) -> bool:
        return self.finish_reason in COMPLETE

    @property
    def message(self) -> Message:
        return Message("assistant", self.content, self.tool_calls, reasoning=self.reasoning)


def _history_spans(message: Message, number: int) -> Iterator[Span]:
    source = Source("history", f"message {number}")
    if message.content or not message.tool_calls:
        yield Span(message.role, message.content, source)
    for call in message.tool_calls:
        yield Span(message.role, f"{call.name} {call.arguments}", source)


def _described(tool: ToolSchema) -> str:
    return json.dumps([tool.name, tool.description, tool.parameters], ensure_ascii=False)


class Messages(Sequence[Message]):
    """An immutable list of messages that grows cheaply: `messages + [more]` shares what is there already.

    A run of n turns makes n of these; with plain tuples that would cost n²/2 copies, and as many fingerprints.
    """

    __slots__ = ("_length", "_log")

    def __init__(self, items: Iterable[Message] = ()) -> None:
        self._log = _Log(items)
        self._length = len(self._log.items)

    def __add__(self, more: Iterable[Message]) -> Messages:
        grown = Messages.__new__(Messages)
        # Only the newest view may write into the shared log; an older one branches off with a copy.
        at_tip = self._length == len(self._log.items)
        grown._log = self._log if at_tip else _Log(self._log.items[: self._length])
        grown._log.items.extend(more)
        grown._length = len(grown._log.items)
        return grown

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return tuple(self._log.items[i] for i in range(*index.indices(self._length)))
        if not -self._length <= index < self._length:
            raise IndexError(f"message {index} of {self._length}")
        return self._log.items[index % self._length]

    def __iter__(self) -> Iterator[Message]:
        return (self._log.items[i] for i in range(self._length))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Messages) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Messages({list(self)!r})"

    @property
    def characters(self) -> int:
        """How many characters the messages hold, tool calls included."""
        return self._log.characters(self._length)

    @property
    def digest(self) -> str:
        """A hash over all messages, kept running, so that the next one costs only what was added."""
        return self._log.digest(self._length)


class _Log:
    """What several `Messages` share: the items, and their running sums and hash, brought up to date when asked for."""

    __slots__ = ("_digests", "_hash", "_sums", "items")

    def __init__(self, items: Iterable[Message]) -> None:
        self.items = list(items)
        self._hash = blake2b(digest_size=12)
        # After so many messages: the hash (empty where it was not asked for) and the number of characters.
        self._digests = [self._hash.hexdigest()]
        self._sums = [0]

    def characters(self, length: int) -> int:
        self._advance(length)
        return self._sums[length]

    def digest(self, length: int) -> str:
        self._advance(length)
        if not self._digests[length]:
            # An older view may be asked for the first time when the hash is further already.
            newest = length == len(self._sums) - 1
            self._digests[length] = self._hash.hexdigest() if newest else _Log(self.items[:length]).digest(length)
        return self._digests[length]

    def _advance(self, length: int) -> None:
        sums, hashes, count = self._sums, self._digests, self._sums[-1]
        for message in self.items[len(sums) - 1 : length]:
            text, size = _canonical(message)
            self._hash.update(text.encode("ascii"))
            count += size
            sums.append(count)
            hashes.append("")


class ModelRequest(Struct, frozen=True):
    """What is sent to a model."""

    messages: Messages
    tools: tuple[ToolSchema, ...] = ()
    max_tokens: int | None = None
    """How long the reply may be; None leaves it to the model."""
    seconds_left: float | None = None
    """After how long the reply is of no use any more; None where the run has no time limit."""

    def fingerprint(self) -> str:
        """A hash of the whole request; a replayed request must have the recorded one's."""
        return f"{self.messages.digest}-{_of_tools.get(self.tools)[1]}{self.max_tokens or ''}"

    @property
    def characters(self) -> int:
        """How many characters go to the model, tool descriptions included."""
        return self.messages.characters + _of_tools.get(self.tools)[2]


def _canonical(message: Message) -> tuple[str, int]:
    """A message as JSON, always the same text for the same message, and how many characters the model reads of it.

    By hand: it is made twice in every turn.
    """
    content, answers, size = message.content, message.tool_call_id, len(message.content)
    calls = ""
    for call in message.tool_calls:
        size += len(call.name) + len(call.arguments)
        calls += f"[{_quoted(call.id)},{_quoted(call.name)},{_quoted(call.arguments)}],"
    more = _attached(message) if message.images or message.reasoning else ""
    return f'["{message.role}",{_quoted(content)},[{calls}],{answers and _quoted(answers)}{more}]\n', size


def _attached(message: Message) -> str:
    images = [[image.media_type, blake2b(image.data, digest_size=12).hexdigest()] for image in message.images]
    return "," + json.dumps([images, [[one.provider, one.data] for one in message.reasoning]])


class _OfTools:
    """What is worked out once for the tools of a run, which are the same tuple in every turn."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: tuple[tuple[ToolSchema, ...] | None, str, int] = (None, "", 0)

    def get(self, tools: tuple[ToolSchema, ...]) -> tuple[object, str, int]:
        """The tools with their hash and their number of characters."""
        known = self._known
        if known[0] is not tools:
            # Canonical JSON, so that neither the order of a dict nor a lone surrogate matters.
            text = json.dumps([[tool.name, tool.description, tool.parameters] for tool in tools], sort_keys=True)
            digest = blake2b(text.encode("ascii"), digest_size=6).hexdigest()
            size = sum(len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters)) for tool in tools)
            self._known = known = (tools, digest, size)
        return known


_of_tools = _OfTools()
