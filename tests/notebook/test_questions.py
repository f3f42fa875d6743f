"""Questions to a person inside a cell: who can answer, by buttons or in words, and what becomes of the cell."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress

import pytest
from front_end import LEFT_OVER, VIEW, FrontEnd, hears_buttons, shown
from ipywidgets import Button
from kernels import wait_for_lines, writes

from nbagent.notebook.front_end import way_to_ask
from nbagent.notebook.plan_question import PlanQuestion

PROPOSAL = '%%plan solver --propose\nscript: [\'["Find A", "Find B"]\', a, b, The end.]\n---\nWhat are A and B?'


KEPT = {"text/plain", "text/html", "text/markdown"}


@hears_buttons
def test_two_clicks_are_one_decision_and_nothing_is_left_of_the_buttons(kernel):
    page = FrontEnd(kernel)
    request = page.starts(PROPOSAL)
    live, saved = shown(page.outputs[request])
    assert set(live) == {*KEPT, VIEW}
    assert set(saved) == KEPT  # hidden as long as there are widgets
    assert "The run is paused" in saved["text/plain"]
    page.click("Run the plan")
    page.click("Leave it")
    page.click("Run the plan")
    run, empty = shown(page.ends(request))
    assert ("The end." in run["text/plain"], empty) == (True, {})
    assert kernel.value("solver.last.status, solver.model.position, len(solver.model.requests)") == "completed 4 4"
    assert kernel.run(LEFT_OVER)[0][1]["text"].strip() == "0"


@hears_buttons
def test_a_plan_is_edited(kernel):
    page = FrontEnd(kernel)
    request = page.starts(PROPOSAL)
    page.click("Edit")
    written = page.write("One step a line", "\n")
    page.listen(lambda: written in page.ended)  # else a page would keep what is written next to itself
    page.clicks("Run the plan")
    assert any("one step at least" in label for label in page.labels)  # so it asks on
    page.write("One step a line", "Find C\n\n  Find D ")
    page.click("Run the plan")
    page.ends(request)
    assert kernel.value("solver.last.status, solver.plan") == "completed ['Find C', 'Find D']"


class Page:
    """Takes the place of a panel: its buttons are clicked at once."""

    def button(self, label, action, style=""):
        setattr(self, label.partition(" ")[0].lower(), action)
        return Button(description=label)

    def decide(self, decision):
        self.decision = decision


STEPS = ("Open \u202efile", "Find A\nand B", " Wait\u200b", "Find A\nand B ", "End")


@pytest.mark.parametrize(
    ("change", "steps"),
    [
        (lambda lines: lines, STEPS),
        (lambda lines: [*lines[:4], "The end"], (*STEPS[:4], "The end")),
        (lambda lines: [f" {line} " for line in lines[::-1]], ("End", *STEPS[1:4], STEPS[0])),
        (lambda lines: [lines[0], lines[0], "", "A⟦U+000A⟧C"], (STEPS[0], STEPS[0], "A⟦U+000A⟧C")),
    ],
)
def test_a_step_that_is_not_changed_stays_what_it_is(change, steps):
    page, question = Page(), PlanQuestion(STEPS)
    _, text, _ = question.widgets(page)
    assert all(character not in text.value for character in "\u202e\u200b")
    page.edit()
    text.value = "\n".join(change(text.value.split("\n")))
    page.run()
    assert page.decision == steps


@hears_buttons
def test_a_cell_that_runs_again_while_it_waits_is_left_and_asks_anew(kernel):
    page = FrontEnd(kernel)
    first = page.starts(PROPOSAL)
    page.forget()
    second = kernel.start(PROPOSAL, "a", allow_stdin=True)
    page.ends(first)
    page.listen(lambda: "Leave it" in page.buttons)
    page.click("Run the plan")
    page.ends(second)
    assert kernel.value("solver.last.status, solver.model.position, len(solver.history)") == "completed 4 2"
    assert kernel.run(LEFT_OVER)[0][1]["text"].strip() == "0"


@hears_buttons
def test_another_cell_waits_for_the_decision(kernel):
    page = FrontEnd(kernel)
    request = page.starts(PROPOSAL)
    other = kernel.start("print(solver.last.status)", "b", allow_stdin=True)
    with pytest.raises(AssertionError):
        page.listen(lambda: request in page.ended, seconds=2)
    page.click("Run the plan")
    [(_, said)] = page.ends(other)
    assert said["text"].strip() == "completed"


@hears_buttons
def test_an_interrupt_ends_the_wait_for_buttons(kernel):
    page = FrontEnd(kernel)
    request = page.starts(PROPOSAL)
    kernel.interrupt()
    [*_, (kind, error)] = page.ends(request)
    assert (kind, error["ename"]) == ("error", "KeyboardInterrupt")
    assert kernel.value("solver.last.status, solver.plan") == "interrupted ['Find A', 'Find B']"
    assert kernel.run(LEFT_OVER)[0][1]["text"].strip() == "0"


def asked(kernel, request, *answers):
    """Answers the prompts of a cell; returns them and the cell's outputs."""
    prompts = []
    for said in answers:
        prompts.append(kernel.client.get_stdin_msg(timeout=20)["content"]["prompt"])
        kernel.client.input(said)
    return prompts, kernel.wait(request)


