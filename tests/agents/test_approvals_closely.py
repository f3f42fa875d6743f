"""What an approval is bound to and who is asked, in the cases that only differ in one of the gate's checks."""

from __future__ import annotations

import json
import threading

import pytest
from buying import call, heard, look, nothing_ran, pay, paying, ran  # noqa: F401
from msgspec.structs import replace

from nbagent import Agent, Answer, ApprovalPolicy, Approve, Reject, ScriptedLLM, Stop, tool
from nbagent.errors import DecisionError, DriftError
from nbagent.events import ApprovalDecided, ApprovalRequested, ToolStarted


def buyer(*script, tools=(pay, look), name="buyer", **options):
    return Agent(name, ScriptedLLM(script or [paying(), heard]), tools=list(tools), **options)


def lead(*inside, name="lead", **options):
    script = [call(inside[0].name, {"task": "t"}), heard]
    return Agent(name, ScriptedLLM(script), tools=list(inside), **options)


# who is asked


def test_whoever_decides_for_the_inner_agent_comes_before_those_of_the_outer_one():
    order = []
    worker = buyer(decide=lambda pendings: order.append("inner"))
    lead(worker, decide=lambda pendings: order.append("outer") or True).run("go")
    assert (order, ran) == (["inner", "outer"], [("Ann", 120)])


def test_where_decisions_are_written_in_an_order_agents_inside_run_one_by_one():
    has_begun = threading.Event()

    def second(request):
        has_begun.set()
        return paying(102)

    def first(request):
        assert not has_begun.wait(0.3)  # the second has not begun while the first is still about to ask
        return paying(101)

    workers = [buyer(first, heard, name="w1"), buyer(second, heard, name="w2")]
    calls = [call(one.name, {"task": "t"}, call_id=one.name) for one in workers]
    agent = Agent("lead", ScriptedLLM([calls, "done"]), tools=workers)
    assert agent.run("go", decisions=[True, False]).final_output == "done"
    assert ran == [("Ann", 101)]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("rules", [{"approve": ["look"]}, {"deny": ["look"]}])
def test_a_rule_holds_however_deep_the_agent_is_whose_call_it_is(rules, depth):
    agent = buyer(call("look"), heard, name="a0")
    for number in range(1, depth + 1):
        agent = lead(agent, name=f"a{number}", **({"approvals": ApprovalPolicy(**rules)} if number == depth else {}))
    assert agent.run("go").interrupted is ("approve" in rules)
    assert ran == []


def test_what_was_approved_for_the_whole_run_is_not_asked_about_again():
    asked = []

    def decide(pendings):
        asked.append([one.shown for one in pendings])
        return Approve(always="tool")

    assert (
        buyer(paying(), paying(200), [paying(300), paying(400)], "done", decide=decide).run("go").final_output == "done"
    )
    assert asked == [['pay(to="Ann", amount=120)']]
    assert len(ran) == 4


@pytest.mark.parametrize("decision", [True, Answer("paid"), Reject("no"), Stop("enough")], ids=str)
def test_who_has_decided_is_in_the_journal(decision):
    for options, by in [({"decisions": [decision]}, "cell"), ({"decide": lambda pendings: decision}, "policy")]:
        events = buyer().run("go", **options).events
        assert [event.by for event in events if isinstance(event, ApprovalDecided)] == [by]
    agent = buyer()
    agent.run("go")
    events = agent.resume(decision).events
    assert [event.by for event in events if isinstance(event, ApprovalDecided)] == ["person"]


# what a decision is about


def test_of_two_calls_that_are_alike_even_by_their_ids_each_needs_a_decision_of_its_own():
    agent = buyer(paying(call_id="x"), paying(call_id="x"), "done")
    first = agent.run("go").interrupt.pending
    second = agent.resume({first.digest: True}).interrupt.pending
    assert (first.arguments, first.digest == second.digest) == (second.arguments, False)
    for old in (first.digest, first.call_id):
        with pytest.raises(DecisionError, match="no call"):
            agent.resume({old: True})
    assert ran == [("Ann", 120)]
    questions = [event for event in agent.resume(False).events if isinstance(event, ApprovalRequested)]
    assert [question.number for question in questions] == [1, 2]


def test_for_later_calls_it_counts_with_which_arguments_the_call_ran_not_with_which_it_was_made():
    agent = buyer(paying(), paying(), paying(500), "done")
    agent.run("go")
    waiting = agent.resume(Approve({"to": "Ann", "amount": 500}, always="arguments"))
    assert (waiting.interrupt.pending.shown, ran) == ('pay(to="Ann", amount=120)', [("Ann", 500)])
    assert agent.resume(False).final_output == "done"
    assert ran == [("Ann", 500), ("Ann", 500)]


@pytest.mark.parametrize("verdict", ["rejected", "answered"])
def test_only_an_approval_counts_for_later_calls(verdict):
    """Whatever a journal says that was not written by this version."""
    agent = buyer(paying(), paying(), "done")
    events = agent.run("go", decisions=[Reject()]).events
    cut = next(place for place, event in enumerate(events) if isinstance(event, ApprovalDecided)) + 1
    forged = [*events[: cut - 1], replace(events[cut - 1], verdict=verdict, always="tool")]
    agent.discard()
    assert agent.replay(forged).interrupted
    assert ran == []


# what is not as it was


@tool(name="pay", approval=True)
def other(to: str, amount: int) -> str:
    """Pays."""
    ran.append("stolen")
    return ""


def test_about_a_tool_that_was_changed_nobody_is_asked():
    asked = []
    agent = buyer()
    agent.run("go")
    agent.own_tools.register(other, overwrite=True)
    with pytest.raises(DecisionError, match="is not what would run now"):
        agent.resume({}, decide=asked.append)
    assert (asked, ran) == ([], [])


def test_a_tool_that_is_gone_when_a_person_has_decided_does_not_run_and_the_run_waits_on():
    def decide(pendings):
        agent.own_tools.remove("pay")
        return True

    agent = buyer(decide=decide)
    with pytest.raises(
        DecisionError, match=r"pay\(to=\"Ann\", amount=120\), which waits .* is not what would run now: .*pay"
    ):
        agent.run("go")
    assert (agent.last.status, ran) == ("interrupted", [])


@pytest.mark.parametrize("decision", [True, {"b": True}, {}], ids=str)
def test_about_a_tool_that_is_gone_nobody_is_asked(decision):
    asked = []
    agent = buyer([paying(call_id="a"), call("look", call_id="b")], heard, approvals=ApprovalPolicy(["look"]))
    agent.run("go")
    agent.own_tools.remove("pay")
    with pytest.raises(DriftError, match="pay is gone"):
        agent.resume(decision, decide=asked.append)
    assert (asked, ran) == ([], [])


def test_a_note_on_running_again_what_may_have_run_reaches_the_model():
    agent = buyer()
    events = agent.run("go", decisions=[True]).events
    cut = next(place for place, event in enumerate(events) if isinstance(event, ToolStarted)) + 1
    agent = buyer(decide=lambda pendings: Approve(note="once more"))
    assert agent.replay(events[:cut]).final_output == "heard: paid 120\n(A note on this: once more)"


def test_arguments_in_another_order_and_with_other_spaces_are_the_same():
    agent = buyer(paying(), paying(), "done")
    agent.run("go")
    assert agent.resume(Approve(json.loads('{"amount":120,  "to":"Ann"}'), always="arguments")).final_output == "done"
    assert ran == [("Ann", 120), ("Ann", 120)]
