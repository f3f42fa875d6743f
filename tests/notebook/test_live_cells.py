"""Cells whose runs are watched while they go on: when there are widgets, what is left of them, what stops a run."""

from __future__ import annotations

import pytest
from front_end import LEFT_OVER, VIEW, FrontEnd, hears_buttons, shown
from kernels import wait_for_lines, writes

CELL = "%%agent bot\ntools: [look_up]\nscript:\n- {call: look_up, args: {place: Rome}}\n- Sunny.\n---\nRome?"
TOOL = "def look_up(place: str) -> str:\n    'Looks it up.'\n    print('asking', place)\n    return 'sunny'"
KEPT = {"text/plain", "text/html", "text/markdown"}


@pytest.fixture
def page(kernel):
    assert kernel.run(TOOL) == []
    return FrontEnd(kernel)


def ran(page, code, cell="a", *, stdin=True):
    """What a cell displays, and whether widgets were made."""
    before = len(page.heard)
    outputs = page.ends(page.kernel.start(code, cell, allow_stdin=stdin))
    return outputs, any("jupyter.widget" in one for one in page.heard[before:])


def left_over(page):
    return page.kernel.run(LEFT_OVER)[0][1]["text"].strip()


def test_a_run_that_was_watched_leaves_what_a_headless_one_writes(page):
    [(_, headless)], widgets = ran(page, CELL, stdin=False)
    assert not widgets
    page.kernel.run("%agent reset bot")
    outputs, widgets = ran(page, CELL)
    assert widgets
    assert VIEW in outputs[0][1]["data"]
    assert set(outputs[0][1]["data"]) == {*KEPT, VIEW}
    assert list(shown(outputs)) == [headless["data"]]
    assert left_over(page) == "0"


@pytest.mark.parametrize("cell", [CELL, "bot = None\n%%capture out\n" + CELL, "%config NBAgent.live = False\n" + CELL])
def test_without_somebody_who_watches_there_are_no_widgets(page, cell):
    before, _, code = cell.rpartition("%%agent")
    if "config" in before:
        page.kernel.run(before)
    code = f"%%capture out\n%%agent{code}" if "capture" in before else f"%%agent{code}"
    outputs, widgets = ran(page, code, "a" if before else None)
    assert not widgets
    assert ["Sunny." in content["data"]["text/plain"] for _, content in outputs] == (
        [] if "capture" in code else [True]
    )
    assert page.kernel.value("bot.last.status") == "completed"


def test_a_line_inside_a_function_is_watched_too(page):
    page.kernel.run(CELL.replace("---\nRome?", "---\n"))
    outputs, widgets = ran(page, "def ask():\n    %agent bot Rome?\nask()")
    assert widgets
    [data] = shown(outputs)
    assert "Sunny." in data["text/plain"]
    assert left_over(page) == "0"


def test_a_run_that_goes_on_is_saved_now_and_then(page, tmp_path):
    page.kernel.run("from nbagent.notebook import show; show.SAVED_EVERY = show.SHARE = 0; show.SAVED_FLOW = 1e9")
    outputs, _ = ran(page, CELL)
    saved = [content for _, content in outputs[1:] if "nbagent-shadow" in content["data"].get("text/html", "")]
    assert len(saved) >= 2
    assert VIEW not in saved[-1]["data"]
    assert "asking Rome" in saved[-1]["data"]["text/plain"]
    run, empty = shown(outputs)
    assert ("Sunny." in run["text/plain"], empty) == (True, {})
    assert "nbagent-shadow" not in run["text/html"]


def test_a_run_is_saved_while_a_tool_holds_the_thread(page, tmp_path):
    page.kernel.run("from nbagent.notebook import show; show.SAVED_EVERY = show.SHARE = show.HELD = 0")
    page.kernel.run(
        f"import os, time\nGO = {str(tmp_path / 'go')!r}\ndef look_up(place: str) -> str:\n    'Looks it up.'\n"
        f"    end = time.monotonic() + 30\n    while not os.path.exists(GO) and time.monotonic() < end:\n"
        f"        time.sleep(0.01)\n    return 'sunny' if time.monotonic() < end else 'too late'"
    )
    request = page.kernel.start(CELL, "a", allow_stdin=True)

    def saved():
        html = [content["data"].get("text/html", "") for _, content in page.outputs.get(request, ())]
        return [one for one in html if "nbagent-shadow" in one and "look_up" in one and "Turn 1" in one]

    page.listen(saved)  # what a killed kernel would leave
    (tmp_path / "go").touch()
    run, empty = shown(page.ends(request))
    assert ("sunny" in run["text/plain"], empty) == (True, {})


