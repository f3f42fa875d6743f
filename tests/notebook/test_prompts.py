"""Prompts before they are sent: `--dry` and `%prompt`."""

from __future__ import annotations

import json
import socket

import pytest
import servers
from servers import reply

from nbagent.errors import CellError, NBAgentError
from nbagent.notebook.prompts import PromptLine, RunName, parse_prompt

server = pytest.fixture(servers.running, name="server")
SCRIPTED = "%%agent bot\nscript: [one, two, three]\nsystem: Be brief, {{name}}.\n---\n{{name}} says hello"


@pytest.fixture
def named(shell, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    shell.run("name = 'Ada'\ndef look(place: str) -> str:\n    'Look somewhere.'\n    return place")
    return shell


PLAIN = "tools: [look]\nsystem: Be brief. \u00fc\nmax_tokens: 9\n---\n{{{{name}}}} says hello"
MADE = """tools: [look]
instructions: Be {{tone}}.
prompt_template: "On {{topic}}: {{task}}"
inputs: {{topic: "{{{{name}}}}", tone: brief, words: 5}}
output: {{mood: in one word}}
formatters: json
examples: [[q, a]]
context: [notes, rag]
---
{{{{name}}}} says hello"""
PROVIDERS = """
class Notes:
    context_label = "NOTES"
    def get_blocks(self, query, *, top_k=8): return [f"a note on {query.query_text}"]
class Rag(Notes):
    passive, active = False, True
notes, rag = Notes(), Rag()
"""


@pytest.mark.parametrize("rest", [PLAIN, MADE])
@pytest.mark.parametrize(("api", "path"), [("chat", ""), ("responses", "api: responses\n"), ("anthropic", "")])
def test_what_dry_shows_is_what_is_sent_to_the_byte(named, server, api, path, rest, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-" + "0123456789" * 3)
    model = "model: anthropic:m\n" if api == "anthropic" else f"model: m\nbase_url: {server.url}\n{path}"
    named.run(PROVIDERS)
    cell = f"%%agent bot{{}}\n{model}{rest}"
    [output] = named.run(cell.format(" --dry"))
    assert server.requests == []
    server.play(reply(api, True, text='{"mood": "gay"}'))
    named.run(cell.format(""))
    [request] = server.requests
    shown = output["text/plain"].split("\n")
    line = next(line.strip() for line in shown if line.strip().startswith("{") and "stream" in line)
    assert json.loads(line) == request.body
    assert line.encode() == request.raw


def test_dry_opens_no_socket_needs_no_key_and_changes_nothing(named, monkeypatch):
    named.run(SCRIPTED)
    before = named.ns["bot"].history
    real = socket.socket.connect
    monkeypatch.setattr(socket.socket, "connect", lambda *a: pytest.fail("a connection"))
    try:
        [output] = named.run("%%agent bot --dry\nmodel: openai:gpt-5\n---\nhello {{name}}")
        [again] = named.run("%%agent cat\nscript: [a]\ndry: yes\n---\nhello")
    finally:
        monkeypatch.setattr(socket.socket, "connect", real)
    assert "bot · openai:gpt-5 · live · not sent" in output["text/plain"]
    assert "variable name: str" in output["text/plain"]
    assert "request, Anthropic" in again["text/plain"]
    assert named.ns["bot"].history == before
    assert named.ns["bot"].last.final_output == "one"
    assert "cat" not in named.ns
    assert named.ns["bot"].model.name == "scripted"
    assert named.text("%agent bot go on").startswith("bot · scripted")
    assert "<script" not in output["text/html"]
    assert "Pieces" in output["text/html"]


def test_the_line_shows_what_a_task_would_send_and_what_runs_have_sent(named):
    named.run(SCRIPTED)
    named.run("%%agent bot\nand then?")
    assert "not sent" in named.text("%prompt bot What about {{name}}?")
    assert "What about Ada?" in named.text("%prompt bot What about {{name}}?")
    assert len(named.ns["bot"].model.requests) == 2
    assert "and then?" in named.text("%prompt bot")
    first = named.text("%prompt bot@1")
    assert first.startswith("bot · scripted · sent · ")
    assert "Ada says hello" in first
    assert "and then?" not in first
    diff = named.text("%prompt diff bot@1 bot@2").split("\n")
    assert diff[:2] == ["--- bot@1", "+++ bot@2"]
    assert "+user: and then?" in diff
    assert "+history: assistant: one" in diff
    assert named.text("%prompt diff bot@1 bot@1") == "bot@1 and bot@1 are the same"


@pytest.mark.parametrize("task", ["What now?", "What's up??", "{{name}}?"])
def test_a_question_in_a_line_is_no_request_for_help(named, task):
    named.run(SCRIPTED)
    assert f"user\n    {task.replace('{{name}}', 'Ada')}" in named.text(f"%prompt bot {task}")


def test_a_prompt_is_shown_richly_as_the_value_of_a_cell(named):
    named.run(SCRIPTED)
    named.run("prompt = bot.observe('What next?')")
    data, _ = named.shell.display_formatter.format(named.ns["prompt"])
    assert "What next?" in data["text/plain"]
    assert "sent" not in data["text/plain"]
    assert "nbagent-run" in data["text/html"]
    system, user, _ = named.ns["prompt"]
    assert (system, user) == ("Be brief, Ada.", "What next?")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("%prompt", "begins with an agent's name"),
        ("%prompt nobody", r"no agent 'nobody'; there are: bot, cat"),
        ("%prompt bot@7", r"agent 'bot' has no run 7; there are 1"),
        ("%prompt cat", r"agent 'cat' has not run yet; `%prompt cat TASK"),
        ("%prompt bot@1 hello", r"is a run that has been"),
        ("%prompt diff bot@1", r"takes two runs"),
        ("%prompt 1bot", r"begins with an agent's name"),
        ("%prompt bot hello {{nobody}}", r"no variable `nobody`"),
    ],
)
def test_a_wrong_line_says_what_to_write(named, line, says):
    named.run(SCRIPTED)
    named.run("%%agent cat\nscript: [a]\n---\n")
    with pytest.raises(CellError, match=says):
        named.run(line)


