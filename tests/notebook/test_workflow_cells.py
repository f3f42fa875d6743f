"""Cells of plans and reflections, agents as tools, and what a cell says of how its agent may act."""

from __future__ import annotations

import re

import pytest

from nbagent import Agent, PlanAgent, ReflectionAgent
from nbagent.agents.spec import TURNS
from nbagent.errors import CellError, ConfigError
from nbagent.notebook.spec import CellSpec, flag

PLAN = """%%plan solver
script:
  - '["Find A", "Find B"]'
  - A is 1.
  - B is 2.
  - A and B are 3.
---
What are A and B?"""
REFLECT = """%%reflect writer
script: [Draft., Say more., Better., GOOD ENOUGH]
system: Be brief.
---
Write."""


def test_a_plan_cell_makes_a_plan_agent_and_runs_it(shell):
    [output] = shell.run(PLAN)
    solver = shell.ns["solver"]
    assert isinstance(solver, PlanAgent)
    assert solver.last.final_output == "A and B are 3."
    assert [step.title for step in solver.last.plan] == ["Find A", "Find B"]
    assert set(output) == {"text/plain", "text/markdown", "text/html"}
    assert solver.max_turns == 3


def test_a_reflect_cell_makes_a_reflection_agent_and_runs_it(shell):
    shell.run(REFLECT)
    writer = shell.ns["writer"]
    assert isinstance(writer, ReflectionAgent)
    assert (writer.last.final_output, len(writer.last.rounds)) == ("Better.", 2)
    assert writer.max_turns == 3
    assert shell.ns["writer"].history[0].content == "Write."


def test_the_output_of_a_cell_that_runs_again_is_the_same_bytes(shell):
    for cell, name in ((PLAN, "solver"), (REFLECT, "writer")):
        first = list(shell.run(cell))
        shell.run(f"%agent clear {name}")
        assert shell.run(cell) == first


def test_the_name_may_be_left_out_and_the_header_too(shell):
    shell.run("%%plan\nscript: ['[]', one, done]\n---\nGo")
    assert isinstance(shell.ns["agent"], PlanAgent)
    shell.run("%%agent bot\nscript: ['[]', one, done, ok]\nsystem: S\n---")
    shell.run("%%plan bot\nGo")
    bot = shell.ns["bot"]
    assert isinstance(bot, PlanAgent)
    assert bot.last.final_output == "done"
    assert bot.last.prompt.system == "S"


def test_an_agent_keeps_its_conversation_when_it_changes_its_strategy(shell):
    shell.run("%%agent bot\nscript: [hi, '[]', one, done, bye]\n---\nHello")
    shell.run("%%plan bot\nGo")
    assert [message.content for message in shell.ns["bot"].history] == ["Hello", "hi", "Go", "done"]
    shell.run("%%agent bot\nstrategy: chat\nscript: [bye]\n---\nAnd now?")
    assert type(shell.ns["bot"]) is Agent
    assert shell.ns["bot"].last.prompt.history[-1].content == "done"


def test_an_agent_cell_without_a_header_runs_whatever_strategy_the_agent_has(shell):
    shell.run("%%plan solver\nscript: ['[]', one, done, '[]', two, over]\n---\nGo")
    shell.run("%%agent solver\nAgain")
    assert isinstance(shell.ns["solver"], PlanAgent)
    assert shell.ns["solver"].last.final_output == "over"
    shell.run("%agent reset solver\n%agent solver Once more")
    assert shell.ns["solver"].last.final_output == "done"


def test_the_strategy_may_be_a_key(shell):
    shell.run("%%agent a\nstrategy: plan\nscript: ['[]', one, done]\n---\nGo")
    assert isinstance(shell.ns["a"], PlanAgent)
    shell.run("def f(x: int) -> int:\n    'F.'\n    return x")
    shell.run("%%agent b\nstrategy: react\ntools: [f]\nscript: [ok, ok]\nsystem: Be kind.\n---\nGo")
    agent = shell.ns["b"]
    assert agent.last.prompt.system.startswith("Be kind.\n\nThink before you act.")
    assert agent.last.prompt.segments[-2].source.detail == "react.style"
    assert agent.max_turns == 5
    shell.run("%agent --max-turns 4 b Go")
    assert shell.ns["b"].prompting.blueprint.system == agent.prompting.blueprint.system  # and not twice


