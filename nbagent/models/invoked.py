"""Invoked: a plain object with `invoke(messages=, tools=, settings=)` as a model.

Source: the shape of call and result is masfactory's; `type` may be a text or an enum's member.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from msgspec.structs import replace

from nbagent.errors import ModelError
from nbagent.messages import ModelReply, ToolCall
from nbagent.models.estimate import estimate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from nbagent.messages import Image, Message, ToolSchema
    from nbagent.models.model import Piece
    from nbagent.request import ModelRequest


@runtime_checkable
class Invokable(Protocol):
    """What masfactory calls a model."""

    def invoke(self, messages: Any, tools: Any, settings: Any) -> Any:
        """Gives `{"type": "content", "content": text}` or `{"type": "tool_call", "content": [calls]}`."""
        ...


class InvokedModel:
    """A model that calls `invoke` of an object.

    It is given the messages as dicts in OpenAI's form, the tools as dicts with name, description and parameters (None
    where there are none), and the settings of the request. Ids of calls that have none are counted over the request.
    """

    mode = "live"

    def __init__(self, inner: Invokable) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        """The object's own `name` or `model_name`, else its class."""
        for attribute in ("name", "model_name"):
            named = getattr(self.inner, attribute, None)
            if isinstance(named, str) and named.strip():
                return named
        return type(self.inner).__name__

    def stream(self, request: ModelRequest) -> Iterator[Piece]:
        """Yields the reply's text, then the reply. Raises ModelError for what is no reply."""
        given = self.inner.invoke(
            messages=[as_dict(message) for message in request.messages],
            tools=[tool_as_dict(tool) for tool in request.tools] or None,
            settings=dict(request.settings or {}) | ({"max_tokens": request.max_tokens} if request.max_tokens else {}),
        )
        if isinstance(given, Coroutine):
            given.close()
            raise ModelError(f"model {self.name!r}: invoke() is async; write it as a plain function")
        reply = _reply(given, request, self.name)
        if reply.content:
            yield reply.content
        yield reply

    async def astream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """The same for `async for`."""
        for piece in self.stream(request):
            yield piece

    def __repr__(self) -> str:
        return f"InvokedModel({self.name})"


class NoModel:
    """Stands where an agent is only looked at, as with `model=object()`: it replies nothing."""

    name = "no model"
    mode = "none"

    def stream(self, request: ModelRequest) -> Iterator[Piece]:  # noqa: ARG002
        """Raises ModelError."""
        raise ModelError("this agent has no model, so it can only be observed: give it one, such as ScriptedLLM([…])")
        yield

    async def astream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """The same for `async for`."""
        for piece in self.stream(request):
            yield piece


def as_dict(message: Message) -> dict[str, Any]:
    """A message in OpenAI's form, arguments as JSON text."""
    said: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.images:
        pictures = [{"type": "image_url", "image_url": {"url": _address(image)}} for image in message.images]
        said["content"] = [{"type": "text", "text": message.content}, *pictures]
    if message.tool_calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        said["tool_call_id"] = message.tool_call_id
    return said


def _address(image: Image) -> str:
    return f"data:{image.media_type};base64,{b64encode(image.data).decode()}"


def tool_as_dict(tool: ToolSchema) -> dict[str, Any]:
    """A tool's description."""
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _reply(given: Any, request: ModelRequest, name: str) -> ModelReply:
    said = cast("Mapping[str, Any]", given if isinstance(given, Mapping) else {})
    kind, content = said.get("type"), said.get("content")
    kind = str(getattr(kind, "value", kind)).lower()
    if kind == "content" and isinstance(content, str):
        reply = ModelReply(content)
    elif kind == "tool_call" and isinstance(content, Sequence) and content and not isinstance(content, str):
        before = sum(len(message.tool_calls) for message in request.messages)
        calls = [_call(call, number, name) for number, call in enumerate(cast("Sequence[Any]", content), before + 1)]
        reply = ModelReply("", tuple(calls), finish_reason="tool_calls")
    else:
        raise _unusable(name, cast("object", given))
    return replace(reply, usage=estimate(request, reply))


def _call(given: Any, number: int, name: str) -> ToolCall:
    call = cast("Mapping[str, Any]", given if isinstance(given, Mapping) else {})
    if not isinstance(call.get("name"), str):
        raise _unusable(name, cast("object", given))
    try:
        return call_of(call, number)
    except (TypeError, ValueError):
        raise _unusable(name, cast("object", given)) from None


def call_of(call: Mapping[str, Any], number: int) -> ToolCall:
    """A tool call from its id (or else its number), name and arguments. Raises TypeError for what is no JSON."""
    arguments = call.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return ToolCall(str(call.get("id") or f"call_{number}"), call["name"], text)


def _unusable(name: str, given: object) -> ModelError:
    shown = repr(given)
    return ModelError(
        f"model {name!r}: invoke() gives {{'type': 'content', 'content': text}} or {{'type': 'tool_call', 'content': "
        f"[{{'id', 'name', 'arguments'}}]}}; got {shown[:200]}",
        kind="bad_response",
    )
