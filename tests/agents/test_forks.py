"""Forks: an agent and those that are its tools go on apart from the ones that they were copied from."""

from __future__ import annotations

from collections import UserDict, defaultdict, deque

import pytest

from nbagent import (
    Agent,
    AgentTool,
    Compact,
    HistoryMemory,
    PlanAgent,
    ScriptedLLM,
    SessionStore,
    ToolPermissions,
    ToolRegistry,
    tool,
)
from nbagent.errors import ConfigError
from nbagent.testing import TestModel

call = ScriptedLLM.tool_call


@tool
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def asking(name="worker", task="go"):
    return call(name, {"task": task})


def agent_of(name, *script, **options):
    return Agent(name, ScriptedLLM(list(script)), **options)


def said(agent, scope=None):
    return [message.content for message in agent.get_history(scope)]


def inner(agent, name="worker"):
    return agent.own_tools.get(name).agent


# attributes


def test_a_fork_has_attributes_of_its_own():
    pushing = {
        "output": {"mood": "one word"},
        "pull_keys": ["mood"],
        "push_keys": ["mood"],
        "instructions": "So far: {mood}.",
    }
    agent = agent_of("a", '{"mood": "glad"}', '{"mood": "sad"}', attributes={"mood": "none"}, **pushing)
    agent.run("go")
    twin = agent.fork("b")
    twin.run("go")
    assert (agent.attributes["mood"], twin.attributes["mood"]) == ("glad", "sad")
    assert agent.observe("go").system.startswith("So far: glad.")
    assert twin.observe("go").system.startswith("So far: sad.")


def test_attributes_are_copied_as_deep_as_there_are_containers_and_no_deeper():
    one = object()
    loop = []
    loop.append((loop, one))
    shared = ["x"]
    given = {
        "deep": {"a": [{"b": {1}}]}, "pair": (shared, shared), "loop": loop, "more": defaultdict(list, k=[1]),
        "line": deque([[1]], maxlen=3), "one": one,
    }  # fmt: skip
    twin = agent_of("a", attributes=given).fork()
    theirs = twin.attributes
    theirs["deep"]["a"][0]["b"].add(2)
    theirs["pair"][0].append("y")
    theirs["more"]["k"].append(2)
    theirs["line"][0].append(2)
    assert (given["deep"], given["pair"]) == ({"a": [{"b": {1}}]}, (["x"], ["x"]))
    assert (given["more"], given["line"]) == ({"k": [1]}, deque([[1]]))
    assert theirs["pair"][1] == ["x", "y"]
    assert theirs["loop"] is not loop
    assert theirs["loop"][0][0] is theirs["loop"]
    assert (theirs["loop"][0][1], theirs["one"]) == (one, one)
    assert (type(theirs["more"]), theirs["line"].maxlen) == (defaultdict, 3)


def test_attributes_that_are_no_dict_are_copied_too():
    given = UserDict(x=[1])
    twin = agent_of("a", attributes=given).fork()
    twin.attributes["x"].append(2)
    twin.attributes["y"] = 3
    assert given == {"x": [1]}


def test_agents_that_share_attributes_share_them_in_the_fork():
    attributes = {"city": "Oslo"}
    worker = agent_of("worker", attributes=attributes)
    twin = agent_of("lead", tools=[worker], attributes=attributes).fork()
    assert twin.attributes is inner(twin).attributes
    assert twin.attributes is not attributes


# the agents inside


def test_the_scripts_of_agents_inside_go_on_apart():
    worker = agent_of("worker", "one", "two", "three")
    lead = agent_of("lead", asking(), "A", asking(), "B", asking(), "C", tools=[worker, add])
    lead.run("x")
    twin = lead.fork("twin")
    assert [twin.run("y").tool_calls[0].observation.text for _ in range(2)] == ["two", "three"]
    assert (worker.model.position, lead.model.position) == (1, 2)
    assert lead.run("y").tool_calls[0].observation.text == "two"
    assert twin.own_tools.get("add") is lead.own_tools.get("add")
    assert (inner(lead), inner(twin).name) == (worker, "worker")
    assert len(inner(twin).results) == 2
    assert twin.own_tools.schemas == lead.own_tools.schemas


def test_a_tool_of_the_fork_is_a_function_of_the_forked_agent():
    worker = agent_of("worker", "one", "two")
    twin = agent_of("lead", tools=[worker]).fork()
    assert twin.own_tools.get("worker")("go") == "one"
    assert (worker.model.position, inner(twin).model.position) == (0, 1)


