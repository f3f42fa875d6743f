"""The card that asks about tool calls, as a page sees it that talks with a kernel."""

from __future__ import annotations

import pytest
from front_end import LEFT_OVER, VIEW, FrontEnd, hears_buttons, shown
from kernels import wait_for_lines, writes

pytestmark = hears_buttons

TOOLS = """
done = []
def pay(to: str, amount: int, currency: str = "EUR") -> str:
    "Pay."
    done.append((to, amount, currency))
    return f"paid {amount}"
"""
NOTE = "Note, reason or result, which the model reads"
VERDICTS = "[(e.verdict, e.text, e.by) for e in {}.last.events if type(e).__name__ == 'ApprovalDecided']"
CALLS = "- call: pay\n  args: {to: Ann, amount: 120}\n", "- call: pay\n  args: {to: Bob, amount: 130}\n"
AT_ONCE = "- calls: [{call: pay, args: {to: Ann, amount: 120}}, {call: pay, args: {to: Bob, amount: 130}}]\n"


def cell(*calls, name="buyer", more=""):
    return (
        f"%%agent {name}\ntools: [pay]\napprove: [pay(amount > 100)]\n{more}script:\n{''.join(calls)}- Done.\n---\nGo"
    )


@pytest.fixture
def page(kernel):
    assert kernel.run(TOOLS) == []
    assert kernel.run("from nbagent.notebook import panel; panel.SECOND_CLICK = 0") == []
    return FrontEnd(kernel)


def looked(page, name="buyer"):
    return page.kernel.value(f"{name}.last.status, {VERDICTS.format(name)}, done")


def says(page, *words):
    """Whether a line of the card has all these words."""
    return any(all(word in label for word in words) for label in page.labels)


def left_over(page):
    return page.kernel.run(LEFT_OVER)[0][1]["text"].strip()


def test_a_call_is_shown_whole_and_approved_by_two_clicks_once(page):
    request = page.starts(cell(CALLS[0]))
    live, saved = shown(page.outputs[request])
    assert VIEW in live
    assert VIEW not in saved
    assert "waits for a decision" in saved["text/plain"]
    assert "buyer wants to run pay (approve: pay(amount > 100))" in page.labels
    assert page.read == {"Argument to": '"Ann"', "Argument amount": "120"}
    page.click("Approve")
    page.click("Approve")
    page.click("Reject")
    run, empty = shown(page.ends(request))
    assert ("Done." in run["text/plain"], empty) == (True, {})
    assert looked(page) == "completed [('approved', '', 'person')] [('Ann', 120, 'EUR')]"
    assert left_over(page) == "0"


def test_a_second_click_is_not_about_the_next_call(page, tmp_path):
    clock = tmp_path / "clock"
    clock.write_text("100.0")
    page.kernel.run(f"panel.SECOND_CLICK = 0.6; panel.monotonic = lambda: float(open({str(clock)!r}).read())")
    request = page.starts(cell(*CALLS))
    page.click("Approve")
    page.asks(request, 2)
    clock.write_text("100.5")
    page.clicks("Approve")  # in less time than a double click takes
    clock.write_text("100.7")
    page.write(NOTE, "too risky")
    page.click("Reject")
    page.ends(request)
    assert looked(page) == (
        "completed [('approved', '', 'person'), ('rejected', 'too risky', 'person')] [('Ann', 120, 'EUR')]"
    )


def test_arguments_are_edited_one_by_one_and_what_was_written_is_kept_where_it_cannot_be(page):
    request = page.starts(cell(CALLS[0]))
    page.clicks("Edit")
    assert page.areas["Argument to (text)"] == "Ann"
    page.write("Argument to (text)", 'Eve "5"')
    page.write("Argument amount (integer)", "many")
    page.clicks("Approve as edited")
    assert says(page, "amount: this is not JSON: ")
    page.write("Argument amount (integer)", '"many"')
    page.write(NOTE, "less")
    page.click("Approve as edited")
    page.asks(request, 2)
    assert says(page, "That cannot be: ", "amount")
    assert page.areas == page.areas | {
        "Argument to (text)": 'Eve "5"',
        "Argument amount (integer)": '"many"',
        NOTE: "less",
    }
    page.write("Argument amount (integer)", "101")
    assert page.areas["Argument currency (text)"] == ""  # what the model has left out
    page.write("Argument currency (text)", "USD")
    page.click("Approve as edited")
    page.ends(request)
    assert looked(page) == """completed [('approved', 'less', 'person')] [('Eve "5"', 101, 'USD')]"""
    assert left_over(page) == "0"


