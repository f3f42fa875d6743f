"""Responses: OpenAI's Responses API, stateless: nothing is stored there, and reasoning goes back encrypted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbagent.messages import Message, Reasoning
from nbagent.models.wires.chat import ANSWER, data_url, strict
from nbagent.models.wires.draft import (
    TURN,
    Draft,
    DraftCall,
    Json,
    counted,
    is_count,
    is_mixed,
    kept_reasoning,
    number,
    table,
    tables,
    word,
)
from nbagent.models.wires.failures import failure, stream_failure
from nbagent.models.wires.settled import system_apart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.messages import ModelReply, ToolSchema, Usage
    from nbagent.models.model import Piece
    from nbagent.request import ModelRequest

_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}


def payload(request: ModelRequest, provider: str, *, structured: bool = False) -> Json:
    """The body of a request, without the model's name. `structured`: the server takes the schema of the answer."""
    system, messages = system_apart(request.messages)
    items = [item for message in messages for item in _items(message, provider)]
    body: Json = {"input": items, "store": False, "include": ["reasoning.encrypted_content"]}
    if system:
        body["instructions"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.max_tokens is not None:
        body["max_output_tokens"] = request.max_tokens
    if structured and request.output_schema is not None:
        schema = strict(request.output_schema)
        body["text"] = {"format": {"type": "json_schema", "name": ANSWER, "schema": schema, "strict": True}}
    return body


def _items(message: Message, provider: str) -> Iterator[Json]:
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}
        return
    if message.role == "assistant":
        kept, is_whole = kept_reasoning(message, provider, "call_id")
        yield from kept
        if is_whole:
            return
    kind = "output_text" if message.role == "assistant" else "input_text"
    parts: list[Json] = [{"type": kind, "text": message.content}] if message.content else []
    parts += [{"type": "input_image", "image_url": data_url(image), "detail": "auto"} for image in message.images]
    if parts:
        yield {"type": "message", "role": message.role, "content": parts}
    for call in message.tool_calls:
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _tool(tool: ToolSchema) -> Json:
    parameters = dict(tool.parameters)
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters,
        "strict": False,
    }


class Reader:
    """Reads a reply, streamed or whole."""

    def __init__(self, provider: str) -> None:
        self.draft = Draft(provider)
        self._calls: dict[object, DraftCall] = {}
        self._items: dict[int, Json] = {}

    def event(self, name: str, data: Any) -> Iterator[Piece]:
        """One event of the stream."""
        event = table(data)
        match word(event.get("type")) or name:
            case "response.output_text.delta" | "response.refusal.delta":
                yield from self.draft.say(event.get("delta"))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self.draft.think(event.get("delta"))
            case "response.output_item.added":
                self._begin(event)
            case "response.function_call_arguments.delta":
                yield from self._argue(event)
            case "response.output_item.done":
                place = event.get("output_index")
                self._items[number(place) if is_count(place) else len(self._items)] = table(event.get("item"))
            case "response.completed" | "response.incomplete":
                self._end(table(event.get("response")))
            case "response.failed":
                raise stream_failure(table(table(event.get("response")).get("error")))
            case "error":
                raise stream_failure(table(event.get("error")) or event)
            case _:
                return

    def whole(self, data: Json) -> Iterator[Piece]:
        """The one body of a reply that was not streamed."""
        if data.get("status") == "failed":
            raise stream_failure(table(data.get("error")))
        self._end(data)
        yield from self.draft.text

    @staticmethod
    def fits(data: Json) -> bool:
        """Whether a body is a reply at all."""
        return isinstance(data.get("output"), list)

    def reply(self) -> ModelReply:
        """The whole reply; raises ModelError."""
        return self.draft.reply()

    def _begin(self, event: Json) -> None:
        item = table(event.get("item"))
        if item.get("type") == "function_call":
            key = event.get("output_index") if is_count(event.get("output_index")) else item.get("id")
            self._calls[key] = self.draft.call(word(item.get("call_id")), word(item.get("name")))

    def _argue(self, event: Json) -> Iterator[Piece]:
        call = self._calls.get(event.get("output_index")) or self._calls.get(event.get("item_id"))
        if call is not None:
            yield from self.draft.argue(call, event.get("delta"))

    def _end(self, response: Json) -> None:
        """The end of the stream repeats the whole reply, which counts; the deltas were for showing."""
        draft = self.draft
        if not (isinstance(response.get("output"), list) or self._items):
            raise failure("bad_response", json.dumps(response))
        items = tables(response.get("output")) or [self._items[index] for index in sorted(self._items)]
        if items:
            draft.text, draft.calls = [], []
        for item in items:
            self._take(item)
        if is_mixed([item.get("type") for item in items], "reasoning", "message"):
            said = "\n\n".join(one.text for one in draft.reasoning if one.text)
            turn = [_sent_back(item) for item in items]
            draft.reasoning = [Reasoning(draft.provider, json.dumps({TURN: turn}), said)]
        draft.usage = _usage(response.get("usage"))
        draft.finish = self._reason(response)
        draft.ended = True

    def _take(self, item: Json) -> None:
        match item.get("type"):
            case "message":
                for part in tables(item.get("content")):
                    self.draft.refusal |= part.get("type") == "refusal"
                    self.draft.text.append(word(part.get("text")) or word(part.get("refusal")))
            case "function_call":
                call = self.draft.call(word(item.get("call_id")) or word(item.get("id")), word(item.get("name")))
                call.parts.append(word(item.get("arguments")))
            case "reasoning":
                said = "\n\n".join(word(part.get("text")) for part in tables(item.get("summary")))
                self.draft.reasoning.append(Reasoning(self.draft.provider, json.dumps(_sent_back(item)), said))
            case _:
                return

    def _reason(self, response: Json) -> str:
        status = word(response.get("status"))
        if status == "completed":
            return "tool_calls" if self.draft.calls else "stop"
        reason = word(table(response.get("incomplete_details")).get("reason"))
        return _INCOMPLETE.get(reason, reason) or status


def _sent_back(item: Json) -> Json:
    """A reasoning item as it may be sent again: what the server added for itself is left out."""
    return {key: value for key, value in item.items() if key != "status" and value is not None}


def _usage(usage: object) -> Usage | None:
    said = table(usage)
    if not (is_count(said.get("input_tokens")) and is_count(said.get("output_tokens"))):
        return None
    details = table(said.get("input_tokens_details"))
    cached, written = number(details.get("cached_tokens")), number(details.get("cache_write_tokens"))
    return counted(said["input_tokens"], said["output_tokens"], cached, written)
