"""A real kernel, spoken to as a front end does: cells with ids, interrupts, and the bytes of outputs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from kernels import wait_for_lines, writes
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


HEADER = "%%agent bot\nscript: [one, two, three, four]\n---\n"


def test_a_cell_that_runs_again_replaces_its_own_turn_and_rewinds_the_script(kernel):
    kernel.run(HEADER + "first", "a")
    kernel.run("%%agent bot\nsecond", "b")
    kernel.run("%%agent bot\nsecond again", "b")
    assert kernel.value("[m.content for m in bot.history]") == "['first', 'one', 'second again', 'two']"
    kernel.run("%agent bot third\n%agent bot fourth", "c")
    for _ in range(2):
        kernel.run("%agent bot third\n%agent bot fourth", "c")
    assert kernel.value("len(bot.history), bot.last.final_output") == "8 four"
    kernel.run(HEADER + "first again", "a")
    assert kernel.value("bot.history[0].content, bot.history[1].content, len(bot.history)") == "first again one 8"


def test_without_cell_ids_each_execution_is_a_new_turn(kernel):
    kernel.run(HEADER + "first")
    kernel.run("%%agent bot\nsecond")
    kernel.run("%%agent bot\nsecond")
    assert kernel.value("len(bot.history), bot.model.position") == "6 3"


@pytest.mark.parametrize("body", ["time.sleep(60)", "while True: pass", "await asyncio.sleep(60)"])
def test_an_interrupt_ends_the_run_shows_it_and_leaves_the_kernel_alive(kernel, body, tmp_path):
    kernel.run(
        f"import asyncio, sys, time\n{'async ' if 'await' in body else ''}def wait() -> str:\n"
        f"    'Wait.'\n    started.append(1)\n    {writes(tmp_path / 'begun')}\n    {body}\nstarted = []"
    )
    running = kernel.start("%%agent bot\ntools: [wait]\nscript:\n  - call: wait\n  - done\n---\ngo", "a")
    wait_for_lines(tmp_path / "begun")
    kernel.interrupt()
    outputs = kernel.wait(running, timeout=20)
    assert [kind for kind, _ in outputs] == ["display_data", "error"]
    assert "cancelled" in outputs[0][1]["data"]["text/plain"]
    assert outputs[1][1]["ename"] == "KeyboardInterrupt"
    assert kernel.value("started, bot.last.status, bot.model.position, bot.history") == "[1] cancelled 0 ()"
    kernel.run("%%agent bot\nscript: [fine]\n---\nagain", "b")
    assert kernel.value("bot.last.final_output") == "fine"


def test_an_awaited_arun_and_a_plain_run_are_interrupted_too(kernel, tmp_path):
    kernel.run(
        "import asyncio\nfrom nbagent import Agent, ScriptedLLM\n"
        f"async def wait() -> str:\n    'Wait.'\n    {writes(tmp_path / 'begun')}\n    await asyncio.sleep(60)\n"
        "def new():\n    return Agent('a', ScriptedLLM([ScriptedLLM.tool_call('wait'), 'done']), tools=[wait])"
    )
    for number, call in enumerate(["await a.arun('go')", "a.run('go')", "await asyncio.sleep(0); a.run('go')"], 1):
        running = kernel.start(f"a = new()\n{call}")
        wait_for_lines(tmp_path / "begun", number)
        kernel.interrupt()
        [(kind, content)] = kernel.wait(running, timeout=20)
        assert (kind, content["ename"]) in {("error", "KeyboardInterrupt"), ("error", "CancelledError")}
        assert kernel.value("a.last.status") == "cancelled"


@pytest.mark.parametrize("body", ["raise KeyboardInterrupt", "import time; time.sleep(30)"])
def test_runs_side_by_side_in_tasks_are_stopped_and_leave_the_kernel_alive(kernel, body, tmp_path):
    kernel.run(
        "import asyncio\nfrom nbagent import Agent, ScriptedLLM\n"
        f"def stop() -> str:\n    'Stop.'\n    {writes(tmp_path / 'begun')}\n    {body}\n"
        "def new():\n    return Agent('a', ScriptedLLM([ScriptedLLM.tool_call('stop'), 'done']), tools=[stop])"
    )
    running = kernel.start("a, b = new(), new()\nawait asyncio.gather(a.arun('x'), b.arun('y'))")
    for number in (1, 2) if "sleep" in body else ():  # each of the two holds the thread, one after the other
        wait_for_lines(tmp_path / "begun", number)
        kernel.interrupt()
    kernel.wait(running, timeout=20)
    assert kernel.value("a.last.status, b.last.status") == "cancelled cancelled"


def test_errors_are_real_ones_and_one_line(kernel):
    [(kind, content)] = kernel.run("%%agent bot\nhello")
    assert (kind, content["ename"]) == ("error", "CellError")
    assert len(content["traceback"]) == 1


def executed(name):
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    resources = {"metadata": {"path": str(NOTEBOOKS)}}
    return NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()


@pytest.mark.parametrize("name", sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")))
def test_nbclient_gives_byte_identical_outputs(name):
    first, second = ([cell.get("outputs") for cell in executed(name).cells] for _ in range(2))
    assert [*map(_with_whole_streams, first)] == [*map(_with_whole_streams, second)]
    kept = [cell.get("outputs") for cell in nbformat.read(NOTEBOOKS / name, as_version=4).cells]
    assert _without_pictures(first) == _without_pictures(kept)


def _without_pictures(cells):
    """The bytes of a plot differ between versions of its library; nbval leaves them out, too."""
    return [
        [
            {**output, "data": {k: v for k, v in output.get("data", {}).items() if k != "image/png"}}
            for output in _with_whole_streams(outputs)
        ]
        for outputs in cells
    ]


def _with_whole_streams(outputs):
    """What is printed comes in one message or in two, as the kernel finds time; nbval joins them, too."""
    whole = []
    for output in outputs or []:
        before = whole[-1] if whole else {}
        if output["output_type"] == before.get("output_type") == "stream" and output["name"] == before["name"]:
            whole[-1] = {**before, "text": before["text"] + output["text"]}
        else:
            whole.append(output)
    return whole


@pytest.mark.parametrize(
    "source",
    [
        "%%agent bot\nhello",
        "%%agent bot",
        "%%agent bot\nmodle: x\n---\nhello",
        "%%agent bot\nscript: [{call: x}]\n---\nhello",
        "# a comment\n%%agent bot --nothing\nhello",
    ],
)
def test_nbclient_fails_on_a_wrong_cell(source):
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("%load_ext nbagent"), nbformat.v4.new_code_cell(source)]
    )
    with pytest.raises(CellExecutionError):
        NotebookClient(notebook, timeout=60, kernel_name="python3").execute()


def test_nbval_fails_on_a_wrong_cell_and_on_a_changed_transcript(tmp_path):
    cells = [
        nbformat.v4.new_code_cell(source) for source in ("%load_ext nbagent", HEADER + "hello", "%%agent bot\nmore")
    ]
    good = nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    NotebookClient(good, timeout=60, kernel_name="python3").execute()
    changed, wrong = nbformat.from_dict(good), nbformat.from_dict(good)
    data = changed.cells[2].outputs[0].data
    data["text/plain"] = data["text/plain"].replace("two", "2wo")
    wrong.cells[2] = nbformat.v4.new_code_cell("%%agent other\nhello")
    assert [_nbval(tmp_path, notebook) for notebook in (good, changed, wrong)] == [0, 1, 1]


def _nbval(folder, notebook):
    """The exit status of nbval on a notebook."""
    nbformat.write(notebook, folder / "notebook.ipynb")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
        "notebook.ipynb",
    ]
    return subprocess.run(command, capture_output=True, timeout=120, cwd=folder).returncode


def test_who_watches_sees_a_wait_below_the_run_so_far_and_then_all_of_it_in_its_place(kernel):
    cell = "%%agent bot\nscript:\n- error: slow down\n  kind: rate_limited\n- Hi.\n---\nhello"
    outputs = kernel.wait(kernel.start(cell, allow_stdin=True))  # a console: a cell without an id
    shown = [(kind, content["transient"].get("display_id"), content["data"]["text/plain"]) for kind, content in outputs]
    assert shown[0][0] == "display_data"
    waits = "rate limited: attempt 2 in 1 second (slow down)"
    assert shown[0][2].endswith(f"\n{waits}")
    assert "hello" in shown[0][2]  # the run so far is still there
    assert waits in outputs[0][1]["data"]["text/html"]
    assert {kind for kind, _, _ in shown[1:]} == {"update_display_data"}
    assert len({display for _, display, _ in shown}) == 1
    assert "attempt 1 failed: rate limited" in shown[-1][2]
    kernel.run("%agent reset bot")
    # Nobody there, as under nbclient and nbval: one output, which cannot be changed.
    [(kind, content)] = kernel.wait(kernel.start(cell))
    assert (kind, content["transient"]) == ("display_data", {})
    assert content["data"]["text/plain"] == shown[-1][2]


WAITS = "%%agent bot\ntools: [pay]\napprove: [pay]\nscript:\n  - call: pay\n    args: {amount: 5}\n  - Done.\n---\ngo"


@pytest.fixture
def paying(kernel):
    kernel.run("paid = []\ndef pay(amount: int) -> str:\n    'Pay.'\n    paid.append(amount)\n    return 'paid'")
    return kernel


def test_a_cell_that_waits_and_runs_again_takes_its_own_place(paying):
    for _ in range(2):
        _, (kind, content) = paying.run(WAITS, "a")
        assert (kind, content["ename"]) == ("error", "RunInterrupted")
    [(_, content)] = paying.run("%agent bot more", "b")
    assert content["ename"] == "ConfigError"
    assert paying.value("len(bot.waiting), paid, bot.history") == "1 [] ()"
    paying.run("%agent approve bot", "c")
    assert paying.value("bot.waiting, paid, len(bot.history)") == "{} [5] 2"
    paying.run(WAITS.replace("script:", "decisions: [approve]\nscript:"), "a")
    assert paying.value("paid, [m.content for m in bot.history]") == "[5, 5] ['go', 'Done.']"


def test_whoever_watches_is_asked_in_words_and_sees_the_run_so_far(paying):
    running = paying.start(WAITS, allow_stdin=True)  # a console: a cell without an id
    question = paying.client.get_stdin_msg(timeout=60)
    assert "bot wants to run pay (approve: pay)\n  amount: 5\n" in question["content"]["prompt"]
    paying.client.input("reject too much")
    # A client that knows no widgets does not answer the ping.
    outputs = [output for output in paying.wait(running) if not output[0].startswith("comm_")]
    # One output, shown once for the question, and changed in its place when the run has ended.
    assert [kind for kind, _ in outputs] == ["display_data", "update_display_data"]
    assert "waits for a decision" in outputs[0][1]["data"]["text/plain"]
    assert "The reason: too much" in outputs[-1][1]["data"]["text/plain"]
    assert paying.value("paid") == "[]"


def test_an_interrupt_while_a_person_is_asked_leaves_the_run_waiting(paying):
    running = paying.start(WAITS, "a", allow_stdin=True)
    paying.client.get_stdin_msg(timeout=60)
    paying.interrupt()
    outputs = paying.wait(running, timeout=20)
    assert outputs[-1][1]["ename"] == "KeyboardInterrupt"
    assert paying.value("len(bot.waiting), paid") == "1 []"
    paying.run("%agent approve bot", "b")
    assert paying.value("len(bot.waiting), paid") == "0 [5]"
