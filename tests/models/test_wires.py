"""Streams in three protocols: the same calls however the bytes come, the same tokens however they are counted."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from servers import (
    ANTHROPIC_USAGE,
    APIS,
    CALLS,
    TEXT,
    anthropic_json,
    anthropic_sse,
    chat_json,
    chat_sse,
    responses_json,
    responses_sse,
)

from nbagent.errors import ModelError
from nbagent.messages import Message, ModelReply, ToolCall, ToolSchema, Usage
from nbagent.models.exchange import Exchange
from nbagent.models.prices import Price, priced
from nbagent.models.wires import anthropic, chat, responses
from nbagent.models.wires.draft import Draft
from nbagent.request import Messages, ModelRequest

READERS = {"chat": chat.Reader, "responses": responses.Reader, "anthropic": anthropic.Reader}
SSE = {"chat": chat_sse, "responses": responses_sse, "anthropic": anthropic_sse}
WHOLE = {"chat": chat_json, "responses": responses_json, "anthropic": anthropic_json}
ASKED = tuple(ToolCall(*call) for call in CALLS)


def read(api, chunks, kind="text/event-stream"):
    exchange = Exchange(READERS[api]("here"))
    exchange.head(kind)
    pieces = [piece for chunk in chunks for piece in exchange.feed(chunk)]
    *rest, reply = [*pieces, *exchange.end()]
    assert isinstance(reply, ModelReply)
    return reply, rest


def same_calls(reply):
    return [(call.id, call.name, json.loads(call.arguments)) for call in reply.tool_calls]


@pytest.mark.parametrize("api", APIS)
def test_streamed_and_whole_are_the_same_reply(api):
    streamed, pieces = read(api, [SSE[api](TEXT, CALLS)])
    whole, _ = read(api, [WHOLE[api](TEXT, CALLS)], "application/json")
    assert same_calls(streamed) == same_calls(whole) == [(c.id, c.name, json.loads(c.arguments)) for c in ASKED]
    assert streamed.content == whole.content == TEXT == "".join(p for p in pieces if isinstance(p, str))
    assert streamed.usage == whole.usage == Usage(20, 7, cache_read_tokens=5, cache_write_tokens=3)
    assert streamed.finish_reason == whole.finish_reason == "tool_calls"


@pytest.mark.parametrize("api", APIS)
def test_a_stream_may_be_split_at_any_byte(api):
    body = SSE[api](TEXT, CALLS, size=16)
    expected, _ = read(api, [body])
    for cut in range(len(body)):
        assert read(api, [body[:cut], body[cut:]])[0] == expected, cut
    assert read(api, [body[i : i + 1] for i in range(len(body))])[0] == expected


@pytest.mark.parametrize("crlf", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_line_ends_comments_and_a_byte_order_mark_do_not_matter(api, crlf):
    body = b"\xef\xbb\xbf: hello\n\n" + SSE[api](TEXT, CALLS).replace(b"data: ", b"data:")
    body = body.replace(b"\n", b"\r\n") if crlf else body
    expected, _ = read(api, [SSE[api](TEXT, CALLS)])
    for size in (1, 7, len(body)):
        assert read(api, [body[i : i + size] for i in range(0, len(body), size)])[0] == expected


@pytest.mark.parametrize("size", [1, 4, None])
@pytest.mark.parametrize("ids", ["first", "repeated", "missing", "null", "empty"])
@pytest.mark.parametrize("index", ["given", "missing", "null", "late", "same", "reversed"])
def test_two_calls_stay_two_calls_whatever_index_and_id_say(index, ids, size):
    body = chat_sse(None, CALLS, index=index, ids=ids, size=size)
    expected = [(name, json.loads(arguments)) for _, name, arguments in CALLS]
    for cut in range(0, len(body), 101):
        reply, _ = read("chat", [body[:cut], body[cut:]])
        assert [(c.name, json.loads(c.arguments)) for c in reply.tool_calls] == expected
        assert len({c.id for c in reply.tool_calls}) == 2
        if ids in ("first", "repeated"):
            assert [c.id for c in reply.tool_calls] == ["call_1", "call_2"]


@pytest.mark.parametrize("ids", ["first", "repeated", "missing"])
def test_calls_whose_pieces_take_turns_are_told_apart_by_their_index(ids):
    reply, _ = read("chat", [chat_sse(None, CALLS, ids=ids, interleaved=True)])
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [call[1:] for call in CALLS]


def test_usage_in_a_chunk_without_choices_or_with_the_finish_reason_is_the_same():
    expected, _ = read("chat", [chat_sse()])
    assert read("chat", [chat_sse(usage_at="finish")])[0] == expected
    assert expected.usage is not None
    assert read("chat", [chat_sse(usage=None)])[0].usage is None  # not reported is not zero


@pytest.mark.parametrize(
    ("api", "options"),
    [
        ("chat", {"finish": None}),
        ("chat", {"done": False}),
        ("anthropic", {"finish": None}),
        ("anthropic", {"done": False}),
        ("responses", {"finish": None}),
    ],
)
def test_a_stream_without_finish_reason_or_end_is_incomplete(api, options):
    with pytest.raises(ModelError) as caught:
        read(api, [SSE[api](TEXT, CALLS, **options)])
    assert caught.value.kind == "incomplete"


def test_reasoning_is_kept_for_its_provider_and_shown():
    reply, _ = read("anthropic", [anthropic_sse(thinking="Let me see.", signature="sig+/=", redacted="xyz")])
    thinking, redacted = reply.reasoning
    assert (thinking.provider, thinking.text) == ("here", "Let me see.")
    assert json.loads(thinking.data) == {"type": "thinking", "thinking": "Let me see.", "signature": "sig+/="}
    assert json.loads(redacted.data)["data"] == "xyz"
    reply, _ = read("responses", [responses_sse(reasoning="Let me see.", encrypted="enc==")])
    [one] = reply.reasoning
    assert one.text == "Let me see."
    assert json.loads(one.data)["encrypted_content"] == "enc=="
    reply, pieces = read("chat", [chat_sse(reasoning="Let me see.")])
    assert [one.data for one in reply.reasoning] == ['{"reasoning_content": "Let me see."}']
    assert "".join(piece.text for piece in pieces if not isinstance(piece, str)) == "Let me see."


def test_cached_tokens_cost_what_they_cost():
    usage = {
        "prompt_tokens": 2006,
        "completion_tokens": 300,
        "total_tokens": 2306,
        "prompt_tokens_details": {"cached_tokens": 1920},
    }
    price = Price(Decimal("3.00"), Decimal("15.00"), Decimal("0.30"))
    for body, kind in ((chat_sse(usage=usage), "text/event-stream"), (chat_json(usage=usage), "application/json")):
        reply, _ = read("chat", [body], kind)
        assert reply.usage is not None
        assert reply.usage.fresh_tokens == 86
        assert priced(reply.usage, "openai", "any", price).cost == Decimal("0.005334")


def test_anthropic_counts_cached_tokens_apart_and_we_count_them_in():
    reply, _ = read("anthropic", [anthropic_sse()])
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.fresh_tokens) == (20, ANTHROPIC_USAGE["input_tokens"])


def test_prices_come_from_a_list_that_is_not_fetched_and_are_unknown_for_unknown_models(monkeypatch):
    import socket

    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("no network"))
    known = priced(Usage(1000, 1000), "openai", "gpt-4o", None)
    assert known.cost is not None
    assert known.cost > 0
    assert priced(Usage(1000, 1000), "openai", "no-such-model", None).cost is None
    assert priced(Usage(1000, 1000), "127.0.0.1", "gpt-4o", None).cost is None


SAME_ID = [("c1", "wipe", "{}"), ("c1", "read", '{"path": "/home"}')]
SAME_ALL = [("0", "read", '{"path": "a"}'), ("0", "read", '{"path": "b"}')]
NO_IDS = [("", "wipe", ""), ("", "wipe", "")]


@pytest.mark.parametrize("calls", [SAME_ID, SAME_ALL, [("c1", "wipe", ""), ("c1", "read", '{"path": "/home"}')]])
def test_calls_that_share_an_id_stay_apart_so_that_the_loop_can_refuse_them(calls):
    expected = [(name, arguments) for _, name, arguments in calls]
    bodies = [(chat_json(None, calls), "application/json")]
    bodies += [(chat_sse(None, calls, size=size), "text/event-stream") for size in (1, None)]
    for body, kind in bodies:
        reply, _ = read("chat", [body], kind)
        assert [(call.name, call.arguments) for call in reply.tool_calls] == expected


def test_whole_calls_without_ids_stay_two():
    reply, _ = read("chat", [chat_json(None, NO_IDS)], "application/json")
    assert [call.id for call in reply.tool_calls] == ["call_1", "call_2"]


def test_mixed_turns_go_back_as_they_came_with_the_ids_of_the_conversation():
    blocks = [
        {"type": "thinking", "thinking": "T1", "signature": "s1"},
        {"type": "text", "text": "One."},
        {"type": "thinking", "thinking": "T2", "signature": "s2"},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}},
    ]
    body = {"type": "message", "role": "assistant", "content": blocks, "stop_reason": "tool_use", "usage": {}}
    reply, _ = read("anthropic", [json.dumps(body).encode()], "application/json")
    assert [one.text for one in reply.reasoning] == ["T1\n\nT2"]
    [call] = reply.tool_calls
    renamed = Message(
        "assistant", reply.content, (ToolCall("c1-2", call.name, call.arguments),), reasoning=reply.reasoning
    )
    sent = anthropic.payload(ModelRequest(Messages([Message("user", "a"), renamed, Message("user", "b")])), "here")
    assert sent["messages"][1]["content"] == [*blocks[:3], {**blocks[3], "id": "c1-2"}]

    items = [
        {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "e1"},
        {"type": "function_call", "id": "f1", "call_id": "c1", "name": "look", "arguments": "{}"},
        {
            "type": "reasoning",
            "id": "r2",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "e2",
        },
        {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "One."}]},
    ]
    body = {"object": "response", "status": "completed", "output": items}
    reply, _ = read("responses", [json.dumps(body).encode()], "application/json")
    sent = responses.payload(
        ModelRequest(Messages([Message("user", "a"), reply.message, Message("user", "b")])), "here"
    )
    assert sent["input"][1:5] == items


def test_what_a_provider_wants_back_with_a_call_goes_back_with_it():
    extra = {"google": {"thought_signature": "SIG"}}
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    details = [{"type": "reasoning.encrypted", "data": "x=="}]
    choice = {"index": 0, "delta": {"tool_calls": [{**call, "extra_content": extra}], "reasoning_details": details}}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    body = "".join(f"data: {json.dumps(data)}\n\n" for data in ({"choices": [choice]}, end)) + "data: [DONE] \n\n"
    reply, _ = read("chat", [body.encode()])
    sent = chat.payload(ModelRequest(Messages([Message("user", "a"), reply.message])), "here")
    assert sent["messages"][1]["tool_calls"][0]["extra_content"] == extra
    assert sent["messages"][1]["reasoning_details"] == details
    other = chat.payload(ModelRequest(Messages([Message("user", "a"), reply.message])), "other")
    assert "SIG" not in json.dumps(other)


def test_reasoning_that_is_said_twice_is_shown_once():
    chunk = {
        "choices": [{"index": 0, "delta": {"reasoning": "Hm.", "reasoning_content": "Hm."}, "finish_reason": "stop"}]
    }
    reply, pieces = read("chat", [f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()])
    assert "".join(piece.text for piece in pieces) == "Hm."
    assert len(reply.reasoning) == 1


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'data: {"error": "model crashed: out of memory"}\n\n', "server"),
        (b'data: {"object": "error", "message": "too long", "code": 400, "type": "BadRequestError"}\n\n', "server"),
        (b'{"error": {"message": "no such model", "code": "model_not_found"}}', "not_found"),
    ],
)
def test_errors_in_the_place_of_a_stream_are_errors_whatever_their_form(body, kind):
    for content_type in ("text/event-stream", "application/json", ""):
        with pytest.raises(ModelError) as caught:
            read("chat", [body], content_type)
        assert caught.value.kind == kind


def test_signs_of_life_and_odd_beginnings_are_no_errors():
    expected, _ = read("chat", [chat_sse()])
    for before in (b"data:\n\n", b"event: keepalive\ndata: \n\n", b"id: 1\n", b"retry: 100\n\n", b"\xef\xbb\xbf"):
        for content_type in ("text/event-stream", "application/json", "text/plain"):
            assert read("chat", [before + chat_sse()], content_type)[0] == expected
    assert read("chat", [chat_json()], "text/event-stream")[0].content == expected.content


def test_usage_that_cannot_be_is_not_believed():
    odd = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 100}}
    reply, _ = read("chat", [chat_sse(usage=odd)])
    assert reply.usage is not None
    assert reply.usage.fresh_tokens == 0
    assert read("chat", [chat_sse(usage={"prompt_tokens": 10})])[0].usage is None
    moonshot = {"prompt_tokens": 10, "completion_tokens": 1, "cached_tokens": 4}
    assert read("chat", [chat_sse(usage=moonshot)])[0].usage.cache_read_tokens == 4


def test_items_without_an_index_stay_apart():
    calls = [{"type": "function_call", "call_id": f"c{i}", "name": "read", "arguments": "{}"} for i in range(2)]
    events = [{"type": "response.output_item.done", "item": item} for item in calls]
    events.append({"type": "response.completed", "response": {"status": "completed", "output": []}})
    reply, _ = read("responses", ["".join(f"data: {json.dumps(one)}\n\n" for one in events).encode()])
    assert [call.id for call in reply.tool_calls] == ["c0", "c1"]


def test_a_call_without_an_id_never_gets_that_of_another():
    draft = Draft("p")
    for id in ("", "call_1", "call_1_"):
        draft.call(id, "f")
    draft.finish, draft.ended = "tool_calls", True
    assert [call.id for call in draft.reply().tool_calls] == ["call_1__", "call_1", "call_1_"]


LOOK = ToolSchema("look", "Look.", {"type": "object", "properties": {}})
GIVEN = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}, "t": {"type": "string"}},
    "required": ["n"],
}
OF_OPENAI = {**GIVEN, "additionalProperties": False, "required": ["n", "t"]}
OF_ANTHROPIC = {
    "type": "object",
    "properties": {"n": {"type": "integer", "description": "{minimum: 1}"}, "t": {"type": "string"}},
    "additionalProperties": False,
    "required": ["n"],
}
PAYLOADS = {"chat": chat.payload, "responses": responses.payload, "anthropic": anthropic.payload}
FORMAT = {
    "chat": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": OF_OPENAI, "strict": True},
        }
    },
    "responses": {"text": {"format": {"type": "json_schema", "name": "answer", "schema": OF_OPENAI, "strict": True}}},
    "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": OF_ANTHROPIC}}},
}
"""What a body has more for a schema, made strict by the SDK."""


@pytest.mark.parametrize("tools", [(), (LOOK,)])
@pytest.mark.parametrize("api", APIS)
def test_the_schema_of_an_answer_goes_to_a_server_that_takes_one(api, tools):
    messages, before = Messages([Message("user", "a")]), json.dumps(GIVEN)
    free, asked = ModelRequest(messages, tools), ModelRequest(messages, tools, output_schema=GIVEN)
    payload = PAYLOADS[api]
    without = payload(free, "here")
    assert payload(asked, "here", structured=True) == without | FORMAT[api]
    assert payload(asked, "here") == payload(free, "here", structured=True) == without
    assert ("tools" in without) == bool(tools)
    assert json.dumps(GIVEN) == before
