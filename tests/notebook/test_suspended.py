"""Runs that wait though their cell has ended (`on_approval: suspend`): a click goes on with them, in their place."""

from __future__ import annotations

from types import SimpleNamespace

import ipykernel
import pytest
from front_end import LEFT_OVER, VIEW, FrontEnd

from nbagent.notebook.deciding import who_decides

TOOLS = """
import asyncio, os, time
from nbagent.notebook import panel
panel.SECOND_CLICK = 0
done = []
gate = asyncio.Event()
def pay(to: str, amount: int) -> str:
    "Pay."
    done.append((to, amount))
    print("paying")
    return f"paid {amount}"
def hold(seconds: int) -> str:
    "Holds the thread."
    done.append("held")
    open(MARK, "w").close()
    time.sleep(seconds)
    return "held"
async def linger() -> str:
    "Waits, and lets others run."
    done.append("lingers")
    open(MARK, "w").close()
    await gate.wait()
    return "lingered"
"""
ANN = "- call: pay\n  args: {to: Ann, amount: 120}\n"
BOB = "- call: pay\n  args: {to: Bob, amount: 130}\n"
STOPS_ALL = (
    'buyer waits for a decision about pay(to="Ann", amount=120). Decide with the buttons above, with `%agent approve '
    "buyer` or `%agent reject buyer --reason '…'`, or beforehand in the cell: `decisions: [approve]` (`%agent pending` "
    "shows all of it)"
)
ENDED = "buyer went on after its cell had ended: completed · Done.\nAll of it: `buyer.last`, `%agent view buyer`."
NOTE = "Note, reason or result, which the model reads"
hears_while_it_waits = ipykernel.version_info >= (7, 4)
COUNT = """
import asyncio, gc, threading
from asyncio import tasks
gc.collect()
loop = asyncio.get_running_loop()
timers = sum(1 for one in loop._scheduled if not one.cancelled())
print(threading.active_count(), len(asyncio.all_tasks()), timers)
"""


def cell(*calls, name="buyer", more="", tools="pay", approve="all"):
    return (
        f"%%agent {name}\ntools: [{tools}]\napprove: {approve}\non_approval: suspend\n{more}"
        f"script:\n{''.join(calls)}- Done.\n---\nGo"
    )


@pytest.fixture
def page(kernel, tmp_path):
    kernel.run(f"MARK = {str(tmp_path / 'mark')!r}")
    assert kernel.run(TOOLS) == []
    page = FrontEnd(kernel)
    page.folder = tmp_path
    return page


def runs(page, code, cell=None):
    """Runs a cell while the page listens."""
    return page.ends(page.kernel.start(code, cell, allow_stdin=True))


def value(page, expression):
    outputs = runs(page, f"print({expression})")
    assert {kind for kind, _ in outputs} <= {"stream"}, outputs
    return "".join([content["text"] for _, content in outputs]).strip()


def suspends(page, code, id="a"):
    """Starts a cell, which asks and ends; its request and its error."""
    request = page.starts(code, id)
    [*_, (kind, error)] = page.ends(request)
    assert (kind, error["ename"]) == ("error", "RunInterrupted")
    assert len(error["traceback"]) == 1
    return request, error["evalue"]


def displayed(page, request):
    """What is displayed in the two outputs of a cell, whichever cell has changed it: the run, and the place below."""
    ids = [content["transient"]["display_id"] for kind, content in page.outputs[request] if kind == "display_data"]
    found = {}
    for outputs in page.outputs.values():
        for kind, content in outputs:
            if kind.endswith("display_data"):
                found[content["transient"].get("display_id")] = content["data"]
    return [found[one] for one in ids]


def tells(page, *words):
    """Waits until the place says all these words."""
    page.listen(lambda: any(all(word in label for word in words) for label in page.labels))


def goes_on(page):
    page.listen(lambda: page.buttons == ["Stop"])


def asks_about(page, *words):
    """Waits until there is one card, the whole of it, with all these words."""
    page.listen(
        lambda: (
            page.buttons.count("Stop the run") == 1
            and "Stop" not in page.buttons
            and all(word in str(page.read) for word in words)
        )
    )


def settled(page, name="buyer"):
    return value(page, f"{name}.last.status, done")


# one run, one place