@pytest.mark.parametrize(
    ("answers", "status", "steps"),
    [
        (["run"], "completed", "['Find A', 'Find B']"),
        (["what?", "E", "", "-", "Find C", ""], "completed", "['Find A', 'Find C']"),
        (["stop"], "interrupted", "['Find A', 'Find B']"),
    ],
)
def test_a_front_end_that_knows_no_widgets_is_asked_in_words(kernel, answers, status, steps):
    prompts, outputs = asked(kernel, kernel.start(PROPOSAL, allow_stdin=True), *answers)
    assert prompts[0] == "1. Find A\n2. Find B\nRun this plan, edit it, or stop? [run/edit/stop] "
    assert kernel.value("solver.last.status, solver.plan") == f"{status} {steps}"
    assert all(VIEW not in content["data"] for _, content in outputs)
    assert kernel.run(LEFT_OVER)[0][1]["text"].strip() == "0"


def test_an_interrupt_ends_the_wait_for_words(kernel):
    request = kernel.start(PROPOSAL, "a", allow_stdin=True)
    kernel.client.get_stdin_msg(timeout=20)
    kernel.interrupt()
    [*_, (kind, error)] = kernel.wait(request, timeout=20)
    assert (kind, error["ename"]) == ("error", "KeyboardInterrupt")
    assert kernel.value("solver.last.status, solver.plan") == "interrupted ['Find A', 'Find B']"


def test_where_nothing_can_be_awaited_it_is_asked_in_words_too(kernel):
    code = "def plan():\n    %plan --propose solver What?\nplan()"
    kernel.run("%%plan solver\nscript: ['[\"Find A\"]', a, The end.]\n---")
    prompts, _ = asked(kernel, kernel.start(code, "a", allow_stdin=True), "run")
    assert (len(prompts), kernel.value("solver.last.status")) == (1, "completed")


STOPPED = """import time
paid = []
def pay() -> str:
    'Pay.'
    paid.append(1)
    WRITES
    time.sleep(60 if len(paid) == 1 else 0)
"""


def test_a_plan_that_was_stopped_goes_on_and_asks_about_the_tool_that_was_running(kernel, tmp_path):
    kernel.run(STOPPED.replace("WRITES", writes(tmp_path / "begun")))
    cell = "%%plan solver --propose\ntools: [pay]\nscript: ['[\"A\"]', {call: pay}, a, The end.]\n---\nGo"
    kernel.run(cell, "a")
    request = kernel.start("%plan solver --run", "b", allow_stdin=True)
    wait_for_lines(tmp_path / "begun")
    kernel.interrupt()
    assert kernel.wait(request, timeout=20)[-1][1]["ename"] == "KeyboardInterrupt"
    assert kernel.value("solver.last.status, solver.model.position") == "cancelled 1"
    error = kernel.run("%plan solver --run", "b")[-1][1]  # nobody there to ask
    assert error["ename"] == "RunInterrupted"
    assert kernel.value("solver.last.status, paid") == "interrupted [1]"
    [prompt], _ = asked(kernel, kernel.start("%plan solver --run", "b", allow_stdin=True), "approve")
    assert prompt.startswith("solver has started pay, and there is no result: nobody knows whether it took effect\n")
    assert "\napprove (run it again), answer" in prompt
    assert kernel.value("solver.last.status, paid") == "completed [1, 1]"
    assert kernel.value("solver.model.position, len(solver.history)") == "4 2"


def test_headless_nobody_is_asked(kernel):
    [(kind, content)] = kernel.run(PROPOSAL, "a")
    assert (kind, content["transient"]) == ("display_data", {})
    assert kernel.value("solver.last.status") == "interrupted"


def test_without_a_kernel_and_a_terminal_nobody_is_there(shell):
    import asyncio

    assert asyncio.run(way_to_ask(shell.shell)) == "nobody"


@pytest.mark.parametrize(
    ("answers", "steps"),
    [
        (["r"], ("A\n x", "B")),
        (["stop"], None),
        ([""], None),
        (["no", "edit", "", "", ""], ("A\n x", "B")),
        (["edit", "-", "-", ""], None),
        (["e", "C", "", "D", ""], ("C", "B", "D")),
        (["e", "", "C", ""], ("A\n x", "C")),
    ],
)
def test_a_plan_in_words(answers, steps):
    left = list(answers)
    assert PlanQuestion(["A\n x", "B"]).words(lambda prompt: left.pop(0)) == steps
    assert left == []


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is made with pty")
def test_a_terminal_is_asked_in_words(tmp_path):
    import pty

    (tmp_path / "cells.py").write_text(
        "ip = get_ipython()\nip.run_line_magic('load_ext', 'nbagent')\n"
        f"ip.run_cell({PROPOSAL!r})\nprint('status', solver.last.status)\n"
    )
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "IPython", "--no-banner", "--simple-prompt", "--colors=NoColor", "cells.py"],
        stdin=side, stdout=side, stderr=side, cwd=tmp_path, env={**os.environ, "IPYTHONDIR": str(tmp_path)},
    )  # fmt: skip
    hung = threading.Timer(60, process.kill)
    hung.start()
    os.close(side)
    os.write(main, b"run\n")
    seen = b""
    with suppress(OSError):  # the other side is closed
        while piece := os.read(main, 1000):
            seen += piece
    process.wait(30)
    hung.cancel()
    os.close(main)
    text = seen.decode()
    assert "Run this plan, edit it, or stop?" in text
    assert "The end." in text
    assert "status completed" in text
