"""`%prompt diff`, also of saved notebooks; prompts and requests as objects and as files."""

from __future__ import annotations

import json

import nbformat
import pytest

from nbagent.errors import CellError

CELL = """%%agent bot
script: [one, two, three]
tools: [look]
system: Be {brief}.
---
What is {{thing}}?
  indented line"""


@pytest.fixture
def named(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell.run("thing = 'a DAG'\ndef look(place: str) -> str:\n    'Look.'\n    return place")
    return shell


def save(path, *bundles):
    cells = [nbformat.v4.new_code_cell("", outputs=[nbformat.v4.new_output("display_data", data=d)]) for d in bundles]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def test_runs_of_this_kernel_are_compared_line_by_line(named):
    named.run(CELL)
    named.run("thing = 'a graph'\nbot.run('And?')")
    named.run("%%agent bot\nscript: [x]\nsystem: Be long.\n---\nWhat is {{thing}}?\n  indented line")
    lines = named.text("%prompt diff bot@1 bot@3").split("\n")
    assert lines[:2] == ["--- bot@1", "+++ bot@3"]
    assert {"-system: Be {brief}.", "+system: Be long.", "+history: assistant: one", "+user: What is a graph?"} <= set(
        lines
    )
    assert " user:   indented line" in lines
    assert any(line.startswith("-tool look(place: string)") for line in lines)
    assert named.text("%prompt diff bot@1 bot@1") == "bot@1 and bot@1 are the same"


def test_runs_of_a_saved_notebook_are_compared_with_runs_of_now(named, tmp_path):
    [first] = named.run(CELL)
    [dry] = named.run("%prompt bot Never sent.")
    [second] = named.run("%%agent bot\nAnd?")
    save(tmp_path / "old.ipynb", first, dry, {"text/plain": "7"}, second)
    assert named.text("%prompt diff old.ipynb:bot@1 bot@1") == "old.ipynb:bot@1 and bot@1 are the same"
    assert named.text("%prompt diff old.ipynb:bot bot@2") == "old.ipynb:bot and bot@2 are the same"
    named.run("thing = 'a graph'\n")
    named.run(CELL)
    changed = named.text("%prompt diff old.ipynb:bot@1 bot").split("\n")
    assert "-user: What is a DAG?" in changed
    assert "+user: What is a graph?" in changed
    save(tmp_path / "new one.ipynb", first)
    assert named.text("%prompt diff old.ipynb:bot@1 'new one.ipynb:bot@1'").endswith("are the same")


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ("old.ipynb:bot@9 bot", "no output of run 9 of agent 'bot'; it has 1 of them"),
        ("old.ipynb:cat bot", "no output of run 1 of agent 'cat'; it has none"),
        ("none.ipynb:bot bot", "none.ipynb: cannot be read"),
        ("text.ipynb:bot bot", "this is not a notebook"),
        ("odd.ipynb:bot bot", "no output of run 1 of agent 'bot'; it has none"),
        ("bot", "takes two runs"),
        ("'bot bot", "takes two runs"),
    ],
)
def test_what_cannot_be_compared_says_so(named, tmp_path, names, says):
    save(tmp_path / "old.ipynb", *named.run(CELL))
    (tmp_path / "text.ipynb").write_text("[]")
    (tmp_path / "odd.ipynb").write_text('{"cells": [{"outputs": [{"data": {"text/plain": 5}}]}]}')
    with pytest.raises(CellError, match=says):
        named.run(f"%prompt diff {names}")


def test_the_newest_requests_are_objects_and_what_the_model_was_sent(named):
    named.run(CELL)
    named.run("%%agent bot\nAnd?")
    bot = named.ns["bot"]
    assert list(bot.requests) == list(bot.model.requests)
    bot.replay(bot.last.events)
    assert len(bot.requests) == 2
    shown = named.text("%prompt requests bot 1")
    assert '"content": "And?"' in shown
    assert "bot · the newest 1 of its requests" in shown
    with pytest.raises(CellError, match="a name and how many"):
        named.run("%prompt requests bot x")


def test_prompts_requests_and_diffs_go_into_files(named, tmp_path):
    named.run(CELL)
    named.run("%%agent bot\nAnd?")
    assert named.text("%prompt bot@1 --to first.json") == "wrote first.json"
    said = json.loads((tmp_path / "first.json").read_text())
    assert [m["role"] for m in said["messages"]] == ["system", "user"]
    assert {s["source"]["kind"] for s in said["segments"]} == {"template", "variable"}
    assert said["requests"]["OpenAI, Chat Completions"]["messages"][0]["content"] == "Be {brief}."
    assert named.text('%prompt bot What now? --to "next one.json"') == "wrote next one.json"
    assert json.loads((tmp_path / "next one.json").read_text())["messages"][-1]["content"] == "What now?"
    assert len(named.ns["bot"].results) == 2
    named.run("%prompt requests bot 2 --to sent.jsonl")
    lines = (tmp_path / "sent.jsonl").read_text().splitlines()
    assert [len(json.loads(line)["messages"]) for line in lines] == [2, 4]
    named.run("%prompt diff bot@1 bot@2 --to diff.txt")
    assert (tmp_path / "diff.txt").read_text().startswith("--- bot@1\n+++ bot@2\n")
    with pytest.raises(CellError, match="does not take the place of a notebook"):
        named.run("%prompt bot --to old.ipynb")
    with pytest.raises(CellError, match=r"no/where\.json: cannot be written"):
        named.run("%prompt bot --to no/where.json")


def test_no_secret_goes_into_a_file(named, tmp_path):
    named.run("thing = 'sk-proj-' + 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xYz0a'")
    named.run(CELL)
    named.run("%prompt bot --to first.json")
    assert "aB3dE5gH" not in (tmp_path / "first.json").read_text()


def test_a_secret_that_shows_as_one_only_beside_the_others_is_nowhere(named, tmp_path):
    named.run("thing = 'Zq8vXw2Lp9'")
    [run] = named.run("%%agent bot\nscript: [ok]\n---\nconnect to postgres://admin:{{thing}}@db/x")
    [dry] = named.run("%prompt bot connect to postgres://admin:{{thing}}@db/x")
    named.run("%prompt bot --to o.json")
    for text in (*run.values(), *dry.values(), (tmp_path / "o.json").read_text()):
        assert "Zq8vXw2Lp9" not in text
        assert "\u2039redacted password\u203a" in text


def test_the_words_of_a_task_are_no_file(named, tmp_path):
    named.run(CELL)
    assert "Translate this --to French" in named.text("%prompt bot Translate this --to French")
    assert not (tmp_path / "French").exists()


def test_what_a_file_holds_is_shown_safely(named, tmp_path):
    named.run(CELL)
    text = named.outputs[0]["text/plain"].replace("What is", "\x1b[31mWhat\u202e is")
    save(tmp_path / "odd.ipynb", {"text/plain": text})
    raw = (tmp_path / "odd.ipynb").read_bytes()
    (tmp_path / "odd.ipynb").write_bytes(b"\xef\xbb\xbf" + raw)
    shown = named.text("%prompt diff odd.ipynb:bot bot")
    assert "-user: \u27e6U+001B\u27e7[31mWhat\u27e6U+202E\u27e7 is a DAG?" in shown
