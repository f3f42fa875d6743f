"""Looking back at a run with widgets, as a page sees it that talks with a kernel."""

from __future__ import annotations

import pytest
from front_end import LEFT_OVER, VIEW, FrontEnd, hears_buttons

pytestmark = hears_buttons

TOOLS = """
calls = []
def search(query: str) -> str:
    "Search."
    calls.append(query)
    if query == "bad":
        raise ValueError("no such <b>thing</b>")
    return f"found {query}"
"""
CELL = """%%agent bot
tools: [search]
system: You look things up.
script:
- {call: search, args: {query: cats}}
- {call: search, args: {query: bad}}
- Cats are found.
---
Look for cats"""
FORKING = """
from nbagent import Agent
from nbagent.runtime.result import RunResult
from nbagent.events import RunFinished
asked = []
async def afork(self, run, at, **options):
    asked.append((run.run_id, at, options))
    if options.get("observation") == "wait":
        import asyncio
        await asyncio.sleep(60)
    if options.get("observation") == "raise":
        raise ValueError("it <i>cannot</i> be")
    made = RunResult((*run.events[:-1], RunFinished("completed", "forked answer")))
    self._runs.keep(made, self._runs.begin())
    return made
Agent.afork = afork
"""


@pytest.fixture
def page(kernel):
    """With forks that only say what was asked for."""
    assert kernel.run(TOOLS) == []
    assert kernel.run(FORKING) == []
    kernel.run(CELL, allow_stdin=False)
    return FrontEnd(kernel)


@pytest.fixture
def real(kernel):
    """With forks as they are."""
    assert kernel.run(TOOLS) == []
    return FrontEnd(kernel)


@pytest.mark.parametrize("again", [False, True])
def test_a_run_goes_on_from_what_was_written_also_in_a_kernel_that_has_begun_anew(real, again, tmp_path):
    cell = CELL.replace("tools:", f"store: {tmp_path / 'runs'}\ntools:")
    real.kernel.run(cell, allow_stdin=False)
    if again:  # what a restart leaves
        real.kernel.run("del bot\ncalls.clear()")
        real.kernel.run(f"{cell.partition('---')[0]}---\n", allow_stdin=False)
    opens(real, "%agent view bot@1")
    goes_to_fork(real, 6)
    real.listen(lambda: real.areas["What it is instead"] == "found cats")
    real.write("What it is instead", "found <b>dogs</b>")
    real.click("Run on from here")
    real.listen(lambda: any("at turn 1: completed" in label for label in real.labels))
    assert real.kernel.value("calls") == ("['bad']" if again else "['cats', 'bad', 'bad']")
    beside = [state["value"] for _, state in real._all("HTMLModel") if "found &lt;b&gt;dogs" in state["value"]]
    assert any("found cats" in html for html in beside)  # both, side by side
    before, fork = "bot.store.list()[0].run_id", "bot.last.events[0].forked.run"
    assert real.kernel.value(f"{before} == {fork}, bot.last.final_output") == "True Cats are found."


def opens(page, line="%agent view bot", cell="view"):
    request = page.kernel.start(line, cell, allow_stdin=True)
    page.ends(request)
    return request


def html(page, *classes):
    """What is in the one HTML widget of a class."""
    [value] = [state["value"] for _, state in page._all("HTMLModel") if {*classes} <= {*state.get("_dom_classes", ())}]
    return value


def at(page):
    return html(page, "nbagent-at")


def content(page):
    return html(page, "nbagent-shown")


def moves(page, number):
    page._update(page._all("IntSliderModel")[0][0], number)
    page.listen(lambda: f"Event {number} of 13" in at(page))


def shows(page, number):
    """`number`: which of the tabs."""
    page._update(page._all("ToggleButtonsModel")[0][0], number, "index")


def presses(page, label, until):
    page.click(label)
    page.listen(lambda: until in at(page))


def test_the_static_output_is_the_same_with_and_without_widgets(page):
    headless = page.kernel.run("%agent view bot", "other", allow_stdin=False)
    request = opens(page)
    static, widgets = [content["data"] for _, content in page.outputs[request]]
    assert [content["data"] for _, content in headless] == [static]
    assert set(widgets) == {"text/plain", VIEW}
    assert page.kernel.run(LEFT_OVER)[0][1]["text"].strip() != "0"


