"""Decisions that are written down: in a list, or in a file where each is bound to the digest of its call."""

from __future__ import annotations

import json

import pytest

from nbagent import Agent, Approve, PlanAgent, Reject, ScriptedLLM, Stop, read_decisions, tool
from nbagent.errors import DecisionError, DecisionsLeftOver

call = ScriptedLLM.tool_call


def buyer(*amounts, **options):
    paid = []

    @tool(approval="amount > 100")
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    script = [*[call("pay", {"amount": amount}) for amount in amounts], "Done."]
    return Agent("buyer", ScriptedLLM(script), tools=[pay], **options), paid


def decided(agent):
    return [(one.verdict, one.by) for one in agent.last.events if type(one).__name__ == "ApprovalDecided"]


def digests(*amounts):
    agent, _ = buyer(*amounts)
    found = []
    agent.run("Buy")
    while agent.last.interrupted:
        found.append(agent.last.interrupt.pending.digest)
        agent.resume(False)
    return found


def test_decisions_that_are_not_needed_are_an_error_after_the_run():
    agent, paid = buyer(120, 5)
    with pytest.raises(
        DecisionsLeftOver, match=r'2 decisions .* reject: "too risky" \(no. 2\), stop \(no. 3\)'
    ) as error:
        agent.run("Buy", decisions=[True, Reject("too risky"), Stop()])
    assert isinstance(error.value, AssertionError)
    assert (agent.last.status, paid, len(agent.history)) == ("completed", [120, 5], 2)


def test_a_run_that_has_not_ended_may_need_them_yet():
    agent, paid = buyer(120, 200)
    assert agent.run("Buy", decisions=[True]).interrupted
    assert str(agent.resume(True)) == "Done."
    assert paid == [120, 200]
    agent, _ = buyer(120, 200)
    assert agent.run("Buy", decisions=[Stop("enough"), True]).status == "cancelled"


def test_a_proposed_plan_needs_its_decisions_when_it_is_done():
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    plan = PlanAgent("p", ScriptedLLM(['["Pay"]', call("pay"), "Paid.", "Done."]), tools=[pay])
    assert plan.propose("Go", decisions=[True]).interrupted
    assert str(plan.run_plan()) == "Done."


def test_decisions_may_be_bound_to_digests():
    first, second = digests(120, 200)
    agent, paid = buyer(120, 200)
    agent.run("Buy", decisions={second: False, first: Approve({"amount": 7})})
    assert (decided(agent), paid) == ([("approved", "cell"), ("rejected", "cell")], [7])
    agent, paid = buyer(120, 201)  # another amount: not what was decided about
    assert agent.run("Buy", decisions={first: True, second: True}).interrupted
    assert [one.shown for one in agent.last.interrupt.pendings] == ["pay(amount=201)"]
    assert paid == [120]
    agent, _ = buyer(120)
    with pytest.raises(DecisionsLeftOver, match=rf"a decision was not needed: approve \({second}\)"):
        agent.run("Buy", decisions={first: True, second: True})


def test_a_file_decides_by_digest(tmp_path):
    first, second = digests(120, 200)
    path = tmp_path / "ci.json"
    path.write_text(json.dumps({first: {"reject": "too risky"}, second: "approve"}))
    agent, paid = buyer(120, 200)
    agent.run("Buy", decisions=read_decisions(path))
    assert (decided(agent), paid) == ([("rejected", "file"), ("approved", "file")], [200])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (None, "ci.json: cannot be read"),
        ("{", "ci.json: this is not JSON"),
        ('["approve"]', "ci.json: expected an object such as"),
        ('{"call_1": "approve"}', "ci.json: expected a digest of 32 characters.*got 'call_1'"),
        (json.dumps({"a" * 33: "approve"}), f"ci.json: expected a digest of 32 characters.*got '{'a' * 33}'"),
        (json.dumps({"a" * 32 + "\n": "approve"}), "ci.json: expected a digest of 32 characters"),
        (json.dumps({"a" * 32: "yes"}), f"ci.json: {'a' * 32}: expected approve.*got 'yes'"),
        (json.dumps({"a" * 32: None}), f"ci.json: {'a' * 32}: .*got None"),
        (json.dumps({"a" * 32: 1, "b" * 32: 2}).replace("b", "a"), "a key comes twice"),
        ("[" * 100_000, "ci.json: this is not JSON"),
    ],
)
def test_a_file_that_is_wrong_says_what_is(text, match, tmp_path):
    path = tmp_path / "ci.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DecisionError, match=match):
        read_decisions(path)


def test_what_are_no_decisions_is_refused_before_the_run():
    agent, _ = buyer(120)
    for wrong in ("approve", 3, ["approve"], {"a": "approve"}):
        with pytest.raises(DecisionError, match="expected"):
            agent.run("Buy", decisions=wrong)
    assert agent.last is None
