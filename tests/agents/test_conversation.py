"""Conversation: an exchange with a key can be made again, in its own place."""

from __future__ import annotations

import pytest

from nbagent import Agent, ScriptedLLM, tool
from nbagent.errors import ScriptExhausted
from nbagent.events import ModelReplied, RunFinished


def said(agent):
    return [message.content for message in agent.history]


def agent_of(*replies):
    return Agent("a", ScriptedLLM(replies))


def test_running_a_key_again_replaces_its_exchange_and_rewinds_the_script():
    agent = agent_of("A", "B", "C")
    agent.run("a", key=1)
    agent.run("b", key=2)
    agent.run("b2", key=2)
    assert said(agent) == ["a", "A", "b2", "B"]
    assert [m.content for m in agent.model.requests[-1].messages] == ["a", "A", "b2"]
    assert agent.run("c", key=3).final_output == "C"


def test_an_exchange_in_the_middle_sees_only_what_stood_before_it_and_later_ones_stay():
    agent = agent_of("A", "B", "C", "D")
    for key in ("a", "b", "c"):
        agent.run(key, key=key)
    assert agent.run("b2", key="b").final_output == "B"
    assert [m.content for m in agent.model.requests[-1].messages] == ["a", "A", "b2"]
    assert said(agent) == ["a", "A", "b2", "B", "c", "C"]
    assert agent.run("d", key="d").final_output == "D"


def test_later_exchanges_move_with_the_script():
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    # The first key asks for a tool when its task says so: it then uses two replies in place of one.
    def first(request):
        return ScriptedLLM.tool_call("look") if "look" in request.messages[-1].content else "A"

    agent = Agent("a", ScriptedLLM([first, "B", "C", "D"]), tools=[look])
    agent.run("a", key=1)
    agent.run("b", key=2)
    agent.run("look", key=1)
    assert said(agent) == ["look", "B", "b", "B"]
    assert agent.model.position == 3
    assert agent.run("b", key=2).final_output == "C"
    assert agent.run("d", key=3).final_output == "D"


def test_without_a_key_every_run_is_new():
    agent = agent_of("A", "B")
    agent.run("a")
    agent.run("a")
    assert said(agent) == ["a", "A", "a", "B"]


def test_a_failed_run_adds_nothing_and_its_key_starts_where_it_did():
    agent = agent_of("A", RuntimeError("no"), "C")
    agent.run("a", key=1)
    with pytest.raises(Exception, match="no"):
        agent.run("b", key=2)
    assert said(agent) == ["a", "A"]
    with pytest.raises(Exception, match="no"):
        agent.run("b", key=2)
    assert agent.run("c", key=3).final_output == "C"


def test_a_cancelled_run_puts_the_script_back():
    @tool
    def stop() -> None:
        """Stop."""
        raise KeyboardInterrupt

    agent = Agent("a", ScriptedLLM(["A", ScriptedLLM.tool_call("stop"), "B"]), tools=[stop])
    agent.run("a")
    with pytest.raises(KeyboardInterrupt):
        agent.run("b")
    assert (agent.last.status, agent.model.position, said(agent)) == ("cancelled", 1, ["a", "A"])


def test_a_cancelled_second_run_of_a_key_leaves_the_conversation_as_it_was():
    agent = agent_of("A", "B", "C")
    agent.run("a", key=1)
    agent.run("b", key=2)
    events = agent.stream("a again", key=1)
    next(events)
    events.close()
    assert (said(agent), agent.model.position) == (["a", "A", "b", "B"], 2)
    assert agent.run("c", key=3).final_output == "C"


def test_places_that_no_longer_fit_the_script_are_no_error():
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    seen = []

    def first(request):
        seen.append(request)
        return ScriptedLLM.tool_call("look") if len(seen) > 1 else "A"

    agent = Agent("a", ScriptedLLM([first, "B"]), tools=[look])
    agent.run("a", key=1)
    agent.run("b", key=2)
    assert agent.run("a", key=1).final_output == "B"
    agent.model.reset()
    events = agent.stream("a", key=1)
    next(events)
    events.close()
    assert said(agent) == ["a", "B", "b", "B"]


def test_reset_starts_over():
    agent = agent_of("A", "B")
    agent.run("a", key=1)
    agent.reset()
    assert (agent.history, agent.run("x").final_output) == ((), "A")


