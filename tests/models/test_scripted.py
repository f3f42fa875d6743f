"""ScriptedLLM: the double that stands for a model."""

from __future__ import annotations

import asyncio
import re

import pytest

from nbagent import Agent
from nbagent.errors import ConfigError, ScriptExhausted, ScriptLeftOver
from nbagent.messages import Message, ModelReply, ToolCall, ToolSchema, Usage
from nbagent.request import Messages, ModelRequest
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
    assert repr(ScriptedLLM(match={"a": "b"})) == "ScriptedLLM(0 replies, 0 used, 1 match)"
    matches = {"a": "b", re.compile("c"): "d"}
    assert repr(ScriptedLLM(match=matches, fallback="e")) == "ScriptedLLM(0 replies, 0 used, 2 matches, fallback)"


def test_a_reply_without_a_text_is_refused_before_anything_runs():
    with pytest.raises(ConfigError, match="content of a ModelReply is a text"):
        ScriptedLLM([ModelReply(None)])
    with pytest.raises(ConfigError, match="content of a ModelReply is a text"):
        Agent("a", ScriptedLLM([lambda request: ModelReply(None)])).run("go")


def streamed(llm, text="hello"):
    return list(llm.stream(ModelRequest(Messages([Message("user", text)]))))


@pytest.mark.parametrize(
    "pieces", [("Hel", "lo ", "there"), (["Hel", "lo ", "there"],), (iter(["Hel", "lo ", "there"]),)]
)
def test_a_text_is_streamed_in_the_pieces_that_were_given(pieces):
    *texts, reply = streamed(ScriptedLLM([ScriptedLLM.pieces(*pieces)]))
    assert texts == ["Hel", "lo ", "there"]
    assert reply == ModelReply("Hello there", usage=Usage(2, 3, estimated=True))


def test_other_texts_are_streamed_in_one_piece():
    assert streamed(ScriptedLLM(["Hello there"]))[:-1] == ["Hello there"]
    assert streamed(ScriptedLLM([ScriptedLLM.pieces("Hello there")]))[:-1] == ["Hello there"]


def test_a_text_in_pieces_may_come_beside_calls_and_other_texts():
    entry = ["One.", ScriptedLLM.pieces("T", "wo."), ScriptedLLM.tool_call("t", content="Three.")]
    *texts, reply = streamed(ScriptedLLM([lambda request: entry]))
    assert texts == ["One.", "\nT", "wo.", "\nThree."]
    assert reply.content == "One.\nTwo.\nThree."
    assert (reply.tool_calls, reply.finish_reason) == ((ToolCall("call_1", "t", "{}"),), "tool_calls")


@pytest.mark.parametrize("pieces", [(), ("",), ([],)])
def test_of_an_empty_text_there_are_no_pieces(pieces):
    assert streamed(ScriptedLLM([ScriptedLLM.pieces(*pieces)])) == [ModelReply(usage=Usage(2, 0, estimated=True))]


@pytest.mark.parametrize("pieces", [(3,), ("a", None), (["a", 3],)])
def test_a_piece_that_is_no_text_is_refused(pieces):
    with pytest.raises(ConfigError, match=r"a piece is a text, got (int|NoneType)"):
        ScriptedLLM.pieces(*pieces)


def test_pieces_are_shown_while_they_come_and_are_one_answer():
    agent = Agent("a", ScriptedLLM([ScriptedLLM.pieces("Hel", "lo")]))
    events = list(agent.stream("go"))
    assert "".join(event.text for event in events if type(event).__name__ == "TextDelta") == "Hello"
    assert agent.last.final_output == "Hello"
    assert agent.last.events == Agent("a", ScriptedLLM(["Hello"])).run("go").events


def test_a_match_answers_what_the_user_says_as_often_as_it_is_said():
    llm = ScriptedLLM(["first"], match={"weather": "It rains."})
    assert [ask(llm, "How is the WEATHER?").content for _ in range(2)] == ["It rains."] * 2
    assert llm.position == 0
    assert ask(llm, "hello").content == "first"
    assert llm.position == 1
    llm.assert_complete()


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (" HI\n", "whole"),
        ("hi there", "part"),
        ("12 hi", "pattern"),
        ("STRASSE", "folded"),
        ("else", "fallback"),
        ("", "fallback"),
    ],
)
def test_whole_texts_come_before_parts_and_patterns_which_come_in_their_order(said, answer):
    match = [("h", "part"), ("hi", "whole"), ("Hi", "too late"), ("Straße", "folded")]
    llm = ScriptedLLM(match=[(re.compile(r"\d"), "pattern"), *match], fallback="fallback")
    assert ask(llm, said).content == answer


def test_a_pattern_minds_capitals_unless_it_says_otherwise():
    match = {re.compile("Rain"): "capital", re.compile("rain", re.IGNORECASE): "any"}
    assert [ask(ScriptedLLM(match=match), said).content for said in ("Rain?", "rain?")] == ["capital", "any"]


def test_what_nothing_matches_goes_to_the_script_and_then_to_the_fallback_which_stays():
    llm = ScriptedLLM(["script"], match={"a": "match"}, fallback="fallback")
    assert [ask(llm, said).content for said in "xxaxx"] == ["script", "fallback", "match", "fallback", "fallback"]
    assert llm.position == 1


def test_any_entry_can_be_matched():
    llm = ScriptedLLM(match={"error": ValueError("boom"), "echo": lambda request: request.messages[-1].content})
    with pytest.raises(ValueError, match="boom"):
        ask(llm, "error")
    assert ask(llm, "echo this").content == "echo this"
    llm = ScriptedLLM(match={"both": [ScriptedLLM.pieces("a", "b"), ScriptedLLM.tool_call("t")]})
    *texts, reply = streamed(llm, "both")
    assert (texts, [call.name for call in reply.tool_calls]) == (["a", "b"], ["t"])