def test_the_cell_ends_by_a_line_that_stops_all_and_a_click_goes_on_in_its_place(page):
    first = page.kernel.start(cell(ANN, BOB), "a", allow_stdin=True)
    behind = page.kernel.start("done.append('too early')", "b", allow_stdin=True)
    page.ends(behind)
    [*_, (kind, error)] = page.ends(first)
    assert (kind, error["evalue"], len(error["traceback"])) == ("error", STOPS_ALL, 1)
    page.click("Approve")
    asks_about(page, "Bob")
    page.click("Approve")
    tells(page, ENDED)
    page.listen(lambda: displayed(page, first)[1] == {"text/plain": ENDED})
    assert settled(page) == "completed [('Ann', 120), ('Bob', 130)]"
    assert page.buttons == []
    kinds = [kind for kind, _ in page.outputs[first]]
    assert [kind for kind in kinds if kind != "update_display_data"] == ["display_data", "display_data", "error"]
    run, place = displayed(page, first)
    assert set(run) == {"text/plain", "text/markdown", "text/html"}
    assert run == eval(value(page, "buyer.last._repr_mimebundle_()"))  # what is saved is the whole run
    assert place == {"text/plain": ENDED}


def test_what_waits_costs_nothing(page):
    runs(page, cell(name="other"))
    before = runs(page, COUNT)
    suspends(page, cell(ANN))
    assert runs(page, COUNT) == before
    page.click("Approve")
    tells(page, ENDED)
    assert runs(page, COUNT) == before
    print(f"threads, tasks, timers: {before[0][1]['text']}")


def test_a_double_click_and_a_click_in_another_page_are_one_decision(page):
    runs(page, "panel.SECOND_CLICK = 0.6")
    suspends(page, cell(ANN, BOB))
    for _ in range(3):
        page.click("Approve")
    page.click("Reject")
    asks_about(page, "Bob")
    page.clicks("Approve")  # in less time than a double click takes
    assert settled(page) == "interrupted [('Ann', 120)]"


def test_the_place_says_that_it_goes_on_and_nothing_is_displayed_besides(page):
    request, _ = suspends(page, cell("- call: linger\n", tools="linger"))
    page.click("Approve")
    goes_on(page)
    page.listen(lambda: page.labels == ["Already decided. Approve: linger()\nbuyer goes on …"])
    assert settled(page).endswith("['lingers']")
    runs(page, "gate.set()")
    tells(page, ENDED)
    kinds = [kind for kind, _ in page.outputs[request] if kind != "update_display_data"]
    assert kinds == ["display_data", "display_data", "error"]


@pytest.mark.parametrize(("every", "saved"), [(1e9, "waits for a decision"), (0, "approved")])
def test_what_goes_on_is_watched_as_in_its_cell(every, saved, page):
    page.kernel.run(f"from nbagent.notebook import show; show.SAVED_EVERY = {every}; show.SHARE = show.HELD = 0")
    request, _ = suspends(page, cell("- call: linger\n", tools="linger"))
    assert not any("linger" in text for text in page.html)
    page.click("Approve")
    page.listen(lambda: any("linger" in text and "running" in text for text in page.html))

    def left_by_a_killed_kernel():  # and not seen beside the widgets
        html = displayed(page, request)[0]["text/html"]
        return "nbagent-shadow" in html and saved in html

    page.listen(left_by_a_killed_kernel)
    assert page.buttons == ["Stop"]
    value(page, "gate.set()")
    page.listen(lambda: displayed(page, request)[1] == {"text/plain": ENDED})
    assert not any("linger" in text for text in page.html)
    run, _ = displayed(page, request)
    assert "lingered" in run["text/plain"]
    assert "nbagent-shadow" not in run["text/html"]
    page.kernel.run("%agent reset buyer")


def test_several_calls_a_reason_and_edited_arguments(page):
    suspends(
        page, cell("- calls: [{call: pay, args: {to: A, amount: 1}}, {call: pay, args: {to: B, amount: 2}}]\n", ANN)
    )
    page.write(NOTE, "too risky")
    page.clicks("Reject")
    page.click("Approve", 1)
    asks_about(page, "Ann")
    page.clicks("Edit")
    page.write("Argument amount (integer)", '"many"')
    page.click("Approve as edited")
    tells(page, "That cannot be: ", "amount")
    asks_about(page)
    assert page.areas["Argument amount (integer)"] == '"many"'  # what was written is kept
    page.write("Argument amount (integer)", "7")
    page.click("Approve as edited")
    tells(page, ENDED)
    assert settled(page) == "completed [('B', 2), ('Ann', 7)]"
    assert "too risky" in value(page, "buyer.model.requests[1].messages[-2].content")