def test_a_new_model_does_not_inherit_places_in_the_old_script():
    agent = agent_of("A", "B")
    agent.run("a", key=1)
    agent.run("b", key=2)
    agent.become(agent_of("X", "Y"))
    assert agent.run("b", key=2).final_output == "X"
    assert agent.run("b", key=2).final_output == "X"
    assert agent.run("c", key=3).final_output == "Y"
    with pytest.raises(ScriptExhausted):
        agent.run("d", key=4)


def test_a_cancelled_run_leaves_the_script_alone_where_another_went_on_beside_it():
    agent = agent_of("A", "B", "C")
    first, second = agent.stream("a"), agent.stream("b")
    next(first)
    next(second)
    for _ in second:
        pass
    assert agent.last.final_output == "A"
    first.close()
    assert (agent.model.position, said(agent)) == (1, ["b", "A"])
    assert agent.run("c").final_output == "B"


def test_a_run_that_is_cancelled_while_another_is_under_way_leaves_its_replies_to_it():
    agent = agent_of("A", "B", "C")
    first, second = agent.stream("a"), agent.stream("b")
    while not isinstance(next(first), ModelReplied):
        pass
    next(second)
    second.close()
    assert [event.final_output for event in first if isinstance(event, RunFinished)] == ["A"]
    assert agent.run("c").final_output == "B"


def test_a_script_goes_on_where_it_was_when_the_later_exchange_is_in_another_conversation():
    agent = agent_of("1", "2", "3")
    runs = [("x", "c1", "A"), ("y", "c2", "B"), ("x", "c1", "A"), ("z", "c3", "B")]
    assert [agent.run(task, key=key, scope=scope).final_output for task, key, scope in runs] == ["1", "2", "1", "3"]


def test_a_script_goes_on_where_it_was_when_the_later_exchange_is_of_another_agent():
    model = ScriptedLLM(["1", "2", "3"])
    one, two = Agent("one", model), Agent("two", model)
    assert (one.run("x", key=1).final_output, two.run("y", key=2).final_output) == ("1", "2")
    assert (one.run("x", key=1).final_output, two.run("z", key=3).final_output) == ("1", "3")


def test_what_an_exchange_uses_more_than_before_moves_the_script_for_other_conversations():
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    def first(request):
        return ScriptedLLM.tool_call("look") if "look" in request.messages[-1].content else "A"

    agent = Agent("a", ScriptedLLM([first, "B", "C", "D"]), tools=[look])
    agent.run("a", key=1, scope="A")
    agent.run("b", key=2, scope="B")
    agent.run("look", key=1, scope="A")
    assert agent.model.position == 3
    assert agent.run("c", key=3, scope="B").final_output == "D"


def test_what_an_exchange_uses_more_than_before_moves_later_ones_of_other_conversations():
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    def first(request):
        return ScriptedLLM.tool_call("look") if "look" in request.messages[-1].content else "A"

    def second(request):
        return "B" if request.messages[-1].role == "tool" else "early"

    model = ScriptedLLM([first, second, "C", "D"])
    one, two = Agent("one", model, tools=[look]), Agent("two", model)
    one.run("a", key=1)
    assert two.run("b", key=2).final_output == "early"
    assert two.run("c", key=3, scope="other").final_output == "C"
    assert one.run("look", key=1).final_output == "B"
    assert two.run("b", key=2).final_output == "C"
    assert two.run("c", key=3, scope="other").final_output == "D"
    assert one.run("a", key=1).final_output == "A"
    assert two.run("b", key=2).final_output == "early"


def test_earlier_exchanges_of_other_conversations_stay_where_they_were():
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    def second(request):
        return ScriptedLLM.tool_call("look") if "look" in request.messages[-1].content else "B"

    model = ScriptedLLM(["A", second, "C"])
    one, two = Agent("one", model), Agent("two", model, tools=[look])
    one.run("a", key=1)
    two.run("b", key=2)
    two.run("look", key=2)
    assert one.run("a", key=1).final_output == "A"


def test_a_script_that_was_set_back_goes_on_after_the_exchange_that_is_made_again():
    agent = agent_of("A", "B", "C")
    agent.run("a", key=1)
    agent.run("b", key=2)
    agent.model.reset()
    agent.run("a", key=1)
    assert agent.model.position == 1
