"""MCP tools at the gate: a server hears of a call when it is approved and not before, by its own account."""

from __future__ import annotations

import json

import pytest
from buying import BOTH, call, heard, resume, run

from nbagent import Agent, Answer, ApprovalPolicy, Approve, Reject, ScriptedLLM, ToolPermissions
from nbagent.errors import DecisionError
from nbagent.events import ApprovalRequested, innermost

ASKED = {
    "by any server": {"approve": ["mcp:*"]},
    "by this server": {"approve": ["mcp:double"]},
    "by server and tool": {"approve": ["mcp:double/pay"]},
    "by server and pattern": {"approve": ["mcp:*/p*"]},
    "by name": {"approve": ["pay"]},
    "by what is paid": {"approve": ["pay(amount > 100)"]},
    "as all": {"approve": ["all"]},
    "though another server may": {"approve": ["all"], "auto": ["mcp:other"]},
}
FREE = {
    "without rules": {},
    "with rules about another server": {"approve": ["mcp:other", "mcp:doubles", "mcp:double/pa"]},
    "with rules about functions": {"approve": ["agent:*", "context:*", "paying"]},
    "with a smaller amount": {"approve": ["pay(amount > 500)"], "deny": ["pay(amount > 1000)"]},
    "that is let run": {"auto": ["mcp:double"], "approve": ["all"]},
}
DENIED = {
    "by any server": ({"deny": ["mcp:*"]}, "not permitted"),
    "though it is let run": ({"deny": ["mcp:double/pay"], "approve": ["pay"], "auto": ["pay"]}, "not permitted"),
    "by what is paid": ({"deny": ["pay(amount > 100)"]}, "deny: pay(amount > 100)"),
}


@pytest.fixture
def paid(tmp_path):
    """What the server has paid, by its own account."""

    def read():
        path = tmp_path / "paid"
        return path.read_text().split() if path.exists() else []

    return read


@pytest.fixture
def payer(tools, tmp_path):
    def made(*script, name="payer", **options):
        paying = call("pay", {"folder": str(tmp_path), "amount": 120})
        return Agent(name, ScriptedLLM(script or [paying, heard]), tools=[tools["pay"]], **options)

    return made


@BOTH
@pytest.mark.parametrize("rules", ASKED.values(), ids=ASKED)
def test_a_call_of_a_servers_tool_waits_and_is_made_once_when_it_is_approved(rules, asynchronous, payer, paid):
    agent = payer(approvals=ApprovalPolicy(**rules))
    result = run(agent, asynchronous=asynchronous)
    assert (result.status, paid()) == ("interrupted", [])
    [pending] = result.interrupt.pendings
    assert (pending.tool_name, pending.origin, pending.agent) == ("pay", "mcp:double", "payer")
    assert json.loads(pending.arguments)["amount"] == 120
    done = resume(agent, True, asynchronous=asynchronous)
    assert (done.final_output, paid()) == ("heard: paid 120", ["120"])
    assert agent.replay(done.events).final_output == "heard: paid 120"
    assert paid() == ["120"]


@BOTH
@pytest.mark.parametrize(
    ("decision", "output", "amounts"),
    [
        (Reject("too much"), "heard: Not run: this call was rejected. The reason: too much", []),
        (False, "heard: Not run: this call was rejected.", []),
        (Answer("it was paid"), "heard: it was paid", []),
    ],
    ids=["reject", "false", "answer"],
)
def test_of_a_call_that_is_not_approved_the_server_never_hears(decision, output, amounts, asynchronous, payer, paid):
    agent = payer(approvals=ApprovalPolicy(["mcp:*"]))
    run(agent, asynchronous=asynchronous)
    assert resume(agent, decision, asynchronous=asynchronous).final_output.startswith(output)
    assert paid() == amounts


