"""The magics in a shell: what a cell builds, runs, shows and refuses."""

from __future__ import annotations

import asyncio
import textwrap

import pytest

from nbagent import Agent, ScriptedLLM
from nbagent.errors import CellError, ConfigError, ModelError, NBAgentError, ScriptExhausted
from nbagent.messages import Message

WEATHER = '''
def get_weather(city: str) -> str:
    """Return today's weather for a city."""
    return f"{city}: sunny, 24C"

role, city = "assistant", "Copenhagen"
'''
CELL = """%%agent weather
tools: [get_weather]
script:
  - call: get_weather
    args: {city: Copenhagen}
  - It's sunny and 24C in Copenhagen today.
system: |
  You are a careful {{role}}.
---
What's the weather in {{city}}?"""


def messages(agent):
    return [(m.role, m.content) for m in agent.model.requests[-1].messages]


def test_the_cell_of_the_first_notebook(shell):
    shell.run(WEATHER)
    [output] = shell.run(CELL)
    assert set(output) == {"text/plain", "text/markdown", "text/html"}
    for piece in [
        "You are a careful assistant",
        "What's the weather in Copenhagen?",
        "Copenhagen: sunny, 24C",
        "It's sunny and 24C",
    ]:
        assert piece in output["text/plain"]
    agent = shell.ns["weather"]
    assert isinstance(agent, Agent)
    assert messages(agent)[:2] == [
        ("system", "You are a careful assistant.\n"),
        ("user", "What's the weather in Copenhagen?"),
    ]
    sources = [str(segment.source) for segment in agent.last.prompt.segments]
    assert "variable role: str" in sources
    assert "variable city: str" in sources


def test_the_cell_gives_nothing_back(shell):
    shell.run(WEATHER)
    assert shell.shell.run_cell(CELL).result is None


def test_a_cell_with_a_header_starts_its_script_anew(shell):
    shell.run(WEATHER)
    first, second = shell.run(CELL), shell.run(CELL)
    assert "It's sunny and 24C" in first[0]["text/plain"]
    assert "It's sunny and 24C" in second[0]["text/plain"]


def test_without_a_header_the_conversation_goes_on(shell):
    shell.run("%%agent\nscript: [one, two]\n---\nfirst")
    shell.run("%%agent\nsecond")
    assert messages(shell.ns["agent"]) == [("user", "first"), ("assistant", "one"), ("user", "second")]


def test_a_header_without_a_task_declares(shell):
    text = shell.text("%%agent bot\nscript: [hello]\nsystem: Be brief.\n---\n")
    assert "bot" in text
    assert shell.ns["bot"].last is None
    assert "hello" in shell.text("%%agent bot\nhi")


def test_a_header_describes_the_agent_anew_and_keeps_the_conversation(shell):
    shell.run(WEATHER)
    shell.run(CELL)
    shell.run("%%agent weather\nscript: [fine]\n---\nand now?")
    agent = shell.ns["weather"]
    assert (len(agent.tools), len(agent.history)) == (0, 4)
    assert messages(agent)[0] == ("user", "What's the weather in Copenhagen?")  # no system message any more


def test_options_without_a_header_change_only_what_they_name(shell):
    shell.run(WEATHER)
    shell.run(CELL)
    shell.ns["replies"] = ["fine"]
    shell.run("%%agent weather --script replies --max-turns 3\nand now?")
    agent = shell.ns["weather"]
    assert (agent.max_turns, list(agent.tools.names)) == (3, ["get_weather"])
    assert messages(agent)[0] == ("system", "You are a careful assistant.\n")


def test_options_win_over_the_header(shell):
    shell.run("%%agent bot --max-turns 2\nscript: [hi]\nmax_turns: 7\n---\nhello")
    assert shell.ns["bot"].max_turns == 2


def test_a_model_or_a_script_may_be_a_variable_of_the_notebook(shell):
    shell.ns["llm"] = ScriptedLLM(["from the model"])
    shell.ns["replies"] = ["from the list"]
    assert "from the model" in shell.text("%%agent a -m llm\nhello")
    assert "from the model" in shell.text("%%agent a -m llm\nhello")  # its script starts over
    assert "from the list" in shell.text("%%agent b --script replies\nhello")


