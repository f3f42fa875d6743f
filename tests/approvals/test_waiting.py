"""A run that waits: what it keeps from happening, and what it does not."""

from __future__ import annotations

import pytest

from nbagent import Agent, ScriptedLLM, tool
from nbagent.errors import ConfigError

call = ScriptedLLM.tool_call


def buyer(*replies):
    paid = []

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    agent = Agent("buyer", ScriptedLLM([*replies, call("pay", {"amount": 5}), "Done.", "More."]), tools=[pay])
    return agent, paid


def test_reset_drops_what_waits():
    agent, paid = buyer()
    agent.run("Buy")
    agent.reset()
    assert agent.waiting == {}
    agent.run("Buy")
    assert str(agent.resume(True)) == "Done."
    assert paid == [5]


def test_nothing_is_taken_back_below_a_run_that_waits():
    agent, _ = buyer("Hi.")
    agent.run("Hello")
    agent.run("Buy")
    with pytest.raises(ConfigError, match=r"buyer waits for a decision about pay\(amount=5\).*discard"):
        agent.undo()
    assert str(agent.resume(True)) == "Done."
    assert [message.content for message in agent.history] == ["Hello", "Hi.", "Buy", "Done."]


def test_a_waiting_agent_is_a_tool_that_starts_afresh_but_not_in_the_conversation_that_waits():
    agent, paid = buyer()
    agent.run("Buy", scope="shop")
    lead = Agent("lead", ScriptedLLM([call("buyer", {"task": "More"}), "ok"]), tools=[agent])
    assert str(lead.run("Go")) == "ok"
    shop = agent.as_tool(scope="shop")
    lead = Agent("lead", ScriptedLLM([call("buyer", {"task": "More"}), "ok"]), tools=[shop])
    with pytest.raises(ConfigError, match=r"buyer waits for a decision about pay\(amount=5\)"):
        lead.run("Go")
    assert list(agent.waiting) == ["shop"]
    assert paid == []