@pytest.mark.parametrize(
    ("cell", "match"),
    [
        ("%%agent a\nstrategy: react\nscript: [x]\n---\nGo", "tools: the strategy 'react' needs at least one tool"),
        ("%%agent a\nstrategy: best\nscript: [x]\n---\nGo", "`chat`, `react`, `plan` or `reflection`"),
        ("%%plan a\nstrategy: chat\nscript: [x]\n---\nGo", "`%%plan` is the strategy 'plan'"),
        ("%%reflect a\nreplan: yes\nscript: [x]\n---\nGo", "replan: only a plan is revised"),
        ("%%plan a\ntexts: {plan.plam: x}\nscript: [x]\n---\nGo", "did you mean 'plan.plan'"),
        ("%%plan a\nlanguage: latin\nscript: [x]\n---\nGo", "`english` or `chinese`"),
        ("%%plan a\ntools: [agent:nobody]\nscript: [x]\n---\nGo", "no variable 'nobody'"),
        ("%%plan a\ntools: [agent:len]\nscript: [x]\n---\nGo", "no variable 'len'"),
        ("%%plan a\nmax_tool_calls: -1\nscript: [x]\n---\nGo", "whole number from 0"),
        ("%%plan a\nhooks: [nothing]\nscript: [x]\n---\nGo", "Cell line 2: hooks: no variable 'nothing'"),
    ],
)
def test_a_wrong_cell_is_an_error_before_anything_happens(cell, match, shell):
    with pytest.raises(CellError, match=match):
        shell.run(cell)
    assert "a" not in shell.ns


def test_an_agent_is_a_tool_of_another_one(shell):
    shell.run("%%agent translator\ndescription: Translates.\nscript: [Bonjour]\n---")
    shell.run(
        "%%agent boss\ntools: [agent:translator]\nscript:\n  - {call: translator, args: {task: hello}}\n  - Fine.\n"
        "---\nHow?"
    )
    boss = shell.ns["boss"]
    assert boss.last.tool_calls[0].observation.text == "Bonjour"
    assert boss.tools.get("translator").description == "Translates."
    assert boss.last.usage.llm_calls == 3
    with pytest.raises(CellError, match="an agent is no tool of its own"):
        shell.run("%%agent boss\ntools: [agent:boss]\nscript: [x]\n---\nGo")
    shell.ns["boss_tools"] = []
    with pytest.raises(CellError, match="'boss_tools' is of type list, not an agent"):
        shell.run("%%agent x\ntools: [agent:boss_tools]\nscript: [x]\n---\nGo")


def test_an_agent_whose_name_no_model_can_call_says_what_to_do(shell):
    shell.run("%%agent 翻译\nscript: [Bonjour]\n---")
    with pytest.raises(CellError, match=r"^Cell line 2: tools: agent:翻译: .* or the agent another one$"):
        shell.run("%%agent boss\ntools: [agent:翻译]\nscript: [ok]\n---\nHow?")
    shell.run("from nbagent import AgentTool\ntranslate = AgentTool(翻译, 'translate', '翻译')")
    shell.run("%%agent boss\ntools: [translate]\nscript: [{call: translate, args: {task: hi}}, ok]\n---\nHow?")
    assert shell.ns["boss"].last.tool_calls[0].run.final_output == "Bonjour"


def test_a_name_that_holds_an_agent_is_one_as_a_tool_without_the_prefix(shell):
    shell.run("%%agent translator\nscript: [Bonjour]\n---")
    shell.run("%%agent boss\ntools: [translator]\nscript: [ok]\n---\nHow?")
    assert shell.ns["boss"].tools.get("translator").agent is shell.ns["translator"]