def test_the_result_is_where_the_cell_said(page):
    suspends(page, cell(ANN, more="out: result\n"))
    assert value(page, "result.status") == "interrupted"
    page.click("Approve")
    tells(page, ENDED)
    assert value(page, "result.status, result is buyer.last") == "completed True"


def test_steps_of_a_plan_agents_inside_and_a_line_in_a_function(page):
    plan = cell("- '[\"Pay\"]'\n", BOB, "- ok\n", name="planner").replace("%%agent", "%%plan").replace("Done", "End")
    suspends(page, plan, "p")
    page.click("Approve")
    tells(page, "planner went on", "End.")
    runs(page, cell(ANN).replace("---\nGo", "---\n"))
    runs(page, "%%agent lead\ntools: [agent:buyer]\nscript:\n- call: buyer\n  args: {task: x}\n- Led.\n---\n")
    suspends(page, "def go():\n    %agent --on-approval suspend lead Go\ngo()", "l")
    asks_about(page, "Ann")
    page.click("Approve")
    tells(page, "lead went on", "Led.")
    assert settled(page, "lead") == "completed [('Bob', 130), ('Ann', 120)]"


# decided elsewhere


@pytest.mark.parametrize(
    ("line", "says", "paid"),
    [
        ("%agent approve buyer", "buyer went on after its cell had ended: completed · Done.", 1),
        ("%agent reject buyer --reason no", "completed · Done.", 0),
        ("buyer.resume(True)", "completed · Done.", 1),
        ("%agent stop buyer", "cancelled", 0),
        ("%agent discard buyer", "buyer does not wait for this any more. The run was dropped or replaced.", 0),
        ("%agent reset buyer", "buyer does not wait for this any more. The run was dropped or replaced.", 0),
        ("del buyer", "buyer: another agent has that name by now, or none", 0),
        ("%%plan buyer\nscript: ['[\"x\"]']\n---\n", "buyer: another agent has that name by now", 0),
    ],
)
def test_what_is_decided_elsewhere_closes_the_card(line, says, paid, page):
    request, _ = suspends(page, cell(ANN))
    button = page.click("Edit")
    page.listen(lambda: button in page.ended)
    outputs = runs(page, line, "b")
    assert not [content for kind, content in outputs if kind == "error"]
    tells(page, says)
    page.listen(lambda: page.buttons == [])
    page.listen(lambda: displayed(page, request)[1] == {"text/plain": page.labels[-1]})
    assert value(page, "len(done)") == str(paid)


def test_a_click_on_what_was_decided_meanwhile_runs_nothing(page):
    suspends(page, cell(ANN))
    silent = "get_ipython().events.unregister('post_run_cell', get_ipython()._nbagent_magics._cells._suspended._look)"
    runs(page, f"{silent}\nbuyer.discard()")
    assert page.buttons.count("Approve") == 1
    page.click("Approve")
    tells(page, "Already decided: buyer does not wait for this any more.")
    assert settled(page) == "interrupted []"


def test_a_click_while_a_cell_goes_on_with_the_run_and_the_other_way_round(page):
    suspends(page, cell("- call: linger\n", tools="linger"))
    line = page.kernel.start("%agent approve buyer", "b", allow_stdin=True)
    page.listen((page.folder / "mark").exists)
    if hears_while_it_waits:
        page.click("Approve")
        tells(page, "Already decided, in another place; buyer goes on there.")
    page.kernel.interrupt()
    page.ends(line)
    assert settled(page) == "cancelled ['lingers']"


def test_a_cell_cannot_decide_about_what_a_click_goes_on_with(page):
    suspends(page, cell("- call: linger\n", tools="linger"))
    page.click("Approve")
    goes_on(page)
    for line in ("%agent approve buyer", "%agent resume buyer-1"):
        [(kind, error)] = runs(page, line, "b")
        assert (kind, error["ename"].endswith("Error")) == ("error", True)
    assert settled(page).endswith("['lingers']")
    runs(page, "gate.set()")
    tells(page, ENDED)
    assert settled(page) == "completed ['lingers']"