def test_naming_a_model_starts_its_script_anew_and_the_next_cell_goes_on_from_there(shell):
    shell.ns["llm"] = ScriptedLLM(["one", "two", "three"])
    for _ in range(2):
        shell.run("%%agent bot -m llm\nfirst")
        assert shell.ns["bot"].last.final_output == "one"
        shell.run("%%agent bot\nsecond")
        assert shell.ns["bot"].last.final_output == "two"


def test_tools_may_be_dotted_names(shell):
    shell.run("class Shop:\n    def price(self, item: str) -> int:\n        'Price.'\n        return 3\nshop = Shop()")
    shell.run(
        "%%agent a\ntools: [shop.price]\nscript:\n  - call: price\n    args: {item: tea}\n  - three\n---\nhow much?"
    )
    assert shell.ns["a"].last.tool_calls[0].observation.text == "3"


def test_out_takes_the_result_and_quiet_shows_nothing(shell):
    assert shell.run("%%agent bot --out answer --quiet\nscript: [hi]\n---\nhello") == []
    assert str(shell.ns["answer"]) == "hi"
    assert shell.ns["answer"] is shell.ns["bot"].last


def test_help_is_shown_and_is_no_error(shell):
    for source in ("%%agent --help\nx", "%agent --help", "%%agent --help"):
        text = shell.text(source)
        for option in ("--model", "--tools", "--max-turns", "--out", "--quiet", "--script", "--system"):
            assert option in text


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("%%agent bot\n", CellError, "task"),
        ("%%agent bot", CellError, "task"),
        ("%%agent bot\nhello", CellError, r"bot.*no model yet.*script"),
        ("%%agent bot --script [a\nhello", CellError, "script"),
        ("%%agent bot\nmodle: x\n---\nhello", CellError, r"line 2.*modle.*model"),
        ("%%agent bot\nscript: [a]\ntools: [forcast]\n---\nhello", CellError, r"tools.*forcast.*forecast"),
        ("%%agent bot\nscript: [a]\ntools: [number]\n---\nhello", CellError, r"tools.*number.*int"),
        ("%%agent bot\nscript: [a]\ntools: [forecast, forecast]\n---\nhello", CellError, r"forecast"),
        ("%%agent bot\nscript: [a]\n---\nhello {{nmber}}", CellError, r"nmber.*number"),
        ("%%agent bot\nscript: [a]\nsystem: hello {{ config }}\n---\nhello", CellError, r"config"),
        ("%%agent number\nscript: [a]\n---\nhello", CellError, r"'number' already holds something else \(int\)"),
        ("%%agent print\nscript: [a]\n---\nhello", CellError, "print"),
        ("%%agent reset\nscript: [a]\n---\nhello", CellError, "reset"),
        ("%%agent bot\nscript: [a]\nmodel: llm\n---\nhello", CellError, "script and model"),
        ("%%agent bot\nmodel: number\n---\nhello", CellError, r"number.*int, not a model"),
        ("%%agent bot\nmodel: openai:gpt-5\n---\nhello", CellError, r"openai:gpt-5"),
        ("%%agent bot\nscript: number\n---\nhello", CellError, r"'number' is of type int"),
        ("%%agent bot --out bot\nscript: [a]\n---\nhello", CellError, "own name"),
        ("%%agent bot\nscript: [a]\n---\n{{blank}}", CellError, r"line 4.*task is empty"),
        ("%%agent bot --api-key sk-ant-secret\nscript: [a]\n---\nhello", CellError, "rotate"),
        ("%%agent bot\nscript: [a]\n---\n{{empty}}", CellError, r"line 4.*task is empty"),
        ("x = 1\n%%agent bot\nhello", CellError, "first line"),
        ("%%agent bot\nmodel: gpt-4\n---\nhello", CellError, r"no provider 'gpt-4'; did you mean 'openai:gpt-4'"),
        ("%%agent bot\nscript: [a]\ntools: [broken.tool]\n---\nhello", CellError, r"broken.tool.*RuntimeError"),
        ("%%agent bot\n---\nsystem: Be brief.\nscript: [a]\n---\nhello", CellError, r"line 3.*Remove the first line"),
        ("%agent bot --quiet hello", CellError, "before"),
        ("%%agent bot --model sk-ant-secret\nhello", CellError, "rotate"),
        ("%%agent bot\ntools: [sk-ant-secret]\nscript: [a]\n---\nhello", CellError, "rotate"),
        ("%agent reset nobody", CellError, r"nobody.*no agents yet"),
        ("%agent bot --help", CellError, r"--help.*before"),
        ("%agent bot -h", CellError, r"-h.*before"),
        ("%%agent bot\nscript: []\n---\nhello", CellError, r"line 2.*script.*is empty"),
        ("%%agent bot\nscript: [a]\n----\nhello", CellError, r"line 3.*exactly `---`.*got `----`"),
        ("%%agent bot\nscript: [a]\n ---\nhello", CellError, r"line 3.*exactly `---`"),
        ("%%agent bot\nscript: [a]\n\u2014\nhello", CellError, r"line 3.*exactly `---`"),
        ("%%agent bot\nscript: [a]\n---\nhello\n{{n}}{{nope}}", CellError, r"no variable `n` in the notebook;"),
        ("%%agent bot\nscript: [a]\n---\n{{nope}}", CellError, r"no variable `nope` in the notebook;"),
        ("%%agent bot\nsummary: x\nscript: [a]\n---\nhello", CellError, r"unknown key `summary`\."),
        ("%agent nobody hello", CellError, "nobody"),
    ],
)
def test_a_wrong_cell_is_a_real_error_of_one_line_before_anything_happens(shell, source, error, message):
    shell.run("class Broken:\n    @property\n    def tool(self):\n        raise RuntimeError('no')\nbroken = Broken()")
    shell.run("number, blank, empty = 3, ' ', ''\ndef forecast(city: str) -> str:\n    'Forecast.'\n    return city")
    with pytest.raises(error, match=message) as raised:
        shell.run(source)
    assert isinstance(raised.value, NBAgentError)
    assert len(raised.value._render_traceback_()) == 1
    assert "sk-ant-secret" not in str(raised.value)
    assert shell.outputs == []
    assert "bot" not in shell.ns


