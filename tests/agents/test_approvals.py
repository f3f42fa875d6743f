"""Approvals: a call that a person has to allow waits, whoever brings the tool; what was done is never done again."""

from __future__ import annotations

import asyncio
import itertools
import json

import pytest
from buying import BOTH, call, heard, look, nothing_ran, pay, paying, ran, resume, run  # noqa: F401

from nbagent import (
    Agent,
    AgentTool,
    Answer,
    ApprovalPolicy,
    Approve,
    Limits,
    PlanAgent,
    ReflectionAgent,
    Reject,
    ScriptedLLM,
    Stop,
    Veto,
    tool,
)
from nbagent.errors import ConfigError, DecisionError
from nbagent.events import ApprovalDecided, ApprovalRequested, RunFinished, ToolReturned, ToolStarted, innermost

parallel_pay = tool(name="pay", approval=True, parallel=True)(pay.function)


def buyer(*script, tools=(pay, look), **options):
    return Agent("buyer", ScriptedLLM(script or [paying(), heard]), tools=list(tools), **options)


# what waits


@BOTH
def test_a_call_that_needs_approval_does_not_run_where_nobody_decides(asynchronous):
    agent = buyer()
    result = run(agent, asynchronous=asynchronous)
    assert (result.status, result.final_output, ran) == ("interrupted", None, [])
    assert result.stop_reason == 'waits for a decision about pay(to="Ann", amount=120)'
    [pending] = result.interrupt.pendings
    assert (pending.tool_name, json.loads(pending.arguments), pending.call_id) == (
        "pay", {"to": "Ann", "amount": 120}, "call_1",
    )  # fmt: skip
    assert (pending.agent, pending.origin, pending.why, pending.kind) == (
        "buyer", "function", "pay(amount > 100)", "approval",
    )  # fmt: skip
    assert agent.waiting == {None: result.interrupt}
    assert agent.history == ()


def test_a_call_that_needs_none_runs():
    assert buyer(paying(100), heard).run("go").final_output == "heard: paid 100"


@BOTH
@pytest.mark.parametrize("batch", [[look, pay], [pay, look]], ids=["first", "last"])
def test_no_call_of_a_reply_runs_before_all_of_it_is_decided(batch, asynchronous):
    calls = [paying() if one is pay else call("look", call_id="other") for one in batch]
    agent = buyer(calls, "done")
    run(agent, asynchronous=asynchronous)
    assert ran == []
    resume(agent, True, asynchronous=asynchronous)
    assert ran == [("Ann", 120) if one is pay else "looked" for one in batch]


def test_several_calls_of_a_reply_are_asked_about_at_once_in_their_order():
    agent = buyer([paying(200, call_id="b"), call("look", call_id="l"), paying(300, call_id="a")], "done")
    assert [one.call_id for one in agent.run("go").interrupt.pendings] == ["b", "a"]


def test_what_is_decided_for_one_leaves_the_others_waiting():
    agent = buyer([paying(200, call_id="a"), paying(300, call_id="b")], "done")
    agent.run("go")
    again = agent.resume({"b": True})
    assert (again.status, ran) == ("interrupted", [])
    assert [one.call_id for one in again.interrupt.pendings] == ["a"]
    done = agent.resume({"a": Reject("no")})
    assert (done.final_output, ran) == ("done", [("Ann", 300)])


@pytest.mark.parametrize("origin", ["function", "mcp:files", "agent:x", "context:docs"])
def test_wherever_a_tool_comes_from_it_passes_the_same_gate(origin):
    made = tool(name="act")(lambda: ran.append("acted") or "ok")
    made.origin = origin
    agent = Agent(
        "a",
        ScriptedLLM([call("act"), "done"]),
        tools=[made],
        approvals=ApprovalPolicy([origin] if ":" in origin else ["act"]),
    )
    assert agent.run("go").interrupted
    assert ran == []


# decisions


@BOTH
@pytest.mark.parametrize(
    ("decision", "output", "happened"),
    [
        (True, "heard: paid 120", [("Ann", 120)]),
        (Approve(), "heard: paid 120", [("Ann", 120)]),
        ({"call_1": True}, "heard: paid 120", [("Ann", 120)]),
        (False, "heard: Not run: this call was rejected. Do not make it again like this.", []),
        (Reject("too much"), "heard: Not run: this call was rejected. The reason: too much", []),
        (Answer("paid last week"), "heard: paid last week", []),
        (
            Approve({"to": "Bob", "amount": 5}),
            'heard: paid 5\n(The arguments were changed before it ran: {"to": "Bob", "amount": 5})',
            [("Bob", 5)],
        ),
        (Approve(note="and hurry"), "heard: paid 120\n(A note on this: and hurry)", [("Ann", 120)]),
    ],
    ids=str,
)
def test_what_is_decided_is_what_happens_and_what_the_model_hears(decision, output, happened, asynchronous):
    agent = buyer()
    run(agent, asynchronous=asynchronous)
    result = resume(agent, decision, asynchronous=asynchronous)
    assert (result.status, result.final_output, ran) == ("completed", output, happened)
    assert (result.usage.llm_calls, result.usage.tool_calls, len(result.turns)) == (2, len(happened), 2)
    assert [m.content for m in agent.history] == ["go", output]
    assert agent.waiting == {}
    assert agent.replay(result.events) == result


@BOTH
def test_stop_ends_the_run(asynchronous):
    agent = buyer()
    run(agent, key="k", asynchronous=asynchronous)
    result = resume(agent, Stop("enough"), asynchronous=asynchronous)
    assert (result.status, result.stop_reason, ran) == ("cancelled", "enough", [])
    assert (agent.history, agent.model.position, agent.waiting) == ((), 0, {})
    assert (
        buyer().run("go", decisions=[Stop()]).stop_reason == 'a person has stopped the run at pay(to="Ann", amount=120)'
    )


