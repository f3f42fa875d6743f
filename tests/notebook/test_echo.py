"""A click waits for what was written before it, which a page may have held back."""

from __future__ import annotations

from functools import partial

import pytest
from front_end import FrontEnd, hears_buttons

pytestmark = hears_buttons

TOOLS = """
done = []
def pay(to: str) -> str:
    "Pay."
    done.append(to)
    return "paid"
"""
CELL = "%%agent buyer\ntools: [pay]\napprove: [pay]\nscript: [{call: pay, args: {to: Ann}}, Done.]\n---\nGo"
TO = "Argument to (text)"


@pytest.fixture
def page(kernel):
    kernel.run(TOOLS)
    page = FrontEnd(kernel)
    page.request = page.starts(CELL)
    page.clicks("Edit")
    page.write(TO, "Bob")
    return page


def from_another_page(page):
    """Another page answers, too, and knows nothing of what this one has held back."""
    [called, back] = [one for one, state in page.states.items() if state.get("_model_name") == "IntTextModel"]
    data = {"method": "update", "state": {"value": page.states[called]["value"]}, "buffer_paths": []}
    message = page.kernel.client.session.msg("comm_msg", {"comm_id": back, "data": data})
    message["header"]["session"] = "another"
    page.kernel.client.shell_channel.send(message)


def test_a_text_that_a_click_has_overtaken_is_what_runs(page):
    page.held_back = [partial(page.write, TO, "Bob and Eve")]
    page.click("Approve as edited")
    page.ends(page.request)
    assert page.kernel.value("buyer.last.status, done") == "completed ['Bob and Eve']"


def test_the_page_that_was_clicked_in_has_to_answer(page):
    page.held_back = [partial(from_another_page, page), partial(page.write, TO, "Bob and Eve")]
    page.click("Approve as edited")
    page.ends(page.request)
    assert page.kernel.value("buyer.last.status, done") == "completed ['Bob and Eve']"


def test_clicks_that_wait_together_are_one_decision(page):
    page.held_back = [partial(page.click, "Reject"), partial(page.click, "Approve as edited")]
    page.click("Approve as edited")
    page.ends(page.request)
    assert page.kernel.value("buyer.last.status, done") == "completed ['Bob']"
