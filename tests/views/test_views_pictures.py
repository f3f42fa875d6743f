"""The fold of pictures: the timeline of a run, and its call graph."""

import re
from itertools import pairwise

import pytest
from hostile import TEXTS
from page import Page
from test_views_size import nested_of, plan_of, turns_with
from views_samples import full_run, long_run, weather_run
from work_samples import deep_run, nested_run, plan_run, reflection_run, replanned_run

from nbagent.events import ModelReplied, ToolReturned
from nbagent.messages import ModelReply, Observation, ToolCall
from nbagent.views.bundle import bundle
from nbagent.views.graph import NODES, Graph
from nbagent.views.html_pictures import pictures_html
from nbagent.views.place import Place
from nbagent.views.sections import Sectioned
from nbagent.views.timeline import GROUPS, LANES, ROWS, Timeline
from nbagent.views.trace import Trace


def pictures(events):
    return pictures_html(Trace.of(events))


def timeline(events):
    return Timeline.of(Trace.of(events))


def names_of(events):
    return re.findall(r'<div class="nbagent-growth"><p><b>(.*?)</b>', pictures(events))


def test_all_pictures_are_in_one_closed_fold():
    html = bundle(weather_run())["text/html"]
    assert html.count("<details><summary><b>Pictures</b>") == 1
    assert names_of(weather_run()) == ["Prompt growth", "Tokens per turn", "Timeline", "Call graph"]
    assert "<b>Pictures</b>" not in bundle(weather_run()[:6])["text/html"]
    assert html.count("<svg") == 4


def test_an_agent_without_tools_has_no_graph():
    replies = [ModelReplied(turn, ModelReply("x")) for turn in (1, 2)]
    assert Graph.of(Trace.of(replies)) is None
    assert names_of(replies) == ["Timeline"]


def test_they_are_left_out_while_a_run_goes_on():
    sections = Sectioned().of(Place.of(Trace.of(weather_run()[:-1])), "")
    drawn = [section.html for some in (sections.before, sections.after) for section in some]
    drawn += [section.html for batch in sections.batches for section in batch.sections]
    assert not any("Pictures" in html or "<svg" in html for html in drawn)


def test_calls_stand_in_their_order_and_those_of_one_reply_above_each_other():
    host, *inner = timeline(nested_run().events).rows
    kinds = [(piece.kind, piece.lane, piece.lanes) for piece in host.pieces]
    assert kinds == [
        ("reply", 0, 1),
        ("tool result", 0, 1),
        ("reply", 0, 1),
        ("tool result", 0, 2),
        ("tool result", 1, 2),
        ("reply", 0, 1),
    ]
    assert [(row.agent, row.depth, row.line) for row in inner] == [("translator", 1, "1 model call")] * 2
    assert [row.pieces[0].start for row in inner] == [host.pieces[3].start, host.pieces[4].start]


def test_each_run_has_a_row_within_the_call_that_started_it():
    found = timeline(deep_run().events)
    assert [(row.agent, row.depth) for row in found.rows] == [
        ("boss", 0), ("manager", 1), ("planner", 2), ("observer", 3),
    ]  # fmt: skip
    spans = [(row.pieces[0].start, row.pieces[-1].start + row.pieces[-1].size) for row in found.rows]
    assert spans[0] == (0, found.span)
    assert all(a <= c and d <= b for (a, b), (c, d) in pairwise(spans))


def test_errors_are_told_apart_by_shape_and_word():
    html = pictures(full_run())
    assert "2 tool calls, 1 error, 1 without a whole reply" in html
    assert "Striped: an error" in html
    assert 'class="nbagent-result nbagent-two nbagent-bad"' in html
    assert "Striped" not in pictures(weather_run())


def test_of_more_calls_than_lanes_the_last_lane_has_the_others():
    calls = tuple(ToolCall(f"{n}", "look", "{}") for n in range(9))
    events = [ModelReplied(1, ModelReply("", calls)), ModelReplied(2, ModelReply("x"))]
    events[1:1] = [ToolReturned(1, n, Observation(f"{n}", "x")) for n in range(9)]
    lanes = [piece.lane for piece in timeline(events).rows[0].pieces if piece.kind == "tool result"]
    assert lanes == [*range(LANES)]


def test_many_turns_are_grouped_and_many_runs_are_counted():
    assert timeline(long_run(1_000)).rows[0].group == 1_000 // GROUPS
    assert "Up to 50 turns stand together." in pictures(long_run(1_000))
    assert len(pictures(long_run(1_000))) < 10_000
    failing = timeline(turns_with(*["look"] * 1_000, failing=(300,))).rows[0]
    assert sum(piece.failed for piece in failing.pieces) == 1
    found = timeline(nested_of(100).events)
    assert (len(found.rows), found.more) == (ROWS, 101 - ROWS)
    assert "and 89 more runs inside" in pictures(nested_of(100).events)


def told(node):
    return (node.name + node.times, *[told(each) for each in node.below.values()])


def test_the_graph_has_agents_steps_and_tools_with_their_calls():
    graph = Graph.of(Trace.of(nested_run().events))
    assert told(graph.root) == ("host", ("get_weather ×1",), ("translator ×2",))
    graph = Graph.of(Trace.of(plan_run().events))
    assert told(graph.root) == (
        "solver", ("plan",), ("step 1", ("get_weather ×1",)), ("step 2",), ("step 3",), ("synthesis",),
    )  # fmt: skip
    graph = Graph.of(Trace.of(reflection_run().events))
    assert told(graph.root) == ("writer", ("draft",), ("critique ×2",), ("refine ×1",))
    assert graph.line == "1 agent, 3 steps"


def test_a_large_graph_is_bounded_and_says_so():
    events = plan_of(100, 3).events
    graph = Graph.of(Trace.of(events))
    assert len(list(graph.root.all())) == NODES
    assert graph.more == 1 + 2 + 100 + 100 - NODES
    html = pictures(events)
    assert f"and {graph.more} more, not drawn" in html
    assert html.count("<text") == NODES
    assert len(html) < 20_000


RUNS = [weather_run(), full_run(), *[run().events for run in (nested_run, deep_run, plan_run, replanned_run)]]


@pytest.mark.parametrize("events", RUNS)
def test_each_picture_has_a_text_alternative_and_is_the_same_each_time(events):
    html = pictures(events)
    assert html == pictures(events)
    for svg in re.findall("<svg.*?</svg>", html):
        assert 'role="img"' in svg
        assert "aria-label=" in svg or "<title>" in svg
    Page(f"<div>{html}</div>")


@pytest.mark.parametrize("text", TEXTS)
def test_names_from_outside_stay_text(text):
    Page(f"<div>{pictures(full_run(agent=text, call=text))}</div>")
