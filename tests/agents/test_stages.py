"""The stages: observe, think, act and step, each on its own; and any object that can invoke as a model."""

from __future__ import annotations

from enum import Enum

import pytest

from nbagent import Agent, Limits, ScriptedLLM, tool
from nbagent.errors import ConfigError, ModelError


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_a_learner_can_take_each_step_alone():
    agent = Agent("a", ScriptedLLM([ScriptedLLM.tool_call("add", {"a": 1, "b": 2}), "It is 3."]), "Add.", tools=[add])
    _, _, messages = agent.observe("1 + 2?")
    thought = agent.think(messages)
    assert thought == {"type": "tool_call", "content": [{"id": "call_1", "name": "add", "arguments": {"a": 1, "b": 2}}]}
    done = agent.act(thought["content"])
    assert [(m["role"], m["content"], m["tool_call_id"]) for m in done] == [("tool", "3", "call_1")]
    thought = agent.think([*messages, thought.message, *done])
    assert thought == {"type": "content", "content": "It is 3."}
    assert [m.role for m in agent.model.requests[-1].messages] == ["system", "user", "assistant", "tool"]
    assert agent.history == ()
    assert agent.last is None


def test_step_is_all_of_it():
    agent = Agent("a", ScriptedLLM(['{"sum": 3}']), prompt_template="{task}", output={"sum": int})
    assert agent.step("1 + 2?")["sum"] == 3
    with pytest.raises(KeyError, match="no fields"):
        Agent("a", ScriptedLLM(["3"])).step("1 + 2?")["sum"]