def test_a_wrong_header_leaves_the_agent_as_it_was(shell):
    shell.run("%%agent bot\nscript: [one, two]\nsystem: Be brief.\n---\nhello")
    with pytest.raises(CellError):
        shell.run("%%agent bot\nsystem: Be long.\ntools: [nothing]\n---\nhello")
    assert "two" in shell.text("%%agent bot\nand?")
    assert messages(shell.ns["bot"])[0] == ("system", "Be brief.")


def test_a_failed_run_is_shown_and_raises(shell):
    with pytest.raises(ScriptExhausted):
        shell.run("%%agent bot --out result\nscript: [{call: x}]\n---\nhello")
    [output] = shell.outputs
    assert "failed" in output["text/plain"]
    assert shell.ns["result"].status == "failed"


def test_a_scripted_error_is_a_model_error(shell):
    with pytest.raises(ModelError, match="overloaded"):
        shell.run("%%agent bot\nscript:\n  - error: overloaded\n---\nhello")


def test_an_error_before_the_run_does_not_show_the_last_run_again(shell):
    shell.ns["blank"] = " "
    shell.run("%%agent bot\nscript: [one, two]\n---\nhello")
    with pytest.raises(ConfigError):
        shell.run("%%agent bot\n{{blank}}")
    assert shell.outputs == []


def test_out_of_turns_is_shown_and_does_not_raise(shell):
    shell.run(WEATHER)
    script = "script:\n  - call: get_weather\n    args: {city: Oslo}"
    text = shell.text(f"%%agent bot --max-turns 1\ntools: [get_weather]\n{script}\n---\ngo")
    assert "max_turns=1" in text


