"""JupyterLab and Notebook 7: a person decides about tool calls by buttons."""

from __future__ import annotations

import json
import time

import pytest

from .test_lab import EMPTY, KEPT, without_buttons

pytestmark = pytest.mark.browser

TOOLS = """%load_ext nbagent
done = []
def pay(to: str, amount: int) -> str:
    "Pay."
    done.append((to, amount))
    return f"paid {amount}"
def run(code: str, names: dict) -> str:
    "Run code."
    done.append(code)
    return "ran"
"""
LOOK = "print(buyer.last.status, done, buyer.model.requests[-1].messages[-1].content)"


def cell(*calls, approve="pay(amount > 100)", tools="pay"):
    script = json.dumps([*[{"call": tool, "args": args} for tool, args in calls], "Done."])
    return f"%%agent buyer\ntools: [{tools}]\napprove: ['{approve}']\nscript: {script}\n---\nGo"


ANN, BOB = ("pay", {"to": "Ann", "amount": 120}), ("pay", {"to": "Bob", "amount": 130})


def card(page):
    """What belongs to the cards that are there."""
    return page.locator(".nbagent-card")


def button(page, name, **more):
    return card(page).get_by_role("button", name=name, exact=True, **more)


def asks_about(page, name):
    """Waits for the question about a call to somebody, and until a click is no second one about the call before."""
    card(page).locator("textarea").first.wait_for()
    page.wait_for_function(
        "(name) => [...document.querySelectorAll('.nbagent-card textarea')].some(e => e.value === name)",
        arg=f'"{name}"',
    )
    time.sleep(0.7)


def opened(open_lab, name, *cells):
    lab = open_lab(name, [TOOLS, *cells])
    lab.run(0)
    return lab


def asked(lab, index):
    lab.start(index)
    button(lab.page, "Approve").wait_for()


def decided(lab, index, look):
    """What the cell that looks says, when the other has ended."""
    lab.wait()
    lab.run(look)
    run, empty = lab.outputs(index)
    assert (set(run["data"]), empty) == (KEPT, EMPTY)
    assert card(lab.page).count() == 0
    return lab.text(look).strip()


def test_approve_by_a_double_click_reject_with_a_reason_and_edit(open_lab):
    lab = opened(open_lab, "decide.ipynb", cell(ANN, BOB), LOOK)
    asked(lab, 1)
    assert not lab.page.locator(".nbagent-question").first.is_visible()  # the card says it
    button(lab.page, "Approve").dblclick()
    asks_about(lab.page, "Bob")
    card(lab.page).get_by_placeholder("Note, reason or result").fill("too $risky$")
    button(lab.page, "Reject").click()
    said = decided(lab, 1, 2)
    assert said.startswith("completed [('Ann', 120)] ")
    assert "too $risky$" in said
    asked(lab, 1)
    button(lab.page, "Edit").click()
    card(lab.page).get_by_label("Argument to (text)").fill("Eve")
    card(lab.page).get_by_label("Argument amount (integer)").fill("100.5")
    button(lab.page, "Approve as edited").click()
    lab.page.get_by_text("That cannot be").wait_for()
    amount = card(lab.page).get_by_label("Argument amount (integer)")
    assert amount.input_value() == "100.5"  # what was written is there with the form
    amount.fill("5")
    time.sleep(0.7)
    button(lab.page, "Approve as edited").click()
    asks_about(lab.page, "Bob")
    button(lab.page, "Approve").click()
    assert decided(lab, 1, 2).startswith("completed [('Ann', 120), ('Eve', 5), ('Bob', 130)]")
    lab.save()
    saved = json.loads(lab.file.read_text())
    assert [set(one["data"]) for one in without_buttons(saved["cells"][1]["outputs"])] == [KEPT]
    assert "widgets" not in saved["metadata"]


