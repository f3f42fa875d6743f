"""The tools that ask context sources pass the gate like any other: a source is not asked before that is allowed."""

from __future__ import annotations

import pytest
from buying import BOTH, call, heard, resume, run

from nbagent import Agent, Answer, ApprovalPolicy, ContextBlock, Reject, ScriptedLLM, ToolPermissions

ASKING = call("retrieve_context", {"source": "DOCS", "query": "salaries"})


class Source:
    """Counts what it is asked."""

    context_label, passive, active = "DOCS", False, True

    def __init__(self):
        self.queries = []

    def get_blocks(self, query, *, top_k=8):
        self.queries.append(query.query_text)
        return [ContextBlock("a fact", score=0.5)]


def reader(source, *script, **options):
    return Agent("reader", ScriptedLLM(script or [ASKING, heard]), retrievers=[source], **options)


@BOTH
@pytest.mark.parametrize(
    "rule",
    ["retrieve_context", "retrieve_*", "context:*", "context:retrieve_context", "all",
     "retrieve_context(query == 'salaries')", "retrieve_context(top_k > 5)"],
)  # fmt: skip
def test_a_source_is_asked_once_when_that_is_approved(rule, asynchronous):
    source = Source()
    agent = reader(source, approvals=ApprovalPolicy([rule]))
    result = run(agent, asynchronous=asynchronous)
    [pending] = result.interrupt.pendings
    assert (pending.tool_name, pending.origin, source.queries) == (
        "retrieve_context", "context:retrieve_context", [],
    )  # fmt: skip
    done = resume(agent, True, asynchronous=asynchronous)
    assert ("a fact" in done.final_output, source.queries) == (True, ["salaries"])


@BOTH
@pytest.mark.parametrize("decision", [False, Reject("private"), Answer("nothing there")], ids=str)
def test_a_source_is_not_asked_where_that_is_not_approved(decision, asynchronous):
    source = Source()
    agent = reader(source, approvals=ApprovalPolicy(["context:*"]))
    run(agent, asynchronous=asynchronous)
    done = resume(agent, decision, asynchronous=asynchronous)
    assert (done.status, "a fact" in done.final_output, source.queries) == ("completed", False, [])


@pytest.mark.parametrize(
    "rules",
    [{"deny": ["retrieve_context"]}, {"deny": ["context:*"], "auto": ["all"]}, {"deny": ["all"]},
     {"deny": ["retrieve_context(source == 'DOCS')"], "approve": ["all"]}],
)  # fmt: skip
def test_a_source_is_not_asked_where_that_is_denied(rules):
    source = Source()
    agent = reader(source, approvals=ApprovalPolicy(**rules), decide=lambda pendings: True)
    assert "not permitted here" in agent.run("go").final_output
    assert source.queries == []


@pytest.mark.parametrize(
    "rules",
    [{}, {"approve": ["mcp:*", "list_context_sources"]}, {"approve": ["all"], "auto": ["context:*"]},
     {"approve": ["retrieve_context(top_k > 8)"]}],
)  # fmt: skip
def test_a_source_that_no_rule_is_about_is_asked_at_once(rules):
    source = Source()
    assert "a fact" in reader(source, approvals=ApprovalPolicy(**rules)).run("go").final_output
    assert source.queries == ["salaries"]


def test_what_an_agent_allows_is_one_thing_and_what_a_person_approves_another():
    source = Source()
    allowed = ToolPermissions(allow=["retrieve_context"])
    assert reader(source, permissions=allowed, approvals=ApprovalPolicy(["context:*"])).run("go").interrupted
    assert "not permitted" in reader(source, permissions=ToolPermissions(allow=["other"])).run("go").final_output
    assert source.queries == []
    assert "a fact" in reader(source, permissions=allowed).run("go").final_output


def test_what_is_denied_is_hidden_and_the_other_tool_is_not():
    agent = reader(Source(), approvals=ApprovalPolicy(deny=["retrieve_context"]))
    assert [one.name for one in agent.observe("go").tools] == ["list_context_sources"]


@BOTH
def test_rules_about_sources_hold_in_agents_inside(asynchronous):
    source = Source()
    script = [call("reader", {"task": "look"}), heard]
    lead = Agent("lead", ScriptedLLM(script), tools=[reader(source)], approvals=ApprovalPolicy(["context:*"]))
    [pending] = run(lead, asynchronous=asynchronous).interrupt.pendings
    assert (pending.agent, source.queries) == ("reader", [])
    assert "a fact" in resume(lead, True, asynchronous=asynchronous).final_output
    assert source.queries == ["salaries"]
