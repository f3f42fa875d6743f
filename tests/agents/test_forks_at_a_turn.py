"""Forks of runs at a turn: what came before stays, one thing is edited, and the run goes on from there on its own."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from nbagent import (
    Agent,
    AgentTool,
    ApprovalPolicy,
    HistoryMemory,
    PlanAgent,
    ReflectionAgent,
    RunStore,
    ScriptedLLM,
    tool,
)
from nbagent.errors import ConfigError, StoreError
from nbagent.events import ModelRequested, PromptAssembled
from nbagent.runtime.sent import sent_in

call = ScriptedLLM.tool_call
ran: list[tuple[int, int]] = []


@tool
def add(a: int, b: int) -> int:
    """Adds."""
    ran.append((a, b))
    return a + b


@pytest.fixture(autouse=True)
def nothing_ran():
    ran.clear()


def heard(request):
    return f"{request.messages[-1].content}, {request.messages[0].content}"


def bot(**options):
    script = [call("add", {"a": 1, "b": 2}), [call("add", {"a": 3, "b": 4}), call("add", {"a": 5, "b": 6})], heard]
    return Agent("bot", ScriptedLLM(script), "Old.", tools=[add], **options)


def forked(agent, run, asynchronous=False, **options):
    return asyncio.run(agent.afork(run, **options)) if asynchronous else agent.fork(run, **options)


EDITS = {
    "observation": ({"at": 2, "call": 1, "observation": {"sum": 9}}, '{"sum": 9}, Old.', []),
    "observation of an earlier turn": ({"at": 1, "observation": "many"}, "11, Old.", [(3, 4), (5, 6)]),
    "arguments": ({"at": 2, "call": 1, "arguments": {"a": 50, "b": 60}}, "110, Old.", [(50, 60)]),
    "arguments as text": ({"at": 2, "call": 0, "arguments": '{"a": 0, "b": 1}'}, "11, Old.", [(0, 1)]),
    "reply": ({"at": 1, "reply": "done"}, "done", []),
    "reply that calls": ({"at": 2, "reply": call("add", {"a": 7, "b": 8})}, "15, Old.", [(7, 8)]),
    "system at once": ({"at": 1, "system": "New."}, "11, New.", [(1, 2), (3, 4), (5, 6)]),
    "system later": ({"at": 3, "system": "New."}, "11, New.", []),
    "no system": ({"at": 3, "system": ""}, "11, go", []),
    "both": ({"at": 3, "system": "", "user": "run"}, "11, run", []),
    "nothing": ({"at": 2}, "11, Old.", [(3, 4), (5, 6)]),
}


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("name", EDITS)
def test_a_fork_goes_on_from_its_turn_with_what_was_edited(name, asynchronous, tmp_path):
    edit, answer, ran_again = EDITS[name]
    agent = bot(store=tmp_path)
    first = agent.run("go")
    before, history, file = first.events, agent.history, (tmp_path / "bot-1.jsonl").read_bytes()
    ran.clear()
    fork = forked(agent, first, asynchronous, **edit)
    assert (fork.final_output, ran) == (answer, ran_again)
    assert (fork.run_id, agent.last, agent.results) == ("bot-2", fork, {1: first, 2: fork})
    assert (first.events, agent.history, agent.model.position) == (before, history, 3)
    assert (tmp_path / "bot-1.jsonl").read_bytes() == file
    began = fork.events[0].forked
    assert (began.run, began.turn) == ("bot-1", edit["at"])
    assert set(began.edits) == set(edit) - {"at", "call"}
    # It can be replayed, and read, and forked, itself.
    ran.clear()
    assert agent.replay(fork.events).events == fork.events
    assert RunStore(tmp_path).read("bot-2").events == fork.events
    if len(fork.turns) == 3:
        again = agent.fork("bot-2", at=3, reply="at last")
        assert (again.final_output, again.events[0].forked.run) == ("at last", "bot-2")
        assert again.turns[:2] == fork.turns[:2]
    assert ran == []


def test_a_fork_begins_as_the_run_did():
    agent = bot()
    first = agent.run("go")
    fork = agent.fork(first, at=2, call=1, observation="x")
    same = fork.events[1:10]
    assert same == first.events[1:10]
    asked = [[one for one in run.events if isinstance(one, ModelRequested)] for run in (first, fork)]
    assert asked[0][:2] == asked[1][:2]
    assert asked[0][2] != asked[1][2]


def test_the_edited_prompt_is_what_the_run_shows():
    agent = bot()
    fork = agent.fork(agent.run("go"), at=3, system="New.", user="run")
    (prompt,) = [one.prompt for one in fork.events if isinstance(one, PromptAssembled)]
    assert (prompt.system, prompt.user) == ("New.", "run")
    assert agent.history[-2].content == "go"


SCRIPT = """
import sys
from nbagent import Agent, ScriptedLLM, tool

