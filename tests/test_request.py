"""Request: messages that grow, and fingerprints."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nbagent.messages import Message, ToolCall, ToolSchema
from nbagent.request import Messages, ModelRequest


def user(text):
    return Message("user", text)


def test_growing_shares_and_an_older_view_stays_as_it_was():
    first = Messages([user("a")])
    second = first + [user("b")]
    branch = first + [user("c")]
    assert [m.content for m in first] == ["a"]
    assert [m.content for m in second] == ["a", "b"]
    assert [m.content for m in branch] == ["a", "c"]
    assert second[-1] == user("b")
    assert second[:1] == (user("a"),)


def test_growing_does_not_copy():
    messages = Messages()
    for i in range(1000):
        messages = messages + [user(str(i))]
    assert len(messages) == 1000
    assert messages._log is (messages + [user("x")])._log


@given(st.lists(st.text()), st.lists(st.text()))
def test_digest_and_characters_depend_on_content_only(first, second):
    grown = Messages(user(t) for t in first) + [user(t) for t in second]
    whole = Messages(user(t) for t in first + second)
    assert grown == whole
    assert grown.digest == whole.digest
    assert grown.characters == whole.characters == sum(map(len, first + second))


def test_digest_sees_every_field():
    base = Message("assistant", "a", (ToolCall("1", "t", "{}"),), None)
    others = [
        Message("user", "a", base.tool_calls),
        Message("assistant", "b", base.tool_calls),
        Message("assistant", "a"),
        Message("assistant", "a", (ToolCall("2", "t", "{}"),)),
        Message("assistant", "a", (ToolCall("1", "u", "{}"),)),
        Message("assistant", "a", (ToolCall("1", "t", "[]"),)),
        Message("assistant", "a", base.tool_calls, "1"),
    ]
    assert len({Messages([m]).digest for m in [base, *others]}) == 8


def test_fingerprint_ignores_the_order_of_dicts_and_sees_the_order_of_tools():
    a = ToolSchema("a", "", {"type": "object", "properties": {}})
    a_again = ToolSchema("a", "", {"properties": {}, "type": "object"})
    b = ToolSchema("b", "", {})
    messages = Messages([user("\ud800")])
    fingerprint = ModelRequest(messages, (a, b)).fingerprint()
    assert fingerprint == ModelRequest(messages, (a_again, b)).fingerprint()
    assert fingerprint != ModelRequest(messages, (b, a)).fingerprint()


def test_the_schema_of_the_answer_is_in_the_fingerprint_and_not_in_the_size():
    messages, schema = Messages([user("a")]), {"type": "object", "properties": {"b": {}, "a": {}}}
    again = {"properties": {"a": {}, "b": {}}, "type": "object"}
    plain, asked = ModelRequest(messages), ModelRequest(messages, output_schema=schema)
    assert asked.fingerprint() == ModelRequest(messages, output_schema=again).fingerprint()
    assert asked.characters == plain.characters
    others = [plain, asked, ModelRequest(messages, output_schema={}), ModelRequest(messages, settings=schema)]
    assert len({request.fingerprint() for request in others}) == 4
    assert len(asked.fingerprint()) < 60


def test_recorded_fingerprints_stay_what_they_were():
    look = ToolSchema("look", "Look.", {"type": "object", "properties": {}})
    messages = Messages([Message("system", "Be brief."), user("Paris?")])
    assert ModelRequest(messages).fingerprint() == "679cb14572d9c2423175f48e-f48212d320c4"
    full = ModelRequest(messages, (look,), 100, settings={"seed": 7, "a": [1]})
    assert full.fingerprint() == '679cb14572d9c2423175f48e-189527dc6bd9100{"a": [1], "seed": 7}'
