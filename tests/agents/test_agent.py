"""Agent: runs a task in turns, remembers, and says what went wrong."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap

import pytest

from nbagent import Agent, AgentSpec, PlanAgent, ReflectionAgent, ScriptedLLM, ToolRegistry, build_agent, tool
from nbagent.errors import ConfigError, ModelError, ScriptExhausted
from nbagent.events import (
    ModelReplied,
    ModelRequested,
    PromptAssembled,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolReturned,
    ToolStarted,
)
from nbagent.messages import Message, ModelReply
from nbagent.runtime.result import RunUsage

SEED = textwrap.dedent(
    '''
    from nbagent import Agent, tool
    from nbagent.testing import ScriptedLLM


    @tool
    def get_weather(city: str) -> str:
        """Return today's weather for a city.

        Args:
            city: The city name.
        """
        return f"{city}: sunny, 24C"


    # With a real model the LLM decides when to call the tool. Here we script that decision:
    # first it asks to call get_weather(city="Copenhagen"), then it writes the final answer.
    llm = ScriptedLLM([
        ScriptedLLM.tool_call("get_weather", {"city": "Copenhagen"}),
        "It's sunny and 24C in Copenhagen today.",
    ])

    agent = Agent("assistant", llm, tools=[get_weather])
    result = agent.run("What's the weather in Copenhagen?")
    print(result.final_output)
    '''
)
"""The first example of agentmaker's page "Agent and workflows", with the import name changed."""


@tool
def get_weather(city: str) -> str:
    """Return today's weather for a city."""
    return f"{city}: sunny, 24C"


def call_weather(city="Oslo", **more):
    return ScriptedLLM.tool_call("get_weather", {"city": city}, **more)


def weather_agent(script, **more):
    return Agent("weather", ScriptedLLM(script), "Be brief.", tools=[get_weather], **more)