def test_what_the_server_gets_is_what_was_put_in_place_if_its_schema_takes_it(payer, paid, tmp_path):
    agent = payer(approvals=ApprovalPolicy(["mcp:*"], deny=["pay(amount > 200)"]))
    agent.run("go")
    with pytest.raises(DecisionError, match="in place of pay's"):
        agent.resume(Approve({"folder": str(tmp_path)}))
    with pytest.raises(DecisionError, match=r"in place of pay's: not permitted .*deny: pay\(amount > 200\)"):
        agent.resume(Approve({"folder": str(tmp_path), "amount": 201}))
    assert paid() == []
    agent.resume(Approve({"folder": str(tmp_path), "amount": 5}))
    assert paid() == ["5"]


@pytest.mark.parametrize("rules", FREE.values(), ids=FREE)
def test_a_call_that_no_rule_is_about_is_made_at_once(rules, payer, paid):
    result = payer(approvals=ApprovalPolicy(**rules)).run("go")
    assert (result.final_output, paid()) == ("heard: paid 120", ["120"])


@BOTH
@pytest.mark.parametrize(("rules", "why"), DENIED.values(), ids=DENIED)
def test_a_call_that_is_denied_is_answered_with_the_rule(rules, why, asynchronous, payer, paid):
    result = run(payer(approvals=ApprovalPolicy(**rules), decide=lambda pendings: True), asynchronous=asynchronous)
    assert result.status == "completed"
    assert ("not permitted here" in result.final_output, why in result.final_output) == (True, True)
    assert paid() == []


def test_what_an_agent_allows_is_one_thing_and_what_a_person_approves_another(payer, paid):
    agent = payer(approvals=ApprovalPolicy(["mcp:*"]), permissions=ToolPermissions(allow=["pay"]))
    assert (agent.run("go").status, paid()) == ("interrupted", [])
    agent = payer(permissions=ToolPermissions(allow_origins=["mcp:other"]), decide=lambda pendings: True)
    assert "not permitted" in agent.run("go").final_output
    agent = payer(permissions=ToolPermissions(allow_origins=["mcp:double"]))
    assert (agent.run("go").final_output, paid()) == ("heard: paid 120", ["120"])


@BOTH
def test_rules_about_servers_hold_in_agents_inside(asynchronous, payer, paid):
    script = [call("payer", {"task": "pay"}), heard]
    lead = Agent("lead", ScriptedLLM(script), tools=[payer()], approvals=ApprovalPolicy(["mcp:*"]))
    result = run(lead, asynchronous=asynchronous)
    [pending] = result.interrupt.pendings
    assert (pending.agent, pending.origin, paid()) == ("payer", "mcp:double", [])
    assert resume(lead, True, asynchronous=asynchronous).final_output.startswith("heard: heard: paid 120")
    assert paid() == ["120"]


def test_calls_of_a_server_and_of_functions_wait_together_and_each_has_its_decision(payer, paid, tmp_path):
    noted = []

    def note(text: str) -> str:
        """Notes."""
        noted.append(text)
        return "noted"

    calls = [
        call("pay", {"folder": str(tmp_path), "amount": 1}, call_id="a"),
        call("note", {"text": "x"}, call_id="b"),
        call("pay", {"folder": str(tmp_path), "amount": 3}, call_id="c"),
    ]
    agent = payer(calls, "done", approvals=ApprovalPolicy(["mcp:*", "note"]))
    agent.own_tools.register(note)
    assert [one.origin for one in agent.run("go").interrupt.pendings] == ["mcp:double", "function", "mcp:double"]
    assert (agent.resume({"b": True, "c": True}).status, noted, paid()) == ("interrupted", [], [])
    result = agent.resume({"a": False})
    assert (result.final_output, noted, paid()) == ("done", ["x"], ["3"])
    questions = [event for event in map(innermost, result.events) if isinstance(event, ApprovalRequested)]
    assert [(one.call.id, one.origin) for one in questions] == [
        ("a", "mcp:double"), ("b", "function"), ("c", "mcp:double"),
    ]  # fmt: skip
