"""Agents of a notebook as tools of each other, known by their names; and their forks."""

from __future__ import annotations

import pytest

from nbagent import AgentSpec
from nbagent.errors import CellError, DriftError

BOSS = """%%agent boss
tools: [agent:translator]
script: [{call: translator, args: {task: hello}}, Fine., {call: translator, args: {task: hello}}, Good., More.]
---"""


def heard(boss):
    """What the translator answered in the newest run."""
    return boss.last.tool_calls[0].observation.text


def test_the_agent_that_has_the_name_now_is_the_tool(shell):
    shell.run("%%agent translator\ndescription: Translates.\nscript: [Bonjour]\n---")
    shell.run(BOSS)
    boss = shell.ns["boss"]
    shell.run("%agent boss How?")
    assert heard(boss) == "Bonjour"
    first = shell.ns["translator"]
    shell.run("%%reflect translator\ndescription: Translates well.\nscript: [Salut, GOOD ENOUGH]\n---")
    assert shell.ns["translator"] is not first
    assert boss.tools.schemas[0].description == "Translates well."
    assert [model.position for model in boss.models] == [2, 0]
    shell.run("%agent boss How?")
    assert (heard(boss), shell.ns["translator"].model.position, first.model.position) == ("Salut", 2, 1)
    assert boss.last.prompt.tools[0].description == "Translates well."
    assert boss.last.tool_calls[0].run.rounds[0].passed


def test_a_cell_of_the_tool_that_runs_again_is_what_is_called(shell):
    shell.run("%%agent translator\nsystem: You translate.\nscript: [Bonjour]\n---")
    shell.run(BOSS)
    boss = shell.ns["boss"]
    whole = boss.run("How?")
    assert "You translate." in boss.tools.schemas[0].description
    shell.run("%%agent translator\nsystem: You speak French.\nscript: [Salut]\n---")
    assert "You speak French." in boss.tools.schemas[0].description
    with pytest.raises(DriftError, match="translator changed"):
        boss.replay(whole.events[:-2])
    assert "You speak French." in boss.run("How?").prompt.tools[0].description
    assert heard(boss) == "Salut"


def test_permissions_see_the_newest_description_too(shell):
    shell.run("def f(x: int) -> int:\n    'F.'\n    return x")
    shell.run("%%agent translator\ndescription: One.\nscript: [Bonjour]\n---")
    shell.run("%%agent boss\ntools: [f, agent:translator]\ndeny: [f]\nscript: [x]\n---")
    tools = shell.ns["boss"].tools
    assert [tool.description for tool in tools.schemas] == ["One."]
    shell.run("%%agent translator\ndescription: Two.\nscript: [Bonjour]\n---")
    assert [tool.description for tool in tools.schemas] == ["Two."]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ("del translator", "the tool agent:translator of 'boss': no variable 'translator' in the notebook"),
        ("translator = 3", "the tool agent:translator of 'boss': 'translator' is of type int now, not an agent"),
    ],
)
def test_a_tool_whose_agent_is_gone_says_so(change, match, shell):
    shell.run("%%agent translator\nscript: [Bonjour]\n---")
    shell.run(BOSS)
    boss = shell.ns["boss"]
    shell.run("%agent boss How?")
    shell.run(change)
    for source in ("%agent boss How?", "%%agent boss\nHow?", "%prompt boss How?", "%agent reset boss"):
        with pytest.raises(CellError, match=match):
            shell.run(source)
    with pytest.raises(CellError, match=match):
        boss.run("How?")
    assert (boss.model.position, len(boss.history), len(boss.results)) == (2, 2, 1)
    shell.run("%%agent boss\nscript: [Fine.]\n---\nHow?")  # described anew without it
    assert boss.last.final_output == "Fine."


def test_an_agent_that_is_gone_while_the_run_goes_on_ends_it(shell):
    shell.run("def forget() -> str:\n    'Forgets.'\n    del globals()['translator']\n    return 'gone'")
    shell.run("%%agent translator\nscript: [Bonjour]\n---")
    with pytest.raises(CellError, match="the tool agent:translator of 'boss': no variable 'translator'"):
        shell.run(
            "%%agent boss\ntools: [forget, agent:translator]\n"
            "script: [{call: forget}, {call: translator, args: {task: x}}, Fine.]\n---\nHow?"
        )
    assert shell.ns["boss"].last.status == "failed"


def test_an_agent_of_an_object_is_looked_up_there(shell):
    shell.run("from types import SimpleNamespace\nfrom nbagent import Agent, ScriptedLLM\nteam = SimpleNamespace()")
    shell.run("team.one = Agent('one', ScriptedLLM(['1']), description='First.')")
    shell.run("%%agent boss\ntools: [agent:team.one]\nscript: [{call: one, args: {task: x}}, Fine.]\n---")
    shell.run("team.one = Agent('one', ScriptedLLM(['2']), description='Second.')")
    shell.run("%agent boss Go")
    assert (heard(shell.ns["boss"]), shell.ns["boss"].last.prompt.tools[0].description) == ("2", "Second.")


def test_an_agent_of_a_function_stays_the_tool(shell):
    shell.run(
        "from nbagent import Agent, ScriptedLLM\n"
        "def work():\n"
        "    mine = Agent('mine', ScriptedLLM(['1']))\n"
        "    %agent --tools mine --script replies boss Go\n"
        "replies = [ScriptedLLM.tool_call('mine', {'task': 'x'}), 'Fine.']\n"
        "work()"
    )
    assert heard(shell.ns["boss"]) == "1"


def test_a_spec_of_a_notebooks_tools_names_them(shell):
    shell.run("%%agent translator\nscript: [Bonjour]\n---")
    shell.run(BOSS)
    assert "tools: ['agent:translator']" in str(AgentSpec("a", tools=shell.ns["boss"].own_tools))


def test_a_fork_in_the_notebook_goes_on_apart(shell):
    shell.run("%%agent translator\nscript: [Bonjour, Salut]\n---")
    shell.run(BOSS)
    shell.run("%agent boss How?")
    shell.run("%agent fork boss twin")
    shell.run("%%agent translator\nscript: [Ciao]\n---")
    shell.run("%agent twin How?")
    assert heard(shell.ns["twin"]) == "Salut"
    assert (shell.ns["translator"].model.position, shell.ns["twin"].tools.names) == (0, ("translator",))
    shell.run("%agent boss How?")
    assert heard(shell.ns["boss"]) == "Ciao"


def test_a_fork_in_the_notebook_pulls_and_pushes_variables_and_has_other_attributes_of_its_own(shell):
    shell.run("from nbagent import Agent, ScriptedLLM\ncity = 'Oslo'")
    shell.run("bot = Agent('bot', ScriptedLLM(['x']), attributes={'mine': [1]})")
    shell.run("%%agent bot\ninstructions: In {city}.\npull: [city]\nscript: [ok]\n---")
    shell.run("%agent fork bot twin\ntwin.attributes['mine'].append(2)\ncity = 'Rome'")
    assert shell.ns["bot"].attributes["mine"] == [1]
    assert shell.ns["twin"].observe("go").system == "In Rome."
