"""ScriptedLLM: the double that stands for a model."""

from __future__ import annotations

import asyncio

import pytest

from nbagent import Agent
from nbagent.errors import ConfigError, ScriptExhausted, ScriptLeftOver
from nbagent.messages import Message, Messages, ModelReply, ModelRequest, ToolCall, ToolSchema, Usage
from nbagent.testing import ScriptedLLM


def ask(llm, text="hello", tools=()):
    *pieces, reply = llm.stream(ModelRequest(Messages([Message("user", text)]), tools))
    assert isinstance(reply, ModelReply)
    assert "".join(pieces) == reply.content
    return reply


def test_replies_in_order_then_says_which_call_was_too_many():
    llm = ScriptedLLM(["one", "two"])
    assert [ask(llm).content, ask(llm).content] == ["one", "two"]
    with pytest.raises(ScriptExhausted, match=r"2 replies.*call 3, after: user message 'hello'"):
        ask(llm)
    assert llm.position == 2


def test_call_ids_count_over_the_script_and_keep_those_that_are_given():
    call = ScriptedLLM.tool_call
    llm = ScriptedLLM([call("a"), [call("b"), call("c", call_id="mine")], call("d")])
    assert [[c.id for c in ask(llm).tool_calls] for _ in range(3)] == [["call_1"], ["call_2", "mine"], ["call_4"]]


def test_going_back_gives_the_same_ids_again():
    llm = ScriptedLLM([ScriptedLLM.tool_call("a"), ScriptedLLM.tool_call("b")])
    first = [ask(llm), ask(llm)]
    llm.position = 1
    assert ask(llm) == first[1]
    llm.reset()
    assert [ask(llm), ask(llm)] == first


def test_a_reply_may_ask_for_several_tools_beside_text():
    llm = ScriptedLLM([[ScriptedLLM.tool_call("a", {"x": 1}, content="Both."), ScriptedLLM.tool_call("b")]])
    reply = ask(llm)
    assert (reply.content, reply.finish_reason) == ("Both.", "tool_calls")
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("a", '{"x": 1}'), ("b", "{}")]


def test_malformed_arguments_are_sent_as_they_are():
    assert ask(ScriptedLLM([ScriptedLLM.tool_call("a", '{"x": ')])).tool_calls[0].arguments == '{"x": '


@pytest.mark.parametrize("entry", [ValueError("boom"), TimeoutError])
def test_an_exception_is_raised_and_used_up(entry):
    llm = ScriptedLLM([entry, "after"])
    with pytest.raises(type(entry) if isinstance(entry, Exception) else entry):
        ask(llm)
    assert ask(llm).content == "after"


def test_a_function_sees_the_request_and_gives_an_entry():
    llm = ScriptedLLM(
        [lambda request: f"you said {request.messages[-1].content}", lambda _: ScriptedLLM.tool_call("t")]
    )
    assert ask(llm, "hi").content == "you said hi"
    assert ask(llm).tool_calls == (ToolCall("call_1", "t", "{}"),)


def test_usage_is_declared_or_estimated_at_four_characters():
    llm = ScriptedLLM([ModelReply("x", usage=Usage(10, 2)), "12345"])
    assert ask(llm).usage == Usage(10, 2)
    assert ask(llm, "12345678").usage == Usage(2, 2, estimated=True)


def test_tool_descriptions_count_as_input():
    tool = ToolSchema("t", "d" * 100, {})
    assert ask(ScriptedLLM(["a"]), "1234", (tool,)).usage.input_tokens == (4 + 1 + 100 + 2 + 3) // 4


def test_every_request_is_kept_until_reset():
    llm = ScriptedLLM(["a", "b"])
    ask(llm, "first")
    ask(llm, "second")
    assert [r.messages[-1].content for r in llm.requests] == ["first", "second"]
    llm.reset()
    assert llm.requests == ()


def test_left_over_replies_are_an_error_that_names_the_first():
    llm = ScriptedLLM(["a", "b", "c"])
    ask(llm)
    with pytest.raises(ScriptLeftOver, match=r"2 of the script's 3 replies.*reply 2: 'b'"):
        llm.assert_complete()
    ask(llm)
    ask(llm)
    llm.assert_complete()


def test_script_errors_are_assertion_errors_for_test_runners():
    assert issubclass(ScriptExhausted, AssertionError)
    assert issubclass(ScriptLeftOver, AssertionError)


@pytest.mark.parametrize("script", [None, 3, {"a": 1}, ScriptedLLM.tool_call("t"), [3], [["a", None]]])
def test_what_is_no_script_is_refused_before_anything_runs(script):
    with pytest.raises(ConfigError, match="script"):
        ScriptedLLM(script)


def test_a_lone_string_is_refused():
    with pytest.raises(ConfigError, match="write \\['hello'\\]"):
        ScriptedLLM("hello")


def test_an_entry_of_another_kind_is_refused_with_what_is_possible():
    with pytest.raises(ConfigError, match=r"a script entry is a text.*got int: 3"):
        ask(ScriptedLLM([lambda _: 3]))


def test_arguments_that_are_no_json_are_refused_where_they_are_written():
    with pytest.raises(ConfigError, match="arguments of 'a' are not JSON"):
        ScriptedLLM.tool_call("a", {"x": object()})


def test_async_gives_what_sync_gives():
    async def collect(llm):
        request = ModelRequest(Messages([Message("user", "hi")]))
        return [piece async for piece in llm.astream(request)]

    request = ModelRequest(Messages([Message("user", "hi")]))
    assert asyncio.run(collect(ScriptedLLM(["yes"]))) == list(ScriptedLLM(["yes"]).stream(request))


def test_repr_has_no_address():
    assert repr(ScriptedLLM(["a"])) == "ScriptedLLM(1 reply, 0 used)"


def test_a_reply_without_a_text_is_refused_before_anything_runs():
    with pytest.raises(ConfigError, match="content of a ModelReply is a text"):
        ScriptedLLM([ModelReply(None)])
    with pytest.raises(ConfigError, match="content of a ModelReply is a text"):
        Agent("a", ScriptedLLM([lambda request: ModelReply(None)])).run("go")