def test_lines_are_read():
    assert parse_prompt("bot  What's up? ") == PromptLine(RunName("bot"), "What's up?")
    assert parse_prompt("bot@12") == PromptLine(RunName("bot", 12))
    assert parse_prompt("diff a@1 b") == PromptLine(RunName("a", 1), other=RunName("b"))


def test_an_agent_keeps_its_newest_results():
    from nbagent import Agent, ScriptedLLM
    from nbagent.agents.runs import KEPT

    agent = Agent("a", ScriptedLLM([f"{i}" for i in range(KEPT + 5)]))
    for _ in range(KEPT + 5):
        agent.run("go")
    assert list(agent.results) == list(range(6, KEPT + 6))
    assert agent.results[KEPT + 5] is agent.last


def test_what_a_run_sent_is_not_told_by_what_the_agent_is_now(named, server):
    named.run(SCRIPTED)
    server.play(reply("chat", True, text="Hi."))
    named.run(f"%%agent bot\nmodel: m\nbase_url: {server.url}\n---\nanother")
    [first, second] = [named.text(f"%prompt bot@{number}") for number in (1, 2)]
    assert first.startswith("bot · scripted · sent · ")
    assert second.startswith("bot · 127.0.0.1:m · live · sent · ")
    assert f"request, 127.0.0.1:m at {server.url}, with the agent as it is now" in first
    named.run("from nbagent import Limits\nbot.limits = Limits(deadline=1e-9)\nbot.run('late')")
    assert named.text("%prompt bot").startswith("bot · 127.0.0.1:m · live · not sent · ")


def test_dry_leaves_the_agent_its_script_and_its_settings_alone(named):
    named.run(SCRIPTED)
    named.run("%%agent bot\nand then?")
    named.run("%%agent bot --dry --max-turns 3\nscript: [x, y]\nsystem: Other.\n---\nhello")
    bot = named.ns["bot"]
    assert (bot.model.position, bot.max_turns, len(bot.results)) == (2, 10, 2)
    assert "three" in named.text("%agent bot third")


def test_a_diff_masks_secrets_and_shows_what_is_not_seen(named, monkeypatch):
    monkeypatch.setenv("SERVICE_TOKEN", "t0p-s3cret-" + "0123456789abcdef")
    named.run("import os\nodd = 'a\\x1b[31m\\u202eb'")
    named.run("%%agent bot\nscript: [a, b]\nsystem: S {{os.environ['SERVICE_TOKEN']}}\n---\nhello")
    named.run("%%agent bot --system 'T {{odd}}'\nhello")
    diff = named.text("%prompt diff bot@1 bot@2")
    assert "t0p-s3cret" not in diff
    assert "‹redacted SERVICE_TOKEN›" in diff
    assert "\x1b" not in diff
    assert "\u202e" not in diff


@pytest.mark.parametrize("line", ["x = %prompt bot What now?", "x = %agent bot What now?", "x=%agent bot   What now??"])
def test_an_assigned_question_is_no_request_for_help(named, line):
    named.run(SCRIPTED)
    if "%agent" in line:
        named.run(line)
        assert named.ns["bot"].last.prompt.user.startswith("What now?")
    else:
        assert "What now?" in named.text(line)