def test_arguments_are_edited_as_json_and_an_edit_is_undone(page):
    request = page.starts(cell(CALLS[0]))
    page.clicks("Edit")
    page.write("Argument to (text)", "Eve")
    page.clicks("As JSON")
    assert page.areas["All arguments, as JSON"] == '{\n  "to": "Eve",\n  "amount": 120\n}'
    page.clicks("Undo the edit")
    page.clicks("Edit")
    page.clicks("As JSON")
    page.write("All arguments, as JSON", "[1]")
    page.clicks("Approve as edited")
    assert says(page, "expected all arguments as one JSON object")
    page.write("All arguments, as JSON", '{"to": "A\\u202e", "amount": 1, "currency": "USD"}')
    page.click("Approve as edited")
    page.ends(request)
    assert looked(page).endswith(r"[('A\u202e', 1, 'USD')]")


def test_several_calls_are_one_question_that_counts_when_all_are_decided_about(page):
    request = page.starts(cell(AT_ONCE))
    assert [label.partition(" · ")[0] for label in page.labels if " · " in label] == ["1 of 2", "2 of 2"]
    assert page.buttons.count("Stop the run") == 1
    page.clicks("Approve")
    assert "Chosen: approve. It counts when every call has its decision." in page.labels
    assert page.labels[-1] == "1 of 2 left"
    page.clicks("Change it")
    page.clicks("Answer for it")
    assert "Write what the model gets as the result; then press the button again." in page.labels
    page.write(NOTE, "paid already")
    page.clicks("Answer for it")
    page.click("Approve all 2")
    page.ends(request)
    assert looked(page) == (
        "completed [('answered', 'paid already', 'person'), ('approved', '', 'person')] [('Bob', 130, 'EUR')]"
    )
    assert left_over(page) == "0"


def test_an_approval_of_every_call_of_a_tool_is_about_the_others_too_and_stop_about_all(page):
    request = page.starts(cell(AT_ONCE, CALLS[0]))
    page.choose(1)
    page.click("Approve")
    page.ends(request)
    assert looked(page).startswith(
        "completed [('approved', '', 'person'), ('approved', '', 'person'), ('approved', '', 'always')]"
    )
    page.forget()
    request = page.starts(cell(AT_ONCE, name="other"), "b")
    page.click("Stop the run")
    page.ends(request)
    assert page.kernel.value("other.last.status, len(done)") == "cancelled 3"


def of_several(*calls):
    return f"- calls: [{', '.join(f'{{call: pay, args: {{to: {to}, amount: {amount}}}}}' for to, amount in calls)}]\n"


def test_an_approval_of_every_call_leaves_those_that_somebody_has_written_about(page):
    request = page.starts(cell(of_several(("Ann", 120), ("Bob", 130), ("Cid", 140), ("Dan", 150))))
    page.clicks("Edit", 1)
    page.write("Argument amount (integer)", "101", 1)
    page.write(NOTE, "hm", 2)
    page.choose(1)
    page.clicks("Approve")
    assert page.labels[-1] == "2 of 4 left"
    assert page.labels.count("Chosen: approve. It counts when every call has its decision.") == 2
    page.clicks("Reject", 2)
    assert page.labels[-1] == "1 of 4 left"
    page.click("Approve as edited")
    page.ends(request)
    verdicts = ["('approved', '', 'person')"] * 2 + ["('rejected', 'hm', 'person')", "('approved', '', 'person')"]
    paid = "[('Ann', 120, 'EUR'), ('Bob', 101, 'EUR'), ('Dan', 150, 'EUR')]"
    assert looked(page) == f"completed [{', '.join(verdicts)}] {paid}"


def test_what_is_decided_once_more_waits_until_that_is_done(page):
    request = page.starts(cell(AT_ONCE))
    page.clicks("Reject", 1)
    page.clicks("Change it", 1)
    page.clicks("Edit", 1)
    page.choose(1)
    page.clicks("Approve")
    assert page.labels[-1] == "1 of 2 left"
    page.click("Reject", 1)
    page.ends(request)
    assert looked(page).endswith("[('Ann', 120, 'EUR')]")


