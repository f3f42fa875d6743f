"""Runs of other agents inside a run: where they stand, what they say, how to reach them."""

import re

import pytest
from hostile import TEXTS
from markdown_it import MarkdownIt
from page import Page
from test_views_steps import text_of
from work_samples import deep_run, nested_run

from nbagent.events import ModelReplied, Nested, PromptAssembled, RunFinished, RunStarted, ToolReturned, ToolStarted
from nbagent.messages import Image, ModelReply, Observation, Prompt, Segment, Source, ToolCall, Usage
from nbagent.views.bundle import bundle, figures
from nbagent.views.place import Place
from nbagent.views.safe import visible
from nbagent.views.trace import Trace

INSIDE = """\
turn 2
  call translator {"task": "It is sunny."}
  run inside: translator · scripted · completed · 1 turn · 14 tokens (estimated)
    prompt
      system
        You translate into Danish.
      user
        It is sunny.
    turn 1
      reply: the observation below
  observation: Det er solrigt.
  call translator {"task": "It rains."}
  run inside: translator · scripted · completed · 1 turn · 12 tokens (estimated)
    prompt, after the system text of its first run
      user
        It rains.
    turn 1
      reply: the observation below
  observation: Det regner.

turn 3
"""

CALL = ToolCall("1", "helper", '{"task": "t"}')


def run_with(*inner, observation=None, status=None, **names):
    """A run whose first turn calls another agent; these are the events inside."""
    return [
        RunStarted("a-1", "boss", "m", "live", 3),
        PromptAssembled(Prompt((Segment("user", "task", "Go.", Source("template", "task")),))),
        ModelReplied(1, ModelReply("", (CALL,), Usage(5, 1))),
        ToolStarted(1, 0, CALL),
        *[Nested(1, 0, event) for event in (RunStarted("h-1", names.get("agent", "helper"), "m", "live", 3), *inner)],
        *([ToolReturned(1, 0, observation)] if observation else []),
        *([RunFinished(status, None, "because")] if status else []),
    ]


def test_the_run_stands_between_its_call_and_its_observation():
    shown = bundle(nested_run().events)
    assert INSIDE in shown["text/plain"]
    rows = re.findall(r"<i>(call|run inside|observation)</i>", shown["text/html"])
    assert rows == ["call", "observation", *["call", "run inside", "observation"] * 2]
    assert "translator · scripted · completed · 1 turn · 14 tokens (estimated)" in text_of(shown["text/html"])


def test_it_is_closed_where_it_came_to_its_end():
    html = bundle(nested_run().events)["text/html"]
    assert html.count("<details><summary><i>run inside</i>") == 2
    open_one = bundle(run_with(status="interrupted"))["text/html"]
    assert open_one.count("<details open><summary><i>run inside</i>") == 1


def test_in_markdown_it_is_quoted():
    markdown = bundle(deep_run().events)["text/markdown"]
    assert "\n> `manager` · `scripted` · completed" not in markdown  # its header stands beside the call
    assert "\nrun inside: `manager` · `scripted` · completed" in markdown
    assert "\n> run inside: `planner` · `scripted` · completed · 2 of 2 steps" in markdown
    assert "\n>> - [x] 1\\. `Ask`\n>> - [x] 2\\. `Sum up`\n>>\n" in markdown
    assert "\n>> run inside: `observer`" in markdown
    assert '\n>>> call `get_weather` `{"city": "Copenhagen"}`\n' in markdown
    depth = deepest = 0
    for token in MarkdownIt("commonmark").parse(markdown):
        depth += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        deepest = max(deepest, depth)
    assert deepest == 3


def test_the_numbers_hold_what_is_inside():
    head = bundle(nested_run().events)["text/plain"].split("\n")[0]
    assert " · 3 turns · 2 runs inside · 3 tool calls · " in head
    outer, inner = Usage(5, 1), Usage(100, 10)
    events = run_with(ModelReplied(1, ModelReply("x", (), inner)), RunFinished("completed", "x"))
    assert f" · {outer.total_tokens + inner.total_tokens} tokens" in bundle(events)["text/plain"].split("\n")[0]
    assert "helper · m · live · completed · 1 turn · 110 tokens" in bundle(events)["text/plain"]


def test_the_checklist_of_a_plan_inside_is_inside():
    text = bundle(deep_run().events)["text/plain"]
    assert "\n        2 of 2 steps done\n          [x] 1. Ask\n          [x] 2. Sum up\n" in text
    html = bundle(deep_run().events)["text/html"]
    assert html.count("☑") == 2
    assert "nbagent-progress" not in html.partition("</style>")[2]
    assert "growth" not in bundle(deep_run().events)["text/html"].partition("Turn 1")[2]


