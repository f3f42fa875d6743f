"""Accessibility of what is made of widgets, in JupyterLab: a run that goes on, a card that asks, a look back."""

from __future__ import annotations

import time

import pytest

from .test_axe import found_by_axe
from .test_live import RUN, SETUP

pytestmark = pytest.mark.browser

PAY = """def pay(to: str, amount: int) -> str:
    "Pay."
    return f"paid {amount}"
"""
ASKS = """%%agent buyer
tools: [pay]
approve: all
script:
- {call: pay, args: {to: Ann, amount: 120}}
- Done.
---
Go"""
THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")


def serious(lab, where):
    """What axe-core calls serious or worse, in each theme."""
    found = {}
    for theme in THEMES:
        lab.js("(theme) => { jupyterapp.commands.execute('apputils:change-theme', {theme}); return true }", theme)
        lab.page.wait_for_function("(t) => document.body.dataset.jpThemeName === t", arg=theme)
        time.sleep(1)  # until its colours are there
        found[theme] = [one for one in found_by_axe(lab.page, where) if one[1] in ("serious", "critical")]
        # The handle of a slider of ipywidgets has no name, and gets none; the buttons beside it do the same.
        found[theme] = [one for one in found[theme] if "noUi-handle" not in one[2]]
    return {theme: some for theme, some in found.items() if some}


def test_axe_finds_nothing_serious_in_widgets(open_lab):
    model = "model = Slow([*calls, ScriptedLLM.pieces('word ' for _ in range(10_000))])"
    lab = open_lab("axe.ipynb", [SETUP + PAY, ASKS, "%agent view buyer", model, RUN])
    lab.run(0)
    lab.start(1)
    edit = lab.cell(1).get_by_role("button", name="Edit", exact=True)
    edit.wait_for()
    assert serious(lab, ".nbagent-live") == {}
    edit.click()
    lab.cell(1).get_by_label("Argument amount (integer)").wait_for()
    assert serious(lab, ".nbagent-live") == {}
    lab.cell(1).get_by_role("button", name="Approve as edited").click()
    lab.wait()
    lab.run(2)
    lab.cell(2).locator(".nbagent-view").wait_for()
    for tab in ("Run so far", "Prompt", "Request", "Reply", "Fork"):
        lab.cell(2).get_by_role("button", name=tab, exact=True).click()
        time.sleep(0.5)
        assert serious(lab, ".nbagent-view") == {}, tab
    lab.run(3)
    lab.start(4)
    lab.cell(4).get_by_text("the model replies").first.wait_for()
    assert serious(lab, ".nbagent-live") == {}
    lab.cell(4).get_by_title("Stop the run").click()
    lab.wait()
