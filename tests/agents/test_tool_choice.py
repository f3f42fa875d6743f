"""Which tools a run has: those that are permitted, and of these the ones that fit its question."""

from __future__ import annotations

import asyncio

import pytest

from nbagent import Agent, ScriptedLLM, ToolPermissions, ToolRegistry, tool
from nbagent.agents.guardrail import Rewrite
from nbagent.agents.plan_agent import PlanAgent
from nbagent.agents.reflection_agent import ReflectionAgent
from nbagent.agents.tool_retriever import ToolRetriever
from nbagent.errors import ConfigError, DriftError
from nbagent.events import PromptAssembled

call = ScriptedLLM.tool_call
both = pytest.mark.parametrize("asynchronous", [False, True])


@tool(idempotent=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(idempotent=True)
def weather(city: str) -> str:
    """How warm it is in a city."""
    return f"{city}: 3 degrees"


@tool(idempotent=True)
def delete(path: str) -> str:
    """Delete a file."""
    raise AssertionError("never")


TOOLS = [add, weather, delete]


class Chooses:
    """Chooses the tools with these names, and writes down what it was asked."""

    def __init__(self, *names):
        self.names = names
        self.asked = []

    def select(self, tools, query):
        self.asked.append((tools.names, query))
        return ToolRegistry([one for one in tools if one.name in self.names])


def run(agent, task="go", asynchronous=False, **options):
    return asyncio.run(agent.arun(task, **options)) if asynchronous else agent.run(task, **options)


def agent_of(script, **options):
    return Agent("a", ScriptedLLM(script), "Help.", tools=TOOLS, **options)


def told(agent):
    """The tools of each request."""
    return [tuple(one.name for one in request.tools) for request in agent.model.requests]


@both
def test_what_is_not_permitted_is_neither_told_nor_run(asynchronous):
    agent = agent_of([call("delete", {"path": "x"}), "I may not."], permissions=ToolPermissions(deny=["delete"]))
    result = run(agent, "go", asynchronous)
    observation = result.tool_calls[0].observation
    assert told(agent) == [("add", "weather")] * 2
    assert (observation.error.kind, observation.status) == ("denied", "error")
    assert "'delete' is not permitted" in observation.text
    assert [one.name for one in agent.observe("go").tools] == ["add", "weather"]
    assert (agent.tools.names, agent.own_tools.names) == (("add", "weather"), ("add", "weather", "delete"))
    assert agent.act([{"id": "1", "name": "delete", "arguments": {"path": "x"}}])[0].content == observation.text


@both
def test_a_retriever_is_asked_once_about_the_question(asynchronous):
    chooses = Chooses("weather")
    agent = agent_of(
        [call("weather", {"city": "Oslo"}), call("add", {"a": 1, "b": 2}), "Done."], tool_retriever=chooses
    )
    result = run(agent, "How warm?", asynchronous)
    assert chooses.asked == [(("add", "weather", "delete"), "How warm?")]
    assert told(agent) == [("weather",)] * 3
    assert [exchange.observation.status for exchange in result.tool_calls] == ["success", "error"]
    assert result.tool_calls[1].observation.error.kind == "unknown_tool"
    assert [one.name for one in agent.observe("How?").tools] == ["weather"]
    assert chooses.asked[1:] == [(("add", "weather", "delete"), "How?")]


def test_first_permissions_and_then_the_retriever():
    chooses = Chooses("weather", "delete")
    agent = agent_of(
        [call("delete", {"path": "x"}), "Done."], permissions=ToolPermissions(deny=["delete"]), tool_retriever=chooses
    )
    assert agent.run("go").tool_calls[0].observation.error.kind == "denied"
    assert chooses.asked == [(("add", "weather"), "go")]
    assert told(agent) == [("weather",)] * 2


@both
def test_the_retriever_that_comes_with_nbagent(asynchronous):
    agent = agent_of(["3 degrees."], tool_retriever=ToolRetriever(1))
    run(agent, "How warm is the city of Oslo?", asynchronous)
    assert told(agent) == [("weather",)]


def test_a_retriever_is_asked_about_the_rewritten_question():
    chooses = Chooses("add")
    agent = agent_of(["ok"], tool_retriever=chooses, input_guardrails=[lambda text: Rewrite("another")])
    agent.run("secret")
    assert [query for _, query in chooses.asked] == ["another"]


@both
def test_a_retriever_that_fails_fails_the_run(asynchronous):
    class Fails:
        def select(self, tools, query):
            raise ValueError("no index")

    agent = agent_of(["ok"], tool_retriever=Fails())
    with pytest.raises(ValueError, match="no index"):
        run(agent, "go", asynchronous)
    assert (agent.last.status, list(agent.model.requests)) == ("failed", [])


def test_a_retriever_that_gives_no_registry_is_told():
    class Odd:
        def select(self, tools, query):
            return list(tools)

    with pytest.raises(ConfigError, match="expected a ToolRegistry of select"):
        agent_of(["ok"], tool_retriever=Odd()).run("go")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"permissions": ["add"]}, r"permissions: expected an object with permitted\(registry\)"),
        ({"permissions": ToolPermissions}, "permissions: expected"),
        ({"tool_retriever": 3}, r"tool_retriever: expected an object with select\(tools, query\)"),
    ],
)
def test_what_is_neither_is_said_at_once(options, said):
    with pytest.raises(ConfigError, match=said):
        agent_of([], **options)


