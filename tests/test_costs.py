"""Costs, as counts: Python calls, not seconds, so that a busy machine changes nothing."""

from __future__ import annotations

import asyncio

import pytest
from counting import calls_of

from nbagent import Agent, HistoryMemory, ScriptedLLM
from nbagent.messages import Message, Prompt


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def agent(turns):
    script = [ScriptedLLM.tool_call("add", {"a": i, "b": i}) for i in range(turns)]
    return Agent("a", ScriptedLLM([*script, "done"]), "You add.", tools=[add], max_turns=turns + 1)


def per_turn(turns, asynchronous):
    one = agent(turns)
    return calls_of(lambda: asyncio.run(one.arun("go")) if asynchronous else one.run("go")) / turns


@pytest.mark.parametrize(("asynchronous", "most"), [(False, 125), (True, 220)])
def test_a_turn_costs_the_same_however_long_the_run(asynchronous, most):
    per_turn(1, asynchronous)  # imports and caches
    short, long = per_turn(100, asynchronous), per_turn(1000, asynchronous)
    assert long <= short
    assert long <= most


def test_an_events_journal_grows_by_four_events_a_turn():
    assert len(agent(50).run("go").events) - len(agent(10).run("go").events) == 4 * 40


def test_the_output_of_a_long_run_stays_small_and_whole():
    bundle = agent(1000).run("go")._repr_mimebundle_()
    assert sum(len(text.encode()) for text in bundle.values()) < 110_000
    assert "1998" in bundle["text/plain"]


def test_observing_costs_the_same_for_each_message_however_long_the_history():
    def per_message(size):
        prompt = Prompt((), tuple(Message("user", f"{i}") for i in range(size)))
        return calls_of(lambda: (prompt.spans, prompt.messages)) / size

    assert per_message(10_000) <= per_message(1_000)


def test_observing_with_a_long_history_stays_linear():
    def calls(size):
        memory = HistoryMemory(top_k=0, memory_size=0)
        for i in range(size // 2):
            memory.insert(f"question {i}", f"answer {i}")
        one = Agent("a", ScriptedLLM([]), prompt_template="Q: {task}", memories=[memory])
        one.observe("hi")  # imports and caches
        return calls_of(lambda: one.observe("hi").messages)

    assert calls(10_000) <= 11 * calls(1_000)
