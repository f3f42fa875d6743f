"""Compaction: a history that is too long is summarised, as a step of the run that needs it."""

from __future__ import annotations

import asyncio

import pytest

from nbagent import Agent, HistoryMemory, PlanAgent, ScriptedLLM
from nbagent.agents.compaction import Compact
from nbagent.errors import ConfigError
from nbagent.events import StepFinished, StepStarted

LONG = "x" * 200  # 50 tokens


def agent_of(*script, compact=120, **options):
    return Agent("a", ScriptedLLM(script), compact=compact, **options)


def told(agent):
    """What the newest request says."""
    return [message.content for message in agent.requests[-1].messages]


def run(agent, task, asynchronous, **options):
    return asyncio.run(agent.arun(task, **options)) if asynchronous else agent.run(task, **options)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_was_said_long_ago_becomes_a_summary_and_the_newest_exchanges_stay(asynchronous):
    agent = agent_of(LONG, LONG, LONG, "They said x.", "done", compact=Compact(tokens=120, keep=1))
    for task in ("one", "two", "three"):
        assert not [e for e in run(agent, task, asynchronous).events if isinstance(e, StepStarted)]
    result = run(agent, "four", asynchronous)
    assert result.final_output == "done"
    steps = [e for e in result.events if isinstance(e, StepStarted | StepFinished)]
    assert [(e.kind, e.number) for e in steps] == [("compact", 0), ("compact", 0)]
    assert steps[1].output == "They said x."
    summary = agent.requests[-2].messages[0].content
    assert "user: one\nassistant: x" in summary
    assert "user: two" in summary
    assert "three" not in summary
    assert told(agent) == [
        "This is what we have said so far, in short:\nThey said x.", "I know what we have said. Let us go on.",
        "three", LONG, "four",
    ]  # fmt: skip
    assert [message.content for message in agent.history][::2] == ["one", "two", "three", "four"]  # nothing is lost


def test_the_summary_is_made_once_and_is_itself_summarised_later():
    agent = agent_of(LONG, LONG, LONG, "S1", "ok", LONG, "S2", "end", compact=Compact(120, 1))
    for number in range(4):
        agent.run(f"q{number}")
    assert agent.run("q4").usage.llm_calls == 1
    assert agent.run("q5").usage.llm_calls == 2
    asked = agent.requests[-2].messages[0].content
    assert "in short:\nS1" in asked
    assert "q2" in asked  # which S1 did not hold
    assert "q0" not in asked  # which S1 did
    assert told(agent)[0].endswith("\nS2")


def test_the_cost_of_a_long_conversation_is_linear():
    def sent(runs):
        agent = Agent("a", ScriptedLLM(fallback=LONG), compact=400)
        for number in range(runs):
            agent.run(f"q{number}")
        return sum(request.characters for request in agent.model.requests)

    ten, twenty, forty = map(sent, (30, 60, 120))
    assert forty - twenty < 2.2 * (twenty - ten)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_run_with_a_summary_replays_whole_and_cut_anywhere(asynchronous):
    def made():
        agent = agent_of(LONG, LONG, LONG, "S", "done", compact=Compact(120, 1))
        for task in ("one", "two", "three"):
            agent.run(task)
        return agent

    whole = made().run("four")
    for cut in range(1, len(whole.events) + 1):
        agent = made()
        again = asyncio.run(agent.areplay(whole.events[:cut])) if asynchronous else agent.replay(whole.events[:cut])
        assert again == whole


def test_an_exchange_that_is_made_again_drops_the_summary_that_holds_it():
    agent = agent_of("a0", LONG, LONG, "S", "a3", "b0", "b3", compact=Compact(90, 1))
    for number in range(4):
        agent.run(f"q{number}", key=number)
    agent.run("q0 again", key=0)
    agent.compact = None
    agent.run("q3 again", key=3)
    assert told(agent)[0] == "q0 again"


def test_where_the_model_gives_no_summary_the_history_stays_as_it_is():
    agent = agent_of(LONG, LONG, LONG, "", "", "done", compact=Compact(120, 1))
    for task in ("one", "two", "three"):
        agent.run(task)
    result = agent.run("four")
    assert result.final_output == "done"
    assert told(agent) == ["one", LONG, "two", LONG, "three", LONG, "four"]
    assert [e.status for e in result.events if isinstance(e, StepFinished)] == ["failed"]