def test_a_cell_that_runs_again_rewinds_the_scripts_of_the_agents_inside(shell):
    shell.run("%%agent translator\nscript: [Bonjour, Salut]\n---")
    cell = "%%agent boss\ntools: [translator]\nscript: [{call: translator, args: {task: hello}}, Fine.]\n---\nHow?"

    class Parent:
        cell_id = "c1"

    shell.shell.get_parent = lambda: {"metadata": {"cellId": "c1"}, "header": {"msg_id": str(Parent)}}
    shell.run(cell)
    assert shell.ns["boss"].last.tool_calls[0].observation.text == "Bonjour"
    shell.shell.get_parent = lambda: {"metadata": {"cellId": "c1"}, "header": {"msg_id": "again"}}
    shell.run(cell)
    assert shell.ns["boss"].last.tool_calls[0].observation.text == "Bonjour"


def test_an_output_may_be_a_pydantic_model(shell):
    shell.run("from pydantic import BaseModel\nclass City(BaseModel):\n    name: str\n    people: int")
    shell.run(
        '%%agent clerk\noutput: City\nscript: [\'{"name": "Oslo", "people": "many"}\', '
        '\'{"name": "Oslo", "people": 7}\']\n---\nOslo?'
    )
    answer = shell.ns["clerk"].last.final_output
    assert answer == shell.ns["City"](name="Oslo", people=7)
    with pytest.raises(CellError, match="output: no variable 'Town'"):
        shell.run("%%agent clerk\noutput: Town\nscript: [x]\n---\nOslo?")
    shell.run("%%agent counter\noutput: int\nscript: ['{\"value\": 3}']\n---\nHow many?")
    assert shell.ns["counter"].last.final_output == 3


def test_retries_and_scope_are_of_one_run(shell):
    shell.run("%%agent bot\noutput: {n: int}\nscript: [a, b, '{\"n\": 1}', '{\"n\": 2}']\n---")
    shell.run("%%agent bot --retries 2 --scope ada\nGo")
    bot = shell.ns["bot"]
    assert bot.last.final_output == {"n": 1}
    assert (len(bot.get_history("ada")), len(bot.history)) == (2, 0)
    shell.run("%%agent bot\nGo")
    assert (len(bot.get_history("ada")), len(bot.history)) == (2, 2)


def test_limits_permissions_and_texts_in_a_cell(shell):
    shell.run("def f(x: int) -> int:\n    'F.'\n    return x\ndef g() -> int:\n    'G.'\n    return 1")
    shell.run(
        "%%agent bot\ntools: [f, g]\ndeny: [g]\nmax_tool_calls: 1\nlanguage: chinese\n"
        "texts: {loop.empty_reply: Again!}\n"
        "script: ['', {call: g}, {call: f, args: {x: 1}}, {call: f, args: {x: 1}}, ok]\n"
        "---\nGo"
    )
    bot = shell.ns["bot"]
    assert bot.last.status == "limit_reached"
    assert [call.observation.status for call in bot.last.tool_calls if call.observation] == ["error", "success"]
    assert bot.last.tool_calls[0].observation.error.kind == "denied"
    assert [tool.name for tool in bot.last.prompt.tools] == ["f"]
    assert "Again!" in [message.content for message in bot.requests[-1].messages]
    shell.run("%agent --max-turns 2 bot Go on")  # what else is described stays
    assert (bot.limits.max_tool_calls, bot.texts.language) == (1, "chinese")
    assert [tool.name for tool in bot.last.prompt.tools] == ["f"]