def test_each_event_shows_the_run_as_it_was_then(page):
    opens(page)
    assert "Event 13 of 13" in at(page)
    assert "Cats are found." in content(page)
    moves(page, 6)
    assert "turn 1: search returned" in at(page)
    page.listen(lambda: "Cats are found." not in content(page))
    assert "found cats" in content(page)
    presses(page, "Previous", "Event 5 of 13</b> · turn 1: search started")
    presses(page, "Next turn", "Event 7 of 13</b> · turn 2: the model was asked")
    presses(page, "Previous turn", "Event 3 of 13</b> · turn 1: the model was asked")
    presses(page, "First", "Event 1 of 13")
    presses(page, "Last", "Event 13 of 13")


def test_prompt_request_and_reply_are_those_of_the_turn(page):
    opens(page)
    moves(page, 8)
    shows(page, 1)
    page.listen(lambda: "exactly as they were sent" in content(page))
    assert "found cats" in content(page)
    assert "You look things up." in content(page)
    assert "no such" not in content(page)
    shows(page, 2)
    page.listen(lambda: "The request, exactly as it was sent." in content(page))
    assert "&#34;role&#34;:&#34;tool&#34;" in content(page)
    shows(page, 3)
    page.listen(lambda: "finish reason" in content(page))
    assert "{&#34;query&#34;: &#34;bad&#34;}" in content(page)
    moves(page, 7)
    page.listen(lambda: "has not replied yet" in content(page))
    shows(page, 4)
    page.listen(lambda: "from turn 1 to turn 2" in content(page))
    assert "<ins>" in content(page)
    assert "found cats" in content(page)
    moves(page, 1)
    page.listen(lambda: "No turn has begun yet" in content(page))


def test_a_search_goes_from_hit_to_hit_in_any_letters(page):
    opens(page)
    page._update(page._all("TextModel")[0][0], "NO SUCH")
    page.listen(lambda: any(label.startswith("hit 1 of ") for label in page.labels))
    assert "Event 10 of 13" in at(page)
    assert "turn 2: search returned, error: exception" in at(page)
    assert "(an error)" in at(page)


def test_what_is_gone_through_can_be_only_the_errors_or_one_tool(page):
    opens(page)
    options = page._all("DropdownModel")
    filters = next(state["_options_labels"] for _, state in options if state["description"] == "Step through")
    assert filters == ["all events", "model calls", "tool calls", "the rest", "errors", "tool search"]
    comm = next(comm for comm, state in options if state["description"] == "Step through")
    page._update(comm, filters.index("errors"), "index")
    presses(page, "First", "Event 10 of 13")
    page._update(comm, filters.index("tool search"), "index")
    presses(page, "First", "Event 5 of 13")
    presses(page, "Next", "Event 6 of 13")
    presses(page, "Next", "Event 9 of 13")


def test_many_moves_are_few_updates_and_the_last_one_arrives(page):
    request = opens(page)
    before = sum("Event " in one and "update" in one for one in page.heard)
    comm = page._all("IntSliderModel")[0][0]
    for number in [*range(1, 13), *range(1, 13), *range(1, 13), 4]:
        page._update(comm, number)
    page.listen(lambda: "Event 4 of 13" in at(page))
    assert sum("Event " in one and "update" in one for one in page.heard) - before < 15
    assert request in page.ended


def goes_to_fork(page, number):
    moves(page, number)
    shows(page, 5)
    page.listen(lambda: "What it is instead" in page.areas)


def test_an_observation_is_written_otherwise_and_the_run_goes_on_as_another_one(page):
    opens(page)
    goes_to_fork(page, 6)
    page.listen(lambda: page.areas["What it is instead"] == "found cats")
    page.write("What it is instead", "found <b>dogs</b>")
    page.click("Run on from here")
    page.listen(lambda: any("bot@2, forked from bot@1 at turn 1: completed" in label for label in page.labels))
    assert page.kernel.value("asked") == "[('bot-1', 1, {'observation': 'found <b>dogs</b>', 'call': 0})]"
    assert any("forked answer" in state["value"] for _, state in page._all("HTMLModel"))


