"""JupyterLab: looking back at a run with widgets."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

AGENT = """%load_ext nbagent
def search(query: str) -> str:
    "Search."
    return f"found {query}"
"""
CELL = """%%agent bot
tools: [search]
store: yes
system: You look things up.
script:
- {call: search, args: {query: cats}}
- {call: search, args: {query: dogs}}
- Cats and dogs are found.
---
Look for cats & dogs"""
DESCRIBED = CELL.partition("---")[0] + "---\n"
VIEW = ".nbagent-view"


def press(lab, label):
    lab.page.locator(VIEW).get_by_role("button", name=label, exact=True).click()


def says(lab, text):
    lab.page.locator(VIEW).get_by_text(text).first.wait_for()


def test_a_run_is_looked_at_event_by_event_also_after_a_restart_of_the_kernel(open_lab):
    lab = open_lab("view.ipynb", [AGENT, CELL, DESCRIBED, "%agent view bot@1"])
    for index in (0, 1):
        lab.run(index)
    for again in (False, True):
        if again:
            lab.restart()
            lab.run(0)
            lab.run(2)
        lab.run(3)
        says(lab, "Event 13 of 13")
        assert not lab.cell(3).locator(".jp-OutputArea-child").first.is_visible()
        press(lab, "First")
        press(lab, "Next turn")
        press(lab, "Next turn")
        says(lab, "turn 2: the model was asked")
        press(lab, "Changes")
        says(lab, "from turn 1 to turn 2")
        lab.page.locator(VIEW).get_by_label("Search").fill("FOUND DOGS")
        lab.page.keyboard.press("Enter")
        says(lab, "turn 2: search returned")
        press(lab, "Fork")
        go_on = lab.page.locator(VIEW).get_by_role("button", name="Run on from here")
        go_on.wait_for()
    lab.page.locator(VIEW).get_by_label("What it is instead").fill("found nothing")
    go_on.click()
    says(lab, "forked from bot@bot-1 at turn 2: completed")
    says(lab, "found nothing")
    press(lab, "Close")
    lab.cell(3).get_by_text("Cats and dogs are found.").first.wait_for()
    assert lab.page.locator(VIEW).count() == 0
