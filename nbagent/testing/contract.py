"""Contract: what every model has to do, checked by one function that any implementation can be given to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nbagent.errors import ModelError, NBAgentError
from nbagent.messages import Message, ModelReply, ToolSchema
from nbagent.models.model import ArgumentsPiece, Model, Piece, ReasoningPiece
from nbagent.request import Messages, ModelRequest

if TYPE_CHECKING:
    from collections.abc import Callable

_TOOL = ToolSchema(
    "get_weather",
    "Get the weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def assert_model_contract(
    answering: Callable[[], Model], calling: Callable[[], Model], failing: Callable[[], Model]
) -> None:
    """Checks a model, by both of its faces. Raises AssertionError naming what does not hold.

    answering: makes one whose next reply is text. calling: one whose next reply calls `get_weather` with a city.
    failing: one whose next call fails.
    """
    _check_shape(answering())
    for asynchronous in (False, True):
        _check_text(answering(), asynchronous)
        _check_call(calling(), asynchronous)
        _check_failure(failing(), asynchronous)


def pieces_of(model: Model, request: ModelRequest, *, asynchronous: bool) -> list[Piece]:
    """Everything that the model streams in answer to a request."""
    if not asynchronous:
        return list(model.stream(request))

    async def collect() -> list[Piece]:
        return [piece async for piece in model.astream(request)]

    return asyncio.run(collect())


def _request() -> ModelRequest:
    return ModelRequest(Messages([Message("system", "Be brief."), Message("user", "How is it in Paris?")]), (_TOOL,))


def _check_shape(model: Model) -> None:
    assert isinstance(model, Model), "it has name, mode, stream and astream"
    assert model.name, "its name is not empty"
    assert model.mode, "its mode is not empty"
    assert " at 0x" not in repr(model), "its repr holds no address"


def _check_stream(pieces: list[Piece]) -> ModelReply:
    reply = pieces[-1]
    assert isinstance(reply, ModelReply), "the whole reply comes last"
    assert not any(isinstance(piece, ModelReply) for piece in pieces[:-1]), "there is one reply"
    assert all(isinstance(piece, str | ReasoningPiece | ArgumentsPiece) for piece in pieces[:-1]), "pieces come before"
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    assert text == reply.content, "the pieces of text are the reply's text"
    assert reply.complete, "it says why it ended"
    assert reply.usage is None or reply.usage.input_tokens > 0, "tokens are counted, or not reported"
    return reply


def _check_text(model: Model, asynchronous: bool) -> None:
    reply = _check_stream(pieces_of(model, _request(), asynchronous=asynchronous))
    assert reply.content.strip(), "there is a text"
    assert not reply.tool_calls, "there is no call"
    assert reply.finish_reason == "stop"


def _check_call(model: Model, asynchronous: bool) -> None:
    request = _request()
    reply = _check_stream(pieces_of(model, request, asynchronous=asynchronous))
    [call] = reply.tool_calls
    assert call.id, "the call has an id"
    assert call.name == "get_weather"
    assert "city" in call.arguments, "its arguments are JSON text"
    fingerprint = request.fingerprint()
    assert fingerprint == _request().fingerprint(), "the request was not changed"


def _check_failure(model: Model, asynchronous: bool) -> None:
    try:
        pieces_of(model, _request(), asynchronous=asynchronous)
    except NBAgentError as error:
        assert isinstance(error, ModelError), f"a failed call is a ModelError, not {type(error).__name__}"
        assert error.kind, "it has a kind"
        assert "\n" not in str(error), "it is one line"
    else:
        raise AssertionError("a failed call raises")
