"""Replay: a journal, whole or cut anywhere, driven over a fresh loop gives what the uninterrupted run gave."""

from __future__ import annotations

import asyncio

import pytest

from nbagent import Agent, ScriptedLLM, tool
from nbagent.errors import ConfigError, DriftError, ModelError
from nbagent.events import ModelReplied, RunFinished, ToolReturned, ToolStarted
from nbagent.messages import ModelReply

call = ScriptedLLM.tool_call
ran: list = []


@tool
def add(a: int, b: int) -> int:
    """Add."""
    ran.append(("add", a, b))
    return a + b


@tool
async def aadd(a: int, b: int) -> int:
    """Add later."""
    await asyncio.sleep(0)
    ran.append(("aadd", a, b))
    return a + b


@tool(parallel=True)
def double(i: int) -> int:
    """Double."""
    ran.append(("double", i))
    print("doubling", i)
    return 2 * i


@tool
def fail() -> None:
    """Fail."""
    raise ValueError("always")


SCRIPTS = {
    "plain": ["Hello."],
    "tools": [call("add", {"a": 1, "b": 2}), call("aadd", {"a": 3, "b": 4}, content="Now this."), "Done."],
    "several": [
        [call("add", {"a": 1, "b": 2}), call("fail"), call("nothing"), call("aadd", {"a": 1, "b": 1})],
        "Done.",
    ],
    "parallel": [
        [call("double", {"i": i}) for i in range(4)],
        [call("double", {"i": 9}), call("double", {"i": "x"})],
        "Done.",
    ],
    "same ids": [call("add", {"a": i, "b": i}, call_id="1") for i in range(3)] + ["Done."],
    "empty reply": ["", call("add", {"a": 1, "b": 2}), "Done."],
    "out of turns": [call("add", {"a": 1, "b": 2})] * 5,
}


def agent_at(script, position=0):
    llm = ScriptedLLM(script)
    llm.position = position
    return Agent("a", llm, "Be brief.", tools=[add, aadd, double, fail], max_turns=5)


def replay(agent, events, asynchronous, **more):
    return asyncio.run(agent.areplay(events, **more)) if asynchronous else agent.replay(events, **more)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_whole_journal_gives_the_same_run_with_no_call_at_all(script, asynchronous):
    result = agent_at(script).run("go")
    ran.clear()
    agent = agent_at([])  # a script with no reply: any model call would raise
    again = replay(agent, result.events, asynchronous)
    assert again == result
    assert again.events == result.events
    assert (ran, agent.model.requests, agent.history, agent.last) == ([], (), (), None)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_journal_cut_after_any_event_goes_on_to_the_same_end(script, asynchronous):
    whole = agent_at(script).run("go")
    cuts = 0
    for cut in range(1, len(whole.events)):
        prefix = whole.events[:cut]
        replied = sum(isinstance(event, ModelReplied) for event in prefix)
        returned = {(e.turn, e.index) for e in prefix if isinstance(e, ToolReturned)}
        started = {(e.turn, e.index) for e in whole.events if isinstance(e, ToolStarted)}
        ran.clear()
        agent = agent_at(script, replied)
        again = replay(agent, prefix, asynchronous, unknown="run_again")
        assert again == whole, f"cut after {prefix[-1]}"
        # Nothing that has returned runs again, and only the replies that are missing are asked for.
        failed = sum(
            e.observation.error is not None
            for e in whole.events[cut:]
            if isinstance(e, ToolReturned) and (e.turn, e.index) in started
        )
        assert len(ran) == len(started - returned) - failed
        assert len(agent.model.requests) == whole.usage.llm_calls - replied
        cuts += 1
    assert cuts == len(whole.events) - 1


def test_history_and_task_are_in_the_journal():
    agent = Agent("a", ScriptedLLM(["One.", "Two."]), "Be brief.")
    agent.run("first")
    second = agent.run("second")
    fresh = Agent("a", ScriptedLLM(["One.", "Two."]), "Be brief.")
    assert fresh.replay(second.events[:1]) == second
    assert [m.content for m in fresh.model.requests[0].messages] == ["Be brief.", "first", "One.", "second"]


def test_a_call_that_was_started_and_has_no_result_is_a_question():
    whole = agent_at(SCRIPTS["tools"]).run("go")
    cut = next(i for i, e in enumerate(whole.events) if isinstance(e, ToolStarted)) + 1
    ran.clear()
    paused = agent_at(SCRIPTS["tools"], 1).replay(whole.events[:cut])
    assert (paused.status, ran) == ("interrupted", [])
    assert paused.interrupted
    assert [(p.tool_name, p.arguments, p.call_id) for p in paused.interrupt.pendings] == [
        ("add", '{"a": 1, "b": 2}', "call_1")
    ]
    assert paused.interrupt.pending.tool_name in paused.interrupt.reason
    # The question is not part of the run: without it, the run goes on.
    assert agent_at(SCRIPTS["tools"], 1).replay(paused.events[:-1], unknown="run_again") == whole