CASES = {
    "chat": (Agent, [call("weather", {"city": "Oslo"}), "Done."]),
    "plan": (PlanAgent, ['["look"]', call("weather", {"city": "Oslo"}), "3 degrees", "Done."]),
    "reflection": (ReflectionAgent, ["Draft.", call("weather", {"city": "Oslo"}), "Mend.", "New.", "GOOD ENOUGH"]),
}


@both
@pytest.mark.parametrize("case", CASES)
def test_a_replay_has_the_tools_that_were_chosen_then(case, asynchronous):
    kind, script = CASES[case]

    def agent(chooses):
        return kind("a", ScriptedLLM(script), tools=TOOLS, tool_retriever=chooses)

    whole = agent(Chooses("weather")).run("go")
    chosen = next(i for i, e in enumerate(whole.events) if isinstance(e, PromptAssembled) and e.prompt.tools)
    for cut in range(1, len(whole.events) + 1):
        chooses = Chooses("weather") if cut <= chosen else Chooses("add")
        again = agent(chooses)
        events = whole.events[:cut]
        made = asyncio.run(again.areplay(events)) if asynchronous else again.replay(events)
        assert made == whole, f"cut after {events[-1]}"
        assert len(chooses.asked) == (cut <= chosen)


def test_a_tool_that_is_gone_is_drift():
    whole = agent_of([call("weather", {"city": "Oslo"}), "Done."], tool_retriever=Chooses("weather", "add")).run("go")
    less = Agent("a", ScriptedLLM([]), "Help.", tools=[weather], tool_retriever=Chooses("weather"))
    with pytest.raises(DriftError, match="add is gone"):
        less.replay(whole.events)
    denied = agent_of([], permissions=ToolPermissions(deny=["weather"]), tool_retriever=Chooses("add"))
    with pytest.raises(DriftError, match="weather is gone"):
        denied.replay(whole.events)


def test_an_agent_becomes_another_with_all_that_it_may_do():
    permissions, chooses = ToolPermissions(deny=["add"]), Chooses("weather")
    agent = agent_of([])
    agent.become(agent_of([], permissions=permissions, tool_retriever=chooses, hooks=[print], input_guardrails=[print]))
    assert (agent.permissions, agent.tool_retriever) == (permissions, chooses)
    assert ([hook.name for hook in agent.hooks], [one.name for one in agent.guardrails.input]) == (["print"], ["print"])