def test_an_approval_of_equal_calls_is_about_those_that_are_equal_to_what_runs(page):
    request = page.starts(cell(of_several(("Ann", 120), ("Bob", 130), ("Bob", 130), ("Ann", 120), ("Cid", 140))))
    page.choose(2)
    page.clicks("Approve")
    assert page.labels[-1] == "3 of 5 left"
    page.clicks("Edit", 1)
    page.write("Argument to (text)", "Cid")  # those of the first are not to be written into
    page.write("Argument amount (integer)", "140")
    page.choose(2, 1)
    page.clicks("Approve as edited")
    assert page.labels[-1] == "1 of 5 left"
    page.click("Reject", 2)
    page.ends(request)
    assert looked(page).endswith("[('Ann', 120, 'EUR'), ('Cid', 140, 'EUR'), ('Ann', 120, 'EUR'), ('Cid', 140, 'EUR')]")


def test_a_card_says_again_what_it_said_before_a_choice_that_is_changed(page):
    secret = "tell-nobody-of-it"
    page.kernel.run(f"import os; os.environ['SHOP_PASSWORD'] = {secret!r}")
    request = page.starts(cell(of_several((secret, 120), ("Bob", 130))))
    page.clicks("Edit", 1)
    for label, number, said in (("Reject", 0, "A secret is masked here"), ("Reject", 1, "A text is written as it is")):
        assert says(page, said)
        page.clicks(label, number)
        assert not says(page, said)
        page.clicks("Change it", number)
        assert says(page, said)
    page.click("Stop the run")
    page.ends(request)


def test_a_secret_is_masked_cannot_be_edited_and_does_not_leave_the_kernel(page):
    secret = "tell-nobody-of-it"
    page.kernel.run(f"import os; os.environ['SHOP_PASSWORD'] = {secret!r}")
    request = page.starts(cell(f"- call: pay\n  args: {{to: {secret}, amount: 120}}\n"))
    assert "redacted" in page.read["Argument to"]
    assert says(page, "A secret is masked here")
    page.click("Approve")
    page.ends(request)
    assert page.kernel.value(f"done == [({secret!r}, 120, 'EUR')]") == "True"
    assert not any(secret in one for one in page.heard if "%%agent" not in one)


def test_a_cell_that_runs_again_while_it_waits_is_left_without_an_error_and_asks_anew(page):
    first = page.starts(cell(CALLS[0]))
    page.forget()
    second = page.kernel.start(cell(CALLS[0]), "a", allow_stdin=True)
    assert all(kind != "error" for kind, _ in page.ends(first))
    page.listen(lambda: "Approve" in page.buttons)
    page.click("Approve")
    page.ends(second)
    assert looked(page) == "completed [('approved', '', 'person')] [('Ann', 120, 'EUR')]"
    assert left_over(page) == "0"


def test_an_interrupt_ends_the_wait_and_a_line_goes_on(page):
    request = page.starts(cell(CALLS[0]))
    page.kernel.interrupt()
    [*_, (kind, error)] = page.ends(request)
    assert (kind, error["ename"]) == ("error", "KeyboardInterrupt")
    assert looked(page) == "interrupted [] []"
    page.kernel.run("%agent approve buyer")
    assert looked(page) == "completed [('approved', '', 'person')] [('Ann', 120, 'EUR')]"
    assert left_over(page) == "0"


def test_calls_of_agents_inside_and_of_plan_steps_are_asked_about_too(page):
    page.kernel.run(cell(CALLS[0]).replace("---\nGo", "---\n"))
    request = page.starts(
        "%%agent lead\ntools: [agent:buyer]\nscript:\n- call: buyer\n  args: {task: buy}\n- Done.\n---\nGo"
    )
    assert "buyer wants to run pay (approve: pay(amount > 100))" in page.labels
    page.click("Approve")
    page.ends(request)
    assert page.kernel.value("lead.last.status, done") == "completed [('Ann', 120, 'EUR')]"
    page.forget()
    request = page.starts(
        f"%%plan planner\ntools: [pay]\napprove: all\nscript:\n- '[\"Pay\"]'\n{CALLS[1]}- Paid.\n- The end.\n---\nGo",
        "b",
    )
    page.click("Approve")
    run, empty = shown(page.ends(request))
    assert ("The end." in run["text/plain"], empty) == (True, {})
    assert page.kernel.value("planner.last.status, len(done)") == "completed 2"