def test_the_first_example_of_agentmaker_runs_as_a_script():
    done = subprocess.run([sys.executable, "-c", SEED], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("It's sunny and 24C in Copenhagen today.\n", "")


def test_the_first_example_counts_and_remembers_what_agentmaker_does():
    names: dict = {}
    exec(SEED, names)
    result = names["result"]
    assert (result.usage.llm_calls, result.usage.tool_calls) == (2, 1)
    assert len(names["agent"].history) == 2
    assert result.new_messages == names["agent"].history


@pytest.mark.parametrize("how", ["sync", "async", "sync inside a running loop"])
def test_runs_everywhere(how):
    agent = weather_agent([call_weather(), "Sunny."])

    async def inside():
        return agent.run("How is Oslo?")

    if how == "sync":
        result = agent.run("How is Oslo?")
    else:
        result = asyncio.run(inside() if "sync inside" in how else agent.arun("How is Oslo?"))
    assert str(result) == "Sunny."
    assert result is agent.last
    assert agent.model.requests[1].messages[-1] == Message("tool", "Oslo: sunny, 24C", tool_call_id="call_1")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_stream_yields_typed_events_in_order(asynchronous):
    agent = weather_agent([call_weather(content="Looking."), "Sunny."])

    async def collect():
        return [event async for event in agent.astream("How is Oslo?")]

    events = asyncio.run(collect()) if asynchronous else list(agent.stream("How is Oslo?"))
    assert [type(event) for event in events] == [
        RunStarted, PromptAssembled, ModelRequested, TextDelta, ModelReplied, ToolStarted, ToolReturned,
        ModelRequested, TextDelta, ModelReplied, RunFinished,
    ]  # fmt: skip
    assert [event for event in events if not isinstance(event, TextDelta)] == list(agent.last.events)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_closing_a_stream_early_leaves_everything_valid(asynchronous):
    agent = weather_agent([call_weather(), "Sunny."])

    async def first():
        events = agent.astream("How is Oslo?")
        async for event in events:
            if isinstance(event, ToolStarted):
                break
        await events.aclose()

    if asynchronous:
        asyncio.run(first())
    else:
        events = agent.stream("How is Oslo?")
        next(event for event in events if isinstance(event, ToolStarted))
        events.close()
    assert (agent.last.status, agent.last.stop_reason) == ("cancelled", "the stream was closed")
    assert agent.history == ()
    assert agent.run("How is Oslo?").final_output == "Sunny."


def test_no_system_message_is_sent_where_none_is_given():
    agent = Agent("a", ScriptedLLM(["Hi."]))
    agent.run("Hello")
    assert list(agent.model.requests[0].messages) == [Message("user", "Hello")]


def test_remembers_and_forgets():
    agent = Agent("a", ScriptedLLM(["One.", "Two.", "Three."]), "Be brief.")
    agent.run("1")
    agent.run("2")
    assert [m.content for m in agent.model.requests[1].messages] == ["Be brief.", "1", "One.", "2"]
    agent.clear_history()
    agent.run("3")
    assert [m.content for m in agent.model.requests[2].messages] == ["Be brief.", "3"]


def test_run_ids_count():
    agent = Agent("a", ScriptedLLM(["One.", "Two."]))
    assert [agent.run("1").run_id, agent.run("2").run_id] == ["a-1", "a-2"]


def test_equal_agents_have_equal_runs():
    script = [call_weather(), [call_weather("Rome"), call_weather("Bonn")], "Sunny."]
    assert weather_agent(script).run("?") == weather_agent(script).run("?")


def test_out_of_turns_is_a_status_and_never_an_answer():
    agent = weather_agent([call_weather()] * 3, max_turns=2)
    result = agent.run("?")
    assert (result.status, result.final_output, result.new_messages) == ("out_of_turns", None, ())
    assert "max_turns=2" in result.stop_reason
    assert result.usage.tool_calls == 2  # the tools of the last turn have run
    assert agent.history == ()
    assert "out_of_turns" in str(result)


def test_an_empty_reply_is_pointed_out_once():
    agent = Agent("a", ScriptedLLM(["  ", "Now."]))
    assert agent.run("?").final_output == "Now."
    assert "empty" in agent.model.requests[1].messages[-1].content


def test_a_second_empty_reply_fails():
    agent = Agent("a", ScriptedLLM(["", "", "late"]))
    with pytest.raises(ModelError, match="second time") as raised:
        agent.run("?")
    assert raised.value.kind == "bad_response"
    assert agent.last.status == "failed"


def test_an_incomplete_reply_runs_none_of_its_calls():
    cut = ModelReply("I will", call_weather().tool_calls, finish_reason="length")
    agent = weather_agent([cut])
    with pytest.raises(ModelError, match=r"'length'.*none of its 1 tool calls was run") as raised:
        agent.run("?")
    assert raised.value.kind == "incomplete"
    assert agent.last.usage == RunUsage(1, 0, *agent.last.usage.__getstate__()[2:])
    assert agent.last.turns[0].content == "I will"


def test_a_model_error_is_ours_names_the_turn_and_keeps_what_was_done():
    agent = weather_agent([call_weather(), RuntimeError("overloaded")])
    with pytest.raises(ModelError, match=r"'scripted' failed in turn 2: RuntimeError: overloaded") as raised:
        agent.run("?")
    assert isinstance(raised.value.__cause__, RuntimeError)
    assert agent.last.status == "failed"
    assert agent.last.tool_calls[0].observation.text == "Oslo: sunny, 24C"
    assert agent.history == ()


def test_a_model_that_ends_its_stream_without_a_reply_is_incomplete():
    class Cut(ScriptedLLM):
        def stream(self, request):
            yield "half"

    for run in (lambda a: a.run("?"), lambda a: asyncio.run(a.arun("?"))):
        with pytest.raises(ModelError, match="without a reply"):
            run(Agent("a", Cut(["whole"])))


@pytest.mark.parametrize("pieces", [[3], [ModelReply("a"), ModelReply("b")], [ModelReply("a"), "late"]])
def test_a_model_that_streams_something_else_is_told_apart(pieces):
    class Odd(ScriptedLLM):
        def stream(self, request):
            yield from pieces

    with pytest.raises(ModelError, match="then one ModelReply") as raised:
        Agent("a", Odd([])).run("?")
    assert raised.value.kind == "bad_response"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_model_that_ends_python_fails_the_run(asynchronous):
    agent = Agent("a", ScriptedLLM([SystemExit(3)]))
    with pytest.raises(ModelError, match="SystemExit"):
        asyncio.run(agent.arun("?")) if asynchronous else agent.run("?")


def test_runs_in_threads_return_their_own_results():
    from concurrent.futures import ThreadPoolExecutor

    agent = Agent("a", ScriptedLLM([lambda request: request.messages[-1].content] * 400))
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda i: agent.run(f"task {i}").final_output, range(400)))
    finally:
        sys.setswitchinterval(switch)
    assert answers == [f"task {i}" for i in range(400)]


