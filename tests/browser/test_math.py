"""Mathematics: what JupyterLab typesets of an answer, and what it leaves as it is written."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.browser

ANSWER = "Costs $5 and $6, or \\(x\\).\n\n$$\\frac{a}{b}$$\n\n$$\\href{javascript:alert(1)}{x}$$\n\n\\[y\\]"


def cell(header):
    return f"%%agent bot\n{header}script: [{json.dumps(ANSWER)}]\n---\nIs it $$z$$?"


@pytest.mark.parametrize("where", ["lab/tree", "notebooks"])
def test_only_a_plain_formula_is_typeset_and_only_where_that_is_asked_for(open_lab, where):
    lab = open_lab(f"math_{where[:3]}.ipynb", ["%load_ext nbagent", cell("math: yes\n"), cell("")], where=where)
    lab.run_all()
    typeset = "mjx-container, .MathJax"
    lab.cell(1).locator(f".nbagent-answer :is({typeset})").first.wait_for()
    assert lab.cell(1).locator("mjx-container").count() == 1
    assert lab.cell(1).locator(".nbagent-run a").count() == 0
    assert lab.cell(2).locator(typeset).count() == 0
    assert "Costs $5 and $6" in lab.text(1)
    assert "\\href" in lab.text(1)
