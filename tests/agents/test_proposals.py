"""Proposals: a plan that waits until somebody has looked at it; and conversations that are kept, taken back, forked."""

from __future__ import annotations

import asyncio

import pytest

from nbagent import Agent, PlanAgent, ScriptedLLM, SessionStore, tool
from nbagent.errors import ConfigError, ModelError
from nbagent.events import ModelReplied, PlanEdited, ToolReturned

SCRIPT = ('["A", "B"]', "a", "b", "done", "more")


def planner(*script, **options):
    return PlanAgent("p", ScriptedLLM(script or SCRIPT), **options)


def test_a_proposal_is_a_run_that_waits():
    agent = planner()
    result = agent.propose("go")
    assert (result.status, result.stop_reason) == (
        "interrupted",
        "the plan waits: change p.plan if you like, then run it: %plan p --run",
    )
    assert result is agent.last
    assert [(step.title, step.status) for step in result.plan] == [("A", "pending"), ("B", "pending")]
    assert (agent.plan, agent.history, agent.model.position) == (["A", "B"], (), 1)


def test_it_is_gone_on_with_and_not_made_again():
    agent = planner()
    agent.propose("go")
    result = agent.run_plan()
    assert (result.final_output, agent.model.position) == ("done", 4)
    assert result.events == planner().run("go").events
    assert [message.content for message in agent.history] == ["go", "done"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_plan_that_was_changed_is_done_as_it_is_now_and_replays(asynchronous):
    async def arun(agent):
        async for _ in agent.astream_proposal("go"):
            pass
        agent.plan[:] = ["C", " D\n e "]
        async for _ in agent.astream_plan():
            pass

    agent = planner()
    if asynchronous:
        asyncio.run(arun(agent))
    else:
        agent.propose("go")
        agent.run_plan(["C", " D\n e "])
    result = agent.last
    assert [step.title for step in result.plan] == ["C", "D e"]
    assert [e.steps for e in result.events if isinstance(e, PlanEdited)] == [("C", "D e")]
    assert "1. C\n2. D e" in agent.model.requests[1].messages[-1].content
    for cut in range(1, len(result.events) + 1):
        again = planner().replay(result.events[:cut])
        if any(isinstance(event, PlanEdited) for event in result.events[:cut]):
            assert again == result  # before that, nobody has changed it yet
        else:
            assert [step.title for step in again.plan] == ["A", "B"]


def test_a_run_that_was_not_changed_does_not_replay_as_one_that_was():
    agent = planner()
    agent.propose("go")
    assert not [e for e in agent.run_plan(["A", "B"]).events if isinstance(e, PlanEdited)]


def test_a_stream_of_the_plan_tells_everything_and_asks_only_for_what_is_new():
    agent = planner()
    agent.propose("go")
    events = list(agent.stream_plan())
    assert sum(isinstance(event, ModelReplied) for event in events) == 4
    assert len(agent.model.requests) == 4


def test_a_plan_that_was_made_waits_also_where_nobody_has_heard_the_end():
    async def closed_after(agent, number):
        events = agent.astream_proposal("go")
        for _ in range(number):
            await anext(events)
        await events.aclose()

    number = len(list(planner().stream_proposal("go")))
    seen = set()
    for asynchronous in (False, True):
        for heard in range(1, number + 1):
            agent = planner()
            if asynchronous:
                asyncio.run(closed_after(agent, heard))
            else:
                events = agent.stream_proposal("go")
                for _ in range(heard):
                    next(events)
                events.close()
            waits = agent.last.status == "interrupted"
            seen.add(waits)
            assert agent.plan == (["A", "B"] if waits else [])
            assert (agent.run_plan() if waits else agent.run("go")).final_output == "done"
    assert seen == {True, False}


@pytest.mark.parametrize("steps", [[], [""], ["A", 3], [" "]])
def test_a_plan_has_steps(steps):
    agent = planner()
    agent.propose("go")
    with pytest.raises(ConfigError, match="plan: expected one step or more"):
        agent.run_plan(steps)
    assert agent.model.position == 1


def test_a_plan_that_was_replaced_is_a_list_or_one_step():
    agent = planner('["A"]', "a", "done", "b", "over")
    agent.propose("go")
    agent.plan = 5
    with pytest.raises(ConfigError, match="plan: expected one step or more"):
        agent.run_plan()
    agent.plan = ("A",)
    assert [step.title for step in agent.run_plan().plan] == ["A"]
    agent.plan = "B and C"
    assert [step.title for step in agent.run_plan().plan] == ["B and C"]


def test_without_a_proposal_there_is_nothing_to_run():
    with pytest.raises(ConfigError, match=r"no plan waits to be run; make one first: p\.propose"):
        planner().run_plan()


def test_a_proposal_in_a_cell_that_runs_again_takes_its_place():
    agent = planner()
    agent.propose("go", key=1)
    agent.run_plan(key=2)
    agent.run_plan(key=2)
    assert (agent.model.position, len(agent.history)) == (4, 2)
    agent.propose("go", key=1)
    assert agent.plan == ["A", "B"]


def test_scopes_keep_conversations_apart():
    agent = Agent("a", ScriptedLLM(["1", "2", "3"]))
    agent.run("x", scope="ada")
    agent.run("y", scope="bo")
    agent.run("z", scope="ada")
    assert [message.content for message in agent.requests[-1].messages] == ["x", "1", "z"]
    assert (agent.scopes, agent.history) == (("ada", "bo"), ())
    agent.clear_history("ada")
    assert (agent.get_history("ada"), len(agent.get_history("bo"))) == ([], 2)
    assert len(Agent("a", ScriptedLLM(["1"]), scope="ada").run("x").events) > 0


def test_undo_takes_back_what_was_said_newest():
    agent = Agent("a", ScriptedLLM(["1", "2", "3"]))
    agent.run("x")
    agent.run("y")
    assert [message.content for message in agent.undo()] == ["y", "2"]
    assert agent.run("z").final_output == "2"
    assert [message.content for message in agent.history] == ["x", "1", "z", "2"]
    agent.undo()
    agent.undo()
    assert agent.undo() == ()


def test_a_fork_goes_on_apart():
    agent = Agent("a", ScriptedLLM(["1", "2", "3"]))
    agent.run("x")
    twin = agent.fork("b")
    assert (twin.run("y").final_output, agent.run("z").final_output) == ("2", "2")
    assert [message.content for message in twin.history] == ["x", "1", "y", "2"]
    assert [message.content for message in agent.history] == ["x", "1", "z", "2"]
    assert (twin.name, twin.last.run_id, len(twin.model.requests)) == ("b", "b-1", 1)


def test_a_conversation_survives_its_agent(tmp_path):
    store = SessionStore(tmp_path)
    first = Agent("a", ScriptedLLM(["1", "2"]), session_store=store)
    first.run("x", scope="ada")
    first.run("y")
    again = Agent("a", ScriptedLLM(["3"]), session_store=store)
    assert again.scopes == (None, "ada")
    again.run("z", scope="ada")
    assert [message.content for message in again.requests[-1].messages] == ["x", "1", "z"]
    with pytest.raises(ConfigError, match="fork: with a session store the new agent needs a name"):
        again.fork()
    twin = again.fork("b")
    assert len(SessionStore(tmp_path).conversation("b", "ada").messages) == 4
    twin.undo("ada")
    assert len(SessionStore(tmp_path).conversation("a", "ada").messages) == 4


def test_a_proposal_that_is_run_in_its_own_exchange_goes_on_with_its_script():
    agent = planner()
    for _ in range(2):  # as a cell does that runs again
        agent.propose("go", key=1)
        assert agent.run_plan(key=1).final_output == "done"
        assert (agent.model.position, len(agent.history)) == (4, 2)


def test_a_plan_that_was_run_can_be_run_again_with_other_steps():
    agent = planner()
    agent.propose("go")
    assert agent.run_plan().final_output == "done"
    result = agent.run_plan(["C", "D"])
    assert ([step.title for step in result.plan], result.final_output, agent.model.position) == (["C", "D"], "done", 4)


@pytest.mark.parametrize("change", [lambda agent: agent.become(planner(max_turns=5)), lambda agent: agent.reset()])
def test_a_plan_of_an_agent_that_was_another_one_is_forgotten(change):
    agent = planner()
    agent.propose("go")
    change(agent)
    with pytest.raises(ConfigError, match="no plan waits"):
        agent.run_plan()
    assert agent.plan == []


def test_a_plan_goes_on_where_the_script_stands_also_after_another_run():
    agent = planner('["A"]', '["B"]', "b", "B done", "a", "A done")
    agent.propose("one")
    assert agent.run("two").final_output == "B done"
    assert (agent.run_plan().final_output, agent.model.position) == ("A done", 6)


def test_a_proposal_that_fails_leaves_no_older_one_to_run():
    agent = planner('["A"]', ModelError("down", kind="auth"))
    agent.propose("one")
    with pytest.raises(ModelError, match="down"):
        agent.propose("two")
    with pytest.raises(ConfigError, match="no plan waits"):
        agent.run_plan()


def test_what_a_waiting_plan_waits_for_is_the_plan():
    [pending] = planner().propose("go").interrupt.pendings
    assert (pending.tool_name, pending.arguments) == ("plan", '{"steps": ["A", "B"]}')


def test_proposals_can_be_awaited_side_by_side():
    async def both():
        one, two = planner(), planner()
        await asyncio.gather(one.apropose("go"), two.apropose("go"))
        return await one.arun_plan(), await two.arun_plan()

    assert [result.final_output for result in asyncio.run(both())] == ["done", "done"]


def stopped_after(agent, number, key=None):
    """Closes the stream of a plan after so many events, as an interrupt of the kernel would."""
    events = agent.stream_plan(key=key)
    for _ in range(number):
        next(events)
    events.close()
    assert agent.last.status == "cancelled"


@pytest.mark.parametrize("keys", [(None, None), (2, 2), (2, 3), (1, 1)])
@pytest.mark.parametrize("steps", [["A", "B"], ["C", "D"]])
def test_a_plan_whose_run_was_stopped_goes_on_where_it_was(steps, keys):
    agent = planner()
    agent.propose("go", key=1)
    agent.plan[:] = steps
    whole = agent.run_plan(key=keys[0])
    for number in range(1, len(whole.events)):
        agent = planner()
        agent.propose("go", key=1)
        agent.plan[:] = steps
        stopped_after(agent, number, keys[0])
        assert (agent.run_plan(key=keys[1]).events, agent.model.position) == (whole.events, 4)
        assert len(agent.model.requests) in {4, 5}  # a reply that had not come to its end is asked for again
        for _ in range(2):  # what has come to an end is done from its beginning
            assert (agent.run_plan(key=keys[1]).final_output, agent.model.position) == ("done", 4)


def test_a_plan_that_is_stopped_again_and_again_loses_nothing():
    agent = planner()
    agent.propose("go")
    for number in [10, 14, 2, 18, 6, 22, 1]:  # the small ones: before it has come to where it goes on
        stopped_after(agent, number)
    assert len(agent.model.requests) == 4
    assert agent.run_plan().final_output == "done"
    assert len(agent.model.requests) <= 5


def test_a_plan_with_other_steps_than_those_that_were_stopped_is_begun_anew():
    agent = planner()
    agent.propose("go")
    stopped_after(agent, 14)
    assert [step.status for step in agent.last.plan] != ["pending", "pending"]
    result = agent.run_plan(["C", "D"])
    assert ([step.title for step in result.plan], result.final_output, agent.model.position) == (["C", "D"], "done", 4)


def test_a_plan_whose_model_has_failed_goes_on_where_it_was():
    agent = planner('["A", "B"]', "a", ModelError("down", kind="auth"), "b", "done")
    agent.propose("go")
    with pytest.raises(ModelError, match="down"):
        agent.run_plan()
    result = agent.run_plan()
    assert (result.final_output, [step.result for step in result.plan]) == ("done", ["a", "b"])


def test_what_another_run_has_used_of_the_script_meanwhile_is_gone():
    agent = planner('["A", "B"]', "a", '["X"]', "x", "X done", "b", "done")
    agent.propose("go")
    stopped_after(agent, 14)  # its script goes back to "a"
    agent.restart_script()
    agent.run("other", key=9)
    used = agent.model.position
    agent.run_plan()
    assert agent.model.position == used + 2


@pytest.mark.parametrize("idempotent", [False, True])
def test_a_tool_that_was_stopped_runs_again_if_it_may_or_if_somebody_says_so(idempotent):
    ran = []

    @tool(idempotent=idempotent)
    def pay() -> str:
        """Pay."""
        ran.append(1)
        if len(ran) == 1:
            raise KeyboardInterrupt
        return "paid"

    agent = planner('["A"]', ScriptedLLM.tool_call("pay"), "a", "done", tools=[pay])
    agent.propose("go")
    with pytest.raises(KeyboardInterrupt):
        agent.run_plan()
    if not idempotent:
        for _ in range(2):
            assert agent.run_plan().status == "interrupted"
            assert [pending.tool_name for pending in agent.last.interrupt.pendings] == ["pay"]
        assert len(ran) == 1
    result = agent.run_plan(unknown="run_again")
    assert (result.final_output, len(ran)) == ("done", 2)
    assert sum(isinstance(event, ToolReturned) for event in result.events) == 1


def test_an_agent_inside_that_was_stopped_goes_on_too():
    stops = [KeyboardInterrupt, None]

    @tool(idempotent=True)
    def look() -> str:
        """Look."""
        if (stop := stops.pop(0)) is not None:
            raise stop
        return "seen"

    def made():
        inner = Agent("inner", ScriptedLLM([ScriptedLLM.tool_call("look"), "I saw."]), tools=[look])
        call = ScriptedLLM.tool_call("inner", {"task": "look"})
        return inner, planner('["A"]', call, "a", "done", tools=[inner])

    inner, agent = made()
    agent.propose("go")
    with pytest.raises(KeyboardInterrupt):
        agent.run_plan()
    result = agent.run_plan()
    assert (result.final_output, inner.model.position, len(inner.model.requests)) == ("done", 2, 2)
    stops[:] = [None]
    _, whole = made()
    whole.propose("go")
    assert result.events == whole.run_plan().events


def test_a_fork_of_a_plan_that_was_stopped_goes_on_apart():
    agent = planner()
    agent.propose("go")
    stopped_after(agent, 14)
    twin = agent.fork("q")
    assert (twin.run_plan().final_output, twin.model.position, agent.model.position) == ("done", 4, 1)
    assert (agent.run_plan().final_output, agent.model.position) == ("done", 4)
    assert (twin.run_plan().final_output, twin.model.position, agent.model.position) == ("done", 4, 4)