def test_name_description_scope_and_options_of_the_tool_stay():
    asked = AgentTool(agent_of("worker", "one"), "helper", "Helps.", scope="team")
    asked.max_chars = 7
    made = agent_of("lead", tools=[asked]).fork().own_tools.get("helper")
    assert (made.name, made.description, made.scope, made.max_chars) == ("helper", "Helps.", "team", 7)
    assert (made.schema, made.origin, type(made)) == (asked.schema, "agent:worker", AgentTool)


def test_what_an_agent_inside_has_said_in_a_scope_goes_on_apart():
    worker = agent_of("worker", "1", "2", "3")
    lead = agent_of("lead", asking(task="one"), "A", asking(task="two"), "B", tools=[AgentTool(worker, scope="team")])
    lead.run("x")
    twin = lead.fork("twin")
    twin.run("y")
    assert said(inner(twin), "team") == ["one", "1", "two", "2"]
    assert said(worker, "team") == ["one", "1"]
    lead.run("y")
    assert said(worker, "team") == ["one", "1", "two", "2"]


def test_a_script_that_several_agents_share_is_one_in_the_fork():
    llm = ScriptedLLM([asking("one"), asking("two"), "a", "b", "Done.", "c"])
    script = ScriptedLLM(["1", "2", "3", "4"])
    lead = Agent("lead", llm, tools=[Agent("one", script), Agent("two", script), Agent("three", llm)])
    twin = lead.fork()
    assert inner(twin, "one").model is inner(twin, "two").model is not script
    assert twin.model is inner(twin, "three").model is not llm
    assert len(twin.models) == 2
    twin.run("go")
    assert (llm.position, script.position, inner(twin, "one").model.position) == (0, 0, 2)


def test_an_agent_that_is_a_tool_of_several_is_one_in_the_fork():
    worker = agent_of("worker", "1", "2")
    asked = AgentTool(worker)
    middle, other = agent_of("middle", tools=[asked]), agent_of("other", tools=[worker])
    twin = agent_of("lead", tools=[middle, other, asked]).fork()
    [one] = {inner(inner(twin, "middle")), inner(inner(twin, "other")), inner(twin)}
    assert one is not worker
    assert inner(twin, "middle").own_tools.get("worker") is twin.own_tools.get("worker")


def test_an_agent_inside_itself_is_one_in_the_fork():
    lead = agent_of("lead", call("lead", {"task": "again"}), "inside", "Done.")
    lead.own_tools.register(lead)
    worker = agent_of("worker", tools=[lead])
    lead.own_tools.register(worker)
    twin = lead.fork("twin")
    assert inner(twin, "lead") is twin
    assert inner(inner(twin), "lead") is twin
    assert twin.run("go").final_output == "Done."
    assert (lead.model.position, lead.last) == (0, None)


@pytest.mark.parametrize("deep", [1, 2])
def test_views_of_tools_stay_views(deep):
    registry = ToolRegistry([add, agent_of("worker", "1"), agent_of("secret", "2")])
    view = registry
    for _ in range(deep):
        view = ToolPermissions(deny=["secret"]).permitted(view)
    other = agent_of("other", tool_registry=registry)
    twin = agent_of("lead", asking(), "Done.", tool_registry=view, tools=None).fork()
    assert twin.tools.names == ("add", "worker")
    assert "not permitted" in str(twin.tools.refusal("secret"))
    assert inner(twin) is not registry.get("worker").agent
    assert twin.run("go").tool_calls[0].observation.text == "1"
    assert registry.get("worker").agent.model.position == 0
    # Two that share a registry do so in the fork: what one registers, the other has.
    both = agent_of("boss", tools=[other, agent_of("lead", tool_registry=view)]).fork()
    inner(both, "other").own_tools.remove("add")
    assert inner(both, "lead").tools.names == ("worker",)
    assert "add" in registry


def test_permissions_of_the_agent_hold_in_the_fork():
    lead = agent_of("lead", tools=[add, agent_of("worker")], permissions=ToolPermissions(deny_origins=["agent"]))
    assert lead.fork().tools.names == ("add",)


def test_a_registry_of_the_fork_is_its_own():
    lead = agent_of("lead", tools=[add])
    twin = lead.fork()
    twin.own_tools.remove("add")
    assert (lead.tools.names, twin.tools.names) == (("add",), ())


def test_models_without_a_script_and_objects_of_the_user_are_the_same():
    model, hook = TestModel(), lambda event: None
    lead = Agent("lead", model, tools=[Agent("worker", model)], hooks=[hook])
    twin = lead.fork()
    assert (twin.model, inner(twin).model, twin.hooks) == (model, model, lead.hooks)