def test_script_exhausted_is_raised_and_history_stays():
    agent = weather_agent([call_weather()])
    with pytest.raises(ScriptExhausted, match="1 reply"):
        agent.run("?")
    assert (agent.last.status, agent.history) == ("failed", ())


def test_script_exhausted_is_never_swallowed_by_a_nested_agent():
    inner = Agent("inner", ScriptedLLM([]))

    @tool
    def delegate(task: str) -> str:
        """Ask the other agent."""
        return str(inner.run(task))

    @tool
    async def adelegate(task: str) -> str:
        """Ask the other agent."""
        return str(await inner.arun(task))

    for name, asynchronous in [("delegate", False), ("delegate", True), ("adelegate", False), ("adelegate", True)]:
        outer = Agent(
            "outer", ScriptedLLM([ScriptedLLM.tool_call(name, {"task": "x"}), "done"]), tools=[delegate, adelegate]
        )
        with pytest.raises(ScriptExhausted):
            asyncio.run(outer.arun("?")) if asynchronous else outer.run("?")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "", "model": ScriptedLLM([])}, "name: expected a text"),
        ({"name": "a", "model": 3}, r"model: expected an object with name, mode.*got int"),
        ({"name": "a", "model": ScriptedLLM}, "model"),
        ({"name": "a", "model": ScriptedLLM([]), "tools": get_weather}, "tools: expected a list"),
        ({"name": "a", "model": ScriptedLLM([]), "system_prompt": 3}, "system prompt: expected a text, got int"),
        ({"name": "a", "model": ScriptedLLM([]), "max_turns": 0}, "max_turns: expected a whole number from 1, got 0"),
        (
            {"name": "a", "model": ScriptedLLM([]), "max_turns": True},
            "max_turns: expected a whole number from 1, got True",
        ),
        ({"name": "a", "model": ScriptedLLM([]), "max_turns": "3"}, "max_turns"),
        ({"name": "a", "model": ScriptedLLM([]), "tools": [], "tool_registry": ToolRegistry()}, "not both"),
        ({"name": "a", "model": ScriptedLLM([]), "tools": [get_weather, get_weather]}, "get_weather"),
        ({"name": "a", "model": ScriptedLLM([]), "tools": ["get_weather"]}, "str"),
    ],
)
def test_wrong_configuration_is_a_value_error_that_says_what_came(arguments, message):
    with pytest.raises(ConfigError, match=message) as raised:
        Agent(**arguments)
    assert isinstance(raised.value, ValueError)


KINDS = (Agent, PlanAgent, ReflectionAgent)