def test_a_fork_can_be_stopped_and_its_errors_are_told(page):
    opens(page)
    goes_to_fork(page, 6)
    page.listen(lambda: page.areas["What it is instead"] == "found cats")
    page.write("What it is instead", "wait")
    page.click("Run on from here")
    page.listen(lambda: any("bot runs on from turn 1" in label for label in page.labels))
    page.click("Stop")
    page.listen(lambda: "It was stopped." in page.labels)
    page.write("What it is instead", "raise")
    page.click("Run on from here")
    page.listen(lambda: "ValueError: it <i>cannot</i> be" in page.labels)


def test_arguments_that_are_no_json_are_refused_before_anything_runs(page):
    opens(page)
    goes_to_fork(page, 5)
    comm = next(comm for comm, state in page._all("DropdownModel") if state["description"] == "What is different")
    page._update(comm, 1, "index")
    page.listen(lambda: page.areas["What it is instead"] == '{\n  "query": "cats"\n}', 5)
    page.write("What it is instead", "{")
    page.click("Run on from here")
    page.listen(lambda: any("JSON" in label for label in page.labels))
    page.write("What it is instead", '{"query": "dogs"}')
    page.click("Run on from here")
    page.listen(lambda: any("forked from" in label for label in page.labels))
    assert page.kernel.value("asked") == "[('bot-1', 1, {'arguments': {'query': 'dogs'}, 'call': 0})]"


def left_over(page):
    return int(page.kernel.run(LEFT_OVER)[0][1]["text"])


def test_views_end_with_close_with_their_cell_and_where_there_are_too_many(page):
    opens(page)
    one = left_over(page)
    assert 0 < one < 100
    opens(page)
    assert left_over(page) == one
    for number in range(6):
        opens(page, cell=f"view {number}")
    assert left_over(page) == 4 * one
    page.forget()
    opens(page, cell="view 5")
    page.click("Close")
    page.listen(lambda: "Close" not in page.buttons)
    assert left_over(page) == 3 * one


def test_a_secret_is_not_sent_and_not_edited(page):
    key = "sk-ant-api03-" + "a1B2" * 22
    page.kernel.run(f"def search(query: str) -> str:\n    'Search.'\n    return '{key[:20]}' + '{key[20:]}'")
    page.kernel.run(CELL, allow_stdin=False)
    opens(page)
    goes_to_fork_masked(page)
    for tab in range(5):
        shows(page, tab)
        moves(page, 6)
        page.kernel.run("")
    assert not any(key in one for one in page.heard)


def goes_to_fork_masked(page):
    moves(page, 6)
    shows(page, 5)
    page.listen(lambda: any("A secret is masked here" in label for label in page.labels), 6)


def error(outputs):
    return outputs[0][1]["ename"], outputs[0][1]["evalue"]


def test_a_run_is_named_by_its_number_or_its_id_and_errors_say_which_there_are(page, tmp_path):
    run = page.kernel.run
    run(CELL.replace("cats", "dogs"), allow_stdin=False)
    texts = [run(f"%agent view bot@{which}")[0][1]["data"]["text/plain"] for which in ("1", "2", "bot-1", "bot-2")]
    assert ["found dogs" in text for text in texts] == [False, True, False, True]
    assert "found dogs" in run("%agent view bot-2")[0][1]["data"]["text/plain"]
    assert error(run("%agent view bot@3")) == (
        "CellError", "agent 'bot' has no run 3; there are 1, 2; `%agent bot TASK…` runs it",
    )  # fmt: skip
    assert error(run("%agent view bot@x y"))[0] == "CellError"
    assert "takes one name" in error(run("%agent view bot more"))[1]


def test_a_stored_run_is_seen_in_a_fresh_kernel_and_asked_for_by_its_number(page, tmp_path):
    run = page.kernel.run
    stored = CELL.replace("%%agent bot\n", f"%%agent kept\nstore: {tmp_path / 'runs'}\n")
    run(stored, allow_stdin=False)
    run("del kept")
    run(stored.partition("---")[0] + "---\n", allow_stdin=False)
    texts = [run(f"%agent view kept{which}")[0][1]["data"]["text/plain"] for which in ("", "@1", "@kept-1")]
    assert ["found cats" in text for text in texts] == [True] * 3
    assert "; on disk kept-1" in error(run("%agent view kept@7"))[1].replace("there are on", "; on")
    opens(page, "%agent view kept")
    assert "Event 13 of 13" in at(page)
