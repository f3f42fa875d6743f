"""A run that waits when its cell has ended holds nothing in its kernel, by buttons or without."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from front_end import FrontEnd, hears_buttons

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="what is held is counted in /proc")
TESTS = str(Path(__file__).parents[1])
CELLS = 5
HELD = "__import__('json').dumps(held())"


def cell(name, more=""):
    head = f"%%agent {name}\ntools: [pay]\napprove: [all]\n{more}"
    return f"{head}script:\n- {{call: pay, args: {{amount: 120}}}}\n- Done.\n---\nGo"


@pytest.fixture
def payer(kernel):
    assert kernel.run(f"import sys; sys.path.insert(0, {TESTS!r})\nfrom holding import held") == []
    assert kernel.run("def pay(amount: int) -> str:\n    'Pay.'\n    return f'paid {amount}'") == []
    return kernel


def held(kernel):
    return json.loads(kernel.value(HELD))


@pytest.mark.parametrize("more", ["", "on_approval: suspend\n"], ids=["nobody there", "suspend"])
def test_runs_that_nobody_decides_about_hold_nothing(more, payer, tmp_path):
    payer.run(f"import os; os.chdir({str(tmp_path)!r})")
    payer.run(cell("first", f"{more}store: yes\n"), "a")
    before = held(payer)
    for number in range(CELLS):
        payer.run(cell(f"buyer{number}", f"{more}store: yes\n"), f"c{number}")
    assert held(payer) == before
    waiting = f"[a.last.status for a in ({', '.join(f'buyer{n}' for n in range(CELLS))})]"
    assert payer.value(f"{waiting} == ['interrupted'] * {CELLS}") == "True"


@hears_buttons
def test_a_wait_for_buttons_that_was_left_holds_nothing(payer):
    """Interrupted while the buttons are there, each in its cell."""
    page = FrontEnd(payer)
    before = None
    for number in range(CELLS):
        request = page.starts(cell(f"buyer{number}"), f"c{number}")
        payer.interrupt()
        page.ends(request)
        page.forget()
        before = before or held(payer)
    assert held(payer) == before
    waiting = f"[len(a.waiting) for a in ({', '.join(f'buyer{n}' for n in range(CELLS))})]"
    assert payer.value(f"{waiting} == [1] * {CELLS}") == "True"
