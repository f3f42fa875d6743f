"""Cells that put a prompt together: templates, inputs, output fields, variables pulled and pushed, context."""

from __future__ import annotations

import pytest

from nbagent.errors import CellError, ConfigError

WRITER = r"""%%agent writer
script: ['{"title": "On DAGs", "score": 8}']
instructions:
  - You write for {audience}.
  - Call it {{style}}, send \{this} and \{{that}}.
prompt_template: |
  Write about {topic} in {words} words.
inputs:
  topic: "{{subject}} in {practice}"
  words: 50
  audience: learners
  note: [1, two]
output:
  title: the title
  score: {type: int, description: "how sure you are, 0 to 10"}
push: [title]
---
"""


@pytest.fixture
def named(shell):
    shell.run("style = '{plain}'; subject = 'DAGs'")
    return shell


def test_a_cell_with_inputs_runs_without_a_task(named):
    [output] = named.run(WRITER)
    run = named.ns["writer"].last
    assert run.prompt.system == "You write for learners.\nCall it {plain}, send {this} and {{that}}."
    assert run.prompt.user.startswith("MESSAGE TO YOU:\nWrite about DAGs in {practice} in 50 words.\n\nnote:\n[1, ")
    assert run.final_output == {"title": "On DAGs", "score": 8}
    assert named.ns["title"] == "On DAGs"
    assert '"title": "On DAGs"' in output["text/plain"]
    sources = {str(segment.source) for segment in run.prompt.segments}
    assert {"variable subject: str", "input words", "variable style: str", "template prompt_template"} <= sources


def test_dry_shows_it_and_sends_nothing(named):
    text = named.text(WRITER.replace("---\n", "dry: yes\n---\n"))
    assert "not sent" in text
    assert "Write about DAGs in {practice} in 50 words." in text
    assert "writer" not in named.ns
    assert "title" not in named.ns


def test_inputs_may_be_an_option_and_then_need_no_body(named):
    named.run(WRITER)
    named.ns["writer"].model.position = 0
    named.run("""%%agent writer --inputs '{"topic": "{{subject}}!", "words": 3, "audience": "all"}'\n""")
    assert named.ns["writer"].last.prompt.user.startswith("MESSAGE TO YOU:\nWrite about DAGs! in 3 words.\n")


def test_a_task_is_an_input_field_of_a_template(named):
    named.run("%%agent bot\nscript: [ok]\nprompt_template: 'Q: {task}'\nformatters: [paragraph, text]\n---\nWhy {x}?")
    assert named.ns["bot"].last.prompt.user == "MESSAGE TO YOU:\nQ: Why {x}?"
    assert named.ns["bot"].last.final_output == "ok"
    named.run("%%agent bot\nscript: [ok]\ninputs: {words: 5}\n---\nWhy?")
    assert named.ns["bot"].last.prompt.user == "MESSAGE TO YOU:\nWhy?\nwords:\n5"


def test_an_unknown_field_names_the_line_and_nothing_has_changed(named):
    with pytest.raises(ConfigError, match=r"Cell line 4: \{topc\} in prompt_template: .*did you mean \{topic\}"):
        named.run("%%agent bot\nscript: [ok]\ninputs: {topic: x}\nprompt_template: 'On {topc}'\n---\n")
    assert "bot" not in named.ns
    with pytest.raises(ConfigError, match=r"Option --instructions: \{who\} in instructions"):
        named.run("%%agent bot --instructions 'Be {who}'\nscript: [ok]\n---\nhi")


def test_pull_reads_variables_and_push_writes_them_each_time(named):
    named.run("city = 'Oslo'")
    named.run('%%agent bot\nscript: [\'{"mood": "grey"}\', \'{"mood": "gay"}\']\nprompt_template: How is {city}?\n'
              "pull: {city: where it is}\npush: {mood: in one word}\n---\ngo")  # fmt: skip
    assert named.ns["mood"] == "grey"
    prompt = named.ns["bot"].last.prompt
    assert prompt.user.startswith("MESSAGE TO YOU:\nHow is Oslo?\ntask:\ngo\n")
    assert "attribute city: str" in {str(segment.source) for segment in prompt.segments}
    named.run("city = 'Rome'\nresult = bot.run({})")
    assert (named.ns["mood"], "How is Rome?" in named.ns["result"].prompt.user) == ("gay", True)
    with pytest.raises(CellError, match="pull: no variable 'citty' in the notebook; did you mean 'city'"):
        named.run("%%agent bot\nscript: [ok]\npull: [citty]\n---\ngo")


