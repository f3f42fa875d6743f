"""The runnable examples of agentmaker's page "Agent and workflows", with only the names of the imports changed."""

from __future__ import annotations

import os
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

from nbagent import build_agent
from nbagent.errors import MissingKey

WEATHER = '''
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

WORKFLOWS = """
from nbagent import PlanAgent, ReflectionAgent
from nbagent.testing import ScriptedLLM

# Reflection: draft -> critique -> refine, looping until the critic replies "GOOD ENOUGH"
# (the default English pass signal; the Chinese pack uses a Chinese one).
reflection = ReflectionAgent("writer", ScriptedLLM([
    "The Earth orbits the Sun.",                              # draft
    "Add that one orbit takes about 365 days.",              # critique
    "The Earth orbits the Sun once every ~365 days.",        # refine
    "GOOD ENOUGH",                                            # critique -> pass, stop
]), max_turns=3)
print("Reflection:", reflection.run("Explain Earth's orbit in one sentence.").final_output)

# Plan-and-Solve: break the task into an ordered plan, execute each step, then synthesize.
plan = PlanAgent("solver", ScriptedLLM([
    '{"steps": ["Name the capital of Denmark", "State its approximate population"]}',  # plan (structured)
    "The capital of Denmark is Copenhagen.",                  # step 1 execution
    "Copenhagen has roughly 660,000 residents.",             # step 2 execution
    "Copenhagen is Denmark's capital, home to about 660,000 people.",  # synthesis
]))
print("Plan:", plan.run("Tell me about Denmark's capital.").final_output)
"""

SPEC = '''
from nbagent import AgentSpec, tool


@tool
def get_time() -> str:
    """Return the current time."""
    return "12:00"


# strategy is one of: "chat" / "react" / "plan" / "reflection".
spec = AgentSpec(name="helper", strategy="react", model="deepseek", tools=[get_time])
print(f"spec: name={spec.name!r} strategy={spec.strategy!r} "
      f"model={spec.model!r} tools={[t.name for t in spec.tools]}")