def test_requests_that_are_matched_are_kept_until_reset():
    llm = ScriptedLLM(["script"], match={"a": "match"})
    ask(llm, "a")
    ask(llm, "b")
    assert len(llm.requests) == 2
    llm.reset()
    assert (llm.requests, llm.position, ask(llm, "a").content) == ((), 0, "match")


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


CALL = ScriptedLLM.tool_call("add", {"a": 1, "b": 2})


def run(task="add", **script):
    return Agent("a", ScriptedLLM(**script), tools=[add], max_turns=6).run(task)


def calls(result):
    return [
        call.id for event in result.events if type(event).__name__ == "ModelReplied" for call in event.reply.tool_calls
    ]


def test_a_call_that_is_matched_is_made_once_and_the_script_goes_on():
    result = run(match={"add": CALL}, script=["It is 3."])
    assert (result.final_output, calls(result)) == ("It is 3.", ["call_1"])


def test_a_call_that_is_matched_is_made_once_and_the_next_match_goes_on():
    assert run(match=[("add", CALL), (re.compile(""), "It is 3.")]).final_output == "It is 3."


def test_turns_follow_each_other_until_the_user_speaks_again_whatever_the_agent_adds():
    llm = ScriptedLLM(match={"add": ScriptedLLM.turns(CALL, [CALL, CALL], "It is 3.")})
    agent = Agent("a", llm, tools=[add])
    results = [agent.run("add"), agent.run("add this")]
    assert [result.final_output for result in results] == ["It is 3.", "It is 3."]
    assert [calls(result) for result in results] == [["call_1", "call_2", "call_3"]] * 2
    assert any("called 3 times" in message.content for message in llm.requests[-1].messages if message.role == "user")
    after = [Message("user", "add"), *[Message("assistant", "no")] * 7]
    assert list(llm.stream(ModelRequest(Messages(after))))[-1].content == "It is 3."


def test_a_fallback_has_turns_too():
    assert run(fallback=ScriptedLLM.turns(CALL, "It is 3.")).final_output == "It is 3."


def test_ids_count_on_over_matches_and_script():
    result = run(match={"add": CALL}, script=[[CALL, ScriptedLLM.tool_call("add", call_id="mine")], CALL, "It is 3."])
    assert calls(result) == ["call_1", "call_2", "mine", "call_4"]


def test_a_function_that_is_matched_is_asked_in_each_turn():
    def answer(request):
        return CALL if request.messages[-1].role == "user" else f"It is {request.messages[-1].content}."

    assert run(match={"add": answer}).final_output == "It is 3."


def test_runs_with_matches_are_the_same_again_replayed_and_async():
    def agent():
        match = {"add": ScriptedLLM.turns(CALL, "It is 3.")}
        return Agent("a", ScriptedLLM(["one", CALL, "two"], match=match), tools=[add])

    one, other = agent(), agent()
    for task in ("x", "add", "y"):
        result = one.run(task)
        assert asyncio.run(other.arun(task)).events == result.events
        assert one.replay(result.events[:3]).events == result.events


def test_where_no_match_fits_either_the_error_says_so():
    llm = ScriptedLLM(["used"], match={"weather": "It rains."})
    ask(llm)
    with pytest.raises(
        ScriptExhausted, match=r"1 reply, 1 used.*after: user message 'hello'.*no match fits.*add a match"
    ):
        ask(llm)
    assert len(llm.requests) == 1


def test_where_a_match_has_made_its_calls_the_error_says_what_to_write():
    with pytest.raises(
        ScriptExhausted, match=r"what fits \('add', fallback\) has called its tools.*ScriptedLLM.turns\("
    ):
        run(match={"add": CALL, "sub": "no"}, fallback=CALL)


@pytest.mark.parametrize("match", ["text", 3, ["text"], [("a", "b", "c")], ["ab"], CALL])
def test_what_is_no_match_is_refused(match):
    with pytest.raises(ConfigError, match=r"match: expected a mapping, or a list of pairs.*got .*write match="):
        ScriptedLLM(match=match)


@pytest.mark.parametrize("key", [3, None, "", " \n", re.compile(b"bytes")])
def test_what_matches_nothing_is_refused(key):
    with pytest.raises(ConfigError, match=r"match: expected a text that is not empty, or a compiled pattern.*; got "):
        ScriptedLLM(match={key: "a"})


def test_an_entry_that_is_none_is_refused_wherever_it_stands():
    for script in ({"match": {"a": 3}}, {"fallback": 3}, {"match": {"a": None}}):
        with pytest.raises(ConfigError, match="a script entry is a text"):
            ScriptedLLM(**script)
    with pytest.raises(ConfigError, match="a script entry is a text"):
        ScriptedLLM.turns("a", 3)
    with pytest.raises(ConfigError, match="one entry or more"):
        ScriptedLLM.turns()
    with pytest.raises(ConfigError, match="turns are for match and fallback"):
        ScriptedLLM([ScriptedLLM.turns("a")])


def test_a_mapping_for_a_script_is_refused_with_what_to_write():
    with pytest.raises(ConfigError, match=r"write match=\{'a': 'b'\}"):
        ScriptedLLM({"a": "b"})


def test_a_request_without_a_user_matches_nothing():
    llm = ScriptedLLM(match={re.compile(""): "match"}, fallback="fallback")
    assert list(llm.stream(ModelRequest(Messages([Message("system", "s")]))))[-1].content == "fallback"
