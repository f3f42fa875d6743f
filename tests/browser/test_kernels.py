"""JupyterLab and Notebook 7 with ipykernels of three kinds: how a run asks, chosen by itself, and what it bears."""

from __future__ import annotations

import json
import time

import pytest

from .conftest import LAB, PATIENCE, SEVEN
from .kernels import INSTALLED
from .test_approvals import ANN, BOB, LOOK

pytestmark = pytest.mark.browser

SETUP = """%load_ext nbagent
import asyncio, time, ipykernel
from pathlib import Path

class Done:
    "On disk, since a kernel that is restarted forgets."
    def __repr__(self):
        return Path("FILE").read_text()

done = Done()
Path("FILE").touch()
def pay(to: str, amount: int) -> str:
    "Pay."
    with open("FILE", "a") as file:
        print(to, amount, end=";", file=file)
    return f"paid {amount}"

async def hold():
    while True:
        while Path("hold").exists():
            time.sleep(0.1)
        await asyncio.sleep(0.1)

holding = asyncio.create_task(hold())
ipykernel.__version__
"""
HEADER = "%%agent buyer\ntools: [pay]\napprove: [pay(amount > 100)]\nstore: RUNS\nscript: SCRIPT\n"
SCRIPT = json.dumps([*[{"call": tool, "args": args} for tool, args in (ANN, BOB)], "Done."])


class Buttons:
    """A person who is asked by buttons, below a cell."""

    def __init__(self, lab, index):
        self._lab, self._keys = lab, lab.page.keyboard
        self._cell = lab.cell(index)

    def _button(self, name):
        return self._cell.get_by_role("button", name=name, exact=True)

    def is_asked(self, name):
        """Waits for the question about a call."""
        self._cell.locator(".nbagent-card textarea").first.wait_for()
        self._lab.page.wait_for_function(
            "([cell, name]) => [...cell.querySelectorAll('.nbagent-card textarea')].some(e => e.value === name)",
            arg=[self._cell.element_handle(), f'"{name}"'],
        )
        time.sleep(0.7)  # a second click that comes sooner is none

    def approves_twice(self):
        self._button("Approve").dblclick()

    def edits(self, to, amount):
        """Writes into one text, into the other, again into the first, and approves, while the kernel does nothing."""
        self._button("Edit").click()
        first, second = [self._cell.get_by_label(f"Argument {one}") for one in ("to (text)", "amount (integer)")]
        first.wait_for()
        with self._lab.held():
            for text, written in ((first, to[:2]), (second, str(amount)), (first, to)):
                text.focus()
                self._keys.press("Control+A")
                self._keys.type(written, delay=20)
            assert (first.input_value(), second.input_value()) == (to, str(amount))
            self._button("Approve as edited").click()
            time.sleep(0.5)

    def rejects(self, reason):
        self._cell.get_by_placeholder("Note, reason or result").fill(reason)
        self._button("Reject").click()


class Words:
    """A person who is asked in words."""

    def __init__(self, lab, index):
        self._lab, self._keys = lab, lab.page.keyboard
        self._cell = lab.cell(index)

    def is_asked(self, name):
        """Waits for the question about a call, and until that is the only one: what was answered stays for a moment,
        and a second Enter is an empty answer, after which it is asked once more."""
        from playwright.sync_api import expect  # without a browser these tests are not run, but read

        self._cell.get_by_text(f'as sent: {{"to": "{name}"').first.wait_for()
        time.sleep(0.7)
        expect(self._cell.locator(".jp-Stdin-input")).to_have_count(1, timeout=PATIENCE * 1000)
        assert self._cell.locator(".nbagent-card").count() == 0

    def _says(self, text):
        self._cell.locator(".jp-Stdin-input").fill(text)
        self._keys.press("Enter")

    def approves_twice(self):
        self._says("approve")
        self._keys.press("Enter")

    def edits(self, to, amount):
        self._says("edit " + json.dumps({"to": to, "amount": amount}))

    def rejects(self, reason):
        self._says(f"reject {reason}")


ASKED_BY = {INSTALLED: Buttons, "7.3": Buttons, "6.31": Words}
"""How a run asks with each ipykernel: before 7 nothing that is clicked reaches a kernel while a cell is awaited."""