# To build and run it (needs the provider's API key in your environment):
#     from nbagent import build_agent
#     agent = build_agent(spec)              # resolves model="deepseek" to a real LLMClient
#     print(agent.run("what time is it?").final_output)
print("build with: agent = build_agent(spec)  # needs DEEPSEEK_API_KEY to run")
'''

ORCHESTRATOR = """
from nbagent import Agent, AgentTool
from nbagent.testing import ScriptedLLM

# The worker: a specialist sub-agent.
translator = Agent("translator", ScriptedLLM(["Bonjour le monde"]))

# The coordinator calls the worker through AgentTool, then composes the final answer.
coordinator = Agent("coordinator", ScriptedLLM([
    ScriptedLLM.tool_call("translate", {"task": "translate 'hello world' to French"}),
    "In French, 'hello world' is: Bonjour le monde.",
]), tools=[AgentTool(translator, name="translate", description="Translate text to French")])

print(coordinator.run("How do you say 'hello world' in French?").final_output)
"""

RESULT = """
r = agent.run("...")
if r.interrupted:
    handle(r.interrupt)            # HITL: take the suspended state to resume
else:
    use(r.final_output)            # completed: take the final output (str or structured instance)
"""
"""A fragment of the page: `agent`, `handle` and `use` are the reader's."""

PRINTED = {
    WEATHER: "It's sunny and 24C in Copenhagen today.\n",
    WORKFLOWS: (
        "Reflection: The Earth orbits the Sun once every ~365 days.\n"
        "Plan: Copenhagen is Denmark's capital, home to about 660,000 people.\n"
    ),
    SPEC: (
        "spec: name='helper' strategy='react' model='deepseek' tools=['get_time']\n"
        "build with: agent = build_agent(spec)  # needs DEEPSEEK_API_KEY to run\n"
    ),
    ORCHESTRATOR: "In French, 'hello world' is: Bonjour le monde.\n",
}
"""What each example prints with agentmaker."""


def names_of(source):
    """What an example leaves behind."""
    names: dict = {}
    exec(source, names)
    return names


@pytest.fixture
def _no_key(monkeypatch):
    for name in [name for name in os.environ if name.endswith(("_KEY", "_TOKEN"))]:
        monkeypatch.delenv(name)


def test_the_examples_run_as_scripts():
    program = "import sys\nfor source in sys.argv[1:]:\n    exec(source, {'__name__': '__main__'})"
    command = [sys.executable, "-W", "error", "-c", program, *PRINTED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == ("".join(PRINTED.values()), "", 0)


def test_the_examples_run_in_cells():
    printed = {source.strip("\n"): text for source, text in PRINTED.items()}
    sources = [cell for source in printed for cell in (source, "%reset -f")]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    for source, cell in zip(sources, notebook.cells, strict=True):
        # What is printed may come in more than one message.
        assert {(output.output_type, output.get("name")) for output in cell.outputs} <= {("stream", "stdout")}
        assert "".join(output.text for output in cell.outputs) == printed.get(source, "")


def test_the_weather_example_counts_and_remembers(capsys):
    names = names_of(WEATHER)
    result, agent = names["result"], names["agent"]
    assert (names["llm"].position, result.usage.llm_calls, result.usage.tool_calls) == (2, 2, 1)
    assert [(m.role, m.content) for m in agent.get_history()] == [
        ("user", "What's the weather in Copenhagen?"),
        ("assistant", "It's sunny and 24C in Copenhagen today."),
    ]
    assert capsys.readouterr().out == PRINTED[WEATHER]


def test_the_workflows_use_up_their_scripts(capsys):
    names = names_of(WORKFLOWS)
    for agent in (names["reflection"], names["plan"]):
        assert agent.model.position == 4
        agent.model.assert_complete()
        assert agent.last.usage.llm_calls == 4
        assert len(agent.history) == 2
    [one, two] = names["plan"].last.plan
    assert (one.title, one.result) == ("Name the capital of Denmark", "The capital of Denmark is Copenhagen.")
    assert (two.title, two.status) == ("State its approximate population", "done")
    first, second = names["reflection"].last.rounds
    assert (first.passed, second.passed, second.draft) == (False, True, names["reflection"].last.final_output)
    assert capsys.readouterr().out == PRINTED[WORKFLOWS]


@pytest.mark.usefixtures("_no_key")
def test_the_spec_is_built_with_a_key_only(capsys, monkeypatch):
    spec = names_of(SPEC)["spec"]
    with pytest.raises(MissingKey, match="DEEPSEEK_API_KEY"):
        build_agent(spec)
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-" + "0" * 32)
    agent = build_agent(spec)
    assert (agent.model.name, agent.max_turns, agent.tools.names) == ("deepseek:deepseek-chat", 5, ("get_time",))
    assert capsys.readouterr().out == PRINTED[SPEC]


def test_the_orchestrator_counts_what_the_worker_did(capsys):
    names = names_of(ORCHESTRATOR)
    result = names["coordinator"].last
    assert (result.usage.llm_calls, result.usage.tool_calls) == (3, 1)
    [exchange] = result.tool_calls
    assert (exchange.observation.text, exchange.run.final_output) == ("Bonjour le monde", "Bonjour le monde")
    assert exchange.run == names["translator"].last
    assert capsys.readouterr().out == PRINTED[ORCHESTRATOR]


def test_the_fragment_about_results_takes_the_right_branch():
    from nbagent import Agent, ScriptedLLM

    used, handled = [], []
    names = {"agent": Agent("a", ScriptedLLM(["ok"])), "use": used.append, "handle": handled.append}
    exec(RESULT, names)
    assert (used, handled, str(names["r"])) == (["ok"], [], "ok")