def test_context_names_variables_that_hold_providers(named):
    named.run("""
class Notes:
    context_label = "NOTES"
    def get_blocks(self, query, *, top_k=8):
        return [f"note on {query.query_text}"]

class Broken(Notes):
    context_label = "BROKEN"
    def get_blocks(self, query, *, top_k=8):
        raise KeyError("x")

from nbagent import HistoryMemory
notes, broken, said = Notes(), Broken(), HistoryMemory()
""")
    text = named.text("%%agent bot\nscript: [ok, fine]\ncontext: [notes, broken, said]\n---\nWhy?")
    prompt = named.ns["bot"].last.prompt
    assert prompt.user.endswith("CONTEXT:\n[Context]\n(NOTES) note on Why?")
    [failed] = [segment for segment in prompt.segments if not segment.kept]
    assert (str(failed.source), failed.reason) == ("context BROKEN", "failed: KeyError: 'x'")
    assert "KeyError: 'x'" in text
    assert [m.content for m in named.ns["said"].get_messages()] == ["Why?", "ok"]
    named.run("%%agent bot\nAnd then?")
    assert [m.content for m in named.ns["bot"].last.prompt.history] == ["Why?", "ok"]
    with pytest.raises(CellError, match=r"Cell line 3: context: no variable 'nots'"):
        named.run("%%agent bot\nscript: [ok]\ncontext: [nots]\n---\ngo")
    with pytest.raises(ConfigError, match="expected a context provider"):
        named.run("%%agent bot\nscript: [ok]\ncontext: [style]\n---\ngo")


def test_options_change_what_they_name_and_the_rest_of_the_prompt_stays(named):
    named.run('%%agent bot\nscript: [a, b, \'{"mood": "x"}\']\nsystem: Be {brief}.\nexamples: [[q, a]]\n---\nhi')
    named.run("%%agent bot --instructions 'Speak {lang}.' --inputs '{\"lang\": \"Danish\"}'\nhi")
    prompt = named.ns["bot"].last.prompt
    assert (prompt.system, len(prompt.examples)) == ("Speak Danish.", 2)
    named.run('%%agent bot --output \'{"mood": "in one word"}\' --system Short.\nhi')
    assert named.ns["bot"].last.final_output == {"mood": "x"}
    assert named.ns["bot"].last.prompt.system == "Short."


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("system: a\ninstructions: b", "keep one of them"),
        ("inputs: text", "`inputs` must be a mapping"),
        ("inputs: [a]", "`inputs` must be a mapping"),
        ("output: [a]", "`output` must be a mapping"),
        ("output: {a: {kind: int}}", "must be a description, a type"),
        ("push: {a: [1]}", "must be text"),
        ("pull: [3]", "must be a Python name"),
        ("formatters: [a, b, c]", "one formatter or two"),
        ("formatters: yaml", "yaml"),
        ("examples: text", "must be a list of pairs"),
        ("examples: [a]", "an example is"),
        ("examples_in: here", "must be `messages` or `prompt`"),
        ("instructions: {a: b}", "must be text, or a list of its lines"),
    ],
)
def test_what_is_wrong_in_a_header_is_an_error(named, header, says):
    with pytest.raises(ConfigError, match=says):
        named.run(f"%%agent bot\nscript: [ok]\n{header}\n---\ngo")
    assert "bot" not in named.ns


def test_an_object_that_can_invoke_is_a_model(named):
    named.run("""
class Echo:
    def invoke(self, messages, tools, settings):
        return {"type": "content", "content": messages[-1]["content"].upper()}
echo = Echo()
""")
    assert "bot · Echo · live · completed" in named.text("%%agent bot\nmodel: echo\n---\nhello")
    assert named.ns["bot"].last.final_output == "HELLO"


def test_tools_may_be_lists_registries_and_servers(named):
    named.run("""
from nbagent import ToolRegistry
def one() -> str: return "1"
def two() -> str: return "2"
def three() -> str: return "3"
several, registry = [one], ToolRegistry([two])
class Server:
    def tools(self): return [three]
server = Server()
""")
    named.run("%%agent bot\nscript: [ok]\ntools: [several, registry, server]\n---\nhi")
    assert named.ns["bot"].own_tools.names == ("one", "two", "three")
    with pytest.raises(CellError, match=r"Cell line 3: tools: several: there is a tool 'one' already"):
        named.run("%%agent bot\nscript: [ok]\ntools: [one, several]\n---\nhi")