def test_a_cell_that_runs_again_takes_its_place(page):
    suspends(page, cell(ANN))
    widgets = runs(page, LEFT_OVER)
    page.forget()
    suspends(page, cell(BOB))
    assert runs(page, LEFT_OVER) == widgets  # those of the first are gone
    asks_about(page, "Bob")
    page.click("Approve")
    tells(page, ENDED)
    assert settled(page) == "completed [('Bob', 130)]"
    page.forget()
    suspends(page, cell("- call: linger\n", tools="linger"))
    page.click("Approve")
    goes_on(page)
    page.forget()
    suspends(page, cell(ANN))  # while the first goes on
    assert page.labels == [one for one in page.labels if "goes on" not in one]
    assert runs(page, LEFT_OVER) == widgets  # also those in which it was watched
    page.click("Approve")
    tells(page, ENDED)
    assert settled(page) == "completed [('Bob', 130), 'lingers', ('Ann', 120)]"
    assert value(page, "[one.status for one in buyer.results.values()]").count("cancelled") == 1


# stopped


def test_stop_leaves_a_run_that_goes_on(page):
    suspends(page, cell("- call: linger\n", tools="linger"))
    page.click("Approve")
    goes_on(page)
    page.click("Stop")
    tells(page, "buyer has started linger, and there is no result: nobody knows whether it took effect")
    assert settled(page) == "cancelled ['lingers']"
    page.write(NOTE, "it rang")
    page.click("Give the result")
    tells(page, ENDED)
    assert settled(page) == "completed ['lingers']"


def test_a_stop_while_the_model_replies_is_gone_on_with_by_a_button(page):
    slow = (
        "from nbagent import ScriptedLLM\n"
        "class Slow(ScriptedLLM):\n"
        "    async def astream(self, request):\n"
        "        if done: await gate.wait()\n"
        "        async for piece in super().astream(request): yield piece\n"
        "llm = Slow([ScriptedLLM.tool_call('pay', {'to': 'Ann', 'amount': 120}), 'Done.'])"
    )
    assert runs(page, slow) == []
    suspends(page, cell().replace("script:\n- Done.\n", "model: llm\n"))
    page.click("Approve")
    goes_on(page)
    page.click("Stop")
    tells(page, "buyer: it was stopped")
    page.listen(lambda: page.buttons == ["Go on"])
    runs(page, "gate.set()")
    page.click("Go on")
    tells(page, ENDED)
    assert settled(page) == "completed [('Ann', 120)]"


@pytest.mark.parametrize("tool", ["hold", "linger"])
def test_an_interrupt_ends_it_cleanly_and_it_goes_on(tool, page, tmp_path):
    call = f"- call: {tool}\n" + ("  args: {seconds: 60}\n" if tool == "hold" else "")
    suspends(page, cell(call, tools=tool))
    page.click("Approve")
    goes_on(page)
    page.listen((tmp_path / "mark").exists)
    page.kernel.interrupt()
    tells(page, f"buyer has started {tool}, and there is no result")
    assert settled(page).startswith("cancelled ")
    assert value(page, "buyer.last.stop_reason") == "stopped by the user"
    page.write(NOTE, "rang")
    page.click("Give the result")
    tells(page, ENDED)
    page.kernel.interrupt()  # no cell runs, nor anything else: it is not noticed
    assert settled(page).startswith("completed ")


@pytest.mark.parametrize("awaited", ["before", "meanwhile"])
def test_an_interrupt_reaches_it_after_a_cell_that_was_awaited(awaited, page, tmp_path):
    calls = ["- call: linger\n", "- call: hold\n  args: {seconds: 60}\n"]
    suspends(page, cell(*calls, tools="linger, hold", approve="linger"))
    if awaited == "before":  # and so when the click comes, where the kernel hears it then
        request = page.kernel.start("await asyncio.sleep(1)", "b", allow_stdin=True)
        page.listen(lambda: "sleep(1)" in page.heard[-1])
        page.click("Approve")
        page.ends(request)
    else:
        page.click("Approve")
    page.listen((tmp_path / "mark").exists)
    (tmp_path / "mark").unlink()
    if awaited == "meanwhile":
        runs(page, "await asyncio.sleep(0.3)")
    runs(page, "gate.set()")
    page.listen((tmp_path / "mark").exists)
    page.kernel.interrupt()
    tells(page, "buyer has started hold, and there is no result")
    assert settled(page).startswith("cancelled ")


# what goes wrong


def test_an_error_is_shown_kept_and_logged(page):
    runs(
        page,
        "import logging; said = []; get_ipython().log.addHandler(h := logging.Handler('ERROR')); h.emit = said.append",
    )
    request, _ = suspends(page, cell(ANN, "- error: 'the <b>server</b> is gone'\n"))
    page.click("Approve")
    tells(page, "buyer went on after its cell had ended: failed · ModelError: the <b>server</b> is gone")
    assert settled(page) == "failed [('Ann', 120)]"
    assert value(page, "buyer.last.stop_reason") == "ModelError: the <b>server</b> is gone"
    assert value(page, "[one.getMessage() for one in said]") == (
        "['buyer-1 went on after its cell, and failed: ModelError: the <b>server</b> is gone']"
    )
    assert "stream" not in [kind for kind, _ in page.outputs[request]]


