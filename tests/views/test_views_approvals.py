import re

import pytest
from approval_samples import CODE, EDIT, MORE, RUNS, answer, buyer, decided, pay, waiting
from page import Page
from work_samples import call

from nbagent import Agent, Approve, ScriptedLLM
from nbagent.events import RunFinished, ToolReturned, ToolStarted
from nbagent.views.bundle import bundle
from nbagent.views.pending import waiting as waiting_calls
from nbagent.views.trace import Trace

RULE = "pay(amount > 100)"
FIELDS = ("tool_name", "arguments", "call_id", "agent", "origin", "kind")


def texts(events):
    """What each format says, on one line, without what makes it Markdown or HTML."""
    shown = bundle(events)
    html = Page(re.sub(r"<(/?(div|p|pre|summary))", r" <\1", shown["text/html"])).text
    markdown = re.sub("```json|[`*>\\\\]", "", shown["text/markdown"])
    return [" ".join(each.split()) for each in (shown["text/plain"], markdown, html)]


def plain(text):
    """Without the difference between a title and its text, and that in a column."""
    return re.sub(r"(?<=\w): ", " ", text.replace(">", "")).replace("  ", " ").lower()


SAID = {
    "waits": ["approval: waits for a decision (pay(amount > 100))"],
    "approved": ["approval: approved by a person (pay(amount > 100))", "observation: paid 120 to Ann"],
    "noted": ["approved by a person (pay(amount > 100)), note: the last one"],
    "always": ["approved by a person, from now on always in this run", "approved as before"],
    "always like this": ["with these arguments from now on always in this run", "approved as before"],
    "edited": ["by a person, with other arguments", 'ran instead pay {"to": "Bob", "amount": 5}'],
    "edited code": ["with other arguments (run_code asks for approval)", "note only logs and nothing else", "changes"],
    "rejected": ["rejected by a person (pay(amount > 100)), reason: It costs too much.", "1 refused"],
    "rejected without a word": ["approval: rejected by a person (pay(amount > 100)) observation"],
    "answered": ["answered by a person in the tool's place", "observation: paid yesterday", "0 tool calls ·"],
    "stopped": ["stopped the run here, by a person (pay(amount > 100)), reason: enough for today"],
    "by the cell": ["approved by the cell"],
    "by the policy": ["approved by the policy"],
    "unknown": ["approved by the cell", "decision: waits for a decision: it was started, has no result"],
    "run again": ["run again by the policy (it had been started, and had no result)", "observation: paid 120 to Ann"],
    "not run again": ["not run again by the policy (it had been started, and had no result), reason: It did."],
    "its result": ["answered by the policy (it had been started, and had no result)", "observation: paid 120"],
    "inside": ["run inside: buyer · scripted · waits for a decision: pay", "buyer wants to run pay"],
    "inside, approved": ["approved by a person"],
    "an agent": ["(approve: agent:helper), a tool from agent:helper", "lead wants to run helper from agent:helper"],
    "in a plan": ["Pay Ann: waits for a decision", "planner wants to run pay"],
    "in a reflection": ["round 1: waits for a decision", "writer wants to run look"],
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_was_decided_is_said_in_words(name):
    for text in map(plain, texts(RUNS[name]().events)):
        assert [said for said in SAID[name] if plain(said) not in text] == []


@pytest.mark.parametrize("name", RUNS)
def test_every_prefix_of_a_run_can_be_shown(name):
    events = RUNS[name]().events
    for length in range(len(events) + 1):
        Page(bundle(events[:length])["text/html"])
    assert bundle(events) == bundle(RUNS[name]().events)


@pytest.mark.parametrize("name", RUNS)
def test_the_views_name_what_the_result_waits_for(name):
    result = RUNS[name]()
    waits = result.interrupt.pendings if result.interrupt else ()
    known = [[getattr(each, field) for field in FIELDS] for each in waits]
    assert [[getattr(each, field) for field in FIELDS] for each in waiting_calls(Trace.of(result.events))] == known
    for text in texts(result.events):
        assert ("The run is paused: it waits for" in text) == bool(waits)
        assert (" wants to run " in text or " has started " in text) == bool(waits)


def test_a_paused_run_says_how_to_go_on():
    for text in texts(waiting().events):
        assert '%agent approve buyer or %agent reject buyer --reason "…"' in text
        assert 'buyer.resume(True) or buyer.resume(Reject("…"))' in text
        assert "%agent answer" not in text
    for text in texts(RUNS["unknown"]().events):
        assert '%agent answer buyer "…"' in text
        assert "Approve it: it runs again. Reject it: it does not. Answer it: what you say is its result." in text
    for text in texts(RUNS["some wait"]().events):
        assert "The run is paused: it waits for 2 decisions." in text
        assert '%agent approve buyer call_1 or %agent reject buyer call_1 --reason "…"' in text
        assert 'buyer.resume(True) or buyer.resume({"call_1": Reject("…")})' in text
        assert "not started: another call of this reply waits for a decision" in text
    for text in texts(RUNS["two inside"]().events):  # both calls have one id
        assert "call_1" not in text
        assert len(set(re.findall("approve lead ([0-9a-f]{8}) ", text))) == 1


def test_while_it_runs_it_says_what_it_waits_for_and_nothing_of_resuming():
    events = waiting().events[:-1]
    for text in texts(events):
        assert "waits for a decision: pay" in text
        assert "The run waits for a decision." in text
        assert '"Ann"' in text
        assert "resume" not in text


def test_a_run_that_was_cancelled_waits_no_more():
    for text in texts([*waiting().events[:-1], RunFinished("cancelled")]):
        assert "not decided : the run was cancelled" in text.replace("decided:", "decided :")
        assert "wants to run" not in text
        assert "not started" not in text


# what was changed


def test_a_change_of_long_arguments_is_shown():
    html = bundle(decided(MORE, call("run_code", {"code": CODE}), answer).events)["text/html"]
    assert ".<del>tmp</del><ins>log</ins>" in html
    assert "<i>changes</i>" in html
    assert "<i>changes</i>" not in bundle(decided(EDIT).events)["text/html"]  # both are short


class Doubling:
    """A hook that doubles what is paid."""

    def before_tool(self, name, arguments):
        return arguments | {"amount": 2 * arguments["amount"]}


def test_what_a_hook_has_made_of_a_call_is_what_is_asked_about():
    agent = buyer(hooks=[Doubling()])
    paused = bundle(agent.run("Pay Ann.").events)["text/plain"]
    lines = ['  call pay {"to": "Ann", "amount": 120}', "  asked about pay", '    {"to":"Ann","amount":240}']
    assert "\n".join(lines) in paused
    assert "    amount: 240" in paused
    done = bundle(agent.resume(Approve({"to": "Ann", "amount": 7})).events)["text/plain"]
    approval = f"  approval: approved by a person, with other arguments ({RULE})"
    assert "\n".join([*lines, approval, "  ran instead pay", '    {"to": "Ann", "amount": 7}']) in done


def test_what_is_approved_and_has_not_started_is_to_run():
    agent = buyer([call("pay", {"to": "Ann", "amount": 120}), call("pay", {"to": "Bob", "amount": 130})])
    agent.run("Pay.")
    shown = bundle(agent.resume({"call_1": EDIT}).events)["text/plain"]
    assert (
        '  to run instead pay\n    {"to": "Bob", "amount": 5}\n  not started: another call of this reply waits' in shown
    )
    assert "waits for a decision: pay ·" in shown


def test_of_two_calls_without_a_result_one_is_decided():
    looks = [call("look", {"at": "it"}), call("look", {"at": "that"})]
    events = [e for e in buyer(looks, "ok").run("Look.").events if not isinstance(e, ToolReturned)]
    last = max(number for number, event in enumerate(events) if isinstance(event, ToolStarted))
    paused = buyer(looks, "ok", decide=lambda pendings: {pendings[0].call_id: True}).replay(events[: last + 1])
    text = bundle(paused.events)["text/plain"]
    assert "not run again yet: another call of this reply waits for a decision" in text
    assert "The run is paused: it waits for a decision." in text
    assert text.count("buyer has started look") == 1


# many turns


def test_what_waits_is_open_among_many_turns():
    looks = [call("look", {"at": f"{number}"}) for number in range(1, 10)]
    html = bundle(waiting(*looks, call("pay", {"to": "Ann", "amount": 120})).events)["text/html"]
    assert re.findall(r"<details open><summary><b>Turn (\d+)", html) == ["10"]
    assert "<b>Turn 10</b> <small>pay, waits for a decision</small>" in html


def test_closed_turns_say_what_was_decided():
    html = bundle(RUNS["rejected"]().events)["text/html"]
    assert "<b>Turn 1</b> <small>pay, rejected</small>" in html
    assert "<b>Turn 1</b> <small>pay</small>" in bundle(RUNS["approved"]().events)["text/html"]


def test_decisions_in_turns_that_are_left_out_are_counted():
    pays = [call("pay", {"to": f"{number}", "amount": 200}) for number in range(300)]
    agent = Agent("buyer", ScriptedLLM([*pays, "done"]), tools=[pay], max_turns=400)
    text = bundle(agent.run("Pay.", decisions=[Approve(always="tool")]).events)["text/plain"]
    left_out = re.findall(r"turns (\d+) to (\d+): pay ×(\d+), (\d+) decisions, left out", text)
    assert left_out
    assert all(times == decisions for _, _, times, decisions in left_out)


def test_a_rejection_is_no_error_of_the_tool():
    html = bundle(RUNS["rejected"]().events)["text/html"]
    assert 'nbagent-bad"' not in html[html.index("</style>") :]
    assert '<span class="nbagent-verdict nbagent-warn">rejected</span>' in html