def test_guardrails_and_hooks_are_variables(shell):
    from nbagent.errors import GuardrailTripped

    shell.run("heard = []\nlistener = lambda event: heard.append(type(event).__name__)\nno = lambda text: 'not this'")
    shell.run("%%agent bot\nhooks: [listener]\nscript: [ok]\n---\nGo")
    assert shell.ns["heard"][0] == "RunStarted"
    with pytest.raises(GuardrailTripped, match="not this"):
        shell.run("%%agent bot\ninput_guardrails: [no]\nscript: [ok]\n---\nGo")
    assert shell.ns["bot"].last.status == "failed"


def test_list_undo_clear_and_fork(shell):
    assert shell.text("%agent list") == "there are no agents yet"
    shell.run("%%agent bot\nscript: [one, two, three]\n---\nFirst")
    shell.run("%%agent bot --scope ada\nSecond")
    shell.run(PLAN)
    assert shell.text("%agent list") == (
        "bot · chat · scripted · 2 messages\n  ada · 2 messages\nsolver · plan · scripted · 2 messages"
    )
    shell.run("%agent fork bot twin")
    assert shell.text("%agent undo twin") == "taken back: First"
    assert (len(shell.ns["bot"].history), len(shell.ns["twin"].history)) == (2, 0)
    assert shell.text("%agent undo twin") == "there is nothing to take back"
    shell.run("%agent clear bot")
    assert len(shell.ns["bot"].history) == 0
    assert len(shell.ns["bot"].get_history("ada")) == 2
    for wrong, match in (
        ("%agent fork bot", "Python name"),
        ("%agent fork bot solver", "'solver' is taken"),
        ("%agent undo bot now", "takes one name"),
        ("%agent freeze bot", "%agent fork NAME NEW"),
        ("%agent undo nobody", "no agent 'nobody'; there are: bot, solver, twin"),
    ):
        with pytest.raises(CellError, match=match):
            shell.run(wrong)


def test_the_list_shows_what_a_session_store_holds(shell, tmp_path):
    shell.ns["folder"] = tmp_path
    make = "from nbagent import Agent, ScriptedLLM, SessionStore\n"
    make += "bot = Agent('bot', ScriptedLLM(['one', 'two', 'three']), session_store=SessionStore(folder))"
    shell.run(make)
    for scope in ("ada", "grace", None):
        shell.ns["bot"].run("Hi.", scope=scope)
    shell.ns["bot"].clear_history("ada")
    shell.run(make)  # a restart
    assert shell.text("%agent list") == "bot · chat · scripted · 2 messages\n  grace · 2 messages"
    shell.run("%agent undo --scope grace bot")
    assert shell.text("%agent list") == "bot · chat · scripted · 2 messages"


def test_undo_takes_the_script_back(shell):
    shell.run("%%agent bot\nscript: [one, two]\n---\nFirst")
    shell.run("%agent bot Second")
    shell.run("%agent undo bot")
    shell.run("%agent bot Third")
    assert [message.content for message in shell.ns["bot"].history] == ["First", "one", "Third", "two"]


def test_a_plan_is_proposed_edited_and_run(shell):
    shell.run(PLAN.replace("%%plan solver", "%%plan solver --propose"))
    solver = shell.ns["solver"]
    assert solver.last.status == "interrupted"
    assert solver.plan == ["Find A", "Find B"]
    assert solver.history == ()
    solver.plan[1] = "Find C"
    shell.run("%plan solver --run")
    assert solver.last.final_output == "A and B are 3."
    assert [step.title for step in solver.last.plan] == ["Find A", "Find C"]
    assert solver.model.position == 4  # the plan was not made again
    assert [message.content for message in solver.history] == ["What are A and B?", "A and B are 3."]


def test_where_no_plan_was_proposed_there_is_none_to_run(shell):
    shell.run(PLAN)
    with pytest.raises(CellError, match="run: no plan waits"):
        shell.run("%plan solver --run")


def test_a_plan_that_is_run_as_proposed_is_the_run_that_would_have_been(shell):
    shell.run(PLAN)
    whole = shell.ns["solver"].last.events
    shell.run(PLAN.replace("%%plan solver", "%%plan other --propose"))
    shell.run("%%plan other --run")
    events = shell.ns["other"].last.events
    assert [type(event) for event in events] == [type(event) for event in whole]