def test_an_idempotent_tool_simply_runs_again():
    @tool(idempotent=True)
    def read(name: str) -> str:
        """Read."""
        ran.append(name)
        return name

    script = [call("read", {"name": "x"}), "Done."]
    whole = Agent("a", ScriptedLLM(script), tools=[read]).run("go")
    cut = next(i for i, e in enumerate(whole.events) if isinstance(e, ToolStarted)) + 1
    llm = ScriptedLLM(script)
    llm.position = 1
    assert Agent("a", llm, tools=[read]).replay(whole.events[:cut]) == whole


def test_parallel_results_in_any_order_give_the_same_run():
    whole = agent_at(SCRIPTS["parallel"]).run("go")
    returned = [e for e in whole.events if isinstance(e, ToolReturned) and e.turn == 1]
    first = whole.events.index(returned[0])
    for order in (returned[::-1], [returned[2], returned[0]], [returned[3]]):
        ran.clear()
        again = agent_at(SCRIPTS["parallel"], 1).replay((*whole.events[:first], *order), unknown="run_again")
        assert again == whole
        assert len([r for r in ran if r[1] != 9]) == 4 - len(order)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_run_that_failed_or_was_cancelled_ends_the_same_way_again(asynchronous):
    @tool
    def stop() -> None:
        """Stop."""
        raise KeyboardInterrupt

    for script, status, error in [
        ([call("add", {"a": 1, "b": 2}), RuntimeError("no")], "failed", ModelError),
        ([call("stop")], "cancelled", KeyboardInterrupt),
    ]:
        agent = Agent("a", ScriptedLLM(script), tools=[add, stop])
        with pytest.raises(error):
            agent.run("go")
        fresh = Agent("a", ScriptedLLM([]), tools=[add, stop])
        again = replay(fresh, agent.last.events, asynchronous)
        assert (again.status, again.events) == (status, agent.last.events)


@pytest.mark.parametrize(
    "script", [["", ""], [ModelReply("cut", finish_reason="length")], [call("fail"), RuntimeError("no")]]
)
def test_a_run_that_its_loop_ended_with_an_error_gives_the_same_result(script):
    agent = agent_at(script)
    with pytest.raises(ModelError):
        agent.run("go")
    assert agent_at([]).replay(agent.last.events) == agent.last


def test_a_cut_run_goes_on_with_the_same_agent_and_leaves_its_script_where_it_was():
    agent = agent_at(SCRIPTS["tools"])
    whole = agent.run("go")
    for cut in range(1, len(whole.events)):
        assert agent.replay(whole.events[:cut], unknown="run_again") == whole
        assert (agent.model.position, agent.last) == (3, whole)


def test_a_changed_tool_is_drift_and_named():
    @tool(name="add")
    def other(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    result = Agent("a", ScriptedLLM(["Hi."]), tools=[add]).run("go")
    with pytest.raises(DriftError, match="add changed"):
        Agent("a", ScriptedLLM([]), tools=[other]).replay(result.events)


def test_a_changed_request_is_drift_and_its_turn_is_named():
    from msgspec.structs import replace

    result = agent_at(SCRIPTS["tools"]).run("go")
    events = [
        replace(e, observation=replace(e.observation, text="999")) if isinstance(e, ToolReturned) and e.turn == 1 else e
        for e in result.events
    ]
    with pytest.raises(DriftError, match="turn 2"):
        agent_at([]).replay(events)


def test_a_changed_answer_is_drift():
    result = agent_at(SCRIPTS["plain"]).run("go")
    forged = (*result.events[:-1], RunFinished("completed", "Something else."))
    with pytest.raises(DriftError, match="Something else"):
        agent_at([]).replay(forged)


@pytest.mark.parametrize("events", [(), (RunFinished("completed", "x"),)])
def test_what_is_no_run_is_refused(events):
    with pytest.raises(ConfigError, match="from its RunStarted on"):
        agent_at([]).replay(events)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_cut_run_goes_on_where_an_inner_agent_uses_the_same_script(asynchronous):
    script = [call("ask", {"task": "one"}), "inner one", call("ask", {"task": "two"}), call("add", {"a": 1, "b": 1})]
    script += ["inner two", "Done."]

    def agent():
        llm = ScriptedLLM(script)

        @tool
        def ask(task: str) -> str:
            """Ask another agent."""
            return str(Agent("inner", llm, tools=[add]).run(task))

        return Agent("outer", llm, tools=[ask])

    whole = agent().run("go")
    assert [e.observation.text for e in whole.tool_calls] == ["inner one", "inner two"]
    for cut in range(1, len(whole.events)):
        again = replay(agent(), whole.events[:cut], asynchronous, unknown="run_again")
        assert again == whole, f"cut after {whole.events[cut - 1]}"