def test_tools_that_stay_are_the_agents_own(named):
    named.run("""
class Rag:
    context_label, passive, active = "RAG", False, True
    def get_blocks(self, query, *, top_k=8): return ["x"]
rag = Rag()
def one() -> str: return "1"
""")
    named.run("%%agent bot\nscript: [ok, ok]\ntools: [one]\ncontext: [rag]\n---\nhi")
    named.run("%%agent bot --max-turns 3\nhi")
    assert named.ns["bot"].own_tools.names == ("one",)
    assert named.ns["bot"].tools.names == ("one", "list_context_sources", "retrieve_context")


def test_a_header_that_speaks_of_this_run_only_leaves_the_agent_as_it_is(named):
    named.run(WRITER)
    named.ns["writer"].model.position = 0
    named.run("%%agent writer\ninputs: {topic: cats, words: 3, audience: all}\nout: r\n---\n")
    assert named.ns["r"].prompt.user.startswith("MESSAGE TO YOU:\nWrite about cats in 3 words.\n")
    assert named.ns["r"].final_output["score"] == 8


def test_pull_in_a_function_reads_its_own_variables(named):
    named.run("town = 'GLOBAL'\ndef f():\n    town = 'Oslo'\n"
              "    %agent --script s --pull town --prompt-template \"Hi {town}\" --formatters paragraph,text b go\n"
              "s = ['ok']\nf()")  # fmt: skip
    assert named.ns["b"].last.prompt.user.startswith("MESSAGE TO YOU:\nHi Oslo\n")


def test_references_are_looked_up_wherever_a_text_stands(named):
    named.run("lang = 'Dan\"ish'")
    named.run("""%%agent bot
script: ['{"mood": "x"}']
inputs: {doc: {title: "{{lang}}", tags: ["{{lang}}", 1]}}
output: {mood: "in {{lang}}"}
push: {mood: "in {{lang}}"}
examples: [[{q: "{{lang}}"}, "{{lang}}"]]
---
go""")
    prompt = named.ns["bot"].last.prompt
    assert "{{" not in prompt.user
    assert 'doc:\n{"title": "Dan\\"ish", "tags": ["Dan\\"ish", 1]}' in prompt.user
    assert '"mood": "in Dan\\"ish"' in prompt.user
    assert [m.content for m in prompt.examples] == ['{"q": "Dan\\"ish"}', 'Dan"ish']


@pytest.mark.parametrize("name", ["bot", "other", "r", "In", "Out", "_x"])
def test_an_answer_takes_the_place_of_no_agent_and_of_nothing_of_ipython(named, name):
    named.run("%%agent other\nscript: [ok]\n---\nhi")
    with pytest.raises(CellError, match=f"push: '{name}' is "):
        named.run(f"%%agent bot\nscript: ['{{}}']\nout: r\npush: [{name}]\n---\ngo")
    assert "bot" not in named.ns


BLOCK = """%%agent bot
script: [ok]
inputs: {topic: x}
prompt_template: |
  One {topic}
  Two {{thing}}
  Three {topik}
---
"""


def test_errors_name_the_line_that_is_wrong(named):
    with pytest.raises(CellError, match=r"Cell line 6: `\{\{thing\}\}` in prompt_template: no variable `thing`"):
        named.run(BLOCK)
    named.run("thing = 1")
    with pytest.raises(CellError, match=r"Cell line 7: \{topik\} in prompt_template"):
        named.run(BLOCK)
    for header, line in (
        ("instructions:\n  - a\n  - '{{none}}'", 4),
        ("system: |\n  a\n  {{none}}", 4),
        ("inputs:\n  a: 1\n  b: '{{none}}'", 4),
        ("inputs: {a: ['{{none}}']}", 2),
        ("examples:\n  - [a, '{{none}}']", 3),
    ):
        with pytest.raises(CellError, match=rf"Cell line {line}: `\{{\{{none\}}\}}` in "):
            named.run(f"%%agent bot\n{header}\nscript: [ok]\n---\ngo")


