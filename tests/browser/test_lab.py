"""JupyterLab: what a person at the screen sees, does and saves."""

from __future__ import annotations

import json
import time

import pytest

from .conftest import NOTEBOOKS

pytestmark = pytest.mark.browser

SETUP = """%load_ext nbagent
import asyncio, time

def slow() -> str:
    "Wait."
    time.sleep(60)

async def aslow() -> str:
    "Wait."
    await asyncio.sleep(60)
"""


def agent_cell(tool):
    return f"%%agent bot\ntools: [{tool}]\nscript:\n  - call: {tool}\n  - done\n---\ngo"


@pytest.mark.parametrize("name", ["01_first_agent.ipynb", "02_tools.ipynb", "06_plan.ipynb"])
def test_a_notebook_run_by_hand_saves_what_the_repository_holds(open_lab, name):
    lab = open_lab(name)
    lab.command("notebook:run-all-cells")
    if name == "06_plan.ipynb":
        lab.page.get_by_role("button", name="Leave it").click()
    lab.wait()
    lab.save()
    saved = json.loads(lab.file.read_text())
    kept = json.loads((NOTEBOOKS / name).read_text())
    assert [_outputs(cell) for cell in saved["cells"]] == [_outputs(cell) for cell in kept["cells"]]
    assert "widgets" not in saved["metadata"]
    runs = [cell for cell in saved["cells"] if "".join(cell["source"]).startswith(("%%agent", "%%plan"))]
    assert len(runs) >= 3
    for cell in runs:
        trace, *images = without_buttons(cell["outputs"])
        assert set(trace["data"]) == {"text/plain", "text/markdown", "text/html"}
        assert all("image/png" in image["data"] for image in images)


def _outputs(cell):
    """A cell's outputs without what no test compares: counters, the bytes of pictures, where buttons have been."""
    outputs = []
    for output in without_buttons(cell.get("outputs", [])):
        data = {kind: value for kind, value in output.get("data", {}).items() if kind != "image/png"}
        outputs.append({**output, "data": data, "execution_count": None, "metadata": {}})
    return outputs


@pytest.mark.parametrize("tool", ["slow", "aslow"])
def test_the_kernels_interrupt_ends_a_run_and_the_next_cell_works(open_lab, tool):
    lab = open_lab(
        f"interrupt_{tool}.ipynb", [SETUP, agent_cell(tool), "print('alive', bot.last.status, bot.model.position)"]
    )
    lab.run(0)
    lab.start(1)
    lab.page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-InputPrompt')].some(e => e.innerText.includes('*'))"
    )
    time.sleep(1.5)
    lab.interrupt()
    lab.wait()
    trace, error = lab.outputs(1)
    assert "cancelled" in "".join(trace["data"]["text/plain"])
    assert error["ename"] == "KeyboardInterrupt"
    lab.run(2)
    assert lab.text(2).strip() == "alive cancelled 0"


def test_a_cell_that_runs_again_replaces_its_own_turn(open_lab):
    lab = open_lab(
        "again.ipynb",
        [
            "%load_ext nbagent",
            "%%agent bot\nscript: [one, two, three]\n---\nfirst",
            "%%agent bot\nsecond",
            "print([m.content for m in bot.history])",
            "%%agent bot\nthird",
        ],
    )
    lab.run_all()
    assert lab.text(3).strip() == "['first', 'one', 'second', 'two']"
    for _ in range(2):
        lab.run(2)
    lab.run(3)
    assert lab.text(3).strip() == "['first', 'one', 'second', 'two', 'third', 'three']"


def test_text_of_a_model_stays_text(open_lab):
    hostile = "<img src=x onerror=\"document.title='pwned'\"> </details></div> costs $5 and $6, \u202eabc"
    lab = open_lab(
        "hostile.ipynb", ["%load_ext nbagent", f"%%agent bot\nscript:\n  - {json.dumps(hostile)}\n---\n{hostile}"]
    )
    requests = []
    lab.page.on("request", lambda request: requests.append(request.url))
    lab.run_all()
    time.sleep(1)
    area = lab.page.locator(".jp-Notebook .jp-Cell").nth(1).locator(".jp-OutputArea")
    assert area.locator("img, script, mjx-container, .MathJax").count() == 0
    text = lab.text(1)
    assert "onerror=" in text
    assert "costs $5 and $6" in text
    assert "U+202E" in text
    assert lab.page.title() != "pwned"
    assert not any(url.endswith("/x") for url in requests)


def test_an_error_is_one_line(open_lab):
    lab = open_lab("error.ipynb", ["%load_ext nbagent", "%%agent bot\nmodle: x\n---\nhello"])
    lab.run_all()
    [error] = lab.outputs(1)
    assert error["output_type"] == "error"
    assert len(lab.text(1).strip().splitlines()) == 1
    assert "model" in lab.text(1)


def test_of_a_prompt_that_has_no_room_the_rest_is_one_click_away(open_lab):
    words = "words = ' '.join(f'word{n}' for n in range(25_000))"
    cell = "%%agent bot --dry\nscript: [ok]\n---\n{{words}}"
    lab = open_lab("long_prompt.ipynb", [f"%load_ext nbagent\n{words}", cell])
    lab.run_all()
    view, _ = lab.outputs(1)
    assert len("".join(view["data"]["text/html"]).encode()) <= 64 * 1024
    tree = lab.page.locator(".jp-RenderedJSON").first
    assert "word12000" not in lab.page.locator(".jp-OutputArea").all_inner_texts()[-1]
    tree.locator("text=the whole prompt").click()
    lab.page.wait_for_function("() => document.querySelector('.jp-RenderedJSON').innerText.includes('word12000')")


