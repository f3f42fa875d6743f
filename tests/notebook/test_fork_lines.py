"""`%agent fork NAME@N TURN` and `%agent compare`: runs beside each other in a notebook."""

from __future__ import annotations

import pytest

from nbagent import compare
from nbagent.errors import CellError, RunInterrupted

TOOLS = """
from nbagent import tool
ran = []

@tool
def add(a: int, b: int) -> int:
    "Adds."
    ran.append((a, b))
    return a + b
"""
BOT = """%%agent bot
tools: [add]
script: [{call: add, args: {a: 1, b: 2}}, {call: add, args: {a: 3, b: 4}}, It is done.]
---
go"""


@pytest.fixture
def bot(shell):
    shell.run(TOOLS)
    shell.run(BOT)
    shell.ns["ran"].clear()
    return shell.ns["bot"]


def test_a_line_forks_a_run_and_shows_both_ways(shell, bot):
    history = bot.history
    [shown] = shell.run("%agent fork bot@1 2 observation='no such sum'")
    fork = bot.last
    assert shown["text/plain"] == str(compare(bot.results[1], fork, names=["bot@1", "bot@2"]))
    assert "turn 1, the same in both" in shown["text/plain"]
    assert (fork.run_id, fork.status, shell.ns["ran"], bot.history) == ("bot-2", "completed", [], history)
    assert fork.tool_calls[1].observation.text == "no such sum"


@pytest.mark.parametrize(
    ("line", "ran"),
    [
        ('bot 2 arguments=\'{"a": 5, "b": 6}\'', [(5, 6)]),
        ("bot@1 1 call=0 --observation=7", [(3, 4)]),
        ('bot@1 2 reply="That\'s all"', []),
        ("bot@1 3 system='Be brief.' user=now", []),
        ("bot 2", [(3, 4)]),
    ],
)
def test_every_edit_can_be_said_in_a_line(shell, bot, line, ran):
    shell.run(f"%agent fork {line}")
    assert (bot.last.run_id, bot.last.status, shell.ns["ran"]) == ("bot-2", "completed", ran)


def test_a_line_compares_runs_of_any_agents(shell, bot):
    shell.run("%%agent other\nscript: [Yes]\n---\ngo")
    [shown] = shell.run("%agent compare bot@1 other")
    assert shown["text/plain"] == str(compare(bot.last, shell.ns["other"].last, names=["bot@1", "other@1"]))
    assert {"text/html", "text/markdown", "text/plain"} == set(shown)


def test_a_fork_that_waits_is_shown_as_it_is_and_decided_about_as_any_run(shell):
    shell.run(TOOLS)
    shell.run(BOT.replace("script:", "approve: [add]\ndecisions: [approve, approve]\nscript:"))
    shell.ns["ran"].clear()
    with pytest.raises(RunInterrupted, match="bot waits for a decision about add"):
        shell.run("%agent fork bot@1 2")
    assert shell.ns["ran"] == []
    shell.run("%agent approve bot")
    assert (shell.ns["ran"], shell.ns["bot"].last.run_id) == ([(3, 4)], "bot-2")


def test_a_line_inside_a_def_forks_too(shell, bot):
    shell.run("def again():\n    %agent fork bot@1 2 reply=done\nagain()")
    assert bot.last.final_output == "done"


def test_an_agent_is_forked_as_before(shell, bot):
    shell.run("%agent fork bot twin")
    assert shell.ns["twin"].history == bot.history


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("fork bot@9 1", "has no run 9; there are 1"),
        ("fork bot@1", "expected the number of a turn after bot@1"),
        ("fork bot@1 x", "expected the number of a turn after bot@1; got 'x'"),
        ("fork bot@1 1 what=x", "expected an edit; got 'what=x'"),
        ("fork bot@1 1 reply=a reply=b", "it is there already"),
        ("fork bot@1 1 call=x observation=y", "call is which call"),
        ("fork bot@1 7 reply=x", "bot-1 has no turn 7; it has 1 to 3"),
        ("fork nobody@1 1", "no agent 'nobody'"),
        ("compare", "expected one run or more"),
        ("compare bot@2", "has no run 2; there are 1"),
        ("compare bot,bot", "expected the name of an agent"),
    ],
)
def test_what_a_line_cannot_mean_is_an_error(shell, bot, line, said):
    with pytest.raises(Exception) as error:  # noqa: PT011 - of the cell or of the agent, by what is wrong
        shell.run(f"%agent {line}")
    assert said in str(error.value)
    assert isinstance(error.value, CellError | ValueError)