def test_only_widgets_that_escape_say_what_came_from_outside(page):
    evil = "<img src=x onerror=alert(1)>"
    suspends(page, cell(ANN.replace("Ann", f"'{evil}'")).replace("- Done.", f"- '{evil}\u202e'"))
    page.click("Approve")
    tells(page, "completed · <img src=x onerror=alert(1)>⟦U+202E⟧")
    html = [state["value"] for _, state in page._all("HTMLModel")]
    assert html
    assert not [one for one in html if "onerror" in one]


# elsewhere than in a page with a kernel


def test_where_nobody_is_there_is_no_widget(page):
    [(_, run), (kind, error)] = page.kernel.run(cell(ANN))
    assert VIEW not in run["data"]
    assert (kind, error["evalue"]) == ("error", STOPS_ALL.replace("the buttons above, with ", ""))
    assert page.kernel.run(LEFT_OVER)[0][1]["text"].strip() == "0"


def test_a_page_that_was_loaded_again_gets_it_all_by_widgets(page):
    suspends(page, cell(ANN, BOB))
    known = dict(page.states)
    page.outputs.clear()
    page.click("Approve")
    asks_about(page, "Bob")
    page.click("Approve")
    tells(page, ENDED)
    root = [comm for comm, state in known.items() if state.get("_model_name") == "VBoxModel" and comm in page.states]
    assert len(root) == 1  # the same one from the first to the last
    [card] = page.states[root[0]]["children"]
    assert page.states[card.removeprefix("IPY_MODEL_")]["_dom_classes"] == ["nbagent-arguments", "nbagent-card"]


def test_a_run_on_disk_after_a_restart(page):
    runs(page, "%cd -q " + repr(str(page.folder)))
    suspends(page, cell(ANN, BOB, more="store: yes\n"))
    page.kernel.manager.restart_kernel(now=True)
    page.kernel.client.wait_for_ready(timeout=60)
    page.forget()
    runs(page, "%load_ext nbagent\n%cd -q " + repr(str(page.folder)))
    runs(page, TOOLS.replace("MARK", "'mark'"))
    runs(page, cell(ANN, BOB, more="store: yes\n").replace("---\nGo", "---\n"))
    suspends(page, "%agent --on-approval suspend resume buyer-1")
    asks_about(page, "Ann")
    page.click("Approve")
    asks_about(page, "Bob")
    page.click("Approve")
    tells(page, ENDED)
    assert settled(page) == "completed [('Ann', 120), ('Bob', 130)]"
    assert "buyer-1 · buyer · completed" in str(runs(page, "%agent runs"))


def test_view_shows_the_newest_run_again(page):
    suspends(page, cell(ANN))
    page.click("Approve")
    tells(page, ENDED)
    [(kind, content), _] = runs(page, "%agent view buyer")  # below it the widgets that look back
    assert kind == "display_data"
    assert "Done." in content["data"]["text/plain"]
    assert runs(page, "%agent view nobody")[0][1]["ename"] == "CellError"


@pytest.mark.parametrize(
    ("kernel", "quiet", "who"),
    [
        (SimpleNamespace(_allow_stdin=True), False, "later"), (SimpleNamespace(_allow_stdin=True), True, "nobody"),
        (SimpleNamespace(_allow_stdin=False), False, "nobody"), (None, False, "nobody"),
        (SimpleNamespace(), False, "later"),  # of JupyterLite
    ],
)  # fmt: skip
def test_where_buttons_can_outlive_a_cell(kernel, quiet, who, monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    assert who_decides(SimpleNamespace(kernel=kernel), "suspend", quiet=quiet) == who


def test_a_decision_that_cannot_be_leaves_the_card_as_it_is(page):
    suspends(page, cell(ANN))
    outputs = runs(page, '%agent approve buyer --args \'{"amount": "x"}\'', "b")
    assert [content["ename"] for kind, content in outputs if kind == "error"] == ["DecisionError"]
    asks_about(page, "Ann")
    page.click("Approve")
    tells(page, "completed · Done.")
    assert value(page, "len(done)") == "1"