def test_edited_arguments_are_in_the_journal_and_in_the_next_request():
    agent = buyer()
    agent.run("go")
    result = agent.resume(Approve({"to": "Bob", "amount": 5}))
    [started] = [e for e in result.events if isinstance(e, ToolStarted)]
    assert json.loads(started.call.arguments) == {"to": "Bob", "amount": 5}
    assert '"Bob"' in agent.requests[-1].messages[-1].content
    assert json.loads(result.tool_calls[0].call.arguments) == {"to": "Bob", "amount": 5}


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (None, "got None"),
        ("yes", "got 'yes'"),
        (1, "got 1"),
        ({}, None),
        ({"call_2": True}, "no call 'call_2' waits"),
        ([True, True], "got 2 decisions about one call"),
        (Approve({"to": "Bob"}), "the arguments that were put in place of pay's: .*amount"),
        (Approve({"to": "Bob", "amount": "5"}), "the arguments that were put in place of pay's: .*amount"),
    ],
)
def test_what_is_no_decision_leaves_everything_as_it_was(decision, why):
    agent = buyer()
    before = agent.run("go")
    if why is None:
        assert agent.resume(decision) == before
    else:
        with pytest.raises(DecisionError, match=why):
            agent.resume(decision)
    assert (ran, agent.waiting[None].pendings) == ([], before.interrupt.pendings)
    assert agent.resume(True).final_output == "heard: paid 120"


def test_edited_arguments_pass_the_rules_too():
    agent = buyer(approvals=ApprovalPolicy(deny=["pay(to == 'Eve')"]))
    agent.run("go")
    with pytest.raises(DecisionError, match=r"in place of pay's: not permitted .*deny: pay"):
        agent.resume(Approve({"to": "Eve", "amount": 5}))
    assert (ran, len(agent.waiting)) == ([], 1)


def test_where_one_of_several_decisions_is_wrong_none_counts():
    agent = buyer([paying(200, call_id="a"), paying(300, call_id="b")], "done")
    agent.run("go")
    with pytest.raises(DecisionError, match="amount"):
        agent.resume({"a": True, "b": Approve({"to": "Bob"})})
    assert [one.call_id for one in agent.waiting[None].pendings] == ["a", "b"]
    assert agent.resume({"a": False, "b": True}).final_output == "done"
    assert ran == [("Ann", 300)]


def test_a_decision_counts_once():
    agent = buyer()
    agent.run("go")
    agent.resume(True)
    with pytest.raises(ConfigError, match="no run of buyer waits for a decision"):
        agent.resume(True)
    assert ran == [("Ann", 120)]


def test_further_calls_are_asked_about_anew():
    agent = buyer(paying(), paying(), "done")
    first = agent.run("go")
    second = agent.resume(True)
    assert (second.status, len(ran)) == ("interrupted", 1)
    assert first.interrupt.pending.digest != second.interrupt.pending.digest
    with pytest.raises(DecisionError, match="no call"):
        agent.resume({first.interrupt.pending.digest: True})
    assert (agent.resume(True).final_output, len(ran)) == ("done", 2)


@pytest.mark.parametrize(("always", "times"), [("tool", 3), ("arguments", 2), (None, 1)])
def test_what_is_approved_for_the_run_is_asked_once(always, times):
    agent = buyer(paying(), paying(), paying(500), "done")
    agent.run("go")
    result = agent.resume(Approve(always=always))
    assert len(ran) == times
    assert result.interrupted is (times < 3)
    decided = [e.by for e in result.events if isinstance(e, ApprovalDecided)]
    assert decided == ["person", "always", "always"][:times]
    new = agent.resume(Stop()) if result.interrupted else result
    assert agent.replay(new.events) == new
    agent.discard()
    agent.model.reset()
    assert agent.run("again").interrupted  # of this run only


def test_always_counts_for_calls_of_the_same_reply():
    agent = buyer(
        [paying(200, call_id="a"), paying(300, call_id="b")], "done", decide=lambda p: {"a": Approve(always="tool")}
    )
    assert agent.run("go").final_output == "done"
    assert ran == [("Ann", 200), ("Ann", 300)]


# who decides


@BOTH
@pytest.mark.parametrize("awaits", [False, True])
def test_a_function_may_decide(awaits, asynchronous):
    asked = []

    def decide(pendings):
        asked.append([one.shown for one in pendings])
        return Reject("by rule")

    async def adecide(pendings):
        await asyncio.sleep(0)
        return decide(pendings)

    result = run(buyer(decide=adecide if awaits else decide), asynchronous=asynchronous)
    assert result.final_output.endswith("The reason: by rule")
    assert asked == [['pay(to="Ann", amount=120)']]
    assert [e.by for e in result.events if isinstance(e, ApprovalDecided)] == ["policy"]


def test_decisions_of_the_run_come_first_then_those_of_the_agent_then_those_of_the_caller():
    order = []
    agent = buyer(paying(), paying(), paying(), "done", decide=lambda p: order.append("agent"))
    result = agent.run("go", decisions=[True], decide=lambda p: order.append("caller") or True)
    assert order == ["agent", "caller", "agent", "caller"]
    assert [e.by for e in result.events if isinstance(e, ApprovalDecided)] == ["cell", "policy", "policy"]


def test_nothing_decided_is_no_consent():
    assert buyer(decide=lambda p: None).run("go").interrupted
    assert ran == []


@pytest.mark.parametrize("answer", ["yes", 1, {"call_1": "ok"}, ["approve"], object()])
def test_a_function_that_decides_nonsense_runs_nothing(answer):
    agent = buyer(decide=lambda p: answer)
    with pytest.raises(DecisionError):
        agent.run("go")
    assert (ran, agent.last.status) == ([], "interrupted")


def test_an_error_of_what_decides_ends_the_run():
    def decide(pendings):
        raise RuntimeError("no network")

    agent = buyer(decide=decide)
    with pytest.raises(RuntimeError, match="no network"):
        agent.run("go")
    assert (ran, agent.last.status) == ([], "failed")