@pytest.mark.parametrize("cell", ["%%agent a --propose\nGo", "%%reflect a\nscript: [x]\npropose: yes\n---\nGo"])
def test_only_a_plan_can_be_proposed(cell, shell):
    shell.run("%%agent a\nscript: [x]\n---")
    with pytest.raises(CellError, match="propose: only a plan"):
        shell.run(cell)


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("%reflect solver --run", "only a plan is proposed"),
        ("%%agent solver --propose\nscript: [x]\n---\nGo", "only a plan is proposed"),
        ("%%agent solver --propose --strategy chat\nGo", "only a plan is proposed"),
        ("%%plan solver --propose --run", "keep one of them"),
        ("%%plan solver --run\nGo on", "the plan has its task already"),
        ("%%plan solver --run --max-turns 9", "the plan is that of the agent as it is"),
        ("%%plan solver --run\nsystem: Be brief.\nscript: [x]\n---", "the plan is that of the agent as it is"),
        ("%plan fresh --run", "no plan waits"),
        ("%%plan fresh --run\nscript: [x]\n---", "no plan waits"),
    ],
)
def test_a_line_that_is_refused_leaves_the_agent_and_its_plan_as_they_are(line, match, shell):
    shell.run(PLAN.replace("%%plan solver", "%%plan solver --propose"))
    solver = shell.ns["solver"]
    with pytest.raises(CellError, match=match):
        shell.run(line)
    assert (shell.ns["solver"], solver.plan, solver.max_turns) == (solver, ["Find A", "Find B"], 3)
    assert "fresh" not in shell.ns
    shell.run("%plan solver --run")
    assert solver.last.final_output == "A and B are 3."


def test_run_and_a_task_do_not_go_together(shell):
    shell.run(PLAN.replace("%%plan solver", "%%plan solver --propose"))
    with pytest.raises(CellError, match="run: the plan has its task already"):
        shell.run("%%plan solver --run\nAnother task")


def test_help_and_question_mark_lines_work_for_all_magics(shell):
    for name in ("plan", "reflect"):
        shell.run(f"%{name} --help")
        assert f"%%{name} [NAME]" in shell.outputs[0]["text/plain"]
        assert shell.outputs[0] == shell.run(f"%%{name} --help")[0]
    shell.run("%%agent bot\nscript: ['[]', one, done]\n---")
    shell.run("%plan bot What now?")
    assert shell.ns["bot"].last.final_output == "done"


def test_the_help_of_a_magic_says_what_its_options_mean_there(shell):
    said = {name: shell.text(f"%%{name} --help") for name in ("agent", "plan", "reflect")}
    turns = {
        name: next(line for line in text.split("\n") if "--max-turns" in line).split("N ", 1)[1].strip()
        for name, text in said.items()
    }
    assert turns["plan"] == f"model calls each step may make, 1 to 10,000 (default: {TURNS['plan']})"
    assert turns["reflect"].startswith(
        f"rounds of critique and refinement, 1 to 10,000 (default: {TURNS['reflection']})"
    )
    numbers = (TURNS["chat"], TURNS["react"], TURNS["plan"], TURNS["reflection"])
    assert re.findall("[0-9]+(?=[,;)])", turns["agent"].partition("(")[2]) == [str(number) for number in numbers]
    assert "what the critic may call" in said["reflect"]
    # What is refused has no line, and is named above.
    refused = {"agent": (), "plan": ("strategy",), "reflect": ("strategy", "replan", "propose", "run")}
    for name, text in said.items():
        head, _, options = text.partition("\n  -h, --help")
        for field in CellSpec.model_fields:
            assert (f"{flag(field)} " in options) != (field in refused[name]), (name, field)
        assert all(f"`{field}`" in head for field in refused[name])
        assert max(map(len, head.split("\n"))) < 120