PROPOSAL = '%%plan solver --propose\nscript: [\'["Find A", "Find B"]\', a, b, The end., Fin.]\n---\nWhat are A and B?'
KEPT = {"text/plain", "text/markdown", "text/html"}
EMPTY = {"output_type": "display_data", "data": {}, "metadata": {}}


def without_buttons(outputs):
    """Where a question was, an empty output is left: a front end cannot take one away."""
    return [output for output in outputs if output != EMPTY]


def proposed(open_lab, name, *, saved=False):
    """A notebook whose plan waits for somebody to click."""
    look = "print(solver.last.status, [s.title for s in solver.last.plan], len(solver.model.requests))"
    lab = open_lab(name, ["%load_ext nbagent", PROPOSAL, look])
    lab.run(0)
    if saved:
        lab.save()
    lab.start(1)
    button(lab, "Run the plan").wait_for()
    return lab


def button(lab, name):
    return lab.page.locator(".jp-OutputArea").get_by_role("button", name=name)


def looked(lab):
    """How the last run of the agent has ended."""
    lab.wait()
    lab.run(2)
    return lab.text(2).strip()


def test_a_plan_waits_for_somebody_who_changes_it_and_runs_it(open_lab):
    lab = proposed(open_lab, "proposal.ipynb")
    button(lab, "Edit").click()
    lab.page.locator(".jp-OutputArea textarea").fill("Find A\nFind C")
    button(lab, "Run the plan").dblclick()
    assert looked(lab) == "completed ['Find A', 'Find C'] 4"
    assert "The end." in lab.text(1)
    assert lab.page.locator(".jp-OutputArea button").count() == 0
    lab.save()
    saved = json.loads(lab.file.read_text())
    run, empty = saved["cells"][1]["outputs"]
    assert (set(run["data"]), empty) == (KEPT, EMPTY)
    assert "widgets" not in saved["metadata"]


def test_a_plan_can_be_changed_and_run_by_keys_alone(open_lab):
    lab = proposed(open_lab, "keys.ipynb")
    button(lab, "Run the plan").focus()
    lab.page.keyboard.press("Tab")
    lab.page.keyboard.press("Enter")
    text = lab.page.locator(".jp-OutputArea textarea")
    text.wait_for()
    text.press("Control+End")
    lab.page.keyboard.type("\nFind D")
    lab.page.keyboard.press("Tab")
    assert button(lab, "Run the plan").evaluate("b => b === document.activeElement")
    lab.page.keyboard.press("Space")
    assert looked(lab) == "completed ['Find A', 'Find B', 'Find D'] 5"


def test_a_plan_that_is_left_stays_as_it_was_proposed(open_lab):
    lab = proposed(open_lab, "left.ipynb")
    button(lab, "Leave it").click()
    assert looked(lab) == "interrupted ['Find A', 'Find B'] 1"
    [output] = without_buttons(lab.outputs(1))
    assert set(output["data"]) == KEPT


def test_the_kernels_interrupt_ends_the_wait_for_a_click(open_lab):
    lab = proposed(open_lab, "unclicked.ipynb")
    lab.interrupt()
    assert looked(lab) == "interrupted ['Find A', 'Find B'] 1"
    assert lab.page.locator(".jp-OutputArea button").count() == 0


def test_a_notebook_saved_while_a_plan_waits_holds_the_run_as_it_is_read(open_lab):
    lab = proposed(open_lab, "saved.ipynb")
    lab.save()
    live, run = json.loads(lab.file.read_text())["cells"][1]["outputs"]
    assert set(live["data"]) > KEPT
    assert set(run["data"]) == KEPT
    copy = lab.file.with_name("copy.ipynb")
    copy.write_text(lab.file.read_text())
    other = open_lab("copy.ipynb")  # with a kernel that knows nothing of them
    other.page.get_by_text("The run is paused").wait_for()
    assert button(other, "Run the plan").count() == 0
    button(lab, "Leave it").click()
    assert looked(lab) == "interrupted ['Find A', 'Find B'] 1"


def test_a_page_that_is_loaded_again_has_the_buttons_and_shows_what_becomes_of_the_run(open_lab):
    lab = proposed(open_lab, "reload.ipynb")
    lab.save()
    lab.load_again()
    button(lab, "Run the plan").click()
    lab.cell(1).locator(".nbagent-answer").get_by_text("The end.").wait_for()
    assert looked(lab) == "completed ['Find A', 'Find B'] 4"


def test_a_cell_that_runs_again_while_it_waits_asks_anew_also_where_its_buttons_are_gone(open_lab):
    lab = proposed(open_lab, "asks_again.ipynb", saved=True)
    for _ in range(2):
        lab.start(1)
        time.sleep(1.5)
        button(lab, "Run the plan").wait_for()
        assert button(lab, "Run the plan").count() == 1
    lab.load_again()
    assert button(lab, "Run the plan").count() == 0
    lab.start(1)
    button(lab, "Run the plan").click()
    assert looked(lab) == "completed ['Find A', 'Find B'] 4"
    assert "The end." in lab.text(1)


def test_cells_that_are_started_behind_it_wait_for_the_decision(open_lab):
    lab = open_lab("in_order.ipynb", ["%load_ext nbagent", PROPOSAL, "print(solver.last.status)"])
    lab.command("notebook:run-all-cells")
    button(lab, "Run the plan").wait_for()
    time.sleep(1)
    assert lab.outputs(2) == []
    button(lab, "Run the plan").click()
    lab.wait()
    assert lab.text(2).strip() == "completed"
