"""Anthropic: the Messages API."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from nbagent.messages import Message, Reasoning, ToolCall, Usage
from nbagent.models.wires.draft import (
    TURN,
    Draft,
    DraftCall,
    Json,
    is_count,
    is_mixed,
    kept_reasoning,
    number,
    table,
    tables,
    word,
)
from nbagent.models.wires.failures import stream_failure
from nbagent.models.wires.settled import arguments_of, system_apart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.messages import ModelReply, ToolSchema
    from nbagent.models.model import Piece
    from nbagent.request import ModelRequest

MAX_TOKENS = 8_192
"""The protocol wants a number; this one where nobody gives another."""
_BEGUN = "(the conversation begins)"
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_overflow",
}


def payload(request: ModelRequest, provider: str, *, structured: bool = False) -> Json:
    """The body of a request, without the model's name. `structured`: the server takes the schema of the answer."""
    system, messages = system_apart(request.messages)
    body: Json = {"messages": _turns(messages, provider), "max_tokens": request.max_tokens or MAX_TOKENS}
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if structured and request.output_schema is not None:
        from anthropic import transform_schema

        schema = transform_schema(dict(request.output_schema))  # as the SDK makes it strict
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return body


def _turns(messages: list[Message], provider: str) -> list[Json]:
    """User and assistant in turns, the user first: all that comes from one side in a row is one message."""
    turns: list[Json] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = list(_blocks(message, provider))
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    if not turns or turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"type": "text", "text": _BEGUN}]})
    return turns


def _blocks(message: Message, provider: str) -> Iterator[Json]:
    if message.role == "tool":
        result: Json = {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}
        yield result
        return
    kept, is_whole = kept_reasoning(message, provider, "id")
    yield from kept
    if is_whole:
        return
    for image in message.images:
        source = {"type": "base64", "media_type": image.media_type, "data": base64.b64encode(image.data).decode()}
        yield {"type": "image", "source": source}
    if message.content.strip():
        yield {"type": "text", "text": message.content}
    for call in message.tool_calls:
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}


def _tool(tool: ToolSchema) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


class Reader:
    """Reads a reply, streamed or whole."""

    def __init__(self, provider: str) -> None:
        self.draft = Draft(provider)
        self._calls: dict[int, DraftCall] = {}
        self._thoughts: dict[int, Json] = {}
        self._texts: dict[int, list[str]] = {}
        self._usage: Json = {}

    def event(self, name: str, data: Any) -> Iterator[Piece]:
        """One event of the stream."""
        event = table(data)
        match word(event.get("type")) or name:
            case "message_start":
                self._usage |= _counts(table(event.get("message")).get("usage"))
            case "content_block_start":
                yield from self._begin(number(event.get("index")), table(event.get("content_block")))
            case "content_block_delta":
                yield from self._delta(number(event.get("index")), table(event.get("delta")))
            case "message_delta":
                self._finish(table(event.get("delta")).get("stop_reason"))
                self._usage |= _counts(event.get("usage"))
            case "message_stop":
                self.draft.ended = True
            case "error":
                raise stream_failure(table(event.get("error")))
            case _:
                return

    def whole(self, data: Json) -> Iterator[Piece]:
        """The one body of a reply that was not streamed."""
        for index, block in enumerate(tables(data.get("content"))):
            yield from self._begin(index, block)
        self._finish(data.get("stop_reason"))
        self._usage |= _counts(data.get("usage"))
        self.draft.ended = True

    @staticmethod
    def fits(data: Json) -> bool:
        """Whether a body is a reply at all."""
        return isinstance(data.get("content"), list)

    def reply(self) -> ModelReply:
        """The whole reply; raises ModelError."""
        self.draft.reasoning += self._reasoning()
        self._thoughts = {}
        if {"input_tokens", "output_tokens"} <= self._usage.keys():
            self.draft.usage = _usage(self._usage)
        return self.draft.reply()

    def _reasoning(self) -> list[Reasoning]:
        """The reasoning, block by block; or the whole turn, where it is mixed with other blocks."""
        provider, blocks = self.draft.provider, self._blocks()
        if not is_mixed([block["type"].replace("redacted_", "") for block in blocks], "thinking", "text"):
            kept = [self._thoughts[index] for index in sorted(self._thoughts)]
            return [Reasoning(provider, json.dumps(block), word(block.get("thinking"))) for block in kept]
        said = "\n\n".join(word(block.get("thinking")) for block in blocks if block.get("thinking"))
        return [Reasoning(provider, json.dumps({TURN: blocks}), said)]

    def _blocks(self) -> list[Json]:
        """The turn as it came."""
        made: dict[int, Json] = dict(self._thoughts)
        made |= {index: {"type": "text", "text": "".join(parts)} for index, parts in self._texts.items() if any(parts)}
        for index, call in self._calls.items():
            sent = arguments_of(ToolCall(call.id, call.name, call.arguments))
            made[index] = {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(sent)}
        return [made[index] for index in sorted(made)]

    def _begin(self, index: int, block: Json) -> Iterator[Piece]:
        match block.get("type"):
            case "text":
                self._texts[index] = [word(block.get("text"))]
                yield from self.draft.say(block.get("text"))
            case "thinking" | "redacted_thinking":
                self._thoughts[index] = dict(block)
                yield from self.draft.think(block.get("thinking"))
            case "tool_use":
                self._calls[index] = call = self.draft.call(word(block.get("id")), word(block.get("name")))
                yield from self.draft.argue(call, block.get("input"))
            case _:
                return

    def _delta(self, index: int, delta: Json) -> Iterator[Piece]:
        match delta.get("type"):
            case "text_delta":
                self._texts.setdefault(index, []).append(word(delta.get("text")))
                yield from self.draft.say(delta.get("text"))
            case "input_json_delta" if index in self._calls:
                yield from self.draft.argue(self._calls[index], delta.get("partial_json"))
            case "thinking_delta" if index in self._thoughts:
                self._add(index, "thinking", delta)
                yield from self.draft.think(delta.get("thinking"))
            case "signature_delta" if index in self._thoughts:
                self._add(index, "signature", delta)
            case _:
                return

    def _add(self, index: int, field: str, delta: Json) -> None:
        block = self._thoughts[index]
        block[field] = word(block.get(field)) + word(delta.get(field))

    def _finish(self, reason: object) -> None:
        if isinstance(reason, str) and reason:
            self.draft.finish = _FINISH.get(reason, reason)


def _counts(usage: object) -> Json:
    return {key: value for key, value in table(usage).items() if is_count(value)}


def _usage(said: Json) -> Usage:
    """Anthropic does not count what a cache had among the input tokens; we do."""
    read, written = number(said.get("cache_read_input_tokens")), number(said.get("cache_creation_input_tokens"))
    return Usage(
        number(said.get("input_tokens")) + read + written,
        number(said.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