def opened(open_lab, kernels, version, name, where=LAB):
    """A notebook whose second cell asks about Ann, then about Bob."""
    name = f"{name}-{version}"
    file, header = f"{name}.done", HEADER.replace("RUNS", f"{name}.runs").replace("SCRIPT", SCRIPT)
    cells = [SETUP.replace("FILE", file), f"{header}---\nGo", LOOK, "", ""]
    lab = open_lab(f"{name}.ipynb", cells, kernels.name(version), where)
    lab.run(0)
    said = tuple(map(int, lab.outputs(0)[-1]["data"]["text/plain"].strip("'").split(".")[:2]))
    assert said >= (7, 4) if version == INSTALLED else said == tuple(map(int, version.split(".")))
    return lab


def decides_and_interrupts(lab, person):
    """Runs all, and decides; then again, and interrupts what the cell waits for."""
    lab.start_from(1)
    person.is_asked("Ann")
    time.sleep(1)
    assert lab.outputs(2) == []
    person.approves_twice()
    person.is_asked("Bob")
    person.edits("Eve", 105)
    lab.wait()
    assert lab.printed(2).startswith("completed Ann 120;Eve 105; paid 105\n(The arguments were changed")
    assert '{"to": "Eve", "amount": 105}' in lab.printed(2)

    lab.start_from(1)
    person.is_asked("Ann")
    person.rejects("too $risky$")
    person.is_asked("Bob")
    lab.interrupt()
    lab.wait()
    assert lab.outputs(1)[-1]["ename"] == "KeyboardInterrupt"
    assert lab.outputs(2) == []
    lab.run(2)
    reason = "Not run: this call was rejected. The reason: too $risky$"
    assert lab.printed(2).strip() == f"interrupted Ann 120;Eve 105; {reason}"


@pytest.mark.parametrize("version", ASKED_BY)
def test_notebook_7(open_lab, kernels, version):
    lab = opened(open_lab, kernels, version, "seven", SEVEN)
    decides_and_interrupts(lab, ASKED_BY[version](lab, 1))


@pytest.mark.parametrize("version", ASKED_BY)
def test_a_person_decides_interrupts_and_goes_on_after_a_restart(open_lab, kernels, version):
    lab = opened(open_lab, kernels, version, "story")
    person = ASKED_BY[version](lab, 1)
    decides_and_interrupts(lab, person)
    lab.start(1)
    person.is_asked("Ann")
    person.approves_twice()
    person.is_asked("Bob")
    lab.restart()
    lab.run(0)
    lab.write(3, lab.source(1).removesuffix("Go"))
    lab.run(3)
    lab.write(4, "%agent runs")
    lab.run(4)
    run, *_, status = lab.outputs(4)[0]["data"]["text/plain"].splitlines()[-1].split(" ")
    assert status == "interrupted"
    lab.write(4, f"%agent resume {run}")
    lab.start(4)
    person = ASKED_BY[version](lab, 4)
    person.is_asked("Bob")
    person.rejects("no more")
    lab.wait()
    lab.run(2)
    reason = "Not run: this call was rejected. The reason: no more"
    assert lab.printed(2).strip() == f"completed Ann 120;Eve 105;Ann 120; {reason}"


@pytest.mark.parametrize("version", ["7.3", "6.31"])
def test_pages_on_one_kernel(open_lab, kernels, version):
    """With 7.4 also a page that is loaded while the cell waits: see test_approvals."""
    lab = opened(open_lab, kernels, version, "pages")
    other = lab.another()
    person = ASKED_BY[version](lab, 1)
    lab.start(1)
    person.is_asked("Ann")
    lab.save()
    other.read_again()
    if ASKED_BY[version] is Buttons:
        person = ASKED_BY[version](other, 1)
        person.is_asked("Ann")
    else:
        assert other.cell(1).locator(".jp-Stdin, .nbagent-card").count() == 0  # the page that has started it is asked
    person.approves_twice()
    ASKED_BY[version](lab, 1).is_asked("Bob")
    person.rejects("no")
    lab.wait()
    assert lab.page.locator(".nbagent-card").count() == other.page.locator(".nbagent-card").count() == 0
    lab.run(2)
    assert lab.printed(2).startswith("completed Ann 120; Not run")