def test_a_tool_that_raises_keyboard_interrupt_cancels_the_cell(shell):
    shell.run("def stop() -> None:\n    'Stop.'\n    raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        shell.run("%%agent bot\ntools: [stop]\nscript:\n  - call: stop\n  - done\n---\ngo")
    [output] = shell.outputs
    assert "cancelled" in output["text/plain"]
    assert (shell.ns["bot"].model.position, shell.ns["bot"].history) == (0, ())


@pytest.mark.parametrize("above", ["# NBVAL_IGNORE_OUTPUT\n", "\n\n", "# a comment\n\n  # another\n"])
def test_comments_and_blank_lines_may_stand_above_the_magic(shell, above):
    assert "hi" in shell.text(f"{above}%%agent bot\nscript: [hi]\n---\nhello")
    assert messages(shell.ns["bot"]) == [("user", "hello")]


def test_an_error_names_the_line_of_the_cell_also_with_comments_above(shell):
    with pytest.raises(CellError, match="line 5"):
        shell.run("# one\n# two\n%%agent bot\nscript: [hi]\nmodle: x\n---\nhello")


def test_lines_of_nbval_never_reach_the_model(shell):
    shell.run("%%agent bot\n# NBVAL_SKIP\nscript: [hi]\n---\nhello\n# NBVAL_IGNORE_OUTPUT\nyou")
    assert messages(shell.ns["bot"]) == [("user", "hello\nyou")]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"b": [1, {}]}}',
        r"\frac{x}{y} and {{\frac{1}{2}}}",
        "f'{x!r:>10}' {} {0} {client.api_key}",
        "$HOME {1+1} `x`",
        "!rm -rf x",
    ],
)
def test_braces_and_dollars_pass_byte_for_byte(shell, text):
    shell.ns["x"] = shell.ns["y"] = shell.ns["client"] = "CHANGED"
    shell.run(f"%%agent bot\nscript: [hi]\nsystem: |-\n  {text}\n---\n{text}")
    assert messages(shell.ns["bot"]) == [("system", text), ("user", text)]


def test_an_escaped_reference_is_sent_as_text(shell):
    shell.run("%%agent bot\nscript: [hi]\n---\n\\{{ config }}")
    assert messages(shell.ns["bot"]) == [("user", "{{ config }}")]


def test_the_magic_line_is_not_expanded(shell, tmp_path):
    shell.ns["api_key"] = "secret"
    target = tmp_path / "pwn"
    shell.run(
        "%%agent bot --system \"{open('FILE', 'w')} $api_key\"\nscript: [hi]\n---\nhello".replace("FILE", str(target))
    )
    assert not target.exists()
    assert messages(shell.ns["bot"])[0] == ("system", f"{{open('{target}', 'w')}} $api_key")


@pytest.mark.parametrize("first", ["%%agent other", "!rm -rf x", "%run evil.py", "%agent bot"])
def test_magics_in_the_body_are_text(shell, first):
    shell.run(f"%%agent bot\nscript: [hi]\n---\n{first}")
    assert messages(shell.ns["bot"]) == [("user", first)]


def test_the_line_magic_sends_the_rest_of_the_line_as_it_is(shell):
    shell.run("%%agent bot\nscript: [one, two, three]\n---\nhello")
    shell.run('%agent bot What\'s "up", {today} & $now?')
    assert messages(shell.ns["bot"])[-1] == ("user", 'What\'s "up", {today} & $now?')


@pytest.mark.parametrize("task", ["What now?", "What now??", "Why? Because.", "What's up?", "Is it 'so'?", "a*?"])
def test_a_question_in_a_line_goes_to_the_agent_and_not_to_pythons_help(shell, task):
    shell.run("%%agent bot\nscript: [one, two, three]\n---\nhello")
    shell.run(f"%agent bot {task}\nif True:\n    %agent bot {task}")
    assert [m.content for m in shell.ns["bot"].history if m.role == "user"] == ["hello", task, task]


def test_help_on_the_magic_still_works(shell):
    for source in ("%agent?", "%%agent?", "x = 1\nx?"):
        assert "pinfo" in shell.shell.transform_cell(source)


def test_the_line_magic_shows_an_agent_and_starts_it_over(shell):
    shell.run("%%agent bot\nscript: [one, two]\n---\nhello")
    assert "bot" in shell.text("%agent bot")
    shell.run("%agent reset bot")
    assert (shell.ns["bot"].history, shell.ns["bot"].model.position) == ((), 0)


def test_the_line_magic_works_in_loops_functions_and_coroutines(shell):
    shell.run("%%agent bot\nscript: [one, two, three, four, five]\n---\nhello")
    shell.run("for word in ['a', 'b']:\n    %agent bot {{word}}")
    shell.run("def ask(name):\n    %agent bot {{name}}\nask('local')")
    shell.run("async def ask(name):\n    %agent bot {{name}}\nawait ask('awaited local')")
    assert [m.content for m in shell.ns["bot"].history if m.role == "user"] == [
        "hello",
        "a",
        "b",
        "local",
        "awaited local",
    ]