def test_what_is_deep_inside_is_two_columns_deeper_with_each_level():
    lines = bundle(deep_run().events)["text/plain"].split("\n")
    depths = [len(line) - len(line.lstrip()) for line in lines if line.lstrip().startswith("run inside: ")]
    assert depths == [2, 6, 12]
    assert max(len(line) - len(line.lstrip()) for line in lines) <= 26


def test_each_run_is_reached_as_its_path_says():
    result = deep_run()
    place = Place.of(Trace.of(result.events))
    seen = []
    while place is not None:
        found = [(turn, n, call.run) for turn in place.trace.all_turns for n, call in enumerate(turn.calls) if call.run]
        place = place.inside(*found[0]) if found else None
        seen += [place] if place else []
    assert [each.path.removeprefix("boss.last.") for each in seen] == [
        "turns[0].tool_calls[0].run",
        "turns[0].tool_calls[0].run.turns[0].tool_calls[0].run",
        "turns[0].tool_calls[0].run.turns[0].tool_calls[0].run.turns[1].tool_calls[0].run",
    ]
    for each in seen:
        run = eval(each.path.removeprefix("boss.last."), {"turns": result.turns})
        assert Trace.of(run.events) == each.trace


def test_an_answer_that_its_caller_saw_otherwise_is_shown():
    events = run_with(RunFinished("completed", "the whole answer"), observation=Observation("1", "the whole ans…"))
    text = bundle(events)["text/plain"]
    assert "    answer\n      the whole answer\n" in text
    assert "Answer" in text_of(bundle(events)["text/html"])


def test_an_answer_that_its_caller_saw_is_shown_once():
    shown = bundle(nested_run().events)
    assert shown["text/html"].count("<b>Answer</b>") == 1
    assert shown["text/plain"].count("answer\n") == 1


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("interrupted", "waits for a decision"),
        ("limit_reached", "limit reached"),
        ("out_of_turns", "out of turns"),
        ("cancelled", "cancelled"),
        ("failed", "failed"),
    ],
)
def test_each_status_of_a_run_inside_is_said(status, said):
    reply = ModelReplied(1, ModelReply("half of it"))
    shown = bundle(run_with(reply, RunFinished(status, None, "why inside"), status=status))
    assert f"run inside: helper · m · live · {said}: why inside · 1 turn" in shown["text/plain"]
    assert f"helper · m · live · {said}: why inside · 1 turn" in text_of(shown["text/html"])
    for each in shown.values():
        assert "half of it" in each
        assert "no result" in each


@pytest.mark.parametrize(("status", "said"), [("cancelled", "cancelled"), ("failed", "failed"), (None, "not finished")])
def test_a_run_inside_that_has_no_end_was_cut_short_by_the_one_around_it(status, said):
    text = bundle(run_with(status=status))["text/plain"]
    assert f"run inside: helper · m · live · {said} · 0 turns" in text


def test_figures_are_numbered_in_one_order():
    one, two, three = (Image(b"1", caption=f"figure of {n}") for n in "abc")
    call = ToolCall("2", "plot", "{}")
    events = [
        *run_with(
            ModelReplied(1, ModelReply("", (call,))),
            ToolStarted(1, 0, call),
            ToolReturned(1, 0, Observation("2", "x", images=(one,))),
            observation=Observation("1", "y", images=(two,)),
        ),
        ToolReturned(2, 0, Observation("3", "z", images=(three,))),
    ]
    assert figures(events) == (one, two, three)
    for number, letter in enumerate("abc", 1):
        assert f"figure {number}: figure of {letter}" in bundle(events)["text/plain"]
        assert f"<i>figure {number}</i><p>figure of {letter}</p>" in bundle(events)["text/html"]


@pytest.mark.parametrize("run", [nested_run(), deep_run()])
def test_every_prefix_can_be_shown(run):
    for length in range(len(run.events) + 1):
        Page(bundle(run.events[:length])["text/html"])


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_stays_text(text):
    prompt = Prompt((Segment("system", text, text, Source("variable", text)),))
    events = run_with(
        PromptAssembled(prompt),
        ModelReplied(1, ModelReply(text, (ToolCall("2", text, text),))),
        ToolReturned(1, 0, Observation("2", text)),
        RunFinished("failed", None, text),
        observation=Observation("1", text),
        agent=text,
    )
    shown = bundle(events)
    page = Page(shown["text/html"])
    assert all(line in page.text for line in visible(text).split("\n"))
    heads = [line for line in shown["text/plain"].split("\n") if line[:1].strip()]
    assert [head.split(" ")[0] for head in heads[1:]] == ["prompt", "turn", "The"]
    tokens = MarkdownIt("commonmark").parse(shown["text/markdown"])
    kinds = {"paragraph_open", "paragraph_close", "inline", "fence", "blockquote_open", "blockquote_close"}
    assert {token.type for token in tokens} <= kinds
    for each in shown.values():
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff\ud800-\udfff]", each)
