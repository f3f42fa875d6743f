import re

import pytest
from page import Page
from views_samples import full_run, long_run, weather_run

from nbagent.events import ModelReplied, ModelRequested, Noted, PromptAssembled, ToolReturned
from nbagent.messages import Message, ModelReply, Observation, Prompt, Segment, Source, ToolCall
from nbagent.views.bundle import bundle
from nbagent.views.growth import BARS, Growth
from nbagent.views.html_growth import growth_html
from nbagent.views.trace import Trace


def growth(events):
    return Growth.of(Trace.of(events))


def run_of(*turns):
    """A run of `What is 1+1?` in which each turn replies, observes and notes so many characters."""
    prompt = Prompt(
        (Segment("user", "task", "What is 1+1?", Source("template", "task")),), (Message("user", "x" * 40),)
    )
    events = [PromptAssembled(prompt)]
    for turn, (replied, observed, noted) in enumerate(turns, 1):
        call = ToolCall("1", "a", "b" * (observed and 2))
        events += [
            ModelRequested(turn, "f"),
            ModelReplied(turn, ModelReply("r" * replied, (call,) if observed else ())),
            *([ToolReturned(turn, 0, Observation("1", "o" * observed))] if observed else []),
            *([Noted(turn, "n" * noted)] if noted else []),
        ]
    return events


def test_each_request_holds_the_prompt_and_what_the_turns_before_it_added():
    found = growth(run_of((8, 400, 0), (0, 0, 100), (8, 8, 8)))
    assert found.turns == (1, 2, 3)
    assert found.requests == (
        {"template": 3, "history": 10},
        {"template": 3, "history": 10, "reply": 3, "tool result": 100},
        {"template": 3, "history": 10, "reply": 3, "tool result": 100, "note": 25},
    )
    assert found.line == "13 → 116 → 141 tokens (estimated)"


def test_it_is_said_in_every_format_and_only_where_there_is_something_to_say():
    for shown in bundle(weather_run()).values():
        assert "52 → 64 tokens (estimated)" in shown
    for events in (
        weather_run()[:6],
        run_of((8, 0, 0)),
        [e for e in weather_run() if not isinstance(e, PromptAssembled)],
    ):
        assert growth(events) is None
        assert not any("rompt growth" in shown for shown in bundle(events).values())


def test_a_remark_that_the_model_did_not_hear_is_no_part_of_the_prompt():
    events = run_of((8, 0, 0), (8, 0, 0))
    events.insert(3, Noted(1, "mended " * 50, told=False))
    assert growth(events).line == "13 → 15 tokens (estimated)"
    assert "the agent noted" in bundle(events)["text/plain"]
    assert "the agent told the model" not in "".join(bundle(events).values())


@pytest.mark.parametrize("turns", [2, 3, 8, BARS, BARS + 1, 2 * BARS, 1_000])
def test_many_turns_are_grouped_evenly(turns):
    found = growth(long_run(turns))
    assert len(found.turns) <= 60
    assert (found.turns[0], found.turns[-1]) == (1, turns)
    steps = {after - before for before, after in zip(found.turns[1:-1], found.turns[2:-1], strict=False)}
    assert steps <= {found.group}
    assert list(found.sums) == sorted(found.sums)
    assert len(found.line) < 80
    shown = growth_html(Trace.of(long_run(turns)))
    assert ("each bar is the last of" in shown) is (turns > BARS)
    assert len(shown.encode()) < 5_000
    assert f"turn {turns:,}</small>" in shown


def test_the_chart_stacks_what_the_numbers_say():
    shown = growth_html(Trace.of(run_of((8, 400, 0), (0, 0, 100), (8, 8, 8))))
    heights = {
        kind: re.findall(r"v(\d+)", shape)
        for kind, shape in re.findall(r'<path class="nbagent-(\w+)" d="(.*?)"/>', shown)
    }
    assert {kind: len(each) for kind, each in heights.items()} == {
        "template": 3,
        "history": 3,
        "reply": 2,
        "result": 2,
        "framework": 1,
    }
    assert int(heights["result"][0]) == pytest.approx(1_000 * 100 / 141, abs=12)
    Page(f"<div>{shown}</div>")


def test_the_chart_says_itself_in_a_sentence():
    shown = growth_html(Trace.of(weather_run()))
    assert '<svg role="img"' in shown
    assert "<title>Prompt growth: 52 → 64 tokens (estimated).</title>" in shown
    assert "reply <small>0 → 9</small>" in shown


def test_its_cost_is_linear():
    calls = []

    class Text(str):
        __slots__ = ()

        def __len__(self):
            calls.append(1)
            return 4

    def counted(turns):
        calls.clear()
        growth(
            run_of(*[(4, 0, 0)] * turns)[:1] + [ModelReplied(n, ModelReply(Text("abcd"))) for n in range(1, turns + 1)]
        )
        return len(calls)

    assert counted(1_000) <= 10 * counted(100)


def test_every_prefix_of_a_run_has_a_chart_or_none():
    events = full_run()
    for length in range(len(events) + 1):
        Page(bundle(events[:length])["text/html"])