@pytest.mark.parametrize("decide", [True, "always", Approve()])
def test_what_decides_is_a_function(decide):
    with pytest.raises(ConfigError, match="decide: expected a function"):
        buyer(decide=decide)


def test_approvals_is_a_policy():
    with pytest.raises(ConfigError, match="approvals: expected ApprovalPolicy"):
        buyer(approvals=["pay"])


# policies


def test_a_call_that_is_not_permitted_is_answered_with_the_rule():
    agent = buyer(approvals=ApprovalPolicy(deny=["pay(amount > 100)"]))
    assert agent.run("go").final_output == (
        "heard: Not run: this call is not permitted here (deny: pay(amount > 100)). Do without it."
    )
    assert ran == []


def test_a_tool_of_which_no_call_is_permitted_is_hidden_and_refused():
    agent = buyer(approvals=ApprovalPolicy(deny=["p*"]))
    assert [one.name for one in agent.observe("go").tools] == ["look"]
    assert "not permitted here" in agent.run("go").final_output
    assert ran == []


def test_limits_do_not_count_calls_that_did_not_run():
    agent = buyer(paying(), call("look"), "done", limits=Limits(max_tool_calls=1), decide=lambda p: Reject("no"))
    assert agent.run("go").final_output == "done"
    assert ran == ["looked"]


