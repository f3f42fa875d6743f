"""Messages: the plain values that everything else is made of. All frozen, all comparable, none knows a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping  # noqa: TC003  msgspec reads the annotations
from decimal import Decimal  # noqa: TC003  msgspec reads the annotations
from typing import Any, Literal

from nbagent.values import PartlyCompared, Struct

Role = Literal["system", "user", "assistant", "tool"]
ObservationStatus = Literal["success", "partial", "error"]
SourceKind = Literal[
    "template",
    "input",
    "variable",
    "attribute",
    "example",
    "history",
    "context",
    "format",
    "output",
    "tool",
    "framework",
    "protocol",
]

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
    """An entry of the conversation. Its fields are attributes, and keys too: `message["role"]`."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    """On a `tool` message: which call it answers."""
    images: tuple[Image, ...] = ()
    """On a `user` message: what the model is shown with it."""
    reasoning: tuple[Reasoning, ...] = ()
    """On an `assistant` message: how it came to it."""

    def __getitem__(self, key: str) -> Any:
        if key not in self.__struct_fields__:
            raise KeyError(f"{key!r}; a message has {', '.join(self.__struct_fields__)}")
        return getattr(self, key)


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

    kind: Literal[
        "unknown_tool", "invalid_arguments", "duplicate_id", "denied", "rejected", "exception", "unknown_outcome"
    ]  # fmt: skip
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
    """Which one: of context, its provider."""
    uri: str = ""
    """Of context: where it is."""
    score: float | None = None
    """Of context: how well it fits, as its provider says."""

    def __str__(self) -> str:
        score = "" if self.score is None else f"score {self.score:.3g}"
        more = ", ".join(word for word in (self.uri, score) if word)
        return f"{self.kind} {self.detail}".rstrip() + (f" ({more})" if more else "")


class Piece(Struct, frozen=True):
    """A piece of text, and where it comes from."""

    text: str
    source: Source


class Field(Struct, frozen=True):
    """A named value of the user's payload, or of the inputs that it is made of."""

    name: str
    pieces: tuple[Piece, ...]
    """Its text."""
    value: Any = None
    """What it is where it is no text: numbers, lists and dicts as in JSON."""

    @property
    def text(self) -> str:
        return "".join([piece.text for piece in self.pieces])


class Segment(Struct, frozen=True):
    """A piece of the assembled prompt, with its source."""

    role: Role
    label: str
    text: str
    source: Source
    kept: bool = True
    reason: str = ""
    """Why it was dropped, where it was."""

    @property
    def characters(self) -> int:
        return len(self.text)

    @property
    def tokens(self) -> int:
        """Estimated: about four characters a token."""
        return tokens_in(self.text)


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
        return tokens_in(self.text)


def tokens_in(text: str) -> int:
    """How many tokens a text has, estimated: about four characters a token."""
    return -(-len(text) // 4)


class ToolSchema(Struct, frozen=True):
    """How a tool is described to a model."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON schema of type object."""

    def retold(self, name: str, description: str, parameters: Mapping[str, str]) -> ToolSchema:
        """The same tool in other words. `parameters`: descriptions of some, by name."""
        known: Mapping[str, Any] = self.parameters["properties"]
        bare = {one: {key: value for key, value in known[one].items() if key != "description"} for one in parameters}
        told = {one: {"description": text, **bare[one]} for one, text in parameters.items()}
        return ToolSchema(name, description, {**self.parameters, "properties": {**known, **told}})

    def as_openai(self) -> dict[str, Any]:
        """In the form of OpenAI's chat protocol, which others take, too. What is in the parameters is not copied."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    def __hash__(self) -> int:
        return hash(self.name)  # the parameters are a dict


class Prompt(Struct, frozen=True):
    """The assembled prompt: a record first; its messages are a view of it."""

    segments: tuple[Segment, ...]
    history: tuple[Message, ...] = ()
    tools: tuple[ToolSchema, ...] = ()
    images: tuple[Image, ...] = ()
    """What the user's message shows."""
    examples: tuple[Message, ...] = ()
    """Questions with their answers, for the model to go by; they come before the history."""
    question: str | None = None
    """What the user said in it; None where that is all of the user's message."""
    before: int = 0
    """How many messages of the same run come before it, which are told where they were said and not here again."""

    def __iter__(self) -> Iterator[Any]:
        """So it can be unpacked: `system_prompt, user_prompt, messages = agent.observe(…)`."""
        return iter((self.system, self.user, self.messages))

    @property
    def spans(self) -> tuple[Span, ...]:
        """Everything that is sent, in its order: every character of it is in exactly one of these."""
        kept = [segment for segment in self.segments if segment.kept]
        system = [Span(s.role, s.text, s.source) for s in kept if s.role == "system"]
        examples = [Span(m.role, m.content, Source("example", f"{n // 2 + 1}")) for n, m in enumerate(self.examples)]
        history = [span for number, message in enumerate(self.history, 1) for span in _history_spans(message, number)]
        user = [Span(s.role, s.text, s.source) for s in kept if s.role == "user"]
        tools = [Span("tools", _described(tool), Source("tool", tool.name)) for tool in self.tools]
        return (*system, *examples, *history, *user, *tools)

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
        """System (only where there is one), examples, history, user."""
        system = self.system
        first = (Message("system", system),) if system else ()
        return (*first, *self.examples, *self.history, Message("user", self.user, images=self.images))


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
