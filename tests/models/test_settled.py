"""Whatever a conversation went through, what is sent is what both providers' rules allow."""

from __future__ import annotations

import json
import os
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from nbagent.messages import Image, Message, Reasoning, ToolCall, ToolSchema
from nbagent.models.wires import anthropic, chat, responses
from nbagent.request import Messages, ModelRequest

HISTORIES = int(os.environ.get("NBAGENT_HISTORIES", "2000"))
PNG = b"\x89PNG\r\n\x1a\n"

texts = st.one_of(
    st.sampled_from(["", " ", "\n", "Hello.", "I cannot help with that.", "\ud800", "not run: denied", "{}", "x" * 99]),
    st.text(max_size=20),
)
ids = st.sampled_from(["call_1", "call_1", "call_2", "", "a b", "ü", "call:1", "x" * 100])
calls = st.builds(
    ToolCall,
    ids,
    st.sampled_from(["add", "pay", "functions.pay", "pay ", "", "ü", "x" * 100]),
    st.sampled_from(
        ["{}", "", '{"a": 1}', '{"a":', "[1]", "null", "NaN", '{"a": 1, "a": 2}', '{"a": "\ud800"}', "[" * 500]
    ),
)
images = st.lists(st.just(Image(PNG)), max_size=1).map(tuple)
reasoning = st.lists(
    st.sampled_from(
        [
            Reasoning("anthropic", '{"type": "thinking", "thinking": "hm", "signature": "s"}'),
            Reasoning("openai", '{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}'),
            Reasoning("deepseek", '{"reasoning_content": "hm"}'),
        ]
    ),
    max_size=2,
).map(tuple)
users = st.builds(Message, st.just("user"), texts, images=images)
assistants = st.builds(
    Message, st.just("assistant"), texts, st.lists(calls, max_size=3).map(tuple), reasoning=reasoning
)
results = st.builds(Message, st.just("tool"), texts, tool_call_id=ids)
systems = st.builds(Message, st.just("system"), texts)


@st.composite
def histories(draw) -> list[Message]:
    """Interrupts leave calls without results, denials and unknown tools have odd ones, refusals are text or nothing."""
    messages = draw(st.lists(systems, max_size=1))
    for _ in range(draw(st.integers(0, 5))):
        messages.append(draw(st.one_of(users, assistants, results)))
        last = messages[-1]
        if last.role == "assistant" and draw(st.booleans()):
            answered = [c for c in last.tool_calls if draw(st.booleans())]
            messages += [Message("tool", draw(texts), tool_call_id=c.id) for c in draw(st.permutations(answered))]
    return [*messages, draw(users.filter(lambda m: m.content.strip() and m.content.isascii()))]


def request(messages) -> ModelRequest:
    return ModelRequest(Messages(messages), (ToolSchema("add", "Add.", {"type": "object", "properties": {}}),))


ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def is_object(text: str) -> bool:
    return isinstance(json.loads(text), dict)


def check_chat(body) -> None:
    """OpenAI's rules for Chat Completions."""
    messages, seen = body["messages"], set()
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert waiting, "a result without a call"
            assert message["tool_call_id"] == waiting.pop(0)
            assert message["content"].strip()
            continue
        assert not waiting, "a call without a result"
        if message["role"] == "assistant":
            made = message.get("tool_calls", [])
            assert made or (message["content"] or "").strip()
            for call in made:
                assert ID.fullmatch(call["id"])
                assert call["id"] not in seen
                seen.add(call["id"])
                assert ID.fullmatch(call["function"]["name"])
                assert is_object(call["function"]["arguments"])
                waiting.append(call["id"])
        elif isinstance(message["content"], list):
            assert message["content"]
            assert all(part.get("text", "x").strip() for part in message["content"])
        else:
            assert message["content"].strip()
    assert not waiting
    assert messages[-1]["role"] == "user"


def check_anthropic(body) -> None:
    """Anthropic's rules for Messages."""
    seen: set[str] = set()
    waiting: list[str] = []
    assert body["messages"][0]["role"] == "user"
    for before, message in zip([None, *body["messages"]], body["messages"], strict=False):
        assert before is None or before["role"] != message["role"]
        blocks = message["content"]
        assert blocks
        kinds = [block["type"] for block in blocks]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if message["role"] == "user":
            assert answered == waiting, "all results in the one next message, in order"
            assert kinds[: len(answered)] == ["tool_result"] * len(answered), "before any text"
            waiting = []
        for block in blocks:
            if block["type"] == "text":
                assert block["text"].strip()
            if block["type"] == "tool_result":
                assert block["content"].strip()
            if block["type"] == "tool_use":
                assert isinstance(block["input"], dict)
                assert ID.fullmatch(block["id"])
                assert block["id"] not in seen
                assert ID.fullmatch(block["name"])
                seen.add(block["id"])
                waiting.append(block["id"])
            if block["type"] in ("thinking", "redacted_thinking"):
                assert message["role"] == "assistant"
    assert not waiting


def check_responses(body) -> None:
    """OpenAI's rules for Responses."""
    made: list[str] = []
    answered: list[str] = []
    for item in body["input"]:
        match item["type"]:
            case "function_call":
                assert is_object(item["arguments"])
                made.append(item["call_id"])
            case "function_call_output":
                assert item["call_id"] in made
                assert item["output"].strip()
                answered.append(item["call_id"])
            case "message":
                assert item["content"]
                assert all(part.get("text", "x").strip() for part in item["content"])
            case kind:
                assert kind == "reasoning"
    assert made == answered
    assert len(set(made)) == len(made)


@settings(max_examples=HISTORIES, deadline=None)
@given(histories())
def test_any_history_gives_payloads_that_both_providers_accept(messages):
    asked = request(messages)
    for check, body in (
        (check_chat, chat.payload(asked, "deepseek")),
        (check_responses, responses.payload(asked, "openai")),
        (check_anthropic, anthropic.payload(asked, "anthropic")),
    ):
        json.dumps(body, ensure_ascii=False).encode()  # no lone surrogates
        check(body)


def test_reasoning_goes_back_to_its_provider_unchanged_and_to_no_other():
    block = '{"type": "thinking", "thinking": "h\\u00fcm", "signature": "a+b/c=="}'
    said = Message("assistant", "Hi.", reasoning=(Reasoning("anthropic", block, "hüm"),))
    messages = [Message("user", "a"), said, Message("user", "b")]
    [_, answer, _] = anthropic.payload(request(messages), "anthropic")["messages"]
    assert answer["content"] == [json.loads(block), {"type": "text", "text": "Hi."}]
    for body in (
        anthropic.payload(request(messages), "other"),
        chat.payload(request(messages), "openai"),
        responses.payload(request(messages), "openai"),
    ):
        assert "hüm" not in json.dumps(body, ensure_ascii=False)
        assert "thinking" not in json.dumps(body)


def test_an_open_call_is_answered_before_anything_else_is_said():
    messages = [
        Message("user", "a"),
        Message("assistant", "", (ToolCall("1", "add", "{}"), ToolCall("2", "add", "{}"))),
        Message("tool", "three", tool_call_id="2"),
        Message("user", "b"),
    ]
    body = anthropic.payload(request(messages), "anthropic")
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "1", "content": "not run: the run was stopped before"},
        {"type": "tool_result", "tool_use_id": "2", "content": "three"},
        {"type": "text", "text": "b"},
    ]
