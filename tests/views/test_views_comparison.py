"""Comparisons of runs: a table, charts, and of two that went apart both ways side by side."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from nbagent import Agent, PlanAgent, ScriptedLLM, compare, tool
from nbagent.errors import ConfigError
from nbagent.messages import ModelReply, Usage

call = ScriptedLLM.tool_call


@tool
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def pair():
    script = [call("add", {"a": 1, "b": 2}), call("add", {"a": 3, "b": 4}), lambda r: f"sum {r.messages[-1].content}"]
    agent = Agent("bot", ScriptedLLM(script), tools=[add])
    first = agent.run("go")
    return first, agent.fork(first, at=2, observation="nine")


def test_two_runs_that_went_apart_are_told_one_after_the_other_in_text():
    assert str(compare(*pair())) == TEXT


TEXT = """\
run    status     turns  tool calls  tokens in        tokens out      answer
bot-1  completed  3      2           129 (estimated)  12 (estimated)  sum 7
bot-2  completed  3      2           130 (estimated)  12 (estimated)  sum nine

bot-2 was forked from bot-1 at turn 2: observation of call 0 edited

tokens per turn of bot-1: 38+5, 43+5, 48+2

tokens per turn of bot-2: 38+5, 43+5, 49+2

tools
  bot-1: add ×2
  bot-2: add ×2

turn 1, the same in both
  turn 1
    call add {"a": 1, "b": 2}
    observation: 3

from turn 2 on: bot-1
  turn 2
    call add {"a": 3, "b": 4}
    observation: 7
  turn 3
    reply: the answer below
  answer
    sum 7

from turn 2 on: bot-2
  turn 2
    call add {"a": 3, "b": 4}
    observation: nine
  turn 3
    reply: the answer below
  answer
    sum nine"""


def test_turns_in_common_are_shown_once_and_folded():
    html = compare(*pair()).bundle["text/html"]
    assert html.count("<b>Turn 1</b> <small>the same in both</small>") == 1
    assert html.count("<b>Turn 2</b>") == html.count("<b>Turn 3</b>") == 2
    assert html.count('<div class="nbagent-sides">') == 1
    assert "observation of call 0 edited" in html
    # Each chart says in words what it shows.
    assert html.count("<svg") == html.count("<title>") > 8


def test_runs_of_any_number_and_agents_are_compared_the_same_each_time():
    def several():
        other = PlanAgent("planner", ScriptedLLM(['["a"]', "done", "all done"]))
        return compare(*pair(), other.run("go"), names=["a@1", "a@2", "p@1"])

    shown = several().bundle
    assert shown == several().bundle
    assert '<div class="nbagent-sides">' not in shown["text/html"]
    assert len(re.findall(r"<tr>", shown["text/html"])) == 4 + 2
    assert "| `p@1` | completed | 3 |" in shown["text/markdown"]


def test_costs_are_text_and_no_formulas():
    def priced(name, cost):
        usage = Usage(10, 5, cost=Decimal(cost))
        return Agent(name, ScriptedLLM([ModelReply("from $1 to $2 | x", usage=usage)])).run("go")

    shown = compare(priced("a", "0.25"), priced("b", "0.5")).bundle
    assert "<code>$0.25</code>" in shown["text/html"]
    assert "| `$0.5` |" in shown["text/markdown"]
    assert "`from $1 to $2 \\| x`" in shown["text/markdown"]
    assert "$0.25" in shown["text/plain"]


HOSTILE = ["<script>alert(1)</script>", "</code><img src=x onerror=alert(1)>", "`| x |`\n# head", "\u202eabc", "a\x00b"]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_comes_from_outside_stays_text(text):
    agent = Agent("bot", ScriptedLLM([call("add", {"a": 1, "b": 2}, content=text), text]), tools=[add])
    first = agent.run(text)
    fork = agent.fork(first, at=1, observation=text)
    shown = compare(first, fork, names=[text, text]).bundle
    allowed = (
        "div|style|b|small|p|code|details|summary|table|thead|tbody|tr|th|td|svg|title|path|span|mark|i|pre|h4|h5|h6|"
        "strong|em|br|sup|hr"
    )
    body = shown["text/html"].split("</style>", 1)[1]
    assert not re.search(rf"<(?!/?(?:{allowed})\b)", body)
    assert "\u202e" not in "".join(shown.values())


def test_one_run_or_an_unfinished_one_can_be_shown():
    agent = Agent("bot", ScriptedLLM([]))
    with pytest.raises(Exception, match="the script has 0 replies"):
        agent.run("go")
    shown = compare(agent.last).bundle
    assert "failed" in shown["text/plain"]
    for wrong in ((), ("bot-1",)):
        with pytest.raises(ConfigError, match="compare: expected results"):
            compare(*wrong)
    with pytest.raises(ConfigError, match="a name for each of 1 runs"):
        compare(agent.last, names=["a", "b"])
