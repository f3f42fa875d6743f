"""Draft: a reply while its pieces come in, whatever protocol they come by."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

from nbagent.errors import ModelError
from nbagent.messages import ModelReply, Reasoning, ToolCall, Usage
from nbagent.models.model import ArgumentsPiece, Piece, ReasoningPiece

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.messages import Message

Json: TypeAlias = "dict[str, Any]"

TURN = "nbagent.turn"
"""Under this name a turn is kept that has to go back as the whole it was."""


class DraftCall:
    """A tool call while its pieces come in."""

    def __init__(self, index: int, id: str = "", name: str = "") -> None:  # noqa: A002 - as everywhere
        self.index = index
        self.id = id
        self.name = name
        self.parts: list[str] = []

    @property
    def arguments(self) -> str:
        return "".join(self.parts)


class Draft:
    """What has come of a reply."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.text: list[str] = []
        self.calls: list[DraftCall] = []
        self.reasoning: list[Reasoning] = []
        self.usage: Usage | None = None
        self.finish = ""
        """Why the reply ended, in our words; empty while nobody has said so."""
        self.refusal = False
        self.ended = False
        """Whether the protocol's own end has come."""

    def say(self, text: object) -> Iterator[Piece]:
        """A piece of the text."""
        if isinstance(text, str) and text:
            self.text.append(text)
            yield text

    def think(self, text: object) -> Iterator[Piece]:
        """A piece of reasoning that may be shown; what is sent back of it is kept by the protocol."""
        if isinstance(text, str) and text:
            yield ReasoningPiece(text)

    def call(self, id: str = "", name: str = "") -> DraftCall:  # noqa: A002
        """A new tool call."""
        self.calls.append(DraftCall(len(self.calls), id, name))
        return self.calls[-1]

    def argue(self, call: DraftCall, arguments: object) -> Iterator[Piece]:
        """A piece of a call's arguments. Some servers send an object in place of its JSON text."""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""
        if text:
            call.parts.append(text)
            yield ArgumentsPiece(call.index, call.name, text)

    def reply(self) -> ModelReply:
        """The whole reply. Raises ModelError where the stream ended before it did, or contradicts itself."""
        if not self.finish:
            raise _broken_off("it has no finish reason")
        if not self.ended:
            raise _broken_off("its end was never sent")
        finish = "refusal" if self.refusal and self.finish == "stop" else self.finish
        if finish == "tool_calls" and not self.calls:
            raise ModelError("the reply announces tool calls and has none", kind="bad_response")
        if any(not call.name for call in self.calls):
            raise ModelError("the reply has a tool call without a name", kind="bad_response")
        return ModelReply("".join(self.text), self._calls(), self.usage, finish, tuple(self.reasoning))

    def _calls(self) -> tuple[ToolCall, ...]:
        """The calls; one that came without an id gets `call_n`."""
        taken = {call.id for call in self.calls}
        calls: list[ToolCall] = []
        for number, call in enumerate(self.calls, 1):
            made = call.id or f"call_{number}"
            while not call.id and made in taken:
                made += "_"
            calls.append(ToolCall(made, call.name, call.arguments))
        return tuple(calls)


def _broken_off(how: str) -> ModelError:
    return ModelError(f"the answer broke off: {how}; nothing of it was used", kind="incomplete", transient=True)


def table(value: object) -> Json:
    """The value where it is an object, else an empty one: servers leave out and null what they like."""
    return cast("Json", value) if isinstance(value, dict) else {}


def tables(value: object) -> list[Json]:
    """The objects of a list."""
    return [table(item) for item in cast("list[object]", value)] if isinstance(value, list) else []


def word(value: object) -> str:
    """The value where it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """The value where it is a count, else 0."""
    return value if is_count(value) else 0


def is_count(value: object) -> TypeGuard[int]:
    """Whether the value is a whole number that can count something."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def counted(input_tokens: int, output_tokens: int, cache_read: int, cache_write: int) -> Usage:
    """The usage that a server reports. No cache can have had more than there was."""
    read = min(cache_read, input_tokens)
    write = min(cache_write, input_tokens - read)
    return Usage(input_tokens, output_tokens, cache_read_tokens=read, cache_write_tokens=write)


def is_mixed(kinds: list[object], reasoning: str, text: str) -> bool:
    """Whether a turn is more than reasoning, then a text, then calls: it then has to go back as the whole it was."""
    order = [0 if kind == reasoning else 1 if kind == text else 2 for kind in kinds]
    return 0 in order and (order != sorted(order) or order.count(1) > 1)


def kept_reasoning(message: Message, provider: str, field: str) -> tuple[list[Json], bool]:
    """The reasoning of an assistant's message, to be sent back as it came; and whether it is the whole turn.

    `field`: where the protocol has the id of a call.
    """
    kept: list[Json] = [json.loads(one.data) for one in message.reasoning if one.provider == provider]
    if kept and TURN in kept[0]:
        return list(_with_ids(kept[0][TURN], field, message)), True
    return kept, False


def _with_ids(turn: list[Json], field: str, message: Message) -> Iterator[Json]:
    """A turn as it came, its calls with the ids that they have in the conversation."""
    calls = iter(message.tool_calls)
    for block in turn:
        call = next(calls, None) if field in block or block.get("type") in ("tool_use", "function_call") else None
        yield {**block, field: call.id} if call is not None else block