def test_the_line_magic_is_awaited_at_top_level(shell):
    transform = shell.shell.transform_cell
    assert transform("%agent bot hi") == "await get_ipython().run_cell_magic('agent', 'bot hi', None)\n"
    assert (
        transform("if 1:\n    %agent bot é")
        == "if 1:\n    await get_ipython().run_cell_magic('agent', 'bot é', None)\n"
    )
    assert "await" not in transform("def f():\n    %agent bot hi")
    assert "await" not in transform("class A:\n    %agent bot hi")
    assert "locals()" in transform("async def f():\n    %agent bot hi")
    assert transform("x = 'é'; y = 1\nz = %agent bot hi").endswith(
        "z = await get_ipython().run_cell_magic('agent', 'bot hi', None)\n"
    )
    assert transform("%agents bot") == "get_ipython().run_line_magic('agents', 'bot')\n"


def test_a_terminal_waits_for_the_body(shell):
    check = shell.shell.check_complete
    assert [check(text)[0] for text in ("%%agent bot", "%%agent bot\nhello", "%%agent bot\nhello\n\n")] == [
        "incomplete", "incomplete", "complete",
    ]  # fmt: skip


def test_other_cells_are_left_alone(shell):
    for source in (
        "%%time\n%agent bot hi\n",
        "x = 1\n",
        "def f(:\n    %agent bot\n",
        "'''\n%%agent bot\n'''\n",
        "%%agentx\nfoo\n",
    ):
        assert "await" not in shell.shell.transform_cell(source)


def test_a_cell_magic_called_from_code_is_awaited_there(shell):
    shell.run("await get_ipython().run_cell_magic('agent', 'bot', 'script: [hi]\\n---\\nhello')")
    assert shell.ns["bot"].last.final_output == "hi"


def test_without_autoawait_the_error_says_what_to_do(shell):
    shell.shell.autoawait = False
    with pytest.raises(CellError, match="%autoawait on"):
        shell.run("%%agent bot\nscript: [hi]\n---\nhello")
    shell.ns["b"] = Agent("b", ScriptedLLM(["one"]))
    assert "one" in shell.text("%agent b hello")


def test_the_seed_example_runs_pasted_in_a_cell(shell, capsys):
    from tests.agents.test_agent import SEED

    shell.run(SEED)
    assert capsys.readouterr().out == "It's sunny and 24C in Copenhagen today.\n"


def test_python_api_runs_in_a_cell_in_each_form(shell):
    shell.run(
        textwrap.dedent(
            """
            from nbagent import Agent, ScriptedLLM
            bot = Agent("bot", ScriptedLLM(["one", "two", "three"]))
            first = bot.run("1")
            second = await bot.arun("2")
            async def inside():
                return bot.run("3")
            third = await inside()
            """
        )
    )
    assert [str(shell.ns[name]) for name in ("first", "second", "third")] == ["one", "two", "three"]


@pytest.mark.parametrize("outer", ["%%capture shown", "%%time"])
def test_inside_another_cell_magic_an_agent_runs_all_the_same(shell, outer):
    shell.run("%%agent bot\nscript: [one, two, three]\n---\nhello")
    shell.run(f"{outer}\n%agent bot again")
    assert shell.ns["bot"].last.final_output == "two"
    if "capture" in outer:
        shell.run(f"{outer}\n%%agent bot\nand again")
        assert shell.ns["bot"].last.final_output == "three"


def test_below_another_line_magic_a_line_runs_all_the_same(shell, capsys):
    shell.run("%%agent bot\nscript: [one, two]\n---\nhello")
    shell.run("%time %agent bot again")
    assert shell.ns["bot"].last.final_output == "two"


def test_the_bare_line_magic_shows_help(shell):
    assert "--max-turns" in shell.text("%agent")


def test_figures_come_right_after_the_run(shell):
    shell.run(
        "from matplotlib.figure import Figure\n"
        "def draw() -> Figure:\n    'Draw.'\n    figure = Figure()\n"
        "    figure.subplots().set_title('Prices')\n    return figure"
    )
    trace, image = shell.run("%%agent bot\ntools: [draw]\nscript:\n  - call: draw\n  - done\n---\ngo")
    assert set(image) == {"image/png", "text/plain"}
    assert image["image/png"].startswith(b"\x89PNG")
    assert "Prices" in image["text/plain"]
    assert "Prices" in trace["text/plain"]


def traces(ip):
    manager, formatter = ip.input_transformer_manager, ip.display_formatter.mimebundle_formatter
    transformers = (ip.input_transformers_cleanup, ip.input_transformers_post, manager.token_transformers)
    names = {kind: sorted(known) for kind, known in ip.magics_manager.magics.items()}
    return names, [list(each) for each in transformers], sorted(map(str, formatter.deferred_printers))