def test_a_run_that_fails_leaves_what_there_is_of_it(page):
    outputs, _ = ran(page, CELL.replace("- Sunny.", "- error: server\n"))
    *displayed, (kind, _) = outputs
    assert kind == "error"
    [data] = shown(displayed)
    assert set(data) == KEPT
    assert "failed" in data["text/plain"]
    assert left_over(page) == "0"


def test_a_run_that_cannot_be_drawn_goes_on(page):
    page.kernel.run("from nbagent.notebook import live\nlive.LiveView.take = lambda *_: 1 / 0")
    outputs, _ = ran(page, CELL)
    assert page.kernel.value("bot.last.status") == "completed"
    assert "Sunny." in next(iter(shown([one for one in outputs if one[0] != "stream"])))["text/plain"]
    assert left_over(page) == "0"


@hears_buttons
def test_the_button_stops_a_run(page, tmp_path):
    page.kernel.run(
        f"import asyncio\nasync def look_up(place: str) -> str:\n    'Looks it up.'\n"
        f"    {writes(tmp_path / 'begun')}\n    await asyncio.sleep(600)"
    )
    request = page.kernel.start(CELL, "a", allow_stdin=True)
    page.listen(lambda: page.stop is not None and (tmp_path / "begun").exists())
    page.send(page.stop, {"method": "custom", "content": {"event": "click"}})
    *displayed, (kind, error) = page.ends(request)
    assert (kind, error["ename"]) == ("error", "KeyboardInterrupt")
    [data] = shown(displayed)
    assert "cancelled: stopped by the user" in data["text/plain"]
    assert left_over(page) == "0"


@pytest.mark.parametrize("body", ["time.sleep(60)", "while True: pass", "await asyncio.sleep(60)"])
def test_an_interrupt_stops_a_run_inside_a_run(page, body, tmp_path):
    page.kernel.run(
        f"import asyncio, time\n{'async ' if 'await' in body else ''}def look_up(place: str) -> str:\n"
        f"    'Looks it up.'\n    {writes(tmp_path / 'begun')}\n    {body}"
    )
    page.kernel.run(CELL.replace("---\nRome?", "---\n"))
    lead = "%%agent lead\ntools: [agent:bot]\nscript:\n- {call: bot, args: {task: Go}}\n- Done.\n---\nGo"
    request = page.kernel.start(lead, "b", allow_stdin=True)
    wait_for_lines(tmp_path / "begun")
    page.kernel.interrupt()
    *displayed, (kind, error) = page.ends(request)
    assert (kind, error["ename"]) == ("error", "KeyboardInterrupt")
    [data] = shown(displayed)
    assert "cancelled" in data["text/plain"]
    assert page.kernel.value("lead.last.status") == "cancelled"


def test_what_a_tool_prints_is_shown_while_it_runs_also_from_a_thread(page, tmp_path):
    call = "{call: look_up, args: {place: Rome}}"
    for calls in (f"- {call}", f"- calls:\n  - {call}\n  - {call}"):  # beside another it has a thread
        page.kernel.run(
            "import time\ndef look_up(place: str) -> str:\n    'Looks it up.'\n"
            "    for n in range(8):\n        print(f'page {n}')\n        time.sleep(0.1)\n    return 'sunny'"
        )
        page.forget()
        before = len(page.heard)
        page.ends(page.kernel.start(CELL.replace(f"- {call}", calls), "a", allow_stdin=True))
        shown = [one for one in page.heard[before:] if "prints" in one and "page 2" in one]
        assert any("page 7" not in one for one in shown)
