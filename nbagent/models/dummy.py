"""TestModel: a model that calls every tool once and says so, to see whether a cell runs at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nbagent.messages import ModelReply, ToolCall
from nbagent.models.estimate import estimate
from nbagent.models.samples import smallest_arguments

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from nbagent.models.model import Piece
    from nbagent.request import ModelRequest


class TestModel:
    """A model with no key and no network; `model: test` in a cell.

    Its first reply calls every tool of the request once, in their order, with the smallest arguments that fit the
    tool's schema (`smallest_arguments`); the next says what was called: `test reply: called add, search`. Usage is
    estimated at four characters a token.

    It knows nothing but the request, so several agents may share one.
    """

    __test__ = False  # its name is no reason for pytest to collect it
    name = "test"
    mode = "test"

    def stream(self, request: ModelRequest) -> Iterator[Piece]:
        """Yields the reply's text, then the reply."""
        reply = _reply(request)
        if reply.content:
            yield reply.content
        yield reply

    async def astream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """The same for `async for`."""
        for piece in self.stream(request):
            yield piece

    def __repr__(self) -> str:
        return "TestModel()"


def _reply(request: ModelRequest) -> ModelReply:
    called = _called(request)
    if called is None and request.tools:
        content, calls = "", _calls(request)
    else:
        content, calls = f"test reply: called {', '.join(called)}" if called else "test reply", ()
    reply = ModelReply(content, calls, finish_reason="tool_calls" if calls else "stop")
    return replace(reply, usage=estimate(request, reply))


def _called(request: ModelRequest) -> list[str] | None:
    """Which tools were called since the user spoke; None where no tool has answered yet."""
    called: list[str] = []
    answered = False
    for message in reversed(request.messages):
        if message.role == "user":
            break
        answered = answered or message.role == "tool"
        called[:0] = [call.name for call in message.tool_calls]
    return called if answered else None


def _calls(request: ModelRequest) -> tuple[ToolCall, ...]:
    # Counted on from the calls that the conversation holds, so that no id comes twice.
    first = 1 + sum(len(message.tool_calls) for message in request.messages)
    return tuple(
        ToolCall(f"call_{n}", tool.name, json.dumps(smallest_arguments(tool.parameters), ensure_ascii=False))
        for n, tool in enumerate(request.tools, first)
    )