def test_a_magic_below_other_code_is_an_error(shell):
    for name in ("plan", "reflect"):
        with pytest.raises(CellError, match="has to be the first line"):
            shell.run(f"x = 1\n%%{name} bot\nGo")


def test_config_errors_of_a_sub_agent_end_the_run(shell):
    shell.run("%%agent inner\ninstructions: Be {mood}.\nscript: [x]\n---")
    with pytest.raises(ConfigError, match="mood"):
        shell.run("%%agent boss\ntools: [inner]\nscript: [{call: inner, args: {task: hi}}, ok]\n---\nGo")


def test_a_card_says_what_kind_of_agent_it_is(shell):
    assert "scripted · plan agent · 0 tools · 0 messages" in shell.text("%%plan solver\nscript: ['[]']\n---")
    assert "agent ·" not in shell.text("%%agent bot\nscript: [x]\n---")


def test_the_list_names_variables(shell):
    shell.run("from nbagent import Agent, ScriptedLLM\nzed = Agent('bot', ScriptedLLM(['x']))")
    assert shell.text("%agent list") == "zed · chat · scripted · 0 messages"
    shell.run("%agent clear zed")


@pytest.mark.parametrize(
    ("cell", "match"),
    [
        ("%plan bot --runn", "stands behind the name"),
        ("%plan bot Go on --propose", "stands behind the name"),
        ("%%agent bot\ntools: [look]\ndeny: [lok]\nscript: [x]\n---\nGo", "line 3: .* 'lok'; did you mean 'look'"),
        ("%%agent bot\nallow: [look]\nscript: [x]\n---\nGo", "allow: the agent has no tool 'look'; there are: none"),
    ],
)  # fmt: skip
def test_what_would_be_overlooked_is_an_error(cell, match, shell):
    shell.run("def look() -> str:\n    'Look.'\n    return 'x'\n")
    shell.run("%%agent bot\nscript: [x]\n---")
    with pytest.raises(CellError, match=match):
        shell.run(cell)
    assert shell.ns["bot"].last is None


def test_texts_may_be_json_on_the_line(shell):
    shell.run("""%%reflect w --texts '{"reflection.signal": "OK"}'\nscript: [a, ok]\n---\nGo""")
    assert shell.ns["w"].last.rounds[0].passed


def test_an_agent_that_reacts_no_more_is_not_told_to(shell):
    shell.run("def look() -> str:\n    'Look.'\n    return 'x'\n")
    shell.run("%%agent bot\nstrategy: react\ntools: [look]\nsystem: Be kind.\nscript: [x, y]\n---\nGo")
    assert "Think before" in shell.ns["bot"].last.prompt.system
    shell.run("%%agent bot --strategy chat\nGo")
    assert shell.ns["bot"].last.prompt.system == "Be kind."


def test_a_dry_plan_shows_the_request_that_is_sent_first(shell):
    cell = "%%plan bot --dry\nscript: ['[]', one, done]\n---\nGo"
    assert "Do not answer this yet" in shell.text(cell)
    shell.run(cell.replace(" --dry", ""))
    assert "Do not answer this yet" in shell.text("%prompt bot")


def test_a_description_says_how_often_its_agent_asks_again_and_a_line_how_often_its_run_does(shell):
    shell.run("%%agent bot\noutput: {n: int}\nretries: 2\nscript: [a, b, '{\"n\": 1}', a, b, c, '{\"n\": 2}', a]\n---")
    shell.run("%agent bot Go")
    assert shell.ns["bot"].last.final_output == {"n": 1}
    shell.run("%agent --retries 3 bot Go")
    shell.run("%agent --max-turns 9 bot")
    assert (shell.ns["bot"].last.final_output, shell.ns["bot"].retries) == ({"n": 2}, 2)
    shell.run("%%agent bot\noutput: {n: int}\nscript: [a]\n---")
    assert shell.ns["bot"].retries == 1