def test_a_later_cell_is_not_told_of_lines_of_an_earlier_one(named):
    named.run(BLOCK.replace("topik", "topic").replace("{{thing}}", "t").replace("[ok]", "['{}', '{}']"))
    for later in ("%%agent bot\nTell me", "%agent bot Tell me", "%prompt bot Birds"):
        with pytest.raises(ConfigError, match=r"^\{topic\} in prompt_template: no input field") as raised:
            named.run(later)
        assert "line" not in str(raised.value)


def test_a_backslash_before_anything_else_stays(named):
    named.run("%%agent bot\nscript: [ok]\ninstructions: 'Sets \\{1, 2\\}, \\{ a }, \\{word}, \\alpha{}'\n---\ngo")
    assert named.ns["bot"].last.prompt.system == "Sets \\{1, 2\\}, \\{ a }, {word}, \\alpha{}"


def test_a_task_that_stands_twice_is_an_error(named):
    with pytest.raises(CellError, match="Cell line 6: the task stands here and under `inputs`, too"):
        named.run("%%agent bot\nscript: [ok]\nprompt_template: Do {task}\ninputs: {task: one}\n---\ntwo")


def test_dry_binds_nothing_and_shows_a_template_before_any_call(named):
    text = named.text("%%agent bot --dry\nscript: [ok]\nprompt_template: Tell a joke.\n---\n")
    assert "Tell a joke." in text
    assert "bot" not in named.ns
    with pytest.raises(ConfigError, match=r"Cell line 2|\{topic\}"):
        named.run("%%agent bot --dry\nscript: [ok]\nprompt_template: On {topic}.\n---\n")


def test_the_prompt_line_takes_input_fields(named):
    named.run("%%agent bot\nscript: [ok]\nprompt_template: On {topic}. {task}\n---\n")
    text = named.text("""%prompt bot --inputs '{"topic": "{{subject}}"}' Be quick.""")
    assert "On DAGs. Be quick." in text
    assert "not sent" in text
    with pytest.raises(CellError, match="`--inputs` must be a mapping"):
        named.run("%prompt bot --inputs topic")


def test_options_keep_policy_and_attributes(named):
    named.run("""
from nbagent import Agent, ContextPolicy, ScriptedLLM
class Docs:
    context_label = "DOCS"
    def get_blocks(self, query, *, top_k=8): return ["one", "two", "three"]
docs = Docs()
bot = Agent("bot", ScriptedLLM(['{"mood": "x"}'] * 3), prompt_template="Hi {city}", attributes={"city": "Oslo"},
            context_policy=ContextPolicy(limit=1))
""")
    named.run("%%agent bot --context docs --push mood\ngo")
    prompt = named.ns["bot"].last.prompt
    assert prompt.user.startswith("MESSAGE TO YOU:\nHi Oslo\n")
    assert prompt.user.endswith("[Context]\n(DOCS) one")
    assert named.ns["mood"] == "x"


def test_of_a_server_the_resources_are_the_context(named):
    named.run("""
class Books:
    context_label = "BOOKS"
    def get_blocks(self, query, *, top_k=8): return ["a book"]
class Server:
    def resources(self): return Books()
server = Server()
""")
    named.run("%%agent bot\nscript: [ok]\ncontext: [server]\n---\nhi")
    assert named.ns["bot"].last.prompt.user.endswith("(BOOKS) a book")


@pytest.mark.parametrize("before", ["", "if True:\n    "])
def test_a_line_at_top_level_pulls_what_the_variable_is_at_each_run(named, before):
    line = "%agent --script s --pull city --prompt-template {city} --formatters paragraph,text b go"
    named.run(f"city = 'Oslo'\ns = ['a', 'b']\n{before}{line}")
    assert "Oslo" in named.ns["b"].last.prompt.user
    named.run("city = 'Rome'\nb.run('go')")
    assert "Rome" in named.ns["b"].last.prompt.user


@pytest.mark.parametrize(
    "option",
    ['{"topic": 1, "topic": 2}', '{"topic": NaN}', '{"topic": "Bob" s dog}'],
)
def test_the_json_of_an_option_is_strict_and_says_what_is_wrong(named, option):
    with pytest.raises(CellError, match=r"`--inputs` is no JSON .*an apostrophe ends the text"):
        named.run(f"%%agent bot --inputs '{option}'\nscript: [ok]\nprompt_template: '{{topic}}'\n---\n")
    named.run("%%agent bot\nscript: [ok]\n---\nhi")
    with pytest.raises(CellError, match="`--inputs` is no JSON"):
        named.run(f"%prompt bot --inputs '{option}'")