def test_all_of_a_call_is_in_sight_and_text_stays_text(open_lab):
    code = "\n".join(f"print({n}, '{'漢字' * n} $x$ and $y$')" for n in range(60)) + "\n" + "word" * 700
    names = {"<img src=x onerror=\"document.title='pwned'\">": "\u202eabc", "$x$": ["</textarea>", 1] * 40}
    call = ("run", {"code": code, "names": names})
    lab = opened(open_lab, "sight.ipynb", cell(call, tools="run", approve='run(code != "$x$ and $y$")'))
    asked(lab, 1)
    cut = """(part) => [...document.querySelectorAll('.nbagent-card ' + part)].filter(e => e.offsetParent).map(
        e => [e.scrollHeight - e.clientHeight > 1, e.scrollWidth - e.clientWidth > 1, getComputedStyle(e).overflowX])"""
    shown = ".widget-label:not(.widget-textarea > *)"  # those of texts are for screen readers
    areas, labels = (lab.js(cut, part) for part in ("textarea", shown))
    assert len(areas) == 3
    assert len(labels) >= 4
    assert not any(high or wide for high, wide, _ in areas)
    assert all(overflow == "visible" for *_, overflow in labels)
    assert '(approve: run(code != "$x$ and $y$"))' in card(lab.page).inner_text()
    shown = card(lab.page).get_by_label("Argument names", exact=True).input_value()
    assert "onerror=" in shown
    assert "⟦U+202E⟧" in shown
    button(lab.page, "Edit").click()
    edited = card(lab.page).get_by_label("Argument names (object)")
    edited.wait_for()
    assert "\\u202eabc" in edited.input_value()
    assert card(lab.page).get_by_label("Argument code (text)").input_value() == code
    assert not any(high or wide for high, wide, _ in lab.js(cut, "textarea"))
    assert card(lab.page).locator("img, script, mjx-container, .MathJax").count() == 0
    assert lab.page.title() != "pwned"
    button(lab.page, "Approve as edited").click()
    lab.wait()
    assert "approved" in lab.text(1)


def test_cells_behind_it_wait_and_an_interrupt_ends_the_wait(open_lab):
    line = "%agent approve buyer"
    lab = opened(open_lab, "wait.ipynb", cell(ANN), LOOK, line)
    lab.command("notebook:run-all-cells")
    button(lab.page, "Approve").wait_for()
    time.sleep(1)
    assert lab.outputs(2) == []
    lab.interrupt()
    lab.wait()
    assert lab.outputs(1)[-1]["ename"] == "KeyboardInterrupt"
    assert card(lab.page).count() == 0
    lab.run(3)
    lab.run(2)
    assert lab.text(2).startswith("completed [('Ann', 120)]")
    lab.command("notebook:run-all-cells")
    button(lab.page, "Approve").click()
    lab.wait()
    assert lab.text(2).startswith("completed [('Ann', 120)]")


def test_by_keys_alone(open_lab):
    lab = opened(open_lab, "approval_keys.ipynb", cell(ANN, BOB), LOOK)
    asked(lab, 1)
    keys = lab.page.keyboard
    card(lab.page).get_by_placeholder("Note, reason or result").focus()
    keys.type("be quick")
    order = []
    for _ in range(6):
        keys.press("Tab")
        order.append(lab.js("() => document.activeElement.innerText.split('\\n')[0]"))
    assert order == ["this\xa0call", "Approve", "Edit", "Reject", "Answer for it", "Stop the run"]
    for _ in range(3):
        keys.press("Shift+Tab")
    keys.press("Enter")
    title = card(lab.page).get_by_label("Argument to (text)")
    title.wait_for()
    title.focus()
    keys.press("Control+A")
    keys.type("Eve")
    for _ in range(6):
        keys.press("Tab")
    assert button(lab.page, "Approve as edited").evaluate("b => b === document.activeElement")
    keys.press("Space")
    asks_about(lab.page, "Bob")
    button(lab.page, "Stop the run").focus()
    keys.press("Enter")
    assert decided(lab, 1, 2).startswith("cancelled [('Eve', 120)]")


def test_two_pages_are_one_decision_and_a_page_that_is_loaded_again_can_decide(open_lab):
    lab = opened(open_lab, "pages.ipynb", cell(ANN, BOB), LOOK)
    lab.save()
    asked(lab, 1)
    lab.save()
    lab.load_again()
    button(lab.page, "Edit").click()
    other = lab.another().page
    to = card(other).get_by_label("Argument to (text)")
    to.wait_for()
    card(lab.page).get_by_label("Argument to (text)").fill("Eve")
    lab.page.keyboard.press("Tab")
    other.wait_for_function("() => [...document.querySelectorAll('textarea')].some(e => e.value === 'Eve')")
    to.fill("Eva")
    button(other, "Approve as edited").click()
    asks_about(lab.page, "Bob")
    button(lab.page, "Reject").click()
    for page in (lab.page, other):
        page.locator(".nbagent-answer").get_by_text("Done.").wait_for()
        assert card(page).count() == 0
    lab.wait()
    lab.run(2)
    assert lab.text(2).startswith("completed [('Eva', 120)] Not run")
