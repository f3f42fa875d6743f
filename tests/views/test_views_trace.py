import re

import pytest
from page import Page
from views_samples import full_run, long_run, weather_run

from nbagent import Agent, ScriptedLLM
from nbagent.agents.compaction import Compact
from nbagent.events import Guarded, ModelReplied, PromptAssembled, RunFinished, RunStarted, ToolReturned
from nbagent.messages import Image, ModelReply, Observation, Segment, Source, Usage
from nbagent.views.bundle import bundle, figures
from nbagent.views.trace import Trace


def test_a_whole_run():
    trace = Trace.of(weather_run())
    assert (trace.agent, trace.model, trace.mode, trace.status) == ("weather", "scripted", "scripted", "completed")
    assert trace.usage == Usage(50, 18, True)
    assert trace.tool_calls == 1
    assert [turn.number for turn in trace.turns] == [1, 2]
    call = trace.turns[0].calls[0]
    assert call.started == call.asked
    assert call.observation is not None
    assert call.observation.text == "sunny, 24C"
    assert trace.turns[1].content == trace.answer


@pytest.mark.parametrize("run", [weather_run(), full_run(), full_run("failed"), long_run(40)])
def test_every_prefix_can_be_shown(run):
    shown = [bundle(run[:length]) for length in range(len(run) + 1)]
    assert all(set(each) == {"text/html", "text/markdown", "text/plain"} for each in shown)
    assert all("not finished" in each["text/plain"] for each in shown[:-1])


def test_observations_find_their_calls_in_any_order():
    run = full_run()
    run[5], run[7] = run[7], run[5]
    assert Trace.of(run) == Trace.of(full_run())


def test_a_cancelled_call_says_so():
    run = [*weather_run()[:5], RunFinished("cancelled")]
    for shown in bundle(run).values():
        assert "no result: the run was cancelled while it ran" in shown
    assert "no result yet" in bundle(weather_run()[:5])["text/plain"]
    assert "not started" in bundle(weather_run()[:4])["text/plain"]


def test_a_model_call_without_a_reply_says_so():
    assert "no reply yet" in bundle(weather_run()[:3])["text/plain"]
    failed = [*weather_run()[:3], RunFinished("failed", None, "ModelError: gone")]
    assert "no reply: the run failed while the model replied" in bundle(failed)["text/plain"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("out_of_turns", "The run used all of its 10 turns without an answer."),
        ("cancelled", "The run was cancelled."),
        ("limit_reached", "The run reached a limit and stopped without an answer."),
        ("interrupted", "The run is paused: it waits for a decision."),
        ("failed", "The run failed."),
    ],
)
def test_a_run_without_an_answer_says_why(status, said):
    for shown in bundle(full_run(status)).values():
        assert said in shown
        assert "because it had to" in shown


def test_the_reply_is_incomplete():
    assert "incomplete reply, none of its tool calls ran: length" in bundle(full_run())["text/plain"]


def test_the_task_is_shown_before_the_prompt_is_assembled():
    task = (Segment("user", "task", "Where to go?", Source("template", "task")),)
    shown = bundle([RunStarted("a-1", "a", "m", "live", 10, task)])["text/plain"]
    assert "prompt, not assembled yet" in shown
    assert "Where to go?" in shown


def test_refused_calls_are_counted_apart():
    run = [event for event in full_run() if type(event).__name__ != "ToolStarted"]
    assert "0 tool calls and 2 refused" in bundle(run)["text/plain"]


@pytest.mark.parametrize(
    ("usages", "said"),
    [
        ([Usage(60, 8)], " 68 tokens\n"),
        ([Usage(60, 8, True)], " 68 tokens (estimated)\n"),
        ([None], "tokens unknown\n"),
        ([Usage(60, 8), None], " 68 tokens (some unknown)\n"),
    ],
)
def test_tokens(usages, said):
    run = [ModelReplied(turn, ModelReply("x", (), usage)) for turn, usage in enumerate(usages, 1)]
    assert said in bundle(run)["text/plain"]


def test_figures_are_numbered_through_the_run():
    one, two, three = (Image(b"1", caption=f"figure of {n}") for n in "abc")
    run = [
        ToolReturned(1, 0, Observation("1", "x", images=(one, two))),
        ToolReturned(2, 0, Observation("2", "x", images=(three,))),
    ]
    assert figures(run) == (one, two, three)
    assert "figure 1: figure of a" in bundle(run)["text/plain"]
    assert "figure 3: figure of c" in bundle(run)["text/plain"]
    assert "<i>figure 3</i><p>figure of c</p>" in bundle(run)["text/html"]


def test_an_answer_that_is_not_text():
    shown = bundle([RunFinished("completed", {"b": 1, "a": {"y", "x"}, "o": object()})])
    assert '"b": 1' in shown["text/plain"]
    assert "<object object>" in shown["text/plain"]
    assert " at 0x" not in shown["text/plain"]


def test_nothing_volatile_is_shown():
    first, second = full_run(), full_run()
    second[0] = RunStarted("traveller-77", "traveller", "maker:thinker", "live", 10)
    assert bundle(first) == bundle(second)
    assert "traveller-1" not in "".join(bundle(first).values())
    assert isinstance(first[1], PromptAssembled)


def test_a_summary_of_the_history_comes_first_and_the_turns_after_it_are_the_runs_own():
    agent = Agent("a", ScriptedLLM(["one", "In short: one.", "two"]), "You talk.", compact=Compact(1, keep=0))
    agent.run("First?")
    events = agent.run("Second?").events
    trace = Trace.of(events)
    assert [step.kind for step in trace.steps] == ["compact"]
    assert [turn.content for turn in trace.all_turns] == ["In short: one.", "two"]
    assert [turn.content for turn in trace.turns] == ["two"]
    assert trace.prompt is not None
    assert trace.prompt.user == "Second?"
    shown = bundle(events)
    text = shown["text/plain"]
    places = [
        text.index(each)
        for each in ("\nsummary of the history\n", "In short: one.", "\nprompt\n", "\nturn 1\n", "\nanswer\n")
    ]
    assert places == sorted(places)
    assert "reply: the answer below" in text
    assert "<details><summary><b>Summary of the history</b></summary>" in shown["text/html"]
    assert "<details open><summary><b>Prompt</b>" in shown["text/html"]


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (Guarded("input", "polite", True), "input guardrail polite: passed"),
        (Guarded("input", "polite", True, "", "Please."), "input guardrail polite: changed the question"),
        (Guarded("output", "short", True, "", "x"), "output guardrail short: changed the answer"),
        (Guarded("output", "short", False, "too <long>"), "output guardrail short: did not let it pass: too <long>"),
    ],
)
def test_what_guardrails_said(check, said):
    events = weather_run()
    shown = bundle([*events[:1], check, *events[1:]] if check.stage == "input" else [*events[:-1], check])
    assert f"\n{said}\n" in shown["text/plain"] + "\n"
    assert said.lower() in re.sub(r"<.*?>", "", shown["text/html"]).lower().replace("&lt;", "<").replace(
        "&gt;", ">"
    ).replace(f"guardrail {check.name} ", f"guardrail {check.name}: ")
    Page(shown["text/html"])