def test_where_a_summary_would_save_too_little_none_is_made():
    agent = agent_of("tiny", "x" * 2000, "ok", compact=Compact(120, 1))
    for task in ("one", "two", "three"):
        result = agent.run(task)
    assert result.final_output == "ok"


def test_the_text_of_an_answer_streams_after_a_summary_too():
    agent = agent_of(LONG, LONG, LONG, "S", ScriptedLLM.pieces("do", "ne"), compact=Compact(120, 1))
    for task in ("one", "two", "three"):
        agent.run(task)
    assert len(list(agent.stream_run("four"))) > 1


def test_plans_and_reflections_have_it_too():
    agent = PlanAgent(
        "p", ScriptedLLM(["[]", LONG, LONG, "[]", LONG, LONG, "S", "[]", "one", "done"]), compact=Compact(80, 0)
    )
    agent.run("one")
    agent.run("two")
    result = agent.run("three")
    assert [e.kind for e in result.events if isinstance(e, StepStarted)] == ["compact", "plan", "execute", "synthesize"]
    assert result.final_output == "done"


def test_true_goes_by_the_window_of_the_model_where_it_is_known():
    class Known(ScriptedLLM):
        context_window = 200

    known = Agent("a", Known([LONG, LONG, LONG, "S", "done"]), compact=True)
    unknown = Agent("a", ScriptedLLM([LONG] * 5), compact=True)
    for agent in (known, unknown):
        for task in ("one", "two", "three", "four"):
            result = agent.run(task)
        assert bool([e for e in result.events if isinstance(e, StepStarted)]) == (agent is known)


def test_real_models_know_their_window():
    from nbagent.models.windows import window_of

    assert window_of("openai", "gpt-5-mini") == 400_000
    assert window_of("nobody", "nothing") is None


@pytest.mark.parametrize("given", ["yes", -1, 0, 1.5, Compact, [1]])
def test_what_is_no_compaction_is_refused(given):
    with pytest.raises(ConfigError, match="compact: "):
        agent_of("x", compact=given)


def test_a_memory_says_itself_how_much_of_it_goes_in():
    with pytest.raises(ConfigError, match="compact: a memory holds the history"):
        agent_of("x", memories=[HistoryMemory()])


def test_an_exchange_that_made_a_summary_makes_it_anew_when_it_is_made_again():
    agent = agent_of(LONG, LONG, LONG, "S", "done", "next", compact=Compact(120, 1))
    for key in ("a", "b", "c"):
        agent.run(key, key=key)
    results = [agent.run("d", key="d") for _ in range(3)]
    assert [result.final_output for result in results] == ["done"] * 3
    assert [result.usage.llm_calls for result in results] == [2] * 3
    assert agent.run("e", key="e").final_output == "next"
    assert told(agent)[0].endswith("\nS")


def test_an_exchange_that_is_made_again_without_its_summary_has_the_one_before():
    script = [LONG, LONG, LONG, "S1", "ok", LONG, "S2", "end", "short", "last"]
    agent = agent_of(*script, compact=Compact(120, 1))
    for number in range(6):
        agent.run(f"q{number}", key=number)
    assert told(agent)[0].endswith("\nS2")
    agent.compact = None
    agent.run("q5", key=5)
    assert told(agent)[0].endswith("\nS1")
    agent.run("q6", key=6)
    assert told(agent)[0].endswith("\nS1")
    agent.run("q3", key=3)
    assert told(agent)[0] == "q0"


def test_a_summary_goes_with_the_exchange_that_made_it():
    agent = agent_of(LONG, LONG, LONG, "S", "done", compact=Compact(120, 1))
    for task in ("one", "two", "three", "four"):
        agent.run(task)
    agent.undo()
    assert agent.run("four").final_output == "done"
    assert told(agent)[0].endswith("\nS")
    agent.clear_history()
    agent.model.reset()
    agent.run("one")
    assert told(agent) == ["one"]


def test_a_summary_outlives_a_run_that_fails_after_it():
    agent = agent_of(LONG, LONG, LONG, "S", RuntimeError("no"), "done", compact=Compact(120, 1))
    for task in ("one", "two", "three"):
        agent.run(task)
    with pytest.raises(Exception, match="no"):
        agent.run("four")
    assert agent.run("four").usage.llm_calls == 1
    assert told(agent)[0].endswith("\nS")