# conversations


def test_a_history_memory_of_the_fork_is_its_own():
    memory = HistoryMemory(top_k=4)
    worker = agent_of("worker", memories=[memory])
    agent = agent_of("a", "1", "2", "3", memories=[memory], tools=[worker])
    agent.run("x")
    twin = agent.fork("b")
    twin.run("y")
    assert (said(agent), said(twin)) == (["x", "1"], ["x", "1", "y", "2"])
    mine = twin.prompting.context.memory
    assert (mine.top_k, inner(twin).prompting.context.memory) == (4, mine)
    assert mine is not memory


def test_undo_in_a_fork_takes_its_own_scripts_back():
    worker = agent_of("worker", "one", "two")
    lead = agent_of("lead", asking(), "A", asking(), "B", tools=[worker])
    lead.run("x")
    lead.run("y")
    twin = lead.fork("twin")
    assert [message.content for message in twin.undo()] == ["y", "B"]
    assert [model.position for model in twin.models] == [2, 1]
    assert [model.position for model in lead.models] == [4, 2]
    assert twin.run("z").tool_calls[0].observation.text == "two"


def test_what_was_summarised_is_summarised_in_the_fork():
    agent = agent_of("a", "1 " * 200, "2", "a summary", "3", "4", compact=Compact(tokens=100, keep=0))
    agent.run("x")
    agent.run("y")
    agent.run("z")
    twin = agent.fork("b")
    assert twin.observe("more").messages == agent.observe("more").messages


def test_agents_inside_with_a_session_store_get_a_name_there(tmp_path):
    store = SessionStore(tmp_path)
    worker = agent_of("worker", "1", "2", session_store=store)
    lead = agent_of("lead", asking(task="one"), "A", asking(task="two"), "B", tools=[AgentTool(worker, scope="team")])
    lead.run("x")
    twin = lead.fork("twin")
    twin.run("y")
    assert (twin.own_tools.names, inner(twin).name) == (("worker",), "twin.worker")
    assert [m.content for m in store.conversation("twin.worker", "team").messages] == ["one", "1", "two", "2"]
    assert len(store.conversation("worker", "team").messages) == 2
    with pytest.raises(ConfigError, match=r"conversations of an agent 'twin\.worker'; give another name"):
        lead.fork("twin")
    assert len(lead.fork("other").models) == 2


# plans


def test_a_plan_that_waits_is_the_own_one_of_the_fork():
    agent = PlanAgent("p", ScriptedLLM(['["one", "two"]', "1", "2", "All.", "1", "2", "3", "More."]))
    agent.propose("go")
    twin = agent.fork("q")
    twin.plan.append("three")
    assert agent.plan == ["one", "two"]
    assert agent.run_plan().final_output == "All."
    agent.run_plan()  # once more: its script goes back
    third = agent.fork("r")
    third.run_plan()
    assert (agent.model.position, third.model.position, twin.model.position) == (4, 4, 1)
    assert [step.title for step in twin.run_plan().plan] == ["one", "two", "three"]


def test_a_plan_that_waits_takes_nothing_from_the_agent_it_was_copied_from():
    script = ScriptedLLM(['["one"]', "1", "All."])
    agent = PlanAgent("p", script, instructions="In {city}.", attributes={"city": "Oslo"})
    agent.propose("go")
    twin = agent.fork("q")
    del agent.attributes["city"]
    assert twin.run_plan().final_output == "All."


# what surrounds it


class Docs:
    """Passages that the model may ask for."""

    context_label, active = "DOCS", True

    def __init__(self):
        self.asked = []

    def get_blocks(self, query, *, top_k=8):
        self.asked.append(query.node_name)
        return []


def test_tools_that_ask_providers_are_joined_with_a_registry_of_its_own():
    other = agent_of("other", tools=[add, agent_of("worker", "1")], retrievers=[Docs()])
    joined = other.tools
    assert joined.names == ("add", "worker", "list_context_sources", "retrieve_context")
    twin = agent_of("lead", asking(), "Done.", tool_registry=joined).fork()
    assert twin.run("go").tool_calls[0].observation.text == "1"
    assert joined.get("worker").agent.model.position == 0
    twin.own_tools.remove("add")
    assert "add" in joined
    assert "add" in other.own_tools


def test_providers_are_asked_in_the_name_of_the_fork():
    docs = Docs()
    agent = agent_of("a", retrievers=[docs])
    agent.fork("b").observe("go")
    agent.observe("go")
    assert docs.asked == ["b", "a"]