def test_of_a_call_that_has_started_it_is_asked_what_became_of_it(page, tmp_path):
    hangs = f"    done.append(1)\n    {writes(tmp_path / 'begun')}\n    time.sleep(60)\n"
    page.kernel.run(f"import time\ndef hang() -> str:\n    'Hang.'\n{hangs}")
    plan = "%%plan p --propose\ntools: [hang]\nscript: ['[\"A\"]', {call: hang}, a, The end.]\n---\nGo"
    page.kernel.run(plan, "a")
    request = page.kernel.start("%plan p --run", "b", allow_stdin=True)
    wait_for_lines(tmp_path / "begun")
    page.kernel.interrupt()
    page.ends(request)
    request = page.starts("%plan p --run", "c")
    assert says(page, "nobody knows whether it took effect")
    assert {"Run again", "It did not run", "Give the result"} <= set(page.buttons)
    page.write(NOTE, "it rang")
    page.click("Give the result")
    page.ends(request)
    assert page.kernel.value("p.last.status, done") == "completed [1]"
    assert left_over(page) == "0"


@pytest.mark.parametrize(
    ("said", "decided", "ran"),
    [
        ("wait", "completed [('rejected', '', 'person')]", "[]"),
        ("input", "completed [('approved', 'be quick', 'person')]", "[('Ann', 120, 'EUR')]"),
        ("deny", "completed [('rejected', 'nobody could be asked', 'policy')]", "[]"),
        ("suspend", "interrupted []", "[]"),
    ],
)
@pytest.mark.parametrize("how", ["header", "option"])
def test_a_cell_says_who_decides_though_a_page_could_show_buttons(page, said, decided, ran, how):
    code = cell(CALLS[0], more=f"on_approval: {said}\n" if how == "header" else "")
    if how == "option":
        code = code.replace("%%agent buyer", f"%%agent buyer --on-approval {said}")
    if said == "wait":
        request = page.starts(code)
        page.click("Reject")
    else:
        request = page.kernel.start(code, "a", allow_stdin=True)
    if said == "input":
        prompt = page.kernel.client.get_stdin_msg(timeout=60)["content"]["prompt"]
        assert prompt.startswith("buyer wants to run pay (approve: pay(amount > 100))\n")
        page.kernel.client.input("approve be quick")
    outputs = page.ends(request)
    errors = [content["ename"] for kind, content in outputs if kind == "error"]
    assert errors == (["RunInterrupted"] if said == "suspend" else [])
    if said in ("input", "deny"):
        assert not any(VIEW in data for data in shown(outputs))
    assert looked(page) == f"{decided} {ran}"
    if said == "suspend":
        page.kernel.run("%agent approve buyer")
        assert looked(page) == "completed [('approved', '', 'person')] [('Ann', 120, 'EUR')]"
        kinds = page.kernel.value(
            "sorted({type(w).__name__ for w in __import__('ipywidgets').widgets.widget._instances.values()})"
        )
        assert kinds == "['HTML', 'HTMLStyle', 'Label', 'LabelStyle', 'Layout', 'VBox']"  # what became of it
    else:
        assert left_over(page) == "0"


def test_a_run_elsewhere_that_ends_while_a_cell_asks_takes_no_decision_away(page, tmp_path):
    page.kernel.run(
        "import asyncio\n"
        "async def later():\n"
        "    while not globals().get('buyer') or not buyer.waiting:\n"
        "        await asyncio.sleep(0.01)\n"
        "    await buyer.arun('x', scope='other')\n"
        f"    open({str(tmp_path / 'over')!r}, 'w').close()\n"
        "task = asyncio.ensure_future(later())"
    )
    request = page.starts(cell(CALLS[0], "- Hi.\n"))
    page.listen((tmp_path / "over").exists)
    page.click("Approve")
    page.ends(request)
    assert looked(page) == "completed [('approved', '', 'person')] [('Ann', 120, 'EUR')]"
    assert page.kernel.value("buyer.last.final_output, [r.final_output for r in buyer.results.values()]") == (
        "Done. [None, 'Hi.', 'Done.']"
    )
