"""A run that goes on, in JupyterLab and Notebook 7: what is seen of it, what stops it, and what is saved."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from .conftest import LAB, SEVEN
from .kernels import INSTALLED
from .test_lab import KEPT, without_buttons

pytestmark = pytest.mark.browser

SETUP = """%load_ext nbagent
import asyncio, time
from nbagent import ScriptedLLM

class Slow(ScriptedLLM):
    async def astream(self, request):
        async for piece in super().astream(request):
            await asyncio.sleep(0.05)
            yield piece

def search(query: str) -> str:
    "Searches."
    for page in range(12):
        print(f"page {page}, $5 and $6")
        time.sleep(0.1)
    return "<b>Found</b> it."

async def ask(question: str) -> str:
    "Asks somebody."
    await asyncio.sleep(0.8)
    return "Nobody knows."

async def long(question: str) -> str:
    "Asks for a long time."
    await asyncio.sleep(600)

def hold(question: str) -> str:
    "Holds the thread."
    time.sleep(600)

words = ScriptedLLM.pieces(*[f"word{n} " for n in range(40)])
calls = [
    ScriptedLLM.tool_call("search", {"query": "it"}, content="Let me look."),
    ScriptedLLM.tool_call("ask", {"question": "Who?"}),
]
"""
RUN = """%%agent guide
tools: [search, ask]
model: model
max_turns: 5
system: You are careful.
---
Can I swim today?"""
MODEL = "model = Slow([*calls, words])"
SEEN = [
    *("You are careful.", "Let me look.", "search runs", "page 3", "page 11", "Found", "ask runs", "Nobody knows."),
    *("word5", "word25", "Answer"),
]
PLACES = [(INSTALLED, LAB), (INSTALLED, SEVEN), ("7.3", LAB), ("6.31", LAB), ("6.31", SEVEN)]
LOOKS = """([index, seen]) => {
    const area = document.querySelectorAll('.jp-Notebook .jp-Cell')[index]
    window.seen = []
    window.looking = setInterval(() => {
        const text = area.querySelector('.jp-OutputArea')?.innerText ?? ''
        for (const one of seen) if (text.includes(one) && !window.seen.includes(one)) window.seen.push(one)
    }, 10)
}"""


def saved(lab, index):
    lab.save()
    time.sleep(1)
    return json.loads(lab.file.read_text())["cells"][index]["outputs"]


@pytest.mark.parametrize(("version", "where"), PLACES)
def test_what_happens_is_seen_in_its_order_and_what_is_saved_is_the_run(open_lab, kernels, version, where):
    name = f"live-{version}-{where.partition('/')[0]}.ipynb"
    lab = open_lab(name, [SETUP, MODEL, RUN, "print(guide.last.status)"], kernels.name(version), where)
    lab.run(0)
    lab.run(1)
    lab.js(LOOKS, [2, SEEN])
    lab.run(2)
    assert lab.js("() => window.seen") == SEEN
    assert lab.cell(2).locator(".nbagent-live, .jp-OutputArea button").count() == 0
    assert lab.cell(2).locator("mjx-container, .MathJax").count() == 0
    outputs = saved(lab, 2)
    assert [set(output["data"]) for output in without_buttons(outputs)] == [KEPT]
    assert "widgets" not in json.loads(lab.file.read_text())["metadata"]
    lab.run(1)  # a script of its own, as in a kernel that begins
    lab.run(2)
    assert saved(lab, 2)[0] == outputs[0]
    lab.run(3)
    lab.save()
    time.sleep(1)
    if version == INSTALLED and where == LAB:
        passes_headless(lab.file)
        shows_the_run_without_a_kernel(open_lab, lab.file)


def passes_headless(file):
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-c", "/dev/null", "-p", "no:cacheprovider", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def shows_the_run_without_a_kernel(open_lab, file):
    notebook = json.loads(file.read_text())
    notebook["metadata"]["kernelspec"] = {"name": "gone", "display_name": "gone", "language": "python"}
    copy = file.with_name("no-kernel.ipynb")
    copy.write_text(json.dumps(notebook))
    other = open_lab(copy.name, waits=False)
    other.page.get_by_text("word39").wait_for()
    assert other.cell(2).get_by_text("page 11").count() == 1


STOPPED = {"stream": "Slow([ScriptedLLM.pieces('word ' for _ in range(10_000))])",
    "async tool": "ScriptedLLM([ScriptedLLM.tool_call('long', {'question': 'Who?'}), 'Done.'])",
    "sync tool": "ScriptedLLM([ScriptedLLM.tool_call('hold', {'question': 'Who?'}), 'Done.'])"}  # fmt: skip
HELD = "While this tool runs, interrupt the kernel to stop."
BY_KERNEL = "To stop it, interrupt the kernel."


def going(open_lab, kernels, version, what):
    """A notebook in whose third cell a run goes on."""
    name = f"stop-{version}-{what.replace(' ', '-')}.ipynb"
    cell = RUN.replace("search, ask", "long, hold")
    lab = open_lab(name, [SETUP, f"model = {STOPPED[what]}", cell, "print(guide.last.status, guide.last.stop_reason)"],
        kernels.name(version))  # fmt: skip
    lab.run(0)
    lab.run(1)
    lab.start(2)
    lab.cell(2).locator(".nbagent-now").wait_for()
    return lab


def is_cancelled(lab):
    lab.wait()
    assert lab.outputs(2)[-1]["ename"] == "KeyboardInterrupt"
    assert [set(one["data"]) for one in without_buttons(lab.outputs(2)[:-1])] == [KEPT]
    assert "cancelled" in lab.text(2)
    lab.run(3)
    assert lab.printed(3).strip() == "cancelled stopped by the user"


@pytest.mark.parametrize(("version", "what"), [(INSTALLED, "stream"), (INSTALLED, "async tool"), ("7.3", "stream")])
def test_the_button_stops_a_run(open_lab, kernels, version, what):
    lab = going(open_lab, kernels, version, what)
    lab.cell(2).get_by_title("Stop the run").click()
    is_cancelled(lab)


@pytest.mark.parametrize(("version", "what"), [(INSTALLED, "sync tool"), ("6.31", "stream"), ("6.31", "sync tool")])
def test_where_no_click_arrives_the_view_says_what_stops_it_and_the_interrupt_does(open_lab, kernels, version, what):
    lab = going(open_lab, kernels, version, what)
    lab.cell(2).get_by_text(HELD if what == "sync tool" else BY_KERNEL).wait_for()
    assert (
        lab.cell(2).get_by_title("Stop the run").is_hidden() or lab.cell(2).get_by_title("Stop the run").is_disabled()
    )
    lab.interrupt()
    is_cancelled(lab)


def test_a_kernel_that_is_killed_leaves_the_run_as_far_as_it_came(open_lab):
    cells = [SETUP, "import os, signal\nmodel = Slow([*calls, ScriptedLLM.pieces('w ' for _ in range(10_000))])", RUN]
    lab = open_lab("killed.ipynb", cells)
    lab.run(0)
    lab.run(1)
    lab.start(2)
    lab.cell(2).get_by_text("Nobody knows.").wait_for()
    lab.page.wait_for_function(
        "() => JSON.stringify(jupyterapp.shell.currentWidget.content.model.toJSON().cells[2].outputs)"
        ".includes('page 11')"
    )
    assert lab.page.locator(".nbagent-shadow").is_hidden()  # the widgets show it
    assert lab.cell(2).get_by_text("page 11").count() >= 1
    lab.save()
    time.sleep(1)
    copy = lab.file.with_name("killed-copy.ipynb")
    copy.write_text(lab.file.read_text())
    other = open_lab("killed-copy.ipynb")
    other.page.locator(".nbagent-shadow").get_by_text("page 11").wait_for()
    lab.interrupt()


def test_what_a_reader_has_opened_stays_open_while_the_run_goes_on(open_lab):
    lab = open_lab(
        "opened.ipynb", [SETUP, "model = Slow([*calls, *calls, words])", RUN.replace("max_turns: 5", "max_turns: 9")]
    )
    lab.run(0)
    lab.run(1)
    lab.start(2)
    lab.cell(2).get_by_text("ask runs").wait_for()
    schema = lab.cell(2).locator("summary", has_text="JSON schema").first
    schema.click()
    lab.cell(2).get_by_text("Turn 3").first.wait_for()
    lab.cell(2).get_by_text("search runs").wait_for()
    assert schema.evaluate("e => e.parentElement.open")
    lab.wait()