def test_a_prompt_of_an_empty_task_is_the_error_that_its_run_would_be(named):
    named.run(SCRIPTED)
    named.run("empty = ''")
    with pytest.raises(NBAgentError, match="task: expected a text"):
        named.run("%prompt bot {{empty}}")
    assert "user" in named.text("%prompt bot\thello")


def test_a_prompt_is_a_line_and_no_cell(named):
    with pytest.raises(CellError, match="is a line, not a cell"):
        named.run("%%prompt bot\nhello")


def test_a_long_prompt_is_shown_with_the_middle_of_its_requests_left_out(named):
    named.run("long = 'word ' * 60_000")
    output, _ = named.run("%%agent bot --dry\nscript: [a]\nsystem: '{{long}}'\n---\nhello")
    assert "characters left out" in output["text/plain"]
    assert len(output["text/html"]) < 500_000


def test_the_line_says_in_which_cell_a_variable_was_set_and_saved_outputs_do_not(shell):
    for source in ("first = 1\ncity = 'Oslo'", "def f(city): return city\nfor city in ['Rome']: pass"):
        shell.shell.run_cell(source, store_history=True).raise_error()
    [run] = shell.run("%%agent bot\nscript: [ok]\nsystem: Be {{first}}.\n---\nHow is {{city}}?")
    assert "cell [" not in run["text/plain"] + run["text/html"]
    for line in ("%prompt bot", "%prompt bot What of {{city}}?"):
        text = shell.text(line)
        assert "variable city: str (cell [2], line 2)" in text
        assert "variable first: int (cell [1], line 1)" in text
    [dry] = shell.run("%%agent bot --dry\nHow is {{city}}?")
    assert "cell [" not in dry["text/plain"]


def test_places_are_those_of_the_notebooks_own_names(shell):
    for source in (
        "city = 'Rome'",
        "%%time\ncity = 'Paris'",
        "def helper():\n    city = 'Local'\n    return [city for city in 'ab']\nother = [city for city in 'ab']",
        "mood = 'old'",
    ):
        shell.shell.run_cell(source, store_history=True).raise_error()
    cell = '%%agent bot\nscript: [\'{"mood": "gay"}\', ok]\npush: [mood]\nsystem: In {{city}}.\n---\ngo'
    shell.shell.run_cell(cell, store_history=True).raise_error()
    text = shell.text("%prompt bot")
    assert "variable city: str (cell [2], line 2)" in text
    assert "variable mood: str (" in shell.text("%prompt bot {{mood}}?")
    assert "cell [" not in shell.text("%prompt bot {{mood}}?").partition("variable mood")[2].partition("\n")[0]
    shell.run(
        "from nbagent import Agent\nbot = Agent('bot', object(), prompt_template='{city}', attributes={'city': 'X'})"
    )
    assert "attribute city: str (user" in shell.text("%prompt bot hi")


def test_of_a_prompt_that_has_no_room_all_follows_one_click_away(shell):
    shell.run("words = ' '.join(f'word{n}' for n in range(25_000)) + ' sk-proj-' + 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xYz0a'")
    short = shell.run("%%agent bot --dry\nscript: [ok]\n---\nhello")
    assert len(short) == 1
    view, whole = shell.run("%%agent bot --dry\nscript: [ok]\nsystem: Be brief.\n---\n{{words}}")
    assert len(view["text/html"].encode()) <= 64 * 1024
    said = whole["application/json"]["the whole prompt"]
    assert said["1 system"] == "Be brief."
    assert said["2 user"].startswith("word0 word1 ")
    assert said["2 user"].endswith(" word24999 ‹redacted key›")
    assert whole["text/plain"] == "all of it as JSON: 1 system, 2 user"
    assert shell.shell.display_pub.outputs[-1]["metadata"]["application/json"]["expanded"] is False
    shell.run("%%agent bot\nscript: [ok]\n---\n{{words}}")
    assert len(shell.run("%prompt bot")) == 2


def test_the_name_alone_shows_what_a_first_run_would_send(shell):
    shell.run("city = 'Oslo'")
    shell.run("%%agent bot\nscript: [ok]\nprompt_template: How is {city}?\npull: [city]\n---\n")
    text = shell.text("%prompt bot")
    assert "not sent" in text
    assert "How is Oslo?" in text
    shell.run("%%agent other\nscript: [ok]\n---\n")
    with pytest.raises(CellError, match="has not run yet; `%prompt other TASK…` shows what a run would send"):
        shell.run("%prompt other")
