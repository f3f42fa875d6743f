"""JupyterLab: a run whose cell has ended waits for a click, also of a page that was loaded again meanwhile."""

from __future__ import annotations

import json

import pytest

from .test_approvals import ANN, BOB, LOOK, TOOLS, button, card, cell
from .test_lab import KEPT

pytestmark = pytest.mark.browser
ENDED = "buyer went on after its cell had ended: completed · Done."
VIEW = "application/vnd.jupyter.widget-view+json"
LONG = "async def hold() -> str:\n    'Wait.'\n    import asyncio\n    await asyncio.sleep(60)"


def suspended(*calls, **more):
    return cell(*calls, **more).replace("---\nGo", "on_approval: suspend\n---\nGo")


def test_a_page_that_is_loaded_again_and_another_one_go_on_with_a_run_that_waits(open_lab):
    lab = open_lab(
        "suspended.ipynb", [TOOLS, suspended(ANN, BOB), "done.append('too early')", LOOK, "%agent view buyer"]
    )
    lab.command("notebook:run-all-cells")
    button(lab.page, "Approve").wait_for()
    lab.wait()
    assert lab.outputs(1)[-1]["ename"] == "RunInterrupted"
    assert lab.outputs(2) == lab.outputs(3) == []
    lab.save()
    lab.load_again()
    other = lab.page.context.new_page()
    other.goto(lab.page.url.replace("?reset", "?"))
    button(other, "Approve").wait_for()
    button(lab.page, "Approve").dblclick()
    other.wait_for_function("() => [...document.querySelectorAll('textarea')].some(e => e.value === '\"Bob\"')")
    other.wait_for_timeout(700)
    button(other, "Approve").click()
    for page in (lab.page, other):
        page.get_by_text(ENDED).wait_for()
        assert card(page).count() == 1
        assert card(page).get_by_role("button").count() == 0
    lab.run(3)
    assert lab.text(3).startswith("completed [('Ann', 120), ('Bob', 130)]")
    lab.run(4)
    assert "Done." in lab.text(4)


def test_a_page_that_stays_shows_and_saves_the_whole_run_where_it_began(open_lab):
    lab = open_lab(
        "stays.ipynb", [f"{TOOLS}\n{LONG}", suspended(("hold", {}), ANN, tools="pay, hold", approve="all"), LOOK]
    )
    lab.run(0)
    lab.run(1)
    button(lab.page, "Approve").click()
    button(lab.page, "Stop").wait_for()
    assert "buyer goes on" in card(lab.page).inner_text()
    lab.page.wait_for_timeout(700)
    lab.interrupt()
    card(lab.page).get_by_text("nobody knows whether it took effect").wait_for()
    card(lab.page).get_by_placeholder("Note, reason or result").fill("held")
    button(lab.page, "Give the result").click()
    button(lab.page, "Approve").wait_for()
    lab.page.wait_for_timeout(700)
    button(lab.page, "Approve").click()
    lab.page.get_by_text(ENDED).wait_for()
    assert card(lab.page).count() == 0
    assert "paid 120" in lab.text(1)
    lab.run(2)
    assert lab.text(2).startswith("completed [('Ann', 120)]")
    lab.save()
    saved = json.loads(lab.file.read_text())
    run, place, error = saved["cells"][1]["outputs"]
    assert (set(run["data"]), set(place["data"]), error["ename"]) == (KEPT, {"text/plain"}, "RunInterrupted")
    assert ENDED in "".join(place["data"]["text/plain"])
    assert VIEW not in json.dumps(saved)
    assert "widgets" not in saved["metadata"]
