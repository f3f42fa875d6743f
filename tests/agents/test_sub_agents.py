"""AgentTool: an agent as a tool of another one: a run inside a run, in one journal, stopped and resumed with it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from contextlib import nullcontext
from decimal import Decimal

import pytest

from nbagent import (
    Agent,
    AgentTool,
    HistoryMemory,
    Limits,
    PlanAgent,
    ReflectionAgent,
    Retry,
    ScriptedLLM,
    SessionStore,
    ToolPermissions,
    ToolRegistry,
    tool,
)
from nbagent.errors import ConfigError, DriftError, MemoryFailed, ModelError, ScriptExhausted, ToolDefinitionError
from nbagent.events import (
    ModelReplied,
    ModelRequested,
    Nested,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolReturned,
    ToolStarted,
)
from nbagent.messages import ModelReply, Usage
from nbagent.runtime.nested import DEEPEST

call = ScriptedLLM.tool_call
BOTH = pytest.mark.parametrize("asynchronous", [False, True], ids=["run", "arun"])
PATIENCE = 20
"""Seconds after which two runs that should meet are taken not to."""
ran: list = []


@pytest.fixture(autouse=True)
def _nothing_ran():
    ran.clear()


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    ran.append((a, b))
    return a + b


def adding(a=1, b=2, **more):
    return call("add", {"a": a, "b": b}, **more)


def asking(name="worker", task="1 + 2?", **more):
    return call(name, {"task": task}, **more)


def agent_of(name, *script, **options):
    return Agent(name, ScriptedLLM(script), **options)


def team(lead, work, **options):
    """A lead and its worker, from their scripts."""
    worker = agent_of("worker", *work, tools=[add])
    return agent_of("lead", *lead, tools=[AgentTool(worker)], **options), worker


def run(agent, task="go", *, asynchronous=False, **options):
    return asyncio.run(agent.arun(task, **options)) if asynchronous else agent.run(task, **options)


def replay(agent, events, *, asynchronous=False, **options):
    return asyncio.run(agent.areplay(events, **options)) if asynchronous else agent.replay(events, **options)


def streamed(agent, asynchronous, until=None):
    """The events of a run, to the first that `until` accepts, where the stream is closed."""

    async def collect():
        events, found = agent.astream("go"), []
        async for event in events:
            found.append(event)
            if until is not None and until(event):
                break
        await events.aclose()
        return found

    if asynchronous:
        return asyncio.run(collect())
    events, found = agent.stream("go"), []
    for event in events:
        found.append(event)
        if until is not None and until(event):
            break
    events.close()
    return found


def inside(event):
    """An event without the runs around it."""
    while isinstance(event, Nested):
        event = event.event
    return event


def requests_of(agent):
    return [[message.content for message in request.messages] for request in agent.model.requests]


# a run inside a run


@BOTH
def test_a_call_is_a_run_inside_the_run(asynchronous):
    lead, worker = team([asking(), "It is 3."], [adding(), "3"])
    result = run(lead, asynchronous=asynchronous)
    assert (result.final_output, ran, requests_of(worker)[0]) == ("It is 3.", [(1, 2)], ["1 + 2?"])
    [exchange] = result.tool_calls
    assert (exchange.observation.text, exchange.observation.status) == ("3", "success")
    assert (exchange.run.status, exchange.run.final_output, exchange.run.run_id) == ("completed", "3", "lead-1.1")
    assert [c.call.name for c in exchange.run.tool_calls] == ["add"]
    # All of it is in the journal of the lead, in its order, and nowhere in another form.
    nested = [e for e in result.events if isinstance(e, Nested)]
    assert {(e.turn, e.index) for e in nested} == {(1, 0)}
    assert tuple(e.event for e in nested) == exchange.run.events == worker.last.events
    kinds = [type(e) for e in result.events if isinstance(e, Nested | ToolStarted | ToolReturned)]
    assert kinds == [ToolStarted, *[Nested] * len(nested), ToolReturned]


@BOTH
def test_what_it_uses_is_counted_with_the_run(asynchronous):
    lead, worker = team([asking(), asking(task="3 + 4?"), "3 and 7."], ["three", "seven"])
    result = run(lead, asynchronous=asynchronous)
    assert (result.usage.llm_calls, result.usage.tool_calls) == (5, 2)
    assert [exchange.run.usage.llm_calls for exchange in result.tool_calls] == [1, 1]
    tokens = sum(e.reply.usage.total_tokens for e in map(inside, result.events) if isinstance(e, ModelReplied))
    assert result.usage.total_tokens == tokens > worker.last.usage.total_tokens


def test_tools_that_it_starts_are_counted_too():
    lead, _ = team([asking(), "It is 3."], [adding(), "3"])
    result = lead.run("go")
    assert (result.usage.llm_calls, result.usage.tool_calls) == (4, 2)


def test_its_answer_may_be_fields():
    worker = agent_of("worker", '{"sum": 3}', output={"sum": int})
    result = agent_of("lead", asking(), "3.", tools=[AgentTool(worker)]).run("go")
    [exchange] = result.tool_calls
    assert json.loads(exchange.observation.text) == {"sum": 3}
    assert exchange.run["sum"] == 3


def test_each_call_starts_afresh():
    lead, worker = team(
        [asking(task="one"), asking(task="two"), "Done.", asking(task="three"), "Done."], ["1", "2", "3"]
    )
    lead.run("go")
    lead.run("again")
    assert requests_of(worker) == [["one"], ["two"], ["three"]]
    assert (worker.history, worker.last.final_output) == ((), "3")


def test_what_the_worker_and_its_user_have_said_is_not_told():
    lead, worker = team([asking(task="two"), "Done."], ["1", "2"])
    worker.run("one")
    lead.run("go")
    assert requests_of(worker)[-1] == ["two"]
    assert [m.content for m in worker.history] == ["one", "1"]


def test_a_memory_that_the_worker_has_stays_as_it_is():
    worker = agent_of("worker", "1", "2", memories=[memory := HistoryMemory()])
    worker.run("one")
    agent_of("lead", asking(task="two"), "Done.", tools=[AgentTool(worker)]).run("go")
    assert requests_of(worker)[-1] == ["two"]
    assert [m.content for m in memory.get_messages()] == ["one", "1"]


@BOTH
def test_with_a_scope_it_remembers(asynchronous):
    worker = agent_of("worker", "1", "2", "3")
    lead = agent_of(
        "lead", asking(task="one"), asking(task="two"), "Done.", asking(task="three"), "Done.",
        tools=[AgentTool(worker, scope="team")],
    )  # fmt: skip
    run(lead, asynchronous=asynchronous)
    run(lead, asynchronous=asynchronous)
    assert requests_of(worker) == [["one"], ["one", "1", "two"], ["one", "1", "two", "2", "three"]]
    assert [m.content for m in worker.get_history("team")] == ["one", "1", "two", "2", "three", "3"]
    assert worker.history == ()


@BOTH
@pytest.mark.parametrize("scope", [None, "team"])
def test_running_an_exchange_again_rewinds_the_scripts_of_both(scope, asynchronous):
    worker = agent_of("worker", "1", "2", "3")
    script = [asking(task="one"), "First.", asking(task="two"), "Second."]
    lead = agent_of("lead", *script, tools=[AgentTool(worker, scope=scope)])
    first = run(lead, key="a", asynchronous=asynchronous)
    second = run(lead, key="b", asynchronous=asynchronous)
    again = run(lead, key="b", asynchronous=asynchronous)
    assert (second.final_output, again.final_output) == ("Second.", "Second.")
    assert again.tool_calls[0].run.final_output == "2"
    assert (worker.model.position, lead.model.position) == (2, 4)
    assert run(lead, key="a", asynchronous=asynchronous).tool_calls[0].run.final_output == "1"
    assert (worker.model.position, lead.model.position, len(lead.history)) == (2, 4, 4)
    assert requests_of(worker)[-1] == ["one"]
    assert [m.content for m in worker.get_history("team")] == (["one", "1", "two", "2"] if scope else [])
    assert first.final_output == "First."


def scoped(*script, worker=None, **options):
    worker = worker or agent_of("worker", "1", "2", "3", "4")
    return worker, agent_of("lead", *script, tools=[AgentTool(worker, scope="team")], **options)


def remembered(worker):
    return [m.content for m in worker.get_history("team")]


@BOTH
@pytest.mark.parametrize("key", [None, "b"])
def test_what_a_cancelled_run_made_an_agent_inside_remember_is_taken_back(key, asynchronous):
    def stop(request):
        raise KeyboardInterrupt

    worker, lead = scoped(asking(task="one"), "First.", asking(task="two"), asking(task="three"), stop)
    run(lead, key="a", asynchronous=asynchronous)
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        run(lead, key=key, asynchronous=asynchronous)
    assert remembered(worker) == ["one", "1"]
    assert (worker.model.position, lead.model.position) == (1, 2)


def test_a_cancelled_second_run_of_a_key_leaves_what_agents_inside_remember_as_it_was():
    def stop(request):
        if stopping:
            raise KeyboardInterrupt
        return "First."

    stopping = []
    worker, lead = scoped(asking(task="one"), stop)
    lead.run("go", key="a")
    stopping.append(True)
    with pytest.raises(KeyboardInterrupt):
        lead.run("go", key="a")
    assert remembered(worker) == ["one", "1"]


@BOTH
def test_what_undo_takes_back_agents_inside_forget(asynchronous):
    worker, lead = scoped(asking(task="one"), "First.", asking(task="two"), asking(task="three"), "Second.")
    run(lead, asynchronous=asynchronous)
    worker.run("by the user", scope="team")
    run(lead, asynchronous=asynchronous)
    assert remembered(worker) == ["one", "1", "by the user", "2", "two", "3", "three", "4"]
    lead.undo()
    assert remembered(worker) == ["one", "1", "by the user", "2"]
    lead.undo()
    assert remembered(worker) == ["by the user", "2"]


def test_what_is_forgotten_agents_inside_forget():
    worker, lead = scoped(asking(task="one"), "First.")
    lead.run("go")
    worker.run("by the user", scope="team")
    lead.clear_history()
    assert remembered(worker) == ["by the user", "2"]


def test_an_exchange_that_is_made_again_with_fewer_calls_leaves_nothing_of_the_others():
    calls = 2

    def first(request):
        return asking(task=f"{calls} now")

    def then(request):
        return "Done." if calls == 1 else asking(task="one more")

    worker, lead = scoped(first, then, "Done.", "Next.")
    lead.run("go", key="a")
    lead.run("next", key="b")
    assert remembered(worker) == ["2 now", "1", "one more", "2"]
    calls = 1
    lead.run("go", key="a")
    assert remembered(worker) == ["1 now", "1"]


@pytest.mark.parametrize("limits", [Limits(max_llm_calls=3), None], ids=["limit", "error"])
def test_a_run_that_comes_to_nothing_leaves_nothing_in_agents_inside(limits):
    worker, lead = scoped(asking(task="one"), *([asking(task="two")] if limits else []), limits=limits)
    with pytest.raises(ScriptExhausted) if limits is None else nullcontext():
        lead.run("go")
    assert worker.results[1].final_output == "1"
    assert (lead.history, remembered(worker)) == ((), [])


def test_a_run_that_waits_keeps_what_agents_inside_have_said_until_it_has_been_gone_on_with():
    worker = agent_of("worker", "1", "2")
    steps = ['["A", "B"]', asking(task="one"), "a", asking(task="two"), "b", "ok"]
    lead = PlanAgent("lead", ScriptedLLM(steps), tools=[AgentTool(worker, scope="team")])
    lead.propose("go", key="a")
    lead.run_plan(key="a")
    assert remembered(worker) == ["one", "1", "two", "2"]
    lead.undo()
    assert remembered(worker) == []


def test_agents_inside_an_agent_inside_forget_with_the_outermost():
    inner = agent_of("inner", "1", "2")
    middle = agent_of("middle", asking("inner", "deep"), "m", tools=[AgentTool(inner, scope="team")])
    lead = agent_of("lead", asking("middle", "task"), "Done.", tools=[middle])
    lead.run("go")
    assert remembered(inner) == ["deep", "1"]
    lead.undo()
    assert remembered(inner) == []


def test_what_agents_inside_forget_is_forgotten_on_disk(tmp_path):
    store = SessionStore(tmp_path)
    worker = agent_of("worker", "1", "2", session_store=store)
    _, lead = scoped(asking(task="one"), "First.", worker=worker)
    lead.run("go")
    worker.run("by the user", scope="team")
    lead.undo()
    again = agent_of("worker", session_store=SessionStore(tmp_path))
    assert remembered(again) == ["by the user", "2"]


def test_it_stays_a_function():
    worker = agent_of("worker", "one", "two")
    ask = AgentTool(worker)
    assert ask("What?") == "one"
    response = ToolRegistry([ask]).execute_tool("worker", {"task": "What?"})
    assert (response.text, response.status) == ("two", "success")


# what it is called


def test_its_name_and_description_are_those_of_the_agent():
    worker = agent_of("worker", system_prompt="You add\n  numbers.\n\nNever guess.")
    ask = AgentTool(worker)
    assert (ask.name, ask.description, ask.agent) == (
        "worker",
        "Gives a task to worker, another agent. It was told: You add numbers.",
        worker,
    )
    assert AgentTool(agent_of("worker")).description == "Gives a task to worker, another agent."
    named = AgentTool(worker, "adder", "Adds.")
    assert (named.name, named.description, named.schema.description) == ("adder", "Adds.", "Adds.")
    schema = ask.schema.parameters
    assert (schema["required"], list(schema["properties"])) == (["task"], ["task"])
    assert schema["properties"]["task"]["type"] == "string"
    assert schema["properties"]["task"]["description"]


def test_a_description_is_what_the_agent_says_of_itself_when_it_is_asked_for():
    worker = agent_of("worker", system_prompt="You add.")
    tools = ToolRegistry([add, AgentTool(worker), AgentTool(worker, "fixed", "Fixed.")])
    view = ToolPermissions(deny=["add"]).permitted(tools)
    lead = agent_of("lead", asking(), "3", "It is 3.", tool_registry=tools)
    first = tools.schemas
    assert (tools.schemas, view.schemas) == (first, first[1:])
    assert tools.schemas is first
    assert view.schemas is view.schemas
    worker.become(agent_of("other", "3", system_prompt="You multiply."))
    told = "Gives a task to worker, another agent. It was told: You multiply."
    assert [tool.description for tool in tools.schemas] == ["Adds two numbers.", told, "Fixed."]
    assert [tool.description for tool in view.schemas] == [told, "Fixed."]
    assert tools.schemas is tools.schemas is not first
    assert told in tools.get_catalog()
    whole = lead.run("go")
    assert whole.prompt.tools == tools.schemas
    worker.description = "Divides."
    assert tools.get("worker").description == lead.tools.schemas[1].description == "Divides."
    with pytest.raises(DriftError, match="worker changed"):
        lead.replay(whole.events[:3])


def test_what_can_be_no_tool_says_so():
    with pytest.raises(ToolDefinitionError, match="my worker"):
        AgentTool(agent_of("my worker"))
    assert AgentTool(agent_of("my worker"), "my_worker").name == "my_worker"
    for wrong in (add, ScriptedLLM([]), "worker", None, Agent):
        with pytest.raises(ConfigError, match="AgentTool: expected an agent, got"):
            AgentTool(wrong)
    with pytest.raises(
        ToolDefinitionError, match=r"'翻译' is none; give the tool one of its own, AgentTool\(agent, name="
    ):
        AgentTool(agent_of("翻译"))
    assert AgentTool(agent_of("翻译"), "translate", "译", "s").scope == "s"
    for name, wrong in (("description", 5), ("scope", [])):
        with pytest.raises(ConfigError, match=f"{name}: expected a text"):
            AgentTool(agent_of("worker"), **{name: wrong})
    worker = agent_of("worker")
    with pytest.raises(ToolDefinitionError, match="there is a tool 'worker' already"):
        agent_of("lead", tools=[AgentTool(worker), AgentTool(worker)])


def test_an_agent_among_the_tools_becomes_one():
    worker = agent_of("worker", "one")
    lead = agent_of("lead", asking("worker"), "Done.", tools=[worker])
    assert lead.run("go").tool_calls[0].run.final_output == "one"
    assert worker.as_tool("other", "What for.", scope="s").scope == "s"


@BOTH
@pytest.mark.parametrize("arguments", [{"task": ""}, {"task": " \n"}, {}, {"task": 3}, {"task": "x", "more": 1}, "{"])
def test_a_call_without_a_task_is_refused(arguments, asynchronous):
    lead, worker = team([call("worker", arguments), "Done."], ["never"])
    result = run(lead, asynchronous=asynchronous)
    [exchange] = result.tool_calls
    assert (exchange.observation.error.kind, exchange.run) == ("invalid_arguments", None)
    assert (result.usage.tool_calls, worker.model.position, worker.last) == (0, 0, None)
    assert not any(isinstance(e, ToolStarted) for e in result.events)


# what goes wrong inside


@BOTH
def test_a_script_that_is_too_short_is_never_hidden(asynchronous):
    for lead, _ in (
        team([asking(), "never"], []),
        team([[asking(), asking()], "never"], ["one"]),
        team([asking(), "never"], [adding()]),
    ):
        with pytest.raises(ScriptExhausted):
            run(lead, asynchronous=asynchronous)
        assert (lead.last.status, lead.history) == ("failed", ())


@BOTH
def test_a_script_that_is_too_short_is_not_hidden_side_by_side_and_deep_inside(asynchronous):
    deep = agent_of("deep")
    middle = agent_of("middle", asking("deep"), "never", tools=[AgentTool(deep)])
    other = agent_of("other", *["fine"] * 9)
    lead = agent_of("lead", [asking("middle"), asking("other")], "never", tools=[AgentTool(middle), AgentTool(other)])
    with pytest.raises(ScriptExhausted):
        run(lead, asynchronous=asynchronous)
    assert [agent.last.status for agent in (lead, middle, deep)] == ["failed"] * 3


@BOTH
@pytest.mark.parametrize("error", [ModelError("overloaded", kind="auth"), RuntimeError("overloaded"), SystemExit(1)])
def test_a_model_that_fails_inside_is_an_observation(error, asynchronous):
    lead, worker = team([asking(), "It failed."], [adding(), error])
    result = run(lead, asynchronous=asynchronous)
    [exchange] = result.tool_calls
    assert (result.final_output, exchange.observation.status) == ("It failed.", "error")
    assert "ModelError" in exchange.observation.text
    assert exchange.observation.error.kind == "exception"
    assert (exchange.run.status, worker.last.status, ran) == ("failed", "failed", [(1, 2)])
    assert replay(team([], [])[0], result.events, asynchronous=asynchronous) == result


@BOTH
def test_a_worker_without_an_answer_says_why(asynchronous):
    worker = agent_of("worker", *[adding()] * 3, tools=[add], max_turns=2)
    lead = agent_of("lead", asking(), "It did not.", tools=[AgentTool(worker)])
    result = run(lead, asynchronous=asynchronous)
    [exchange] = result.tool_calls
    assert (exchange.observation.status, exchange.run.status) == ("error", "out_of_turns")
    assert "no answer within max_turns=2" in exchange.observation.text
    assert result.final_output == "It did not."


@BOTH
def test_a_worker_that_is_described_wrongly_is_an_error_of_its_author(asynchronous):
    worker = agent_of("worker", "never", instructions="You know {topic}.")
    other = agent_of("other", *["fine"] * 3)
    for calls in (asking(), [asking("other"), asking()]):
        lead = agent_of("lead", calls, "never", tools=[AgentTool(worker), AgentTool(other)])
        with pytest.raises(ConfigError, match="topic"):
            run(lead, asynchronous=asynchronous)
        assert lead.last.status == "failed"


@BOTH
def test_what_is_described_wrongly_deep_inside_is_no_observation_either(asynchronous):
    worker = agent_of("worker", "never", instructions="You know {topic}.")
    priced = Agent("priced", Met("met", threading.Barrier(1), "never"), limits=Limits(max_cost=Decimal(1)))
    priced.model.has_price = False
    for wrong, says in ((worker, "topic"), (priced, "no price is known")):
        middle = agent_of("middle", asking(wrong.name), "never", tools=[AgentTool(wrong)])
        lead = agent_of("lead", asking("middle"), "never", tools=[AgentTool(middle)])
        with pytest.raises(ConfigError, match=says):
            run(lead, asynchronous=asynchronous)
        assert (lead.last.status, middle.last.status, lead.history) == ("failed", "failed", ())


@BOTH
@pytest.mark.parametrize("beside", [False, True])
def test_a_user_who_stops_a_tool_inside_stops_everything(beside, asynchronous):
    @tool
    def stop() -> None:
        """Stop."""
        raise KeyboardInterrupt

    worker = agent_of("worker", call("stop"), "never", tools=[stop])
    other = agent_of("other", *["fine"] * 9)
    calls = [asking(), asking("other")] if beside else asking()
    lead = agent_of("lead", calls, "never", tools=[AgentTool(worker), AgentTool(other)])
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        run(lead, asynchronous=asynchronous)
    assert (lead.last.status, worker.last.status) == ("cancelled", "cancelled")
    assert (lead.history, lead.model.position, worker.model.position, other.model.position) == ((), 0, 0, 0)


@BOTH
@pytest.mark.parametrize("deep", [False, True])
def test_closing_the_stream_stops_the_run_inside(deep, asynchronous):
    worker = agent_of("worker", adding(), "3", tools=[add])
    lead = agent_of("lead", asking(), "It is 3.", tools=[AgentTool(worker)])
    agents = [worker, lead]
    if deep:
        agents.append(agent_of("boss", asking("lead"), "Three.", tools=[AgentTool(lead)]))
    top = agents[-1]
    streamed(top, asynchronous, until=lambda event: isinstance(inside(event), ToolStarted) and event != inside(event))
    assert {agent.last.status for agent in agents if agent.last} == {"cancelled"}  # others have not begun
    assert [agent.model.position for agent in agents] == [0] * len(agents)
    assert top.history == ()
    assert run(top, asynchronous=asynchronous).status == "completed"


@BOTH
def test_runs_side_by_side_are_stopped_with_the_stream(asynchronous):
    class Slow(ScriptedLLM):
        """A script whose first reply takes until `released`."""

        def __init__(self, script):
            super().__init__(script)
            self.entered, self.released = threading.Event(), threading.Event()

        def stream(self, request):
            pieces = list(super().stream(request))
            self.entered.set()
            self.released.wait(PATIENCE)
            yield from pieces

        async def astream(self, request):
            pieces = list(super().stream(request))
            self.entered.set()
            while not self.released.is_set():
                await asyncio.sleep(0)
            for piece in pieces:
                yield piece

    workers = [Agent(f"w{n}", Slow([adding(n, n), "done"]), tools=[add]) for n in range(3)]
    lead = agent_of("lead", [asking(w.name) for w in workers], "Done.", tools=[AgentTool(w) for w in workers])

    def all_have_been_asked(event):
        seen[0] += isinstance(inside(event), ModelRequested)
        return seen[0] == 4 and (asynchronous or all(w.model.entered.wait(PATIENCE) for w in workers))

    seen = [0]
    streamed(lead, asynchronous, until=all_have_been_asked)
    assert [agent.last.status for agent in (lead, *workers)] == ["cancelled"] * 4
    for worker in workers:
        worker.model.released.set()
    for thread in threading.enumerate():
        if thread.name.startswith("nbagent-tool-"):
            thread.join(PATIENCE)
    # What was under way has come to nothing, also where a thread had to be left behind.
    assert ([agent.model.position for agent in (lead, *workers)], ran) == ([0] * 4, [])
    assert run(lead, asynchronous=asynchronous).final_output == "Done."
    assert sorted(ran) == [(0, 0), (1, 1), (2, 2)]


# waiting for a decision


def teams():
    """Fresh agents whose runs nest twice, with a tool at each level, and the journal of their run."""
    worker = agent_of("worker", adding(5, 6), [adding(7, 8), call("nothing")], "18", tools=[add])
    middle = agent_of("middle", adding(3, 4), asking(task="sum"), "25", tools=[add, AgentTool(worker)])
    return agent_of("lead", adding(1, 2), asking("middle"), "28", tools=[add, AgentTool(middle)])


def started(events, name="add"):
    """Where a call of this tool is started, inside or not."""
    return [i for i, e in enumerate(events) if isinstance(one := inside(e), ToolStarted) and one.call.name == name]


@BOTH
def test_a_call_inside_that_has_no_result_makes_everything_wait(asynchronous):
    whole = teams().run("go")
    for place in started(whole.events)[1:]:
        ran.clear()
        lead = teams()
        paused = replay(lead, whole.events[: place + 1], asynchronous=asynchronous)
        waiting = inside(whole.events[place]).call
        assert (paused.status, paused.interrupted, ran) == ("interrupted", True, [])
        [pending] = paused.interrupt.pendings
        assert (pending.tool_name, pending.arguments) == ("add", waiting.arguments)
        assert paused.interrupt.reason.startswith("in middle: ")
        assert "it is unknown whether add took effect" in paused.interrupt.reason
        # Each run around it waits, too; none of them has an end that counts.
        [exchange] = [e for e in paused.tool_calls if e.call.name == "middle"]
        assert (exchange.observation, exchange.run.status) == (None, "interrupted")
        assert not any(isinstance(e, ToolReturned) and e.turn == 2 for e in paused.events)
        done = replay(teams(), paused.events[: place + 1], asynchronous=asynchronous, unknown="run_again")
        assert done == whole


@BOTH
def test_a_waiting_run_goes_on_without_its_question(asynchronous):
    whole = teams().run("go")
    for place in started(whole.events):
        paused = replay(teams(), whole.events[: place + 1], asynchronous=asynchronous)
        # The questions are no part of the run, that of a run inside neither.
        assert replay(teams(), paused.events[:-1], asynchronous=asynchronous, unknown="run_again") == whole


@BOTH
def test_a_journal_cut_after_any_event_goes_on_to_the_same_end(asynchronous):
    whole = teams().run("go")
    done = sum(isinstance(one := inside(e), ToolStarted) and one.call.name == "add" for e in whole.events)
    assert len(ran) == done == 4
    replies = Counter(isinstance(inside(e), ModelReplied) for e in whole.events)[True]
    for cut in range(1, len(whole.events)):
        ran.clear()
        prefix, lead = whole.events[:cut], teams()
        again = replay(lead, prefix, asynchronous=asynchronous, unknown="run_again")
        assert again == whole, f"cut after {prefix[-1]}"
        returned = sum(isinstance(one := inside(e), ToolReturned) and one.observation.text in EXACT for e in prefix)
        assert len(ran) == done - returned
        asked = sum(len(model.requests) for model in lead.models)
        assert asked == replies - sum(isinstance(inside(e), ModelReplied) for e in prefix)
        assert [model.position for model in lead.models] == [0, 0, 0]
        assert lead.last is None


EXACT = {"3", "7", "11", "15"}
"""What `add` returns in these runs, and agents do not."""


@BOTH
def test_a_whole_journal_gives_the_same_run_with_no_call_at_all(asynchronous):
    whole = teams().run("go")
    ran.clear()
    worker = agent_of("worker", tools=[add])
    middle = agent_of("middle", tools=[add, AgentTool(worker)])
    lead = agent_of("lead", tools=[add, AgentTool(middle)])
    again = replay(lead, whole.events, asynchronous=asynchronous)
    assert again.events == whole.events
    assert (again.usage, ran, worker.last, middle.last, lead.last) == (whole.usage, [], None, None, None)


def test_the_same_agents_replay_a_cut_run_and_stay_where_they_are():
    lead = teams()
    whole = lead.run("go")
    places = [model.position for model in lead.models]
    for cut in range(1, len(whole.events)):
        assert lead.replay(whole.events[:cut], unknown="run_again") == whole
        assert [model.position for model in lead.models] == places
    assert lead.last == whole


def test_a_worker_that_has_changed_since_is_drift():
    lead, _ = team([asking(), "It is 3."], [adding(), "3"])
    whole = lead.run("go")
    cut = next(i for i, e in enumerate(whole.events) if isinstance(inside(e), ToolReturned))
    worker = agent_of("worker", adding(), "3")
    other = agent_of("lead", asking(), "It is 3.", tools=[AgentTool(worker)])
    with pytest.raises(DriftError, match="add is gone"):
        other.replay(whole.events[:cut], unknown="run_again")
    # What has returned is not looked into again.
    assert other.replay(whole.events) == whole


# side by side


class Met:
    """A model whose first reply waits until so many of its kind have been asked."""

    mode = "live"

    def __init__(self, name, barrier, *texts):
        self.name, self._barrier, self._texts = name, barrier, list(texts)

    def _pieces(self):
        text = self._texts.pop(0)
        yield text
        yield ModelReply(text, usage=Usage(1, 1))

    def stream(self, request):
        self._barrier.wait(PATIENCE)
        yield from self._pieces()

    async def astream(self, request):
        async with asyncio.timeout(PATIENCE):
            await self._barrier.wait()
        for piece in self._pieces():
            yield piece


@BOTH
@pytest.mark.parametrize("count", [2, 5])
def test_workers_run_side_by_side(count, asynchronous):
    barrier = asyncio.Barrier(count) if asynchronous else threading.Barrier(count)
    workers = [Agent(f"w{n}", Met("met", barrier, f"answer {n}")) for n in range(count)]
    lead = agent_of("lead", [asking(w.name) for w in workers], "Done.", tools=[AgentTool(w) for w in workers])
    result = run(lead, asynchronous=asynchronous)
    assert result.final_output == "Done."
    assert [exchange.observation.text for exchange in result.tool_calls] == [f"answer {n}" for n in range(count)]
    assert [exchange.run.final_output for exchange in result.tool_calls] == [f"answer {n}" for n in range(count)]
    assert result.usage.llm_calls == 2 + count


@BOTH
def test_one_worker_may_do_several_tasks_at_once(asynchronous):
    barrier = asyncio.Barrier(3) if asynchronous else threading.Barrier(3)
    worker = Agent("worker", Met("met", barrier, "a", "b", "c"))
    lead = agent_of("lead", [asking(task=f"{n}") for n in range(3)], "Done.", tools=[AgentTool(worker)])
    result = run(lead, asynchronous=asynchronous)
    assert sorted(exchange.observation.text for exchange in result.tool_calls) == ["a", "b", "c"]
    assert [exchange.run.run_id for exchange in result.tool_calls] == ["lead-1.1", "lead-1.2", "lead-1.3"]
    assert (len(worker.results), worker.last.run_id, worker.history) == (3, "lead-1.3", ())


@BOTH
def test_workers_that_share_a_script_run_one_after_another(asynchronous):
    llm = ScriptedLLM([adding(1, 1), "first", adding(2, 2), "second"])
    workers = [Agent(f"w{n}", llm, tools=[add]) for n in range(2)]
    lead = agent_of("lead", [asking("w0"), asking("w1")], "Done.", tools=[AgentTool(w) for w in workers])
    events = streamed(lead, asynchronous)
    assert [exchange.observation.text for exchange in lead.last.tool_calls] == ["first", "second"]
    order = [(type(e), e.index) for e in events if isinstance(e, ToolStarted | ToolReturned)]
    assert order == [(ToolStarted, 0), (ToolReturned, 0), (ToolStarted, 1), (ToolReturned, 1)]
    # As with a script that the lead shares with its worker.
    shared = ScriptedLLM([[asking(), asking()], "one", "two", "Done."])
    lead = Agent("lead", shared, tools=[AgentTool(Agent("worker", shared))])
    assert [e.observation.text for e in run(lead, asynchronous=asynchronous).tool_calls] == ["one", "two"]


class Turn:
    """Lets the models of two runs reply in the order that it is given."""

    def __init__(self, *order):
        self._order, self._events = order, {}

    def of(self, name):
        return self._events.setdefault(name, threading.Event())

    def done(self, name):
        at = self._order.index(name) + 1
        if at < len(self._order):
            self.of(self._order[at]).set()


class Ordered:
    """A model that replies when it is its turn."""

    name, mode = "ordered", "live"

    def __init__(self, name, turn, *replies):
        self._name, self._turn, self._replies = name, turn, list(replies)

    def _reply(self):
        reply = self._replies.pop(0)
        return reply if isinstance(reply, ModelReply) else ModelReply(reply, usage=Usage(1, 1))

    def stream(self, request):
        assert self._turn.of(self._name).wait(PATIENCE)
        reply = self._reply()
        if reply.content:
            yield reply.content
        yield reply
        if not self._replies:
            self._turn.done(self._name)

    async def astream(self, request):
        async with asyncio.timeout(PATIENCE):
            while not self._turn.of(self._name).is_set():
                await asyncio.sleep(0)
        for piece in self.stream(request):
            yield piece


@BOTH
def test_equal_runs_have_equal_journals_whichever_worker_ends_first(asynchronous):
    def result_of(*order):
        turn = Turn(*order)
        turn.of(order[0]).set()
        workers = [
            Agent(name, Ordered(name, turn, adding(n, n, call_id=f"c{n}"), f"{name} done"), tools=[add])
            for n, name in enumerate(("a", "b", "c"))
        ]
        calls = [asking(w.name) for w in workers]
        lead = agent_of("lead", calls, "Done.", tools=[AgentTool(w) for w in workers])
        return run(lead, asynchronous=asynchronous)

    first, *others = [result_of(*order) for order in ("abc", "cba", "bac")]
    for other in others:
        assert other.events == first.events
    kinds = [(type(e), e.index) for e in first.events if isinstance(e, ToolStarted | ToolReturned | Nested)]
    assert kinds == sorted(kinds, key=lambda kind: ([ToolStarted, Nested, ToolReturned].index(kind[0]), kind[1]))


@BOTH
def test_a_run_that_was_cut_while_workers_ran_side_by_side_goes_on(asynchronous):
    def made():
        workers = [agent_of(f"w{n}", adding(n, n), f"answer {n}", tools=[add]) for n in range(3)]
        return agent_of("lead", [asking(w.name) for w in workers], "Done.", tools=[AgentTool(w) for w in workers])

    # As it happened, which is what a journal holds when its process dies.
    lead = made()
    happened = [e for e in streamed(lead, asynchronous) if not isinstance(inside(e), TextDelta)]
    whole = lead.last
    for cut in range(1, len(happened)):
        prefix = happened[:cut]
        ran.clear()
        again = replay(made(), prefix, asynchronous=asynchronous, unknown="run_again")
        assert again == whole, f"cut after {prefix[-1]}"
        assert len(ran) == 3 - sum(isinstance(e, Nested) and isinstance(e.event, ToolReturned) for e in prefix)


# limits


@BOTH
@pytest.mark.parametrize(
    ("limits", "used"),
    [
        (Limits(max_llm_calls=3), (3, 2)),
        (Limits(max_tokens=200), (2, 2)),
    ],
)
def test_limits_of_a_run_count_what_happens_inside(limits, used, asynchronous):
    def spending(reply):
        said = {"tool_calls": reply.tool_calls, "finish_reason": "tool_calls"} if isinstance(reply, ModelReply) else {}
        return ModelReply("" if said else reply, usage=Usage(60, 40), **said)

    lead, worker = team(
        [spending(asking()), spending("It is 3.")], [spending(adding()), spending("3")], limits=limits
    )  # fmt: skip
    result = run(lead, asynchronous=asynchronous)
    assert (result.status, result.final_output, lead.history) == ("limit_reached", None, ())
    assert (result.usage.llm_calls, result.usage.tool_calls) == used
    assert worker.last.status in ("limit_reached", "completed")


@BOTH
def test_no_tool_starts_inside_beyond_the_limit_of_the_run(asynchronous):
    lead, worker = team([asking(), asking(), "never"], [adding(), "never"], limits=Limits(max_tool_calls=1))
    result = run(lead, asynchronous=asynchronous)
    assert (result.status, result.usage.tool_calls, ran) == ("limit_reached", 1, [])
    assert worker.last.status == "limit_reached"
    assert "1 tool call" in worker.last.stop_reason


@BOTH
def test_a_limit_of_the_worker_ends_the_worker(asynchronous):
    worker = agent_of("worker", adding(), "never", tools=[add], limits=Limits(max_llm_calls=1))
    lead = agent_of("lead", asking(), "It did not.", tools=[AgentTool(worker)], limits=Limits(max_llm_calls=9))
    result = run(lead, asynchronous=asynchronous)
    [exchange] = result.tool_calls
    assert (result.final_output, exchange.run.status) == ("It did not.", "limit_reached")
    assert "1 model call" in exchange.observation.text


@BOTH
def test_workers_side_by_side_share_the_limit(asynchronous):
    workers = [agent_of(f"w{n}", *[adding(n, i) for i in range(4)], "done", tools=[add]) for n in range(3)]
    calls = [asking(w.name) for w in workers]
    lead = agent_of("lead", calls, "Done.", tools=[AgentTool(w) for w in workers], limits=Limits(max_llm_calls=8))
    result = run(lead, asynchronous=asynchronous)
    assert (result.status, result.usage.llm_calls) == ("limit_reached", 8)


def chain(length):
    """Agents, each of which asks the next."""
    agents = [agent_of(f"a{length}", "The end.")]
    for n in range(length - 1, 0, -1):
        agents.insert(0, agent_of(f"a{n}", asking(f"a{n + 1}"), f"{n} done", tools=[AgentTool(agents[0])]))
    return agents


def depth_of(event):
    depth = 1
    while isinstance(event, Nested):
        depth, event = depth + 1, event.event
    return depth


@BOTH
def test_agents_are_only_so_deep_inside_each_other(asynchronous):
    agents = chain(DEEPEST)
    assert run(agents[0], asynchronous=asynchronous).final_output == "1 done"
    assert agents[-1].last.final_output == "The end."
    agents = chain(DEEPEST + 4)
    result = run(agents[0], asynchronous=asynchronous)
    assert result.final_output == "1 done"
    deepest = max(map(depth_of, result.events))
    assert DEEPEST <= deepest <= DEEPEST + 1
    last = agents[deepest - 1].last
    assert (last.final_output, last.tool_calls[0].observation.error.kind) == (f"{deepest} done", "denied")
    assert "agents are 8 deep inside each other" in last.tool_calls[0].observation.text
    assert agents[deepest].last is None


@BOTH
def test_an_agent_that_asks_itself_comes_to_an_end(asynchronous):
    llm = ScriptedLLM([asking("me")] * (DEEPEST + 4) + ["enough"] * 30)
    me = Agent("me", llm)
    me.tools.register(AgentTool(me))
    result = run(me, asynchronous=asynchronous)
    assert (result.status, result.final_output) == ("completed", "enough")
    assert max(map(depth_of, result.events)) <= DEEPEST + 1
    assert me.models == (llm,)


# other strategies


PLAN = '{"steps": ["look", "count"]}'


@BOTH
def test_a_plan_and_a_reflection_may_be_inside(asynchronous):
    solver = PlanAgent("solver", ScriptedLLM([PLAN, adding(), "three", "one", "3 in all"]), tools=[add])
    writer = ReflectionAgent("writer", ScriptedLLM(["draft", "mend", "better", "GOOD ENOUGH"]))
    lead = agent_of(
        "lead", [asking("solver"), asking("writer")], "Done.", tools=[AgentTool(solver), AgentTool(writer)]
    )  # fmt: skip
    result = run(lead, asynchronous=asynchronous)
    planned, written = [exchange.run for exchange in result.tool_calls]
    assert [(step.title, step.result) for step in planned.plan] == [("look", "three"), ("count", "one")]
    assert ([one.passed for one in written.rounds], written.final_output) == ([False, True], "better")
    assert [e.observation.text for e in result.tool_calls] == ["3 in all", "better"]
    assert result.usage.llm_calls == 2 + 5 + 4
    assert result.plan == result.rounds == ()


@BOTH
def test_a_call_inside_a_plan_inside_makes_everything_wait(asynchronous):
    def made():
        solver = PlanAgent("solver", ScriptedLLM([PLAN, adding(), "three", "one", "3 in all"]), tools=[add])
        return agent_of("lead", asking("solver"), "Done.", tools=[AgentTool(solver)])

    whole = made().run("go")
    [place] = started(whole.events)
    ran.clear()
    paused = replay(made(), whole.events[: place + 1], asynchronous=asynchronous)
    assert (paused.status, ran) == ("interrupted", [])
    assert [p.tool_name for p in paused.interrupt.pendings] == ["add"]
    assert [step.status for step in paused.tool_calls[0].run.plan] == ["interrupted", "pending"]
    for cut in range(1, len(whole.events)):
        assert replay(made(), whole.events[:cut], asynchronous=asynchronous, unknown="run_again") == whole


@BOTH
def test_steps_and_critics_may_ask_agents(asynchronous):
    def solver():
        worker = agent_of("worker", adding(), "3", "4", tools=[add])
        script = [PLAN, asking(), "three", asking(task="and?"), "four", "Both."]
        return PlanAgent("solver", ScriptedLLM(script), tools=[AgentTool(worker)])

    def writer():
        worker = agent_of("worker", adding(), "true", tools=[add])
        return ReflectionAgent("w", ScriptedLLM(["draft", asking(), "GOOD ENOUGH"]), tools=[AgentTool(worker)])

    for made, answer, calls in ((solver, "Both.", 2), (writer, "draft", 1)):
        whole = run(made(), asynchronous=asynchronous)
        assert whole.final_output == answer
        assert [exchange.call.name for exchange in whole.tool_calls] == ["worker"] * calls
        assert all(exchange.run.status == "completed" for exchange in whole.tool_calls)
        for cut in range(1, len(whole.events)):
            again = replay(made(), whole.events[:cut], asynchronous=asynchronous, unknown="run_again")
            assert again == whole, f"cut after {whole.events[cut - 1]}"


# streams


@BOTH
def test_a_stream_shows_what_is_said_inside(asynchronous):
    worker = agent_of("worker", "The sum is 3.")
    middle = agent_of("middle", asking(), "They say 3.", tools=[AgentTool(worker)])
    lead = agent_of("lead", asking("middle"), "It is 3.", tools=[AgentTool(middle)])
    events = streamed(lead, asynchronous)
    texts = dict.fromkeys((1, 2, 3), "")
    for event in events:
        if isinstance(inside(event), TextDelta):
            texts[depth_of(event)] += inside(event).text
    assert texts == {1: "It is 3.", 2: "They say 3.", 3: "The sum is 3."}
    assert {(e.turn, e.index) for e in events if isinstance(e, Nested)} == {(1, 0)}
    assert [e for e in events if not isinstance(inside(e), TextDelta)] == list(lead.last.events)


@BOTH
def test_the_text_of_an_answer_is_that_of_the_lead(asynchronous):
    lead, _ = team([asking(), "It is 3."], [adding(content="I add."), "three"])

    async def collect():
        return [piece async for piece in lead.astream_run("go")]

    pieces = asyncio.run(collect()) if asynchronous else list(lead.stream_run("go"))
    assert "".join(pieces) == "It is 3."


@BOTH
def test_a_model_inside_that_is_tried_again_is_seen_to_wait(asynchronous):
    worker = agent_of("worker", ModelError("busy", kind="overloaded"), "3", retry=Retry(2, 0, 0.01))
    lead = agent_of("lead", asking(), "It is 3.", tools=[AgentTool(worker)])
    kinds = [type(inside(e)).__name__ for e in streamed(lead, asynchronous) if isinstance(e, Nested)]
    assert kinds.index("ModelFailed") < kinds.index("Waiting") < kinds.index("ModelReplied")
    assert lead.last.final_output == "It is 3."


def test_the_models_of_an_agent_are_those_of_its_workers_too():
    lead = teams()
    assert len(lead.models) == 3
    assert [run_started.agent for e in lead.run("go").events if isinstance(run_started := inside(e), RunStarted)] == [
        "lead", "middle", "worker",
    ]  # fmt: skip
    lead.restart_script()
    assert [model.position for model in lead.models] == [0, 3, 3]


@BOTH
@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"max_tool_calls": 1}, "the limit is 1 tool call, 1 are used, and 1 more are asked for"),
        ({"max_llm_calls": 2}, "the limit is 2 model calls, and all are used"),
    ],
)
def test_a_limit_that_ends_a_run_inside_ends_the_run_around_it(limits, why, asynchronous):
    worker = agent_of("worker", adding(), "three", tools=[add])
    lead = agent_of("lead", asking(), "never", tools=[worker], limits=Limits(**limits))
    result = run(lead, asynchronous=asynchronous)
    assert (result.status, result.stop_reason) == ("limit_reached", why)
    [exchange] = result.tool_calls
    assert (exchange.run.status, exchange.observation.status) == ("limit_reached", "error")
    assert lead.model.position == 1
    own = agent_of("worker", adding(), "three", tools=[add], limits=Limits(**{**limits, "max_llm_calls": 1}))
    lead = agent_of("lead", asking(), "on", tools=[own])
    assert run(lead, asynchronous=asynchronous).final_output == "on"  # its own limit is no other's


# how runs side by side end


@BOTH
def test_runs_side_by_side_are_told_in_the_order_of_their_calls(asynchronous):
    barrier = asyncio.Barrier(3) if asynchronous else threading.Barrier(3)
    worker = Agent("worker", Met("met", barrier, *["ok"] * 3))
    tasks = [asking(task=f"t{n}") for n in range(1, 4)]
    lead = agent_of("lead", tasks, "Done.", tools=[AgentTool(worker, scope="team")])
    run(lead, asynchronous=asynchronous)
    assert [message.content for message in worker.get_history("team")][::2] == ["t1", "t2", "t3"]


def test_an_agent_keeps_so_many_results_of_runs_side_by_side_too():
    from nbagent.agents.runs import KEPT

    worker = Agent("worker", Met("met", threading.Barrier(1), *["ok"] * (KEPT + 10)))
    lead = agent_of("lead", [asking(task=f"t{n}") for n in range(KEPT + 10)], "Done.", tools=[worker])
    run(lead)
    kept = worker._runs.results
    assert sorted(kept) == list(range(11, KEPT + 11))
    assert worker.last is kept[KEPT + 10]


def test_every_run_side_by_side_is_closed_and_the_first_error_is_raised():
    class Failing:
        def __init__(self, name):
            self.name = name

        def get_blocks(self, query, *, top_k=8):
            return []

        def insert(self, question, answer):
            ran.append(question)
            raise ValueError(self.name)

    barrier = threading.Barrier(3)
    workers = [Agent(f"w{n}", Met("met", barrier, "ok"), memories=[Failing(f"m{n}")]) for n in range(3)]
    lead = agent_of("lead", [asking(w.name, w.name) for w in workers], "Done.", tools=workers)
    with pytest.raises(MemoryFailed, match="m0"):
        run(lead)
    assert ran == ["w0", "w1", "w2"]
    assert all(w.last.final_output == "ok" for w in workers)


def test_calls_of_several_steps_are_exchanges_of_their_own_in_a_scope():
    worker = agent_of("worker", "w1", "w2", "w1", "w2")
    script = [
        '["A", "B"]',
        call("worker", {"task": "t1"}, call_id="1"),
        "a",
        call("worker", {"task": "t2"}, call_id="1"),
        "b",
        "ok",
    ]
    lead = PlanAgent("lead", ScriptedLLM(script), tools=[AgentTool(worker, scope="s")])
    for _ in range(2):
        lead.run("go", key="cell")
        assert [message.content for message in worker.get_history("s")] == ["t1", "w1", "t2", "w2"]


def test_a_replay_leaves_nothing_in_the_agents_inside():
    worker = agent_of("worker", "w1")
    lead = agent_of("lead", asking(task="t1"), "ok", tools=[AgentTool(worker, scope="s")])
    whole = lead.run("go")
    before = (worker.last, dict(worker.results), worker.get_history("s"))
    for cut in range(1, len(whole.events) + 1):
        assert lead.replay(whole.events[:cut]) == whole
        assert (worker.last, worker.results, worker.get_history("s")) == before


def test_runs_that_threads_still_drive_have_an_end_when_the_stream_is_closed():
    first, go = threading.Event(), threading.Event()

    class Slow:
        name, mode = "slow", "live"

        def stream(self, request):
            first.set()
            go.wait(10)
            yield ModelReply("late")

        async def astream(self, request):
            for piece in self.stream(request):
                yield piece

    workers = [Agent(f"w{n}", Slow()) for n in range(2)]
    lead = agent_of("lead", [asking("w0"), asking("w1")], "never", tools=workers)
    stream = lead.stream("go")
    for event in stream:
        if isinstance(inside(event), ModelRequested) and isinstance(event, Nested):
            break
    assert first.wait(10)
    stream.close()
    go.set()
    assert lead.last.status == "cancelled"
    begun = [worker for worker in workers if worker.last is not None]
    assert begun
    for worker in begun:
        assert worker.last.status == "cancelled"
        assert isinstance(worker.last.events[-1], RunFinished)
    kept = lead.last.events
    time.sleep(0.2)  # what a thread does afterwards is no part of it
    assert lead.last.events == kept
