"""Stages: one model call, or the tool calls of one reply, without the rest of a run.

Source: masfactory's `Agent.think` and `Agent.act`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from nbagent.agents.loop import incomplete
from nbagent.errors import ConfigError
from nbagent.messages import COMPLETE, Message, ModelReply, ToolCall
from nbagent.models.invoked import call_of
from nbagent.request import Messages, ModelRequest
from nbagent.runtime.effects import CallModel, CallTools, Effect, Outcome

if TYPE_CHECKING:
    from collections.abc import Generator

    from nbagent.messages import Observation
    from nbagent.models.model import Model
    from nbagent.tools.registry import ToolRegistry

_ROLES = ("system", "user", "assistant", "tool")


class Thought(dict[str, Any]):
    """What a model said, as masfactory gives it: `{"type": "content", "content": text}`, or `{"type": "tool_call",
    "content": [{"id", "name", "arguments"}, …]}`. `message` is the same as a message, for the next call."""

    def __init__(self, reply: ModelReply) -> None:
        self.message = reply.message
        calls = [{"id": c.id, "name": c.name, "arguments": _arguments(c.arguments)} for c in reply.tool_calls]
        super().__init__(
            {"type": "tool_call", "content": calls} if calls else {"type": "content", "content": reply.content}
        )


def _arguments(text: str) -> Any:
    """The arguments as a dict; where they are no JSON object, as the model wrote them."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text  # pyright: ignore[reportUnknownVariableType]


def think(model: Model, request: ModelRequest) -> Generator[Effect, Any, Outcome]:
    """One model call, as a loop. Its output is the reply."""
    reply: ModelReply = yield CallModel(model, request, 1)
    if reply.finish_reason not in COMPLETE:
        raise incomplete(reply, 1)
    return Outcome("completed", reply)


def act(tools: ToolRegistry, calls: tuple[ToolCall, ...]) -> Generator[Effect, Any, Outcome]:
    """The tool calls of one reply, as a loop. Its output is the observations."""
    observations: tuple[Observation, ...] = yield CallTools(tools, calls, 1)
    return Outcome("completed", observations)


def messages_of(given: Iterable[Any]) -> Messages:
    """Messages from messages, or from dicts in OpenAI's form. Raises ConfigError."""
    if isinstance(given, str | Mapping):
        raise ConfigError(f"messages: expected a list of messages, got {given!r}")
    return Messages([one if isinstance(one, Message) else _message(one) for one in given])


def calls_of(given: Iterable[Any]) -> tuple[ToolCall, ...]:
    """Tool calls from tool calls, or from dicts with id, name and arguments. Raises ConfigError."""
    if isinstance(given, str | Mapping):
        raise ConfigError(f"tool_calls: expected a list of calls, got {given!r}")
    return tuple([one if isinstance(one, ToolCall) else _call(one, n) for n, one in enumerate(given, 1)])


def _message(given: Any) -> Message:
    said = cast("Mapping[str, Any]", given)
    if not isinstance(given, Mapping) or said.get("role") not in _ROLES:
        raise ConfigError(
            f"messages: expected messages with role (one of {', '.join(_ROLES)}) and content; got {given!r}"
        )
    content = said.get("content") or ""
    if not isinstance(content, str):
        raise ConfigError(f"messages: the content of a message is text; got {content!r}")
    return Message(said["role"], content, calls_of(said.get("tool_calls") or ()), said.get("tool_call_id"))


def _call(given: Any, number: int) -> ToolCall:
    said = cast("Mapping[str, Any]", given)
    inner: Any = said.get("function", said) if isinstance(given, Mapping) else {}
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):  # pyright: ignore[reportUnknownMemberType]
        raise ConfigError(f"tool_calls: expected dicts with id, name and arguments; got {given!r}")
    call = cast("Mapping[str, Any]", inner)
    try:
        return call_of({"id": said.get("id"), **call}, number)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"tool_calls: the arguments of {call['name']!r} are not JSON: {error}") from None


def settings_of(settings: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Parameters of a request. Raises ConfigError for what is no JSON."""
    if not settings:
        return None
    try:
        return json.loads(json.dumps(dict(settings)))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"settings: expected parameters of the request, as in JSON: {error}") from None