@pytest.mark.parametrize("kind", [*KINDS, AgentSpec])
@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("llm", "model="), ("confirm", "decide="), ("checkpoint_store", r"agent\.resume\(decision, run=id\)"),
        ("context_builder", "retrievers="), ("sources", "get_blocks"), ("prompts", "texts="), ("run_policy", "limits="),
        ("on_pending", "discard"), ("tracer", r"agent\.last\.events"), ("reducer", "compact="),
        ("compactor", "compact="),
        ("window_budget", "compact="), ("token_counter", "four characters"), ("as_child", "AgentTool"),
    ],
)  # fmt: skip
def test_a_name_of_agentmaker_is_refused_with_what_does_the_job_here(kind, name, instead):
    given = {} if kind is AgentSpec else {"model": ScriptedLLM([])}
    with pytest.raises(ConfigError, match=f"^{name}: .*{instead}"):
        kind("a", **given, **{name: None})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("limits", {"max_llm_calls": 1}), ("limits", 5), ("retry", 5), ("description", 5), ("scope", []),
        ("session_store", "folder"), ("permissions", ["look"]), ("tool_retriever", 5), ("approvals", ["look"]),
        ("compact", "much"), ("attributes", 5), ("max_tokens", "5"), ("texts", 5), ("decide", 5), ("hooks", 5),
        ("input_guardrails", 5), ("output_guardrails", len),
    ],
)  # fmt: skip
def test_an_option_of_another_kind_is_refused_by_name_before_anything_runs(kind, name, value):
    with pytest.raises(ConfigError, match=f"^{name}: .*expected"):
        kind("a", ScriptedLLM([]), **{name: value})
    with pytest.raises(ConfigError, match=f"{name}: "):
        build_agent(
            AgentSpec("a", {Agent: "chat", PlanAgent: "plan"}.get(kind, "reflection"), **{name: value}, script=[])
        )


@pytest.mark.parametrize("task", ["", "  \n", None, 3, ["a"]])
def test_a_task_is_a_text(task):
    agent = Agent("a", ScriptedLLM(["Hi."]))
    with pytest.raises(ConfigError, match="task"):
        agent.run(task)
    assert agent.model.position == 0


def test_a_registry_is_used_as_it_is():
    registry = ToolRegistry([get_weather])
    agent = Agent("a", ScriptedLLM(["Hi."]), tool_registry=registry)
    assert agent.tools is registry


def test_result_tells_turns_calls_and_usage():
    result = weather_agent([call_weather(content="Looking."), "Sunny."]).run("How is Oslo?")
    assert [turn.content for turn in result.turns] == ["Looking.", "Sunny."]
    [exchange] = result.tool_calls
    assert (exchange.turn, exchange.call.name, exchange.observation.text) == (1, "get_weather", "Oslo: sunny, 24C")
    assert result.usage.total_tokens == result.usage.input_tokens + result.usage.output_tokens > 0
    assert result.usage.estimated
    assert result.prompt.system == "Be brief."
    assert (result.interrupted, result.interrupt) == (False, None)


def test_reprs_have_no_addresses():
    agent = weather_agent(["Sunny."])
    assert repr(agent) == "Agent('weather', model='scripted', tools=['get_weather'])"
    assert repr(agent.run("?")) == "RunResult('weather-1', status='completed', final_output='Sunny.', turns=1)"


def test_a_result_as_a_cells_value_shows_the_whole_run():
    bundle = weather_agent([call_weather(), "Sunny."]).run("How is Oslo?")._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/markdown", "text/html"}
    assert "Oslo: sunny, 24C" in bundle["text/plain"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_script_exhausted_is_raised_also_where_the_tool_itself_hides_it(asynchronous):
    inner = Agent("inner", ScriptedLLM([]))

    @tool
    def hide() -> str:
        """Hide."""
        try:
            return str(inner.run("x"))
        except Exception:
            return "all is well"

    @tool
    async def ahide() -> str:
        """Hide."""
        done = await asyncio.gather(inner.arun("x"), return_exceptions=True)
        return f"all is well: {len(done)}"

    @tool
    def exit() -> str:
        """Hide."""
        try:
            return str(inner.run("x"))
        finally:
            raise SystemExit(1)

    @tool
    def nest() -> str:
        """A run in a run."""
        try:
            return str(Agent("middle", ScriptedLLM([ScriptedLLM.tool_call("hide"), "fine"]), tools=[hide]).run("x"))
        except Exception:
            return "all is well"

    for made in (hide, ahide, exit, nest):
        outer = Agent("outer", ScriptedLLM([ScriptedLLM.tool_call(made.name), "done"]), tools=[made])
        with pytest.raises(ScriptExhausted):
            asyncio.run(outer.arun("?")) if asynchronous else outer.run("?")
        assert outer.last.status == "failed"
