"""What happens at this moment in a run: the end of what comes, and text that stays text."""

from __future__ import annotations

import pytest
from hostile import PAYLOADS
from page import Page

from nbagent.events import (
    ArgumentsDelta,
    ModelRequested,
    Nested,
    ReasoningDelta,
    RunStarted,
    TextDelta,
    ToolReturned,
    ToolStarted,
    Waiting,
)
from nbagent.messages import Observation, ToolCall
from nbagent.views.now import TAIL, Now, Tail
from nbagent.views.safe import inline, visible


def page(now):
    return Page(now.section().html.replace("nbagent-now", "nbagent-step")).text


def told(*events):
    now = Now()
    for event in (RunStarted("bot-1", "bot", "m", "live", 5), ModelRequested(1, ""), *events):
        now.take(event)
    return now


PLACES = {
    "text": lambda text: told(TextDelta(1, text)),
    "reasoning": lambda text: told(ReasoningDelta(1, text)),
    "arguments": lambda text: told(ArgumentsDelta(1, 0, "look", text)),
    "tool": lambda text: told(ArgumentsDelta(1, 0, text, "{}")),
    "running": lambda text: told(ToolStarted(1, 0, ToolCall("1", text, "{}"))),
    "agent": lambda text: told(
        Nested(1, 0, RunStarted("in-1", text, "m", "live", 5)), Nested(1, 0, TextDelta(1, "inside"))
    ),
    "waiting": lambda text: told(Waiting(1, 2, 3.0, "server", text)),
}
NAMES = ("tool", "running", "agent", "waiting")
"""Where a text is on one line, and cut."""


@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_text_is_text(place):
    for text in PAYLOADS:
        now = PLACES[place](text)
        shown = page(now)
        if place in NAMES:
            assert inline(text[:60]).rstrip("…")[:60] in shown
        else:
            assert visible(text)[-TAIL // 20 :] in shown
        assert Page(f"<p>{now.line}</p>")


def test_what_a_tool_prints_is_text():
    for text in PAYLOADS:
        now = told(ToolStarted(1, 0, ToolCall("1", "look", "{}")))
        now.print((0,), text)
        assert visible(text)[-TAIL // 20 :] in page(now)


def test_of_a_text_that_grows_the_end_is_kept_and_how_long_it_is():
    tail = Tail()
    for number in range(100_000):
        tail.add(f"{number:05}")
    assert tail.length == 500_000
    assert tail.html.startswith("<small>… 492,000 characters before this …</small>\n")
    assert tail.html.endswith("99999")
    assert len("".join(tail._pieces)) < 5 * TAIL


def test_a_secret_that_comes_in_pieces_is_masked_also_where_the_text_is_cut():
    key = "sk-ant-api03-" + "a1B2" * 22
    tail = Tail()
    for piece in (*key, *"x " * (TAIL // 2 - 20)):
        tail.add(piece)
    assert "a1B2a1B2" not in tail.html


def test_of_many_secrets_none_is_cut_in_two():
    key = "sk-ant-api03-" + "a1B2" * 48
    tail = Tail()
    for _ in range(400):
        tail.add(f"{key}\n")
    assert "a1B2a1B2" not in tail.html


def test_what_is_over_is_gone():
    now = told(ToolStarted(1, 0, ToolCall("1", "look", "{}")), ToolStarted(1, 1, ToolCall("2", "ask", "{}")))
    now.take(ToolReturned(1, 0, Observation("1", "found")))
    assert "look" not in page(now)
    assert "ask" in page(now)


def test_what_is_printed_stands_under_the_tool_that_prints_it():
    inner = [Nested(1, n, ToolStarted(1, 0, ToolCall("1", "fetch", "{}"))) for n in (0, 1)]
    begun = [Nested(1, n, RunStarted(f"in-{n}", name, "m", "live", 5)) for n, name in enumerate(("alpha", "beta"))]
    now = told(*[event for pair in zip(begun, inner, strict=True) for event in pair])
    now.print((1, 0), "of beta")
    shown = page(now)
    assert "of beta" in shown[shown.index("beta") :]
    assert shown.count("of beta") == 1
    assert "of beta" not in shown[: shown.index("beta")]


def test_of_many_at_the_same_time_some_are_shown():
    now = told(*[ToolStarted(1, n, ToolCall(f"{n}", f"look{n}", "{}")) for n in range(40)])
    assert "look4" in page(now)
    assert "look30" not in page(now)
    assert "more at the same time" in page(now)
