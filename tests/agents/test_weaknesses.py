"""What agentmaker 0.2 cannot do or does wrong in a notebook, point by point (the numbers are those of our study of it).

Most of these have thorough tests of their own; here each point has the one that would fail if we fell back to it.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from enum import Enum
from typing import Literal

import pytest
from pydantic import BaseModel

from nbagent import Agent, AgentTool, PlanAgent, ReflectionAgent, ScriptedLLM, Veto, tool
from nbagent.errors import ScriptExhausted
from nbagent.events import ModelReplied, StepStarted, TextDelta, ToolReturned, ToolStarted
from nbagent.messages import Usage


def call(name, args=None):
    return ScriptedLLM.tool_call(name, args or {})


@tool
def look() -> str:
    """Look."""
    return "seen"


def agents():
    """One of each strategy, with tools that are used."""
    chat = Agent("chat", ScriptedLLM([call("look"), "done"]), tools=[look])
    plan = PlanAgent("plan", ScriptedLLM(['["A"]', call("look"), "a", "done"]), tools=[look])
    reflection = ReflectionAgent("reflection", ScriptedLLM(["done", call("look"), "GOOD ENOUGH"]), tools=[look])
    return chat, plan, reflection


def test_1_the_sync_methods_work_where_a_loop_runs_already():
    async def cell():
        found = []
        for agent in agents():
            found.append(agent.run("go").final_output)
            assert len(agent.get_history()) == 2
        return [*found, *["".join(agent.stream_run("go")) for agent in agents()]]

    assert asyncio.run(cell()) == ["done"] * 6


def test_2_an_agent_and_a_result_show_themselves():
    for agent in agents():
        for shown in (agent, agent.run("go"), agent):
            assert set(shown._repr_mimebundle_()) == {"text/html", "text/markdown", "text/plain"}


def test_3_every_request_can_be_looked_at_afterwards_without_asking_before():
    for agent in agents():
        agent.run("go")
        assert agent.requests[0].messages[-1].role == "user"
        assert len(agent.requests) == agent.last.usage.llm_calls


def test_4_the_trajectory_is_on_the_result():
    chat, plan, reflection = agents()
    assert [exchange.observation.text for exchange in chat.run("go").tool_calls] == ["seen"]
    assert [(step.title, step.result) for step in plan.run("go").plan] == [("A", "a")]
    assert [(one.draft, one.critique, one.passed) for one in reflection.run("go").rounds] == [
        ("done", "GOOD ENOUGH", True)
    ]


def test_5_streams_tell_of_tools_and_steps_and_end_with_a_result():
    for agent in agents():
        kinds = [type(event) for event in agent.stream("go")]
        assert {TextDelta, ToolStarted, ToolReturned, ModelReplied} <= set(kinds)
        assert (StepStarted in kinds) == (agent.strategy != "chat")
        assert agent.last.final_output == "done"


def test_6_a_call_can_be_changed_or_forbidden_and_the_record_says_so():
    ran = []

    @tool
    def pay(euros: int) -> str:
        """Pay."""
        ran.append(euros)
        return "paid"

    class Cashier:
        def before_tool(self, name, arguments):
            return Veto("too much") if arguments["euros"] > 50 else {"euros": 10}

    agent = Agent(
        "a",
        ScriptedLLM([call("pay", {"euros": 80}), call("pay", {"euros": 20}), "done"]),
        tools=[pay],
        hooks=[Cashier()],
    )
    vetoed, changed = agent.run("go").tool_calls
    assert (vetoed.observation.error.kind, vetoed.observation.text.count("too much")) == ("denied", 1)
    assert (changed.call.arguments, ran) == ('{"euros":10}', [10])


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_7_a_tool_that_raises_what_is_no_exception_hangs_nothing(raised, asynchronous):
    @tool
    def stop() -> str:
        """Stop."""
        raise raised

    @tool
    async def astop() -> str:
        """Stop."""
        raise raised

    for one in (stop, astop):
        agent = Agent("a", ScriptedLLM([call(one.name), "done"]), tools=[one])
        run = (lambda: asyncio.run(agent.arun("go"))) if asynchronous else (lambda: agent.run("go"))  # noqa: B023
        if raised is KeyboardInterrupt:
            with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
                run()
            assert (agent.last.status, agent.model.position) == ("cancelled", 0)  # and the script stands as before
        else:
            assert run().final_output == "done"


def test_8_a_cell_that_runs_again_gives_the_same_and_two_runs_compare_equal():
    for one, other in zip(agents(), agents(), strict=True):
        first = one.run("go", key="cell")
        assert one.run("go", key="cell").final_output == first.final_output
        assert len(one.history) == 2
        assert other.run("go") == first


def test_9_a_run_replays_from_its_own_record():
    for agent in agents():
        result = agent.run("go")
        assert agent.replay(result.events) == result


def test_10_what_is_no_answer_has_a_status_of_its_own():
    out = Agent("a", ScriptedLLM([call("look")] * 2), tools=[look], max_turns=2).run("go")
    assert (out.status, out.final_output) == ("out_of_turns", None)
    plan = PlanAgent("p", ScriptedLLM(['["A", "B"]', call("look"), "b", "done"]), tools=[look], max_turns=1).run("go")
    assert (plan.status, plan.plan[0].status, plan.stop_reason[:13]) == ("completed", "failed", "step 1 failed")


def test_11_a_negated_signal_does_not_pass_and_the_rounds_say_what_happened():
    result = ReflectionAgent("r", ScriptedLLM(["a", "NOT GOOD ENOUGH", "b", "good enough."])).run("go")
    assert [(one.number, one.passed) for one in result.rounds] == [(1, False), (2, True)]


def test_12_a_script_that_is_too_short_is_seen_through_an_agent_and_delegations_start_afresh():
    worker = Agent("worker", ScriptedLLM(["one", "two"]))
    script = [call("worker", {"task": f"t{n}"}) for n in range(3)]
    with pytest.raises(ScriptExhausted, match="the script has 2 replies"):
        Agent("lead", ScriptedLLM([*script, "done"]), tools=[AgentTool(worker)]).run("go")
    assert [len(request.messages) for request in worker.model.requests] == [1, 1]


def test_13_schemas_know_more_than_names_of_types():
    class Unit(Enum):
        celsius = "C"

    class Place(BaseModel):
        city: str

    @tool
    def weather(days: list[int], unit: Unit, part: Literal["noon"], place: Place, limit: int | None) -> dict[str, int]:
        """Look the weather up."""
        return {"n": days[0] if limit is None else limit}

    parameters = weather.schema.parameters["properties"]
    assert parameters["days"]["items"] == {"type": "integer"}
    assert set(weather.schema.parameters["required"]) == {"days", "unit", "part", "place"} | (
        {"limit"} if "limit" in weather.schema.parameters["required"] else set()
    )
    args = {"days": [1], "unit": "C", "part": "noon", "place": {"city": "Oslo"}, "limit": None}
    agent = Agent("a", ScriptedLLM([call("weather", args), "done"]), tools=[weather])
    assert agent.run("go").tool_calls[0].observation.text == '{"n": 1}'


def test_14_a_turn_adds_the_same_few_events_however_many_there_were():
    def events(turns):
        agent = Agent("a", ScriptedLLM([call("look")] * turns + ["done"]), tools=[look], max_turns=turns + 1)
        return len(agent.run("go").events)

    assert events(60) - events(40) == events(40) - events(20)


def test_15_usage_is_split_and_priced_and_rolls_up():
    from decimal import Decimal

    from nbagent.messages import ModelReply

    reply = ModelReply("hi", usage=Usage(10, 5, cost=Decimal("0.01"), cache_read_tokens=4))
    worker = Agent("worker", ScriptedLLM([reply]))
    lead = Agent(
        "lead",
        ScriptedLLM([ModelReply("", call("worker", {"task": "t"}).tool_calls, reply.usage, "tool_calls"), reply]),
        tools=[worker],
    )
    usage = lead.run("go").usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cost) == (
        30,
        15,
        12,
        Decimal("0.03"),
    )


def test_16_all_strategies_take_the_same_options():
    options = {"tools": [look], "max_turns": 2, "limits": None, "texts": "english", "scope": "s"}
    for kind in (Agent, PlanAgent, ReflectionAgent):
        agent = kind("a", ScriptedLLM(["x"]), "S", **options)
        assert (agent.max_turns, agent.scope, agent.own_tools.names) == (2, "s", ("look",))
        for name in ("run", "arun", "stream", "astream", "stream_run", "astream_run", "replay", "areplay", "observe"):
            assert callable(getattr(agent, name))


def test_17_a_scripted_agent_loads_no_sdk_and_no_database():
    code = (
        "import sys; from nbagent import PlanAgent, ReflectionAgent, AgentTool, ScriptedLLM, tool;"
        "PlanAgent('p', ScriptedLLM(['[]', 'a', 'b'])).run('go');"
        "print([m for m in ('openai', 'anthropic', 'sqlite3', 'jsonschema', 'numpy', 'IPython') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_interrupted_run_goes_on_from_all_of_its_events():
    agent = Agent("a", ScriptedLLM([call("look"), "done"]), tools=[look])
    whole = agent.run("go")
    cut = whole.events[: [type(event) for event in whole.events].index(ToolStarted) + 1]
    paused = agent.replay(cut)
    assert paused.interrupted
    assert agent.replay(paused.events) == paused
    assert agent.replay(paused.events, unknown="run_again") == whole


def test_agents_are_tools_wherever_tools_are_taken():
    from nbagent import ToolRegistry

    worker = Agent("worker", ScriptedLLM(["one"]))
    registry = ToolRegistry([worker])
    registry.remove("worker")
    registry.register(worker)
    assert registry.get("worker").agent is worker


def test_a_reset_starts_everything_over():
    worker = Agent("worker", ScriptedLLM(["one"]))
    lead = Agent("lead", ScriptedLLM([call("worker", {"task": "t"}), "done"]), tools=[worker])
    for scope in (None, "ada"):
        lead.run("go", scope=scope)
        lead.reset()
    assert (lead.scopes, worker.model.position, lead.model.position) == ((), 0, 0)