def test_hooks_are_asked_first_and_a_person_sees_what_would_run():
    class Half:
        def before_tool(self, name, arguments):
            return {**arguments, "amount": arguments["amount"] // 2}

    agent = buyer(paying(500), heard, hooks=[Half()])
    assert agent.run("go").interrupt.pending.shown == 'pay(to="Ann", amount=250)'
    agent.resume(True)
    assert ran == [("Ann", 250)]  # and it is not asked again

    class No:
        def before_tool(self, name, arguments):
            return Veto("no")

    assert buyer(hooks=[No()]).run("go").final_output == "heard: no"


def test_the_chinese_texts_say_it_in_chinese():
    agent = buyer(texts="chinese", decide=lambda p: Reject("太贵"))
    assert agent.run("go").final_output == "heard: 未执行：此调用已被拒绝。原因：太贵"


# nested


def team(**options):
    worker = buyer(**options)
    return worker, Agent("lead", ScriptedLLM([call("buyer", {"task": "buy"}), heard]), tools=[worker])


@BOTH
def test_what_waits_inside_waits_at_the_top_and_goes_on_there(asynchronous):
    worker, lead = team()
    result = run(lead, asynchronous=asynchronous)
    [pending] = result.interrupt.pendings
    assert (result.status, pending.agent, pending.tool_name) == ("interrupted", "buyer", "pay")
    assert worker.waiting == {}
    done = resume(lead, Approve({"to": "Bob", "amount": 7}), asynchronous=asynchronous)
    assert ran == [("Bob", 7)]
    assert done.final_output.startswith("heard: heard: paid 7")
    assert (done.usage.llm_calls, done.usage.tool_calls) == (4, 2)
    assert lead.replay(done.events) == done


@BOTH
def test_stop_inside_ends_all(asynchronous):
    _, lead = team()
    run(lead, asynchronous=asynchronous)
    result = resume(lead, Stop(), asynchronous=asynchronous)
    assert (result.status, ran) == ("cancelled", [])


@pytest.mark.parametrize("lists", [{"approve": ["all"]}, {"approve": ["look"]}, {"deny": ["look"]}])
def test_what_the_outer_agent_says_counts_inside_too(lists):
    worker = Agent("worker", ScriptedLLM([call("look"), heard]), tools=[look])
    lead = Agent("lead", ScriptedLLM([call("worker", {"task": "t"}), heard]), tools=[worker],
                 approvals=ApprovalPolicy(**lists, auto=["worker"]))  # fmt: skip
    result = lead.run("go")
    assert ran == []
    assert result.interrupted is ("deny" not in lists)


def test_the_outer_agent_cannot_loosen_what_the_inner_one_says():
    worker = buyer()
    lead = Agent(
        "lead",
        ScriptedLLM([call("buyer", {"task": "t"}), heard]),
        tools=[worker],
        approvals=ApprovalPolicy(auto=["all", "pay"]),
    )
    assert lead.run("go").interrupted
    assert ran == []


def test_what_the_inner_agent_lets_run_is_not_asked_about_because_the_outer_one_has_rules():
    worker = buyer(approvals=ApprovalPolicy(auto=["pay"]))
    lead = Agent("lead", ScriptedLLM([call("buyer", {"task": "t"}), heard]), tools=[worker],
                 approvals=ApprovalPolicy(["mcp:*"]))  # fmt: skip
    assert lead.run("go").final_output.startswith("heard: heard: paid 120")


@BOTH
def test_several_inside_wait_side_by_side_and_each_gets_its_own_decision(asynchronous):
    workers = [Agent(f"w{n}", ScriptedLLM([paying(100 + n), heard]), tools=[pay]) for n in (1, 2, 3)]
    calls = [call(w.name, {"task": "t"}, call_id=w.name) for w in workers]
    lead = Agent("lead", ScriptedLLM([calls, "done"]), tools=workers)
    pendings = run(lead, asynchronous=asynchronous).interrupt.pendings
    assert [one.agent for one in pendings] == ["w1", "w2", "w3"]
    with pytest.raises(DecisionError, match="3 calls have the id 'call_1'"):
        resume(lead, {"call_1": True}, asynchronous=asynchronous)
    result = resume(lead, {pendings[0].digest: True, pendings[2].digest: False}, asynchronous=asynchronous)
    assert [one.agent for one in result.interrupt.pendings] == ["w2"]
    assert resume(lead, True, asynchronous=asynchronous).final_output == "done"
    assert sorted(ran) == [("Ann", 101), ("Ann", 102)]


def test_written_decisions_are_used_in_the_order_of_the_calls_inside():
    workers = [Agent(f"w{n}", ScriptedLLM([paying(100 + n), heard]), tools=[pay]) for n in (1, 2, 3)]
    calls = [call(w.name, {"task": "t"}, call_id=w.name) for w in workers]
    for _ in range(5):
        ran.clear()
        lead = Agent("lead", ScriptedLLM([calls, "done"]), tools=workers)
        lead.reset()
        assert lead.run("go", decisions=[True, False, True]).final_output == "done"
        assert ran == [("Ann", 101), ("Ann", 103)]


def test_what_an_agent_inside_remembers_belongs_to_the_run_that_was_gone_on_with():
    worker = Agent("worker", ScriptedLLM(["w1", "w2"]))
    script = [call("worker", {"task": "one"}), paying(), call("worker", {"task": "two"}), "done"]
    lead = Agent("lead", ScriptedLLM(script), tools=[AgentTool(worker, scope="team"), pay])
    lead.run("go")
    lead.resume(True)
    assert [m.content for m in worker.get_history("team")] == ["one", "w1", "two", "w2"]
    lead.undo()
    assert worker.get_history("team") == []
    assert (lead.model.position, worker.model.position) == (0, 0)


# strategies


@BOTH
def test_a_step_of_a_plan_waits_and_goes_on(asynchronous):
    script = ['["buy", "tell"]', paying(), "bought", "told", "All done."]
    agent = PlanAgent("planner", ScriptedLLM(script), tools=[pay])
    result = run(agent, asynchronous=asynchronous)
    assert (result.status, result.interrupt.pending.tool_name, ran) == ("interrupted", "pay", [])
    done = resume(agent, True, asynchronous=asynchronous)
    assert (done.final_output, [step.status for step in done.plan], ran) == (
        "All done.",
        ["done", "done"],
        [("Ann", 120)],
    )
    whole = PlanAgent("planner", ScriptedLLM(script), tools=[pay]).run("go", decisions=[True])
    assert [type(e) for e in whole.events] == [type(e) for e in done.events]
    assert agent.replay(done.events) == done


@BOTH
def test_a_step_of_a_proposed_plan_waits_and_the_plan_can_be_done_again(asynchronous):
    script = ['["buy"]', paying(), "bought", "All done."]
    agent = PlanAgent("planner", ScriptedLLM(script), tools=[pay])
    assert agent.propose("go", key=1).interrupt.pending.kind == "plan"
    assert agent.run_plan(key=2).interrupt.pending.tool_name == "pay"
    assert resume(agent, True, asynchronous=asynchronous).final_output == "All done."
    assert agent.run_plan(key=2).interrupted  # from its beginning
    assert resume(agent, False, asynchronous=asynchronous).final_output == "All done."
    assert ran == [("Ann", 120)]


@BOTH
@pytest.mark.parametrize(
    ("decision", "steps"),
    [(True, ["A", "B"]), (Approve(), ["A", "B"]), ({"plan": True}, ["A", "B"]), (Approve({"steps": ["C"]}), ["C"])],
)
def test_a_proposed_plan_is_resumed_like_any_run(decision, steps, asynchronous):
    agent = PlanAgent("planner", ScriptedLLM(['["A", "B"]', *["x"] * len(steps), "done"]))
    agent.propose("go")
    result = resume(agent, decision, asynchronous=asynchronous)
    assert (result.final_output, [step.title for step in result.plan]) == ("done", steps)
    assert agent.waiting == {}


@pytest.mark.parametrize(
    "decision", [False, Reject("no"), Stop(), "yes", Approve({"steps": []}), Approve({"steps": "C"})]
)
def test_what_is_no_decision_about_a_plan_leaves_it_waiting(decision):
    agent = PlanAgent("planner", ScriptedLLM(['["A"]', "x", "done"]))
    agent.propose("go")
    with pytest.raises(DecisionError, match="a plan waits: True runs it"):
        agent.resume(decision)
    assert agent.resume(True).final_output == "done"


@BOTH
def test_a_critic_waits_and_goes_on(asynchronous):
    agent = ReflectionAgent("writer", ScriptedLLM(["draft", paying(), "GOOD ENOUGH"]), tools=[pay])
    assert run(agent, asynchronous=asynchronous).interrupt.pending.tool_name == "pay"
    done = resume(agent, True, asynchronous=asynchronous)
    assert (done.final_output, ran) == ("draft", [("Ann", 120)])


@BOTH
def test_streams_tell_of_questions_and_decisions(asynchronous):
    async def collected():
        return [event async for event in agent.astream("go")], [event async for event in agent.astream_resume(True)]

    agent = buyer()
    first, second = (
        asyncio.run(collected()) if asynchronous else (list(agent.stream("go")), list(agent.stream_resume(True)))
    )
    assert [type(e) for e in first][-2:] == [ApprovalRequested, RunFinished]
    assert [e.verdict for e in second if isinstance(e, ApprovalDecided)] == ["approved"]
    assert isinstance(second[-1], RunFinished)


# other runs meanwhile


def test_another_run_is_refused_while_one_waits():
    agent = buyer(paying(), heard, "next")
    agent.run("go")
    with pytest.raises(
        ConfigError, match=r'buyer waits for a decision about pay\(to="Ann", amount=120\); decide first: buyer.resume'
    ):
        agent.run("next")
    assert agent.run("elsewhere", scope="other").final_output.startswith("heard")
    assert agent.discard().interrupted
    assert agent.discard() is None
    assert agent.run("next").final_output == "next"


def test_the_same_exchange_made_again_takes_the_place_of_the_one_that_waits():
    agent = buyer()
    agent.run("go", key="cell")
    again = agent.run("go", key="cell")
    assert (again.interrupted, agent.model.position) == (True, 1)
    assert agent.resume(True).final_output == "heard: paid 120"
    assert [m.content for m in agent.history] == ["go", "heard: paid 120"]


def test_a_run_that_waited_is_one_exchange_which_undo_takes_back():
    agent = buyer("before", paying(), heard)
    agent.run("first")
    agent.run("go")
    agent.resume(True)
    assert len(agent.history) == 4
    agent.undo()
    assert ([m.content for m in agent.history], agent.model.position) == (["first", "before"], 1)


def test_scopes_wait_apart():
    agent = buyer(paying(1000), paying(2000), heard, heard)
    agent.run("a", scope="a")
    agent.run("b", scope="b")
    assert {scope: one.scope for scope, one in agent.waiting.items()} == {"a": "a", "b": "b"}
    assert agent.resume(True, scope="b").final_output == "heard: paid 2000"
    assert agent.resume(False, scope="a").final_output.startswith("heard: Not run")
    assert ran == [("Ann", 2000)]


@BOTH
@pytest.mark.parametrize("first", [True, False], ids=["while it waits", "after it has waited"])
def test_an_interrupt_leaves_a_run_that_can_be_gone_on_with(first, asynchronous):
    interrupts = []

    def decide(pendings):
        if interrupts:
            raise interrupts.pop()
        return True

    agent = buyer(paying(200), paying(300), heard, decide=decide)
    if first:
        interrupts.append(KeyboardInterrupt())
    else:
        agent.decide = None
        run(agent, key="k", asynchronous=asynchronous)
        agent.model.reset()  # as after a restart
        agent.decide = decide
    goes = run if first else resume
    options = {"key": "k"} if first else {"decide": lambda p: (_ for _ in ()).throw(KeyboardInterrupt)}
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        goes(agent, "go" if first else True, asynchronous=asynchronous, **options)
    assert agent.last.status == "cancelled"
    assert ran == ([] if first else [("Ann", 200)])
    [pending] = agent.waiting[None].pendings
    assert pending.shown == f'pay(to="Ann", amount={200 if first else 300})'
    done = resume(agent, True, asynchronous=asynchronous)
    assert (done.final_output, ran) == ("heard: paid 300", [("Ann", 200), ("Ann", 300)])
    assert ([m.content for m in agent.history], agent.waiting) == (["go", "heard: paid 300"], {})
    again = run(agent, key="k", asynchronous=asynchronous, decisions=[False, False])
    assert (again.final_output[:15], len(agent.history), ran[2:]) == ("heard: Not run:", 2, [])


def test_a_run_that_was_stopped_after_its_decision_goes_on_without_another():
    def stop(request):
        if not stops:
            return "done"
        raise stops.pop()

    stops = [KeyboardInterrupt()]
    agent = buyer(paying(200), stop, stop)
    agent.run("go")
    with pytest.raises(KeyboardInterrupt):
        agent.resume(True)
    assert (agent.waiting, ran) == ({}, [("Ann", 200)])
    agent.model.position = 1
    assert (agent.resume().final_output, ran) == ("done", [("Ann", 200)])


# what was decided about is what runs


def test_a_tool_that_was_changed_meanwhile_does_not_run():
    agent = buyer()
    agent.run("go")

    @tool(name="pay", approval=True)
    def other(to: str, amount: int) -> str:
        """Pays."""
        ran.append("stolen")
        return ""

    agent.own_tools.register(other, overwrite=True)
    with pytest.raises(DecisionError, match="is not what would run now: the code of the tool"):
        agent.resume(True)
    agent.own_tools.register(pay, overwrite=True)
    assert (agent.resume(True).final_output, ran) == ("heard: paid 120", [("Ann", 120)])


def stolen(to: str, amount: int) -> str:
    """Pays."""
    ran.append("stolen")
    return ""


def test_a_tool_that_is_changed_while_a_person_decides_does_not_run():
    def decide(pendings):
        swapped = tool(name="pay")(stolen)
        agent.own_tools.register(swapped, overwrite=True)
        return True

    agent = buyer(decide=decide)
    with pytest.raises(DecisionError, match="is not what would run now"):
        agent.run("go")
    assert ran == []


def test_what_was_approved_for_the_run_counts_for_that_tool_only_not_for_one_of_its_name():
    @tool(name="pay", approval=True)
    def swapping(to: str, amount: int) -> str:
        """Pays."""
        agent.own_tools.register(tool(name="pay", approval=True)(stolen), overwrite=True)
        return "paid"

    agent = buyer(paying(), paying(), "done", tools=[swapping])
    agent.run("go")
    assert agent.resume(Approve(always="tool")).interrupted
    assert ran == []


@BOTH
def test_what_was_approved_for_the_run_can_be_taken_back(asynchronous):
    many = [paying(), paying(), call("look"), paying(), paying(), "done"]
    agent = buyer(*many, approvals=ApprovalPolicy(["look"]))
    run(agent, asynchronous=asynchronous)
    waits = resume(agent, Approve(always="tool"), asynchronous=asynchronous)
    assert (len(ran), waits.interrupt.pending.tool_name, waits.standing) == (2, "look", ("pay",))
    assert agent.waiting[None].standing == ("pay",)
    with pytest.raises(ConfigError, match=r"revoke: nothing of 'look' is approved .* are approved: pay"):
        agent.resume(True, revoke=["look"])
    with pytest.raises(ConfigError, match=r"revoke: expected the name of a tool, .* got 5; .* are approved: pay"):
        agent.resume(True, revoke=5)
    waits = resume(agent, True, asynchronous=asynchronous, revoke="pay")
    assert (ran[2:], waits.interrupt.pending.tool_name, waits.standing) == (["looked"], "pay", ())
    with pytest.raises(ConfigError, match="revoke: nothing is approved for the rest of the run"):
        agent.resume(True, revoke=True)
    waits = resume(agent, Approve(always="arguments"), asynchronous=asynchronous)
    assert (waits.final_output, waits.standing, len(ran)) == ("done", ("pay",), 5)  # what is said later counts again
    agent.model.reset()
    assert agent.replay(waits.events) == waits
    assert len(ran) == 5


@BOTH
def test_what_was_approved_inside_can_be_taken_back_at_the_top(asynchronous):
    worker = buyer(paying(), call("look"), paying(), heard, approvals=ApprovalPolicy(["look"]))
    lead = Agent("lead", ScriptedLLM([call("buyer", {"task": "buy"}), heard]), tools=[worker])
    run(lead, asynchronous=asynchronous)
    assert resume(lead, Approve(always="tool"), asynchronous=asynchronous).standing == ("pay",)
    waits = resume(lead, True, asynchronous=asynchronous, revoke=True)
    assert (ran, waits.interrupt.pending.tool_name, waits.standing) == ([("Ann", 120), "looked"], "pay", ())
    assert resume(lead, True, asynchronous=asynchronous).status == "completed"
    assert len(ran) == 3


def test_what_was_approved_for_equal_calls_counts_for_the_arguments_that_ran():
    agent = buyer(paying(), paying(), paying(500), "done")
    agent.run("go")
    assert agent.resume(Approve({"to": "Ann", "amount": 500}, always="arguments")).interrupted
    assert agent.resume(True).final_output == "done"
    assert ran == [("Ann", 500), ("Ann", 120), ("Ann", 500)]


def forged(events, change):
    return [change(event) if isinstance(event, ApprovalRequested | ApprovalDecided) else event for event in events]


def test_mutations_between_decision_and_execution_run_nothing():
    """Every leaf of the arguments, the tool, the number, the origin, the digest, the run: none runs."""
    from msgspec.structs import replace

    from nbagent.events import RunStarted
    from nbagent.messages import ToolCall

    agent = buyer()
    agent.run("go")
    whole = agent.resume(True)
    cut = [e for e in whole.events if not isinstance(e, ToolStarted | ToolReturned)][:6]
    assert isinstance(cut[-1], ApprovalDecided)
    ran.clear()
    assert agent.replay(cut).final_output == "heard: paid 120"
    assert ran == [("Ann", 120)]
    arguments = [json.dumps({"to": "Ann", "amount": n}) for n in range(101, 260) if n != 120]
    arguments += [
        json.dumps({"to": name, "amount": 120}) for name in ("ann", "Ann ", "Аnn", "Bob", "", "Ann\u200b", "A" * 50)
    ]
    calls = [ToolCall("call_1", "pay", text) for text in arguments]
    calls += [ToolCall("call_1", "look", "{}"), ToolCall("call_2", "pay", '{"to": "Ann", "amount": 120}')]
    mutations = [lambda e, c=c: replace(e, call=c) if isinstance(e, ApprovalRequested) else e for c in calls]
    mutations += [lambda e, n=n: replace(e, number=n) if isinstance(e, ApprovalRequested) else e for n in range(2, 60)]
    mutations += [
        lambda e, o=o: replace(e, origin=o) if isinstance(e, ApprovalRequested) else e for o in ("mcp:x", "agent:y", "")
    ]
    mutations += [lambda e, d=d: replace(e, digest=d) for d in ("", "0" * 32, "x")]
    mutations += [lambda e, d=d, kind=kind: replace(e, digest=d) if isinstance(e, kind) else e
                  for d in ("", "0" * 32) for kind in (ApprovalRequested, ApprovalDecided)]  # fmt: skip
    runs = [[replace(e, run_id=f"buyer-{n}") if isinstance(e, RunStarted) else e for e in cut] for n in range(2, 80)]
    ran.clear()
    refused = 0
    for events in [*[forged(cut, change) for change in mutations], *runs]:
        try:
            refused += agent.replay(events).status == "interrupted"
        except DecisionError:
            refused += 1
    print(f"mutations: {len(mutations) + len(runs)}, refused: {refused}, executed: {len(ran)}")
    assert (refused, ran) == (len(mutations) + len(runs), [])
    assert refused >= 300


SAID = {
    "approve": (True, lambda amount: [("Ann", amount)]),
    "reject": (Reject("no"), lambda amount: []),
    "answer": (Answer("paid last week"), lambda amount: []),
    "edit": (Approve({"to": "Bob", "amount": 7}), lambda amount: [("Bob", 7)]),
}
"""What is said about a call, and what runs then."""


def test_authority_is_used_once():
    """Double clicks, stale ids and digests, those of other runs, old ones beside a new one, a run resumed when it is
    over, after each way to decide about one, two or three calls: nothing runs twice, nothing runs that waits."""
    other = Agent("other", ScriptedLLM([paying(400, call_id="z")]), tools=[pay]).run("go").interrupt.pending
    attempts = set()

    def refused(agent, name, decision, error=DecisionError):
        before = list(ran)
        with pytest.raises(error):
            agent.resume(decision)
        assert ran == before
        attempts.add((verdicts, name))

    for verdicts in [one for count in (1, 2, 3) for one in itertools.product(SAID, repeat=count)]:
        ran.clear()
        amounts = dict(zip("abc", (200, 300, 500), strict=False))
        ids = list(amounts)[: len(verdicts)]
        calls = [paying(amounts[one], call_id=one) for one in ids]
        agent = buyer(calls, paying(400, call_id="z"), "done")
        first = agent.run("go").interrupt.pendings
        decision = {one: SAID[verdict][0] for one, verdict in zip(ids, verdicts, strict=True)}
        [new] = agent.resume(decision).interrupt.pendings
        assert ran == [
            did for one, verdict in zip(ids, verdicts, strict=True) for did in SAID[verdict][1](amounts[one])
        ]
        refused(agent, "the same again", decision)
        refused(agent, "one for each again", [True] * (len(ids) + 1))
        refused(agent, "that of another run", {other.digest: True})
        for pending in first:
            refused(agent, f"the id {pending.call_id}", {pending.call_id: True})
            refused(agent, f"the digest of {pending.call_id}", {pending.digest: True})
            refused(agent, f"the new one and {pending.call_id}", {new.digest: True, pending.digest: True})
        done = agent.resume({new.digest: Reject()})
        assert done.final_output == "done"
        refused(agent, "True, when it is over", True, ConfigError)
        refused(agent, "the digest, when it is over", {new.digest: True}, ConfigError)
    print(f"replays of authority: {len(attempts)}, no two alike; executed beyond the first: 0")
    assert len(attempts) >= 500


# calls that were started and have no result


def unfinished(agent, **options):
    """The events of a run that ended while its tool ran."""
    events = agent.run("go", decisions=[True], **options).events
    agent.model.reset()
    cut = next(i for i, e in enumerate(events) if isinstance(e, ToolStarted))
    ran.clear()
    return events[: cut + 1]


def test_what_is_unknown_is_asked_about():
    agent = buyer()
    result = agent.replay(unfinished(agent))
    assert (result.status, ran) == ("interrupted", [])
    [pending] = result.interrupt.pendings
    assert (pending.kind, pending.tool_name, pending.why) == ("unknown", "pay", "it was started, and has no result")


@pytest.mark.parametrize(
    ("decision", "output", "happened"),
    [
        (True, "heard: paid 120", [("Ann", 120)]),
        (Answer("paid, it was"), "heard: paid, it was", []),
        (Reject("it did not run"), "heard: Not run: this call was rejected. The reason: it did not run", []),
    ],
)
def test_what_is_unknown_runs_again_is_answered_or_did_not_run(decision, output, happened):
    agent = buyer(decide=lambda pendings: decision if pendings[0].kind == "unknown" else None)
    result = agent.replay(unfinished(agent))
    assert (result.final_output, ran) == (output, happened)
    assert agent.replay(result.events) == result


def test_what_is_unknown_does_not_run_again_with_other_arguments():
    agent = buyer(decide=lambda pendings: Approve({"to": "Bob", "amount": 1}))
    events = unfinished(agent)
    with pytest.raises(DecisionError, match="runs again as it was, or not at all"):
        agent.replay(events)
    assert ran == []


def test_what_runs_again_and_ends_again_is_asked_about_again():
    agent = buyer(decide=lambda pendings: True if pendings[0].kind == "unknown" and first else None)
    first = True
    events = unfinished(agent)
    whole = agent.replay(events)
    starts = [place for place, event in enumerate(whole.events) if isinstance(event, ToolStarted)]
    assert (len(starts), whole.usage.tool_calls) == (2, 2)
    ran.clear()
    first = False
    again = agent.replay(whole.events[: starts[1] + 1])
    assert (again.status, ran) == ("interrupted", [])
    before, now = agent.replay(events).interrupt.pending, again.interrupt.pending
    assert (before.kind, now.kind, before.digest == now.digest) == ("unknown", "unknown", False)


def test_what_was_decided_about_an_unknown_call_waits_no_more():
    two = [paying(200, call_id="a"), paying(300, call_id="b")]
    agent = buyer(two, heard, tools=[parallel_pay])
    events = agent.run("go", decisions=[True, True]).events
    agent.model.reset()
    cut = [place for place, event in enumerate(events) if isinstance(event, ToolStarted)][1]
    ran.clear()
    agent.decide = lambda pendings: {pendings[0].digest: Answer("paid")}
    result = agent.replay(events[: cut + 1])
    assert (result.status, ran, [one.call_id for one in result.interrupt.pendings]) == ("interrupted", [], ["b"])


@BOTH
def test_what_waits_inside_is_told_in_the_order_of_the_calls(asynchronous):
    for _ in range(10):
        workers = [Agent(f"w{n}", ScriptedLLM([paying(100 + n), heard]), tools=[pay]) for n in (1, 2, 3)]
        calls = [call(w.name, {"task": "t"}, call_id=w.name) for w in workers]
        result = run(Agent("lead", ScriptedLLM([calls, "done"]), tools=workers), asynchronous=asynchronous)
        assert [part.partition(":")[0] for part in result.stop_reason.split("; ")] == ["in w1", "in w2", "in w3"]


@pytest.mark.parametrize("options", [{"effect": "read"}, {"idempotent": True}])
def test_a_tool_that_only_reads_or_is_idempotent_runs_again(options):
    made = tool(name="pay", approval=True, **options)(lambda: ran.append("again") or "ok")
    agent = Agent("buyer", ScriptedLLM([call("pay", {}), heard]), tools=[made])
    assert agent.replay(unfinished(agent)).final_output == "heard: ok"
    assert ran == ["again"]


# going on is as if nothing had been in between


def strategies():
    yield "chat", lambda: buyer(paying(200), [call("look", call_id="l"), paying(300)], paying(50), paying(400), "done")
    yield (
        "plan",
        lambda: PlanAgent(
            "p",
            ScriptedLLM(['["A", "B"]', paying(200), "a", [paying(300), paying(301, call_id="x")], "b", "done"]),
            tools=[pay],
        ),
    )
    yield (
        "reflection",
        lambda: ReflectionAgent(
            "r", ScriptedLLM(["draft", paying(200), "not yet", "better", paying(300), "GOOD ENOUGH"]), tools=[pay]
        ),
    )
    yield (
        "nested",
        lambda: Agent(
            "lead",
            ScriptedLLM([call("buyer", {"task": "1"}), paying(150), call("buyer", {"task": "2"}, call_id="n"), "done"]),
            tools=[buyer(paying(200), "one", paying(300), "two"), pay],
        ),
    )


@pytest.mark.parametrize(("name", "make"), list(strategies()), ids=[name for name, _ in strategies()])
@BOTH
def test_a_run_that_waits_at_every_question_equals_one_that_never_waited(name, make, asynchronous):
    def alike(result):
        """The events, without who decided."""
        return [repr(innermost(e)).replace("by='policy'", "by='person'") for e in result.events]

    straight = run(make(), asynchronous=asynchronous, decide=lambda pendings: True)
    assert straight.status == "completed"
    agent, waited = make(), 0
    result = run(agent, asynchronous=asynchronous)
    while result.interrupted:
        waited += 1
        result = resume(agent, True, asynchronous=asynchronous)
    assert waited >= 2
    assert (alike(result), result.usage) == (alike(straight), straight.usage)
    for length in range(1, len(straight.events) + 1):
        agent = make()
        cut = agent.replay(straight.events[:length], unknown="run_again")
        done = [
            e for e in cut.events if not isinstance(innermost(e), RunFinished) or innermost(e).status == "completed"
        ]
        assert straight.events[: len(done)] == tuple(done)
        assert len(done) >= min(length, len(straight.events))


@BOTH
@pytest.mark.parametrize("rule", ["agent:*", "agent:buyer", "buyer", "buyer(task == 'buy')", "all"])
def test_an_agent_that_is_a_tool_is_not_started_before_that_is_approved(rule, asynchronous):
    worker = buyer(call("look"), heard)
    lead = Agent("lead", ScriptedLLM([call("buyer", {"task": "buy"}), heard]), tools=[worker],
                 approvals=ApprovalPolicy([rule], auto=["look"]))  # fmt: skip
    [pending] = run(lead, asynchronous=asynchronous).interrupt.pendings
    assert (pending.tool_name, pending.origin, pending.agent) == ("buyer", "agent:buyer", "lead")
    assert (worker.model.position, worker.last, ran) == (0, None, [])
    rejected = resume(lead, Reject("not now"), asynchronous=asynchronous)
    assert rejected.final_output == "heard: Not run: this call was rejected. The reason: not now"
    assert (worker.model.position, ran) == (0, [])
    lead.reset()
    assert run(lead, asynchronous=asynchronous).interrupted
    assert resume(lead, True, asynchronous=asynchronous).final_output.startswith("heard: heard: seen")
    assert ran == ["looked"]


# what meets


@BOTH
def test_what_is_taken_back_at_the_top_counts_though_the_question_is_inside(asynchronous):
    looking = ScriptedLLM([call("look"), heard])
    inner = Agent("inner", looking, tools=[look], approvals=ApprovalPolicy(["look"]))
    agent = buyer(paying(), call("inner", {"task": "look"}), paying(1000), "done", tools=[pay, inner])
    run(agent, asynchronous=asynchronous)
    assert resume(agent, Approve(always="tool"), asynchronous=asynchronous).interrupt.pending.tool_name == "look"
    assert resume(agent, {}, asynchronous=asynchronous, revoke=True).standing == ()
    waits = resume(agent, True, asynchronous=asynchronous)
    assert (waits.interrupt.pending.shown, len(ran)) == ('pay(to="Ann", amount=1000)', 2)
    assert agent.replay(waits.events) == waits


def test_what_a_person_says_of_a_call_inside_comes_before_whoever_decides_there():
    asked = []
    inner = buyer(decide=lambda pendings: asked.append(pendings) or (None if len(asked) == 1 else True))
    lead = Agent("lead", ScriptedLLM([call("buyer", {"task": "t"}), heard]), tools=[inner])
    lead.run("go")
    assert "Not run" in lead.resume(Reject("no")).final_output
    assert ran == []


@pytest.mark.parametrize(("rule", "nested"), [("pay(amount > 100)", False), ("pay(amount > 100)", True), ("pay", True)])
def test_what_is_denied_while_it_waits_does_not_run_though_it_is_approved(rule, nested):
    agent = buyer()
    if nested:
        agent = Agent("lead", ScriptedLLM([call("buyer", {"task": "t"}), heard]), tools=[agent])
    agent.run("go")
    agent.approvals = ApprovalPolicy(deny=[rule])
    assert "not permitted here" in agent.resume(True).final_output
    assert ran == []


def test_decisions_that_were_written_for_a_plan_are_not_those_of_its_next_run():
    script = [json.dumps(["a"]), paying(), "ok", "fin"]
    agent = PlanAgent("p", ScriptedLLM(script), tools=[pay])
    agent.propose("t", decisions=[True])
    assert (agent.run_plan().status, len(ran)) == ("completed", 1)
    assert (agent.run_plan().status, len(ran)) == ("interrupted", 1)


def test_a_run_that_is_named_goes_on_as_far_as_it_can_where_it_waits_here_too(tmp_path):
    agent = buyer(store=tmp_path)
    agent.run("go")
    assert agent.resume(run="buyer-1").interrupted
    assert agent.resume(True, run="buyer-1").status == "completed"


def test_calls_and_a_proposed_plan_wait_side_by_side():
    agent = PlanAgent("p", ScriptedLLM([json.dumps(["a"]), json.dumps(["b"]), paying(), "ok", "fin"]), tools=[pay])
    agent.propose("t")
    agent.run("u")
    assert agent.resume({}).interrupt.pending.tool_name == "pay"
    [pending] = [one for one in agent.waiting[None].pendings if one.kind != "plan"]
    assert (agent.resume({pending.digest: True}).status, len(ran)) == ("completed", 1)


def test_a_tool_is_what_partial_has_put_into_it_too():
    from functools import partial

    def give(account: str, to: str) -> str:
        """Gives."""
        ran.append(account)
        return "given"

    def given(account):
        return tool(name="give", approval=True)(partial(give, account))

    agent = buyer(call("give", {"to": "Ann"}), "done", tools=[given("play")])
    agent.run("go")
    agent.own_tools.register(given("REAL"), overwrite=True)
    with pytest.raises(DecisionError, match="is not what would run now"):
        agent.resume(True)
    agent.own_tools.register(given("play"), overwrite=True)
    assert (agent.resume(True).status, ran) == ("completed", ["play"])


def test_what_has_decided_before_is_not_asked_again_and_again():
    agent = buyer(*[paying(120 + n) for n in range(5)], "done")
    agent.run("go")

    def decide(pendings):
        return None

    for _ in range(5):
        assert len(agent._runs.waiting.all()[0].task.deciders) <= 2  # what was decided last, and who decides
        agent.resume(True, decide=decide)
    assert agent.last.final_output == "done"