def test_messages_may_be_dicts_and_wrong_ones_say_so():
    agent = Agent("a", ScriptedLLM(["ok"]), tools=[add])
    said = [
        {"role": "user", "content": "1 + 2?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "x", "function": {"name": "add", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "3", "tool_call_id": "x"},
    ]
    assert agent.think(said)["content"] == "ok"
    assert agent.model.requests[-1].messages[1].tool_calls[0].name == "add"
    for wrong in ("hi", {"role": "user"}, [{"role": "me", "content": ""}], [{"role": "user", "content": [1]}], [3]):
        with pytest.raises(ConfigError, match="messages: "):
            agent.think(wrong)
    for wrong in ("hi", [3], [{"id": "x"}]):
        with pytest.raises(ConfigError, match="tool_calls: "):
            agent.act(wrong)


def test_errors_of_tools_are_observations_and_each_tool_runs_once():
    ran = []

    @tool
    def fail(x: int) -> int:
        """Fail."""
        ran.append(x)
        raise ValueError("no")

    agent = Agent("a", ScriptedLLM([]), tools=[fail])
    calls = [
        {"id": "1", "name": "fail", "arguments": {"x": 1}},
        {"id": "2", "name": "unknown", "arguments": {}},
        {"id": "3", "name": "fail", "arguments": {"x": "many"}},
    ]
    texts = [message.content for message in agent.act(calls)]
    assert ran == [1]
    assert "ValueError: no" in texts[0]
    assert "there is no tool" in texts[1]
    assert "x" in texts[2]


def test_a_failed_or_incomplete_reply_is_an_error():
    agent = Agent("a", ScriptedLLM([ModelError("broken")]))
    with pytest.raises(ModelError, match="broken"):
        agent.think([{"role": "user", "content": "hi"}])
    with pytest.raises(ModelError, match="no model, so it can only be observed"):
        Agent("a", object()).think([{"role": "user", "content": "hi"}])


class Kind(Enum):
    CONTENT = "content"
    TOOL_CALL = "tool_call"


class Invoked:
    def __init__(self, *results):
        self.results, self.seen = list(results), []

    def invoke(self, messages, tools, settings):
        self.seen.append((messages, tools, settings))
        return self.results.pop(0)


@pytest.mark.parametrize("kind", [str, Kind])
def test_a_plain_object_with_invoke_is_a_model(kind):
    model = Invoked(
        {"type": kind("tool_call"), "content": [{"id": "c1", "name": "add", "arguments": {"a": 1, "b": 2}}]},
        {"type": kind("content"), "content": "3"},
    )
    agent = Agent("a", model, tools=[add])
    assert agent.run("1 + 2?").final_output == "3"
    (_, tools, settings), (messages, _, _) = model.seen
    assert [(t["name"], sorted(t)) for t in tools] == [("add", ["description", "name", "parameters"])]
    assert settings == {}
    assert messages[1]["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 1, "b": 2}'}
    assert messages[2] == {"role": "tool", "content": "3", "tool_call_id": "c1"}
    assert agent.last.usage.estimated


def test_settings_reach_the_model():
    model = Invoked({"type": "content", "content": "ok"})
    Agent("a", model, max_tokens=5).think([{"role": "user", "content": "hi"}], settings={"temperature": 0.5})
    assert model.seen[0][1:] == (None, {"temperature": 0.5, "max_tokens": 5})


@pytest.mark.parametrize(
    "result", [None, "text", {"type": "content"}, {"type": "tool_call", "content": []}, {"type": "x"}]
)
def test_what_is_no_reply_is_an_error(result):
    with pytest.raises(ModelError, match=r"model 'Invoked': invoke\(\) gives"):
        Agent("a", Invoked(result)).run("hi")


@pytest.mark.parametrize("model", [None, "gpt-5", 3, Invoked, {}])
def test_what_can_be_no_model_is_refused(model):
    with pytest.raises(ConfigError, match="model: expected an object"):
        Agent("a", model)


def test_think_says_why_there_is_no_reply_and_its_requests_are_kept():
    script = [ModelError("busy", kind="overloaded"), "x"]
    agent = Agent("a", ScriptedLLM(script), limits=Limits(deadline=0.05))
    with pytest.raises(ModelError, match="no reply: limit reached"):
        agent.think([{"role": "user", "content": "hi"}])
    agent = Agent("a", ScriptedLLM(["ok"]))
    agent.think([{"role": "user", "content": "hi"}])
    assert list(agent.requests) == list(agent.model.requests)
    with pytest.raises(ConfigError, match="settings: expected parameters"):
        agent.think([], settings={"stop": {"a", "b"}})


def test_images_go_to_a_model_that_is_invoked():
    model = Invoked({"type": "content", "content": "a dot"})
    Agent("a", model).run("What is it?", images=[PNG])
    [text, picture] = model.seen[0][0][0]["content"]
    assert text == {"type": "text", "text": "What is it?"}
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


def test_calls_without_arguments_and_async_models():
    agent = Agent("a", Invoked({"type": "tool_call", "content": [{"name": "now", "arguments": None}]}), tools=[now])
    [call] = agent.think([{"role": "user", "content": "hi"}])["content"]
    assert call == {"id": "call_1", "name": "now", "arguments": {}}
    assert [m.content for m in agent.act([{"name": "now", "arguments": None}])] == ["noon"]

    class Later:
        async def invoke(self, messages, tools, settings):
            return {"type": "content", "content": "hi"}

    with pytest.raises(ModelError, match=r"invoke\(\) is async; write it as a plain function"):
        Agent("a", Later()).run("hi")
    with pytest.raises(ConfigError, match="the arguments of 'now' are not JSON"):
        agent.act([{"name": "now", "arguments": {"x": {1}}}])


def now() -> str:
    """The time."""
    return "noon"


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


def test_nothing_acts_before_somebody_has_seen_the_call_and_what_was_edited_is_what_runs():
    paid = []

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    agent = Agent("a", ScriptedLLM([ScriptedLLM.tool_call("pay", {"amount": 500})]), tools=[pay])
    thought = agent.think(agent.observe("Pay.").messages)
    [call] = thought["content"]
    assert (call["name"], call["arguments"], paid) == ("pay", {"amount": 500}, [])
    assert [m.content for m in agent.act([{**call, "arguments": {"amount": 5}}])] == ["paid 5"]
    assert paid == [5]