ran = []

@tool
def add(a: int, b: int) -> int:
    "Adds."
    ran.append((a, b))
    return a + b

call = ScriptedLLM.tool_call
script = [call("add", {"a": 1, "b": 2}), call("add", {"a": 3, "b": 4}), lambda r: r.messages[-1].content]
agent = Agent("bot", ScriptedLLM(script), tools=[add], store=sys.argv[1])
if sys.argv[2] == "run":
    print(agent.run("go"))
else:
    print(agent.fork("bot-1", at=2, observation="from a file"), ran)
    print(agent.fork("bot-2", at=1, arguments={"a": 5, "b": 5}), ran)
    print(agent.fork("bot-2", at=2, system="Once more."), ran, len(agent.history), agent.model.position)
"""


def test_a_stored_fork_that_waits_goes_on_in_a_fresh_process_and_changes_nothing_of_the_agent(tmp_path):
    paid = []

    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    def made():
        script = [*[call("pay", {"amount": n}) for n in (1, 2)], "all", "another answer"]
        return Agent(
            "buyer", ScriptedLLM(script), tools=[pay], approvals=ApprovalPolicy(approve=["pay"]), store=tmp_path
        )

    made().run("go")
    fork = made().fork("buyer-1", at=1, reply=call("pay", {"amount": 7}))
    assert fork.interrupted
    other = made()
    again = other.resume(True, run=fork.run_id)
    assert (again.interrupted, paid, other.model.position, other.history) == (True, [7], 0, ())
    ended = other.resume(True)  # as with any other that waits
    assert (str(ended), paid, other.model.position, other.last) == ("all", [7, 2], 0, ended)


def test_a_plan_that_was_only_proposed_is_not_done_by_a_fork():
    planner = PlanAgent("planner", ScriptedLLM(['["a"]', "one", "all"]))
    proposed = planner.propose("go")
    with pytest.raises(ConfigError, match="only proposed"):
        planner.fork(proposed, at=1)


def test_the_events_of_a_fork_are_in_the_order_of_all_runs():
    ran = []

    def look(n: int) -> str:
        """Look."""
        ran.append(n)
        return f"saw {n}"

    calls = [call("look", {"n": n}) for n in (1, 2)]
    agent = Agent("bot", ScriptedLLM([calls, "done"]), tools=[look])
    first = agent.run("go")
    same = agent.fork(first, at=1, call=0, observation="saw 1")
    assert [type(one) for one in same.events] == [type(one) for one in first.events]
    assert [getattr(one, "index", -1) for one in same.events] == [getattr(one, "index", -1) for one in first.events]


def test_a_stored_run_is_forked_in_a_fresh_process(tmp_path):
    (tmp_path / "one.py").write_text(SCRIPT)
    outputs = [
        subprocess.run(
            [sys.executable, tmp_path / "one.py", tmp_path / "runs", what], capture_output=True, text=True, check=True
        ).stdout
        for what in ("run", "fork")
    ]
    assert outputs[0] == "7\n"
    assert outputs[1] == "from a file []\n7 [(5, 5), (3, 4)]\n7 [(5, 5), (3, 4), (3, 4)] 0 0\n"


# approvals


def paying(**options):
    script = [call("add", {"a": 1, "b": 1}), call("add", {"a": 2, "b": 2}), heard]
    return Agent("bot", ScriptedLLM(script), tools=[add], approvals=ApprovalPolicy(approve=["add"]), **options)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_call_with_other_arguments_asks_as_any_other(asynchronous):
    agent = paying()
    first = agent.run("go", decide=lambda waiting: True)
    assert first.status == "completed"
    ran.clear()
    fork = forked(agent, first, asynchronous, at=2, arguments={"a": 9, "b": 9})
    assert (fork.status, ran, fork.interrupt.pending.shown) == ("interrupted", [], "add(a=9, b=9)")
    assert list(agent.waiting) == [None]
    agent.check_free()  # a fork is in nobody's way
    done = agent.resume(True)
    assert (done.final_output, done.run_id, ran) == ("18, go", "bot-2", [(9, 9)])
    assert (agent.results, agent.waiting) == ({1: first, 2: done}, {})
    assert len(agent.history) == 2


def test_a_fork_that_waits_goes_on_in_its_file_in_a_new_process(tmp_path):
    paying(store=tmp_path).run("go", decide=lambda waiting: True)
    ran.clear()
    assert paying(store=tmp_path).fork("bot-1", at=2).interrupted
    other = paying(store=tmp_path)
    waits = other.resume(run="bot-2")
    assert (waits.status, ran) == ("interrupted", [])
    done = other.resume(True, run="bot-2")
    assert (done.final_output, ran, len(other.history)) == ("4, go", [(2, 2)], 0)


def test_a_run_that_waits_is_forked_and_waits_on():
    agent = paying()
    first = agent.run("go")
    fork = agent.fork(first, at=1, observation="paid by hand")
    assert (fork.interrupt.pending.shown, ran) == ("add(a=2, b=2)", [])
    agent.discard(run=fork.run_id)
    agent.resume(True)
    assert ran == [(1, 1)]


def test_who_decides_can_be_given():
    agent = paying()
    fork = agent.fork(agent.run("go"), at=1, decide=lambda waiting: True)
    assert (fork.status, ran) == ("completed", [(1, 1), (2, 2)])


# runs inside


def test_a_run_inside_is_not_run_again():
    worker = Agent("worker", ScriptedLLM([call("add", {"a": 1, "b": 1}), "two", "three"]), tools=[add])
    script = [call("worker", {"task": "one"}), call("worker", {"task": "two"}), heard]
    boss = Agent("boss", ScriptedLLM(script), tools=[AgentTool(worker)])
    first = boss.run("go")
    ran.clear()
    fork = boss.fork(first, at=2, observation="four")
    assert (fork.final_output, ran, worker.model.position) == ("four, go", [], 3)
    assert fork.tool_calls[0].run.final_output == "two"
    again = boss.fork(first, at=2, arguments={"task": "other"})
    assert (again.tool_calls[1].run.final_output, ran) == ("three", [])
    anew = boss.fork(first, at=1, arguments={"task": "other"})
    assert (anew.tool_calls[0].run.final_output, ran) == ("two", [(1, 1)])
    assert len(worker.results) == 2  # what a copy has done inside is its own


# workflows


def test_turns_of_a_plan_count_through_all_its_steps(tmp_path):
    script = ['["a", "b"]', call("add", {"a": 1, "b": 1}), "first", "second", lambda r: str(list(r.messages))]
    agent = PlanAgent("planner", ScriptedLLM(script), tools=[add], store=tmp_path)
    first = agent.run("go")
    ran.clear()
    fork = agent.fork(first, at=3, reply="other")
    assert (ran, [step.result for step in fork.plan]) == ([], ["other", "second"])
    assert "other" in fork.final_output
    told = agent.fork("planner-1", at=4, user="Do b in another way.")
    prompts = [one.prompt.user for one in told.events if isinstance(one, PromptAssembled)]
    assert (prompts.count("Do b in another way."), ran) == (1, [])
    for at in range(1, len(first.turns) + 1):
        again = agent.fork(first, at=at, system="Be brief.")
        assert (again.status, agent.replay(again.events).events == again.events) == ("completed", True)


def test_turns_of_a_reflection_count_through_all_its_rounds():
    agent = ReflectionAgent("writer", ScriptedLLM(["draft", "too short", "longer", "good enough"]), max_turns=1)
    first = agent.run("go")
    fork = agent.fork(first, at=2, reply="no changes needed")
    assert fork.turns[0] == first.turns[0]
    for at in range(1, len(first.turns) + 1):
        again = agent.fork(first, at=at, user="Write.")
        assert agent.replay(again.events).events == again.events


def heard_by(made, script, **options):
    """An agent, and the system text, the last but one and the last text of each request that its model gets."""
    heard = []

    def replying(text):
        def reply(request):
            said = [message.content for message in request.messages]
            system = said[0] if request.messages[0].role == "system" else ""
            heard.append((system, *said[-2:]))
            return text

        return reply

    return made("worker", ScriptedLLM([replying(text) for text in script]), "S", **options), heard


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_the_edited_system_text_of_a_plan_is_what_is_sent_from_its_turn_on(at):
    agent, heard = heard_by(PlanAgent, ['["a", "b"]', "one", "two", "all"])
    first = agent.run("go")
    heard.clear()
    fork = agent.fork(first, at=at, system="NEW")
    assert [system for system, *_ in heard] == ["NEW"] * (5 - at)
    assert agent.replay(fork.events).events == fork.events


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_the_edited_system_text_of_a_reflection_is_that_of_its_turn(at):
    agent, heard = heard_by(ReflectionAgent, ["draft", "too short", "longer", "GOOD ENOUGH"])
    first = agent.run("go")
    heard.clear()
    fork = agent.fork(first, at=at, system="NEW")
    assert heard[0][0] == "NEW"
    assert agent.replay(fork.events).events == fork.events


def test_what_was_edited_in_a_step_of_a_plan_is_what_the_next_step_is_told():
    agent, heard = heard_by(PlanAgent, ['["a", "b"]', "one", "two", "all"])
    first = agent.run("go")
    heard.clear()
    agent.fork(first, at=2, user="EDITED")
    assert heard[0][-1] == "EDITED"
    fork = agent.last
    sent = sent_in(fork.events)
    assert all(one.is_exact for one in sent)
    assert [message.content for message in sent[2].messages].count("EDITED") == 1


# what stays as it is


def test_nothing_of_a_fork_is_remembered():
    script = ScriptedLLM(['{"mood": "glad"}', '{"mood": "sad"}'])
    memory = HistoryMemory()
    agent = Agent(
        "bot", script, output={"mood": "a word"}, push_keys=["mood"], attributes={"mood": "none"}, memories=[memory]
    )
    agent.run("go")
    said = agent.history
    fork = agent.fork("bot-1", at=1, reply='{"mood": "angry"}')
    assert (fork["mood"], agent.attributes["mood"], agent.history) == ("angry", "glad", said)


def test_hooks_are_told_of_what_is_new_alone():
    told: list[str] = []
    agent = bot(hooks=[lambda event: told.append(type(event).__name__)])
    first = agent.run("go")
    for edit in ({"observation": "x"}, {"system": "New."}):
        told.clear()
        agent.fork(first, at=2 if "observation" in edit else 3, **edit)
        assert told.count("ModelRequested") == 1
        assert "ToolReturned" not in told[1:] or "observation" in edit


# errors

WRONG = [
    ({"at": 4}, "bot-1 has no turn 4; it has 1 to 3"),
    ({"at": 0}, "has no turn 0"),
    ({"at": True}, "the number of a turn, from 1; got True"),
    ({"at": "2"}, "the number of a turn"),
    ({"at": 2, "call": 2, "observation": ""}, "turn 2: no call 2; its calls, from 0: 0 add, 1 add"),
    ({"at": 3, "observation": ""}, "turn 3: no call 0; its calls, from 0: none"),
    ({"at": 2, "call": -1, "observation": ""}, "from 0; got -1"),
    ({"at": 2, "call": 1}, "give one of them"),
    ({"at": 2, "call": 1, "reply": "x"}, "give one of them"),
    ({"at": 2, "observation": "x", "reply": "y"}, "observation and reply do not fit together"),
    ({"at": 2, "system": "x", "arguments": {}}, "do not fit together"),
    ({"at": 2, "arguments": {"a": "one"}}, "fork: arguments of add: "),
    ({"at": 2, "arguments": [1]}, "expected a dict"),
    ({"at": 2, "reply": None}, "expected a text, ScriptedLLM.tool_call"),
    ({"at": 2, "reply": ValueError}, "expected a text, ScriptedLLM.tool_call"),
    ({"at": 2, "reply": []}, "expected a text, ScriptedLLM.tool_call"),
    ({"at": 2, "system": 1}, "expected the text as it is sent"),
    ({"at": 2, "user": " "}, "an empty text"),
    ({"at": 2, "answer": "x"}, "answer is no edit"),
    ({"observation": "x"}, "Say at="),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG)
def test_what_cannot_be_edited_is_refused_before_anything_happens(wrong, said):
    agent = bot()
    first = agent.run("go")
    ran.clear()
    with pytest.raises(ConfigError) as error:
        agent.fork(first, **wrong)
    assert said in str(error.value)
    assert (agent.last, agent.next_run, ran) == (first, 2, [])


def test_a_run_of_another_agent_or_of_none_is_refused(tmp_path):
    agent, other = bot(store=tmp_path), Agent("other", ScriptedLLM(["x"]), store=tmp_path)
    run = other.run("go")
    for one in (run, "other-1"):
        with pytest.raises(ConfigError, match="other-1 is a run of the agent 'other', and this one is 'bot'"):
            agent.fork(one, at=1)
    with pytest.raises(ConfigError, match="bot has no run 'bot-7'"):
        agent.fork("bot-7", at=1)
    with pytest.raises(ConfigError, match="a result of bot, or the id"):
        agent.fork(7, at=1)
    with pytest.raises(ConfigError, match=r"Say at="):
        agent.fork(run)


def test_a_secret_that_is_masked_in_the_file_is_not_run_on(tmp_path):
    secret = "sk-" + "a1B2" * 12
    agent = Agent("bot", ScriptedLLM([call("add", {"a": 1, "b": 2}), "x"]), tools=[add], store=tmp_path)
    agent.run(f"use {secret}")
    again = Agent("bot", ScriptedLLM(["x"]), tools=[add], store=tmp_path)
    with pytest.raises(StoreError, match="a secret is masked in its file"):
        again.fork("bot-1", at=2)


def test_a_name_alone_still_makes_another_agent():
    agent = bot()
    agent.run("go")
    made = agent.fork("other")
    assert (made.name, made.history == agent.history) == ("other", True)
    assert agent.fork().name == "bot"