def test_unloading_puts_everything_back(shell):
    ip = shell.shell

    def shown():
        return ip.display_formatter.format(shell.ns["bot"].observe("hi"))[0]

    ip.run_line_magic("unload_ext", "nbagent")
    without = traces(ip)
    ip.run_line_magic("load_ext", "nbagent")
    shell.run("%%agent bot\nscript: [hi]\n---\nhello")
    assert "text/html" in shown()
    loaded = traces(ip)
    assert all(one != other for one, other in zip(loaded[:2], without[:2], strict=True))
    ip.run_line_magic("unload_ext", "nbagent")
    assert traces(ip) == without
    assert list(shown()) == ["text/plain"]


def test_loading_twice_and_unloading_leave_no_traces(shell):
    ip = shell.shell
    ip.run_line_magic("reload_ext", "nbagent")
    ip.run_line_magic("reload_ext", "nbagent")
    assert ip.transform_cell("%%agent bot\nhi").count("await") == 1
    ip.run_line_magic("unload_ext", "nbagent")
    assert "await" not in ip.transform_cell("%%agent bot\nhi")
    assert "agent" not in ip.magics_manager.magics["cell"]
    ip.run_line_magic("load_ext", "nbagent")
    assert "hi" in shell.text("%%agent bot\nscript: [hi]\n---\nhello")


def test_a_run_inside_a_running_loop_shows_the_same_bytes(shell):
    first = shell.run("%%agent bot\nscript: [hi]\n---\nhello")

    async def inside():
        source = "%%agent bot2\nscript: [hi]\n---\nhello".replace("bot2", "bot")
        await shell.shell.run_cell_async(source, transformed_cell=shell.shell.transform_cell(source))

    shell.run("%agent reset bot")
    shell.shell.display_pub.outputs.clear()
    asyncio.run(inside())
    assert shell.outputs == first


def test_history_is_messages(shell):
    shell.run("%%agent bot\nscript: [hi]\n---\nhello")
    assert shell.ns["bot"].history == (Message("user", "hello"), Message("assistant", "hi"))


@pytest.mark.parametrize("separator", ["----", " ---", "--", "\u2014", "==="])
def test_a_wrong_line_below_a_header_never_sends_the_header(shell, separator):
    shell.run("%%agent bot\nscript: [one, two]\n---\nhello")
    with pytest.raises(CellError, match=r"line 3: the line below a header is exactly `---`"):
        shell.run(f"%%agent bot\nsystem: Be brief.\n{separator}\nhello")
    assert len(shell.ns["bot"].history) == 2


def test_a_task_with_a_line_of_its_own_is_a_task(shell):
    shell.run("%%agent bot\nscript: [one, two]\n---\nhello")
    shell.run("%%agent bot\nA title\n=======\nNote: a text.")
    assert shell.ns["bot"].history[2].content == "A title\n=======\nNote: a text."


def test_reset_names_the_agents_there_are(shell):
    shell.run("%%agent bot\nscript: [one]\n---\nhello")
    shell.run("%%agent cat\nscript: [one]\n---\nhello")
    with pytest.raises(CellError, match=r"no agent 'agent'; there are: bot, cat"):
        shell.run("%agent reset")


@pytest.mark.parametrize(
    "inner", ["%agent bot again", "%%agent bot\\nagain", "%%agent bot\\nscript: [two]\\n---\\nagain"]
)
@pytest.mark.parametrize("awaited", ["", "import asyncio; await asyncio.sleep(0)\n"])
def test_a_cell_that_code_runs_is_run_in_the_plain_way(shell, inner, awaited):
    shell.run("%%agent bot\nscript: [one, two]\n---\nhello")
    shell.run(f'{awaited}get_ipython().run_cell("{inner}").raise_error()')
    assert shell.ns["bot"].last.final_output == "two"


def test_a_tool_may_run_a_cell(shell):
    shell.run("%%agent bot\nscript: [one, two]\n---\nhello")
    shell.run("def ask() -> str:\n    get_ipython().run_cell('%agent bot again')\n    return bot.last.final_output")
    shell.run("%%agent outer\ntools: [ask]\nscript: [call: ask, done]\n---\nhello")
    assert shell.ns["outer"].last.tool_calls[0].observation.text == "two"
