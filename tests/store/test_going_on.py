"""An agent with a store: every run is in a file while it happens, and goes on from there, in a later process too.

A later process is, here, the same agent made anew: it knows nothing but the folder. `test_kills` has real ones.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import pytest
from buying import BOTH, call, heard, look, nothing_ran, pay, paying, ran, resume  # noqa: F401
from counting import calls_of
from journals import QuickDisk, all_agents, ended, same
from test_failing_disk import FailingDisk

from nbagent import (
    Agent,
    AgentTool,
    Answer,
    ApprovalPolicy,
    Approve,
    PlanAgent,
    ReflectionAgent,
    Reject,
    RunStore,
    ScriptedLLM,
    SessionStore,
    Stop,
    read_spec,
    tool,
)
from nbagent.agents.spec import AgentSpec, build_agent
from nbagent.errors import (
    ConfigError,
    DecisionError,
    DriftError,
    MemoryFailed,
    ModelError,
    RunHeld,
    StoreError,
    StoreFailed,
)
from nbagent.events import (
    ApprovalRevoked,
    ModelReplied,
    Nested,
    RunFinished,
    RunStarted,
    ToolReturned,
    ToolStarted,
    innermost,
    is_fleeting,
)
from nbagent.store.codec import decode, encode


def buyer(folder, *script, kind=Agent, name="buyer", tools=(pay, look), **options):
    script = script or (paying(), heard)
    return kind(name, ScriptedLLM(script), **{"tools": list(tools), "store": folder, **options})


def stored(folder, run_id="buyer-1"):
    return RunStore(folder).read(run_id).events


def status(folder):
    return [(one.run_id, one.agent, one.status) for one in RunStore(folder).list()]


# every run is written


@BOTH
@pytest.mark.parametrize("number", range(len(list(all_agents()))))
def test_the_file_of_a_run_holds_its_events(number, asynchronous, tmp_path):
    _, agent, task = list(all_agents())[number]
    agent.store = RunStore(tmp_path)
    if asynchronous:
        with suppress(Exception):
            asyncio.run(agent.arun(task))
    else:
        ended(agent, task)
    result = agent.last
    assert same(stored(tmp_path, result.run_id), result.events)
    assert status(tmp_path) == [(result.run_id, agent.name, result.status)]  # nobody holds it any more


@pytest.mark.parametrize("given", [str, Path, RunStore])
def test_a_store_is_a_folder(given, tmp_path):
    agent = buyer(given(tmp_path / "runs"), "Hi.")
    assert not (tmp_path / "runs").exists()
    agent.run("go")
    assert [(one.run_id, one.status) for one in agent.stored()] == [("buyer-1", "completed")]


@pytest.mark.parametrize("wrong", [3, "", " ", True, RunStore, ["runs"], SessionStore("x")])
def test_what_is_no_store_is_refused(wrong):
    with pytest.raises(ConfigError, match=r"store: expected a folder, as a text or a Path, or RunStore\(folder\); got"):
        buyer(wrong)


@pytest.mark.parametrize("kind", [PlanAgent, ReflectionAgent])
def test_agents_of_every_strategy_take_one(kind, tmp_path):
    agent = buyer(tmp_path, '["A"]', "one", "two", "GOOD ENOUGH", kind=kind)
    agent.run("go")
    assert same(stored(tmp_path), agent.last.events)


@pytest.mark.parametrize("given", [str, Path, RunStore])
def test_a_spec_has_it_too_and_says_the_folder(given, tmp_path):
    spec = AgentSpec("bot", script=["Hi."], store=given(tmp_path / "runs"))
    build_agent(spec).run("go")
    assert status(tmp_path / "runs") == [("bot-1", "bot", "completed")]
    assert f"store: {tmp_path / 'runs'}\n" in str(spec)
    again = read_spec(str(spec))
    assert build_agent(again).store.folder == tmp_path / "runs"
    assert str(again) == str(spec)


def test_streams_that_are_closed_and_runs_that_fail_leave_the_file_free(tmp_path):
    agent = buyer(tmp_path, call("look"), ModelError("no", kind="auth"))
    stream = agent.stream("go")
    next(stream)
    stream.close()
    with pytest.raises(ModelError, match="no"):
        agent.run("again")
    assert [one for _, _, one in status(tmp_path)] == ["cancelled", "failed"]


def test_a_run_whose_id_is_taken_has_the_next_one_everywhere(tmp_path):
    buyer(tmp_path, "Hi.").run("go")
    agent = buyer(tmp_path, paying(), heard)
    result = agent.run("go")
    assert (result.run_id, stored(tmp_path, "buyer-2")[0].run_id) == ("buyer-2", "buyer-2")
    assert (agent.resume(True).run_id, ran) == ("buyer-2", [("Ann", 120)])
    assert [one.run_id for one in agent.stored()] == ["buyer-1", "buyer-2"]


def test_runs_side_by_side_have_files_of_their_own(tmp_path):
    agent = buyer(tmp_path, *["Hi."] * 8)

    async def several():
        return await asyncio.gather(*[agent.arun("go") for _ in range(8)])

    ids = [result.run_id for result in asyncio.run(several())]
    assert sorted(ids) == sorted(one for one, _, _ in status(tmp_path)) == [f"buyer-{n}" for n in range(1, 9)]


def test_runs_inside_are_in_the_file_of_the_outermost_one(tmp_path):
    worker = buyer(tmp_path, "Done.", name="worker")
    lead = buyer(tmp_path, call("worker", {"task": "?"}), "Good.", name="lead", tools=[AgentTool(worker)])
    result = lead.run("go")
    assert status(tmp_path) == [("lead-1", "lead", "completed")]
    assert any(isinstance(event, Nested) for event in stored(tmp_path, "lead-1"))
    assert same(stored(tmp_path, "lead-1"), result.events)


def test_a_replay_a_fork_of_nothing_and_single_steps_write_nothing(tmp_path):
    agent = buyer(tmp_path, call("look"), "Done.", "Thought.")
    events = agent.run("go").events
    before = (tmp_path / "buyer-1.jsonl").read_bytes()
    agent.replay(events)
    agent.replay(events[:4])
    agent.think([{"role": "user", "content": "x"}])
    agent.fork()
    assert status(tmp_path) == [("buyer-1", "buyer", "completed")]
    assert (tmp_path / "buyer-1.jsonl").read_bytes() == before


def test_a_run_that_does_not_begin_leaves_no_file(tmp_path):
    agent = buyer(tmp_path / "runs", instructions="About {topic}.")
    with pytest.raises(ConfigError, match="topic"):
        agent.run("go")
    assert status(tmp_path / "runs") == []
    with pytest.raises(ConfigError):
        buyer(tmp_path / "runs", session_store=SessionStore(tmp_path)).run("go", scope=3)
    assert status(tmp_path / "runs") == []


def test_a_disk_that_fails_ends_the_run_before_what_could_not_be_put_down(tmp_path):
    """At each thing that is asked of the disk: what has happened is on disk, and nothing has run that is not."""
    probe = FailingDisk(0)
    whole = buyer(RunStore(tmp_path / "whole", disk=probe), call("look"), paying(50), "Done.").run("go")
    failed = 0
    for at in range(1, len(probe.calls) + 1):
        ran.clear()
        folder = tmp_path / f"{at}"
        agent = buyer(RunStore(folder, disk=FailingDisk(at, still=True)), call("look"), paying(50), "Done.")
        try:
            agent.run("go")
        except StoreFailed:
            failed += 1
        there = stored(folder) if (folder / "buyer-1.jsonl").exists() else ()
        happened = [e for e in (agent.last.events if agent.last else ()) if not isinstance(e, RunFinished)]
        assert same(happened, [e for e in there if not isinstance(e, RunFinished)][: len(happened)])
        assert same(there, whole.events[: len(there)])
        assert len(ran) <= sum(isinstance(event, ToolStarted) for event in there)
    print(f"{len(probe.calls)} failures of a disk, {failed} of them raised: nothing ran that is not on disk")
    assert failed > 20


# a run that waits goes on in its file


@BOTH
def test_a_run_that_waits_goes_on_in_its_file_in_the_same_process(asynchronous, tmp_path):
    agent = buyer(tmp_path)
    assert agent.run("go").interrupted
    assert status(tmp_path) == [("buyer-1", "buyer", "interrupted")]
    result = resume(agent, True, asynchronous=asynchronous)
    assert (result.final_output, ran) == ("heard: paid 120", [("Ann", 120)])
    assert same(stored(tmp_path), result.events)
    assert status(tmp_path) == [("buyer-1", "buyer", "completed")]


def test_a_run_that_began_without_a_store_goes_on_without_one(tmp_path):
    agent = buyer(None)
    agent.run("go")
    agent.store = RunStore(tmp_path)
    assert agent.resume(True).final_output == "heard: paid 120"
    assert status(tmp_path) == []
    agent.restart_script()
    run_id = agent.run("go").run_id
    assert status(tmp_path) == [(run_id, "buyer", "interrupted")]


def test_what_another_process_has_gone_on_with_is_not_done_here_again(tmp_path):
    agent = buyer(tmp_path)
    agent.run("go")
    elsewhere = buyer(tmp_path).resume(True, run="buyer-1")
    written = (tmp_path / "buyer-1.jsonl").read_bytes()
    with pytest.raises(StoreError, match=r"buyer-1 was gone on with elsewhere since; .*buyer\.discard\(\)"):
        agent.resume(True)
    assert ran == [("Ann", 120)]
    agent.discard()
    assert (tmp_path / "buyer-1.jsonl").read_bytes() == written
    assert same(stored(tmp_path), elsewhere.events)
    assert status(tmp_path) == [("buyer-1", "buyer", "completed")]


def test_what_was_gone_on_with_elsewhere_is_found_out_though_there_are_as_many_events(tmp_path):
    agent = buyer(tmp_path)
    agent.run("go")
    fork, later = agent.fork(), buyer(tmp_path)
    later.resume(run="buyer-1")  # it waits on
    assert len(stored(tmp_path)) == len(agent.last.events)
    with pytest.raises(StoreError, match="buyer-1 was gone on with elsewhere since"):
        agent.resume(True)
    with pytest.raises(StoreError, match="buyer-1 was gone on with elsewhere since"):
        agent.resume(True, run="buyer-1")  # it is the one that waits here
    agent.discard()
    assert fork.resume(run="buyer-1").interrupted
    with pytest.raises(StoreError, match="elsewhere"):
        later.resume(True)
    assert (fork.resume(True).final_output, ran) == ("heard: paid 120", [("Ann", 120)])


def test_a_folder_that_was_emptied_and_begun_anew_has_another_run_under_the_id(tmp_path):
    agent, other = buyer(tmp_path, paying(200), heard), buyer(tmp_path, paying(999), heard)
    agent.run("go")
    (tmp_path / "buyer-1.jsonl").unlink()
    assert other.run("go").run_id == "buyer-1"
    with pytest.raises(StoreError, match="buyer-1 was gone on with elsewhere since"):
        agent.resume(True)
    assert (other.resume(True).final_output, ran) == ("heard: paid 999", [("Ann", 999)])


class Stuck(ScriptedLLM):
    """Cannot be set to another place, for the first time."""

    stuck = False

    def __setattr__(self, name, value):
        if name == "position" and self.stuck:
            self.stuck = False
            raise MemoryFailed("gone")
        super().__setattr__(name, value)


def forgetful(agent):
    """Its memory fails, for the first time."""
    newest, context = agent.prompting.context.newest, agent.prompting.context

    def once(*args):
        context.newest = newest
        raise MemoryFailed("gone")

    context.newest = once


@pytest.mark.parametrize("fails", ["scripts", "memory"])
def test_what_fails_before_a_run_goes_on_leaves_it_waiting_and_its_file_free(fails, tmp_path):
    agent = Agent("buyer", Stuck([paying(), heard]), tools=[pay, look], store=tmp_path)
    agent.run("go")
    before = (tmp_path / "buyer-1.jsonl").read_bytes()
    if fails == "scripts":
        agent.model.reset()
        agent.model.stuck = True
    else:
        forgetful(agent)
    with pytest.raises(MemoryFailed, match="gone"):
        agent.resume(True)
    assert ((tmp_path / "buyer-1.jsonl").read_bytes(), ran) == (before, [])
    RunStore(tmp_path).open("buyer-1").close()
    assert (agent.resume(True).final_output, ran) == ("heard: paid 120", [("Ann", 120)])


def test_a_plan_that_was_proposed_is_done_in_the_file_of_the_proposal(tmp_path):
    def planner():
        return buyer(tmp_path, '["A", "B"]', "a", "b", "done", "a", "b", "done", kind=PlanAgent)

    agent = planner()
    agent.propose("go")
    assert status(tmp_path) == [("buyer-1", "buyer", "interrupted")]
    result = agent.run_plan()
    assert (result.run_id, status(tmp_path)) == ("buyer-1", [("buyer-1", "buyer", "completed")])
    assert same(stored(tmp_path), result.events)
    again = agent.run_plan()  # done once more, it is another run
    assert [one for one, _, _ in status(tmp_path)] == ["buyer-1", again.run_id]
    assert same(stored(tmp_path), result.events)
    assert same(stored(tmp_path, again.run_id), again.events)
    later = planner().resume(run=planner().propose("go").run_id)  # after a restart, it is done as it was proposed
    assert (later.final_output, len(later.plan)) == ("done", 2)


# a run of an earlier process


@BOTH
@pytest.mark.parametrize(
    ("decision", "output", "happened"),
    [
        (True, "heard: paid 120", [("Ann", 120)]),
        (Approve({"to": "Bob", "amount": 101}), "heard: paid 101\n", [("Bob", 101)]),
        (Reject("too dear"), "heard: Not run: ", []),
        (Answer("it was paid"), "heard: it was paid", []),
    ],
)
def test_a_run_that_waits_goes_on_in_a_later_process(decision, output, happened, asynchronous, tmp_path):
    first = buyer(tmp_path).run("go")
    agent = buyer(tmp_path)
    result = resume(agent, decision, run="buyer-1", asynchronous=asynchronous)
    assert result.final_output.startswith(output)
    assert ran == happened
    assert (result.run_id, result.usage.llm_calls, len(result.turns)) == ("buyer-1", 2, 2)
    assert same(stored(tmp_path), result.events)
    assert same(result.events[: len(first.events) - 1], first.events[:-1])
    assert [message.content for message in agent.history] == ["go", result.final_output]
    assert (agent.last, agent.waiting) == (result, {})


def test_it_streams_too(tmp_path):
    buyer(tmp_path).run("go")
    agent = buyer(tmp_path)
    heard_of = [event for event in agent.stream_resume(True, run="buyer-1") if not is_fleeting(event)]
    assert tuple(heard_of) == agent.last.events


def test_without_a_decision_it_waits_on_and_then_goes_on_here(tmp_path):
    buyer(tmp_path).run("go")
    agent = buyer(tmp_path)
    result = agent.resume(run="buyer-1")
    assert (result.status, result.interrupt.pending.shown) == ("interrupted", 'pay(to="Ann", amount=120)')
    assert (agent.waiting[None], status(tmp_path)[0][2]) == (result.interrupt, "interrupted")
    with pytest.raises(ConfigError, match="buyer waits for a decision"):
        agent.run("another")
    with pytest.raises(DecisionError):
        agent.resume("yes", run="buyer-1")  # which is the one that waits here
    assert agent.resume(True, run="buyer-1").final_output == "heard: paid 120"
    assert ran == [("Ann", 120)]
    assert same(stored(tmp_path), agent.last.events)


def test_what_is_no_decision_leaves_the_run_as_it_was(tmp_path):
    buyer(tmp_path).run("go")
    before = (tmp_path / "buyer-1.jsonl").read_bytes()
    agent = buyer(tmp_path)
    for wrong in (1, "yes", {"no such call": True}):
        with pytest.raises(DecisionError):
            agent.resume(wrong, run="buyer-1")
    assert ((tmp_path / "buyer-1.jsonl").read_bytes(), agent.model.position, agent.last) == (before, 0, None)
    assert agent.resume({"call_1": True}, run="buyer-1").final_output == "heard: paid 120"


def test_who_decides_for_the_agent_decides(tmp_path):
    buyer(tmp_path).run("go")
    agent = buyer(tmp_path, decide=lambda pendings: False)
    assert agent.resume(run="buyer-1").final_output.startswith("heard: Not run")
    buyer(tmp_path).run("go")
    assert buyer(tmp_path).resume(run="buyer-2", decide=lambda pendings: True).final_output == "heard: paid 120"


def test_what_was_approved_for_the_whole_run_holds_in_the_later_process(tmp_path):
    script = paying(200), paying(300), paying(400), "done"
    agent = buyer(tmp_path, *script)
    agent.run("go", decisions=[Approve()])
    buyer(tmp_path, *script).resume(Approve(always="tool"), run="buyer-1")
    assert ran == [("Ann", 200), ("Ann", 300), ("Ann", 400)]


def test_conversations_scopes_images_and_fields_are_those_of_the_run(tmp_path):
    script = "Hello.", paying(), heard, heard
    agent = buyer(tmp_path, *script, prompt_template="{task} for {who}", formatters=["paragraph", "text"])
    agent.run({"task": "hi", "who": "Ada"}, scope="ada")
    agent.run({"task": "pay", "who": "Ada"}, scope="ada")
    later = buyer(tmp_path, *script, prompt_template="{task} for {who}", formatters=["paragraph", "text"])
    with pytest.raises(ConfigError, match="scope: buyer-2 belongs to the conversation 'ada', not to 'bob'"):
        later.resume(True, run="buyer-2", scope="bob")
    result = later.resume(True, run="buyer-2")
    assert result.final_output == "heard: paid 120"
    assert [m.content for m in later.get_history("ada")] == ["pay for Ada", "heard: paid 120"]
    assert [m.content for m in result.events[0].history] == ["hi for Ada", "Hello."]
    assert (later.history, later.model.position) == ((), 3)


class Person(NamedTuple):
    name: str


@dataclass(frozen=True)
class Member:
    name: str


class Room(Enum):
    blue = "blue"
    red = "red"


class Thing:
    """Put down as a text."""


THING = Thing()


@pytest.mark.parametrize(
    ("scope", "known", "other"),
    [
        (("ada", 1), ("ada", 1), ("ada", 2)),
        (Person("ada"), ("ada",), Person("bob")),
        (Room.blue, "blue", Room.red),
        (frozenset({"ada"}), frozenset({"ada"}), frozenset()),
        (Member("ada"), None, Member("bob")),
        ((Member("ada"), 1), None, (Member("ada"), 2)),
        (THING, "<test_going_on.Thing object>", Person),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_scope_is_known_again_in_whatever_form_the_file_has_it(scope, known, other, tmp_path):
    """`known`: what it is where nobody says it; None where somebody has to."""
    for _ in range(2):
        buyer(tmp_path).run("go", scope=scope)
    agent = buyer(tmp_path)
    with pytest.raises(ConfigError, match=r"scope: buyer-1 belongs to the conversation .*, not to "):
        agent.resume(True, run="buyer-1", scope=other)
    assert agent.resume(True, run="buyer-1", scope=scope).final_output == "heard: paid 120"
    assert agent.scopes == (scope,)
    later = buyer(tmp_path)
    if known is None:
        with pytest.raises(ConfigError, match="which was an object; say which: scope=…"):
            later.resume(True, run="buyer-2")
        assert ran == [("Ann", 120)]
    else:
        later.resume(True, run="buyer-2")
        assert later.scopes == (known,)


def test_with_a_session_store_the_conversation_goes_on_where_it_was(tmp_path):
    def made():
        return buyer(tmp_path / "runs", "Hello.", paying(), heard, heard, session_store=SessionStore(tmp_path / "said"))

    agent = made()
    agent.run("hi")
    agent.run("pay")
    later = made()
    later.resume(True, run="buyer-2")
    assert [m.content for m in later.history] == ["hi", "Hello.", "pay", "heard: paid 120"]
    assert [m.content for m in made().history] == [m.content for m in later.history]


@pytest.mark.parametrize("ending", ["cancelled", "failed"])
def test_runs_that_were_stopped_or_have_failed_go_on_too(ending, tmp_path):
    error = KeyboardInterrupt() if ending == "cancelled" else ModelError("down", kind="auth")
    agent = buyer(tmp_path, call("look"), error)
    with pytest.raises(type(error)):
        agent.run("go")
    assert status(tmp_path)[0][2] == ending
    result = buyer(tmp_path, call("look"), heard).resume(run="buyer-1")
    assert (result.final_output, ran) == ("heard: seen", ["looked"])
    assert same(stored(tmp_path), result.events)


@pytest.mark.parametrize(
    ("script", "options", "why"),
    [
        (["Hi."], {}, "it is completed"),
        ([call("look")] * 3, {"max_turns": 2}, "it is out of turns"),
    ],
)
def test_a_run_that_is_over_is_refused(script, options, why, tmp_path):
    buyer(tmp_path, *script, **options).run("go")
    with pytest.raises(StoreError, match=f"store: buyer-1 cannot go on: {why}; run it anew"):
        buyer(tmp_path, *script, **options).resume(run="buyer-1")


def test_a_run_that_a_person_has_stopped_stays_stopped(tmp_path):
    buyer(tmp_path).run("go")
    buyer(tmp_path).resume(Stop("no more"), run="buyer-1")
    with pytest.raises(StoreError, match="buyer-1 cannot go on: a person has stopped it; run it anew"):
        buyer(tmp_path).resume(True, run="buyer-1")
    assert ran == []


def test_a_run_that_is_not_there_that_is_another_agents_or_that_nobody_stores(tmp_path):
    buyer(tmp_path).run("go")
    with pytest.raises(StoreError, match="there is no run 'buyer-2' in"):
        buyer(tmp_path).resume(True, run="buyer-2")
    with pytest.raises(StoreError, match="it is a run of the agent 'buyer', and this one is 'other'"):
        buyer(tmp_path, name="other").resume(True, run="buyer-1")
    with pytest.raises(ConfigError, match="run: buyer has no store that buyer-1 could be in; give it one: store='fol"):
        buyer(None).resume(True, run="buyer-1")
    assert buyer(tmp_path, name="other").stored() == ()
    assert ran == []


def test_a_run_that_another_one_writes_is_held_by_it(tmp_path):
    buyer(tmp_path).run("go")
    with RunStore(tmp_path).open("buyer-1"):
        agent = buyer(tmp_path)
        with pytest.raises(RunHeld, match="is being written by this process"):
            agent.resume(True, run="buyer-1")
        assert (agent.model.position, agent.last, ran) == (0, None, [])
    assert agent.resume(True, run="buyer-1").final_output == "heard: paid 120"


def test_while_another_run_waits_in_its_conversation_it_cannot_go_on(tmp_path):
    buyer(tmp_path).run("go")
    agent = buyer(tmp_path)
    agent.run("another")
    with pytest.raises(ConfigError, match="buyer waits for a decision about"):
        agent.resume(True, run="buyer-1")
    assert ran == []
    RunStore(tmp_path).open("buyer-1").close()  # and its file is free


# what must not have changed


def other_pay(to: str, amount: int) -> str:
    """Pays."""
    ran.append("another")
    return f"paid {amount} twice"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"tools": [tool(name="pay", approval="amount > 100")(other_pay), look]}, "tool pay"),
        ({"tools": [pay]}, "tool look"),
        ({"tools": [pay, look, tool(name="more")(other_pay)]}, "tool more"),
        ({"system_prompt": "Be careful.\nBe quick."}, "system prompt"),
        ({"prompt_template": "Do {task}!"}, "prompt template"),
    ],
)
def test_what_has_changed_since_is_named_and_nothing_runs(change, named, tmp_path):
    same_as_then = {
        "system_prompt": "Be careful.\nBe slow.", "prompt_template": "Do {task}.", "formatters": ["paragraph", "text"],
    }  # fmt: skip
    buyer(tmp_path, **same_as_then).run("go")
    before = (tmp_path / "buyer-1.jsonl").read_bytes()
    with pytest.raises(
        StoreError, match=f"cannot go on: not as they were when it began: {named}. Restore them, or run"
    ):
        buyer(tmp_path, **{**same_as_then, **change}).resume(True, run="buyer-1")
    assert ((tmp_path / "buyer-1.jsonl").read_bytes(), ran) == (before, [])
    assert buyer(tmp_path, **same_as_then).resume(True, run="buyer-1").status == "completed"


def test_of_a_system_prompt_that_has_changed_the_lines_are_shown(tmp_path):
    buyer(tmp_path, instructions="About {what}.\nBe slow.").run({"task": "go", "what": "paying"})
    with pytest.raises(StoreError) as caught:
        buyer(tmp_path, instructions="About {what}.\nBe quick.").resume(True, run="buyer-1")
    assert str(caught.value).splitlines()[1:] == ["- Be slow.", "+ Be quick."]
    assert caught.value._render_traceback_()[1:] == ["- Be slow.", "+ Be quick."]


def test_a_model_of_another_name_is_a_change(tmp_path):
    class Other(ScriptedLLM):
        name = "other"

    buyer(tmp_path).run("go")
    agent = buyer(tmp_path)
    agent.model = Other([paying(), heard])
    with pytest.raises(StoreError, match=r"when it began: model\. Restore"):
        agent.resume(True, run="buyer-1")


def lead(folder, *, inner_tools=(pay,), prompt="Pay.", decide=None):
    inner = buyer(None, paying(200), "one", name="inner", tools=inner_tools, system_prompt=prompt)
    return buyer(folder, call("inner", {"task": "1"}), "done", name="lead", tools=[AgentTool(inner)], decide=decide)


def test_what_the_agents_inside_are_counts_too(tmp_path):
    lead(tmp_path).run("go")
    other = tool(name="pay", approval=True)(other_pay)
    for changed, named in [({"inner_tools": [other]}, "tool pay"), ({"prompt": "Pay!"}, "system prompt")]:
        with pytest.raises(StoreError, match=f"when it began: inner: {named}. Restore"):
            lead(tmp_path, **changed).resume(True, run="lead-1")
    assert ran == []


def test_what_waits_inside_goes_on_there_and_its_pause_is_left_out(tmp_path):
    lead(tmp_path).run("go")
    agent = lead(tmp_path)
    result = agent.resume(True, run="lead-1")
    assert (result.final_output, ran) == ("done", [("Ann", 200)])
    straight = lead(tmp_path).run("go", decisions=[True])
    assert same(stored(tmp_path, "lead-1"), result.events)
    assert len(result.events) == len(straight.events)
    ends = [innermost(event).status for event in result.events if isinstance(innermost(event), RunFinished)]
    assert ends == ["completed", "completed"]


# calls that were started and have no result


def unfinished(folder, agent, kind=ToolStarted, **options):
    """A run whose process has ended right after an event of this kind: its file has nothing behind it."""
    agent.run("go", **options)
    lines = (folder / f"{agent.name}-1.jsonl").read_bytes().splitlines(keepends=True)
    at = next(place for place, line in enumerate(lines) if f'"kind":"{kind.__name__}"'.encode() in line)
    (folder / f"{agent.name}-1.jsonl").write_bytes(b"".join(lines[: at + 1]))
    assert status(folder)[0][2] == "unfinished"
    ran.clear()


def test_what_is_unknown_waits_for_a_decision(tmp_path):
    unfinished(tmp_path, buyer(tmp_path), decisions=[True])
    result = buyer(tmp_path).resume(run="buyer-1")
    assert (result.status, result.interrupt.pending.kind, ran) == ("interrupted", "unknown", [])
    assert status(tmp_path)[0][2] == "interrupted"


@pytest.mark.parametrize(
    ("decision", "output", "happened"),
    [
        (True, "heard: paid 120", [("Ann", 120)]),
        (Answer("it was paid"), "heard: it was paid", []),
        (Reject("it did not run"), "heard: Not run", []),
    ],
)
def test_what_is_unknown_runs_again_or_is_answered_or_did_not_run(decision, output, happened, tmp_path):
    unfinished(tmp_path, buyer(tmp_path), decisions=[True])
    result = buyer(tmp_path).resume(decision, run="buyer-1")
    assert result.final_output.startswith(output)
    assert ran == happened
    assert same(stored(tmp_path), result.events)


def test_that_it_may_run_again_is_said_for_one_time(tmp_path):
    """Where the process ends in the second attempt, too, a third one needs another decision."""
    unfinished(tmp_path, buyer(tmp_path), decisions=[True])
    agent = buyer(tmp_path)
    agent.resume(True, run="buyer-1")
    lines = (tmp_path / "buyer-1.jsonl").read_bytes().splitlines(keepends=True)
    starts = [place for place, line in enumerate(lines) if b'"kind":"ToolStarted"' in line]
    assert len(starts) == 2
    (tmp_path / "buyer-1.jsonl").write_bytes(b"".join(lines[: starts[1] + 1]))
    ran.clear()
    result = buyer(tmp_path).resume(run="buyer-1")
    assert (result.status, result.interrupt.pending.kind, ran) == ("interrupted", "unknown", [])
    assert (buyer(tmp_path).resume(Answer("paid"), run="buyer-1").final_output, ran) == ("heard: paid", [])
    (tmp_path / "buyer-1.jsonl").write_bytes(b"".join(lines[: starts[1]]))  # before the second: it was said
    assert buyer(tmp_path).resume(run="buyer-1").final_output == "heard: paid 120"
    assert ran == [("Ann", 120)]


def test_a_tool_that_may_run_again_does(tmp_path):
    unfinished(tmp_path, buyer(tmp_path, call("look"), heard))
    assert (buyer(tmp_path, call("look"), heard).resume(run="buyer-1").final_output, ran) == ("heard: seen", ["looked"])


def test_a_call_inside_that_is_unknown_waits_and_is_answered_there(tmp_path):
    unfinished(tmp_path, lead(tmp_path), kind=Nested, decisions=[True])
    agent = lead(tmp_path)
    result = agent.resume(run="lead-1")
    assert (result.status, [one.shown for one in result.interrupt.pendings]) == (
        "interrupted", ['pay(to="Ann", amount=200)'],
    )  # fmt: skip
    assert (agent.resume(True).final_output, ran) == ("done", [("Ann", 200)])
    assert same(stored(tmp_path, "lead-1"), agent.last.events)


@pytest.mark.parametrize("cut", range(1, 6))
def test_the_file_of_a_process_that_ended_early_goes_on(cut, tmp_path):
    whole = buyer(tmp_path, call("look"), heard).run("go")
    path = tmp_path / "buyer-1.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: cut + 1]) + lines[cut + 1][:20])
    assert buyer(tmp_path, call("look"), heard).resume(run="buyer-1").final_output == "heard: seen"
    assert same(stored(tmp_path), whole.events)


def test_a_run_that_never_began_is_refused(tmp_path):
    buyer(tmp_path).run("go")
    path = tmp_path / "buyer-1.jsonl"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(StoreError, match="buyer-1 cannot go on: its process ended before it began; run it anew"):
        buyer(tmp_path).resume(run="buyer-1")


# scripts


def test_scripts_stand_where_the_file_leaves_them_those_inside_too(tmp_path):
    def made():
        inner = buyer(None, "zero", paying(200), "one", "two", name="inner")
        script = call("inner", {"task": "0"}), call("inner", {"task": "1"}), "done", "more"
        return buyer(tmp_path, *script, name="lead", tools=[AgentTool(inner)]), inner

    made()[0].run("go")
    agent, inner = made()
    result = agent.resume(True, run="lead-1")
    assert (result.final_output, agent.model.position, inner.model.position) == ("done", 3, 3)
    assert ran == [("Ann", 200)]
    agent.undo()
    assert (agent.model.position, inner.model.position) == (0, 0)


# secrets


def test_where_arguments_are_masked_it_does_not_go_on(tmp_path, monkeypatch):
    secret = "sk-proj-" + "a1B2" * 10
    asking = call("pay", {"to": secret, "amount": 120})
    buyer(tmp_path, asking, heard).run("go")
    assert secret not in (tmp_path / "buyer-1.jsonl").read_text()
    agent = buyer(tmp_path, asking, heard)
    with pytest.raises(StoreError, match="cannot go on: a key or a password is masked in "):
        agent.resume(True, run="buyer-1")
    assert ran == []
    in_process = buyer(tmp_path, asking, heard)
    in_process.run("go")
    in_process.resume(True)  # what the process knows, it knows
    assert ran == [(secret, 120)]
    assert list(map(type, stored(tmp_path, "buyer-2"))) == list(map(type, in_process.last.events))
    assert secret not in (tmp_path / "buyer-2.jsonl").read_text()


def test_a_result_that_is_masked_is_what_the_model_has_read(tmp_path):
    @tool
    def peek() -> str:
        """Peeks."""
        return "the key is sk-proj-" + "a1B2" * 10

    def made():
        return buyer(tmp_path, call("peek"), paying(), heard, tools=[peek, pay])

    made().run("go")
    assert RunStore(tmp_path).read("buyer-1").masked
    assert made().resume(True, run="buyer-1").final_output == "heard: paid 120"


def test_a_secret_that_is_only_known_now_makes_no_second_run_of_the_file(tmp_path, monkeypatch):
    from nbagent.redact import know

    agent = buyer(tmp_path, paying(to="hunter2hunter2"), heard)
    agent.run("go")
    know("hunter2hunter2", "a password")
    for one, run in [(agent, None), (buyer(tmp_path, paying(to="hunter2hunter2"), heard), "buyer-1")]:
        if run is None:
            one.resume({}, decide=lambda pendings: None)
        else:
            one.resume(True, run=run)
        events = stored(tmp_path)
        assert sum(isinstance(event, RunStarted) for event in events) == 1
        assert sum(isinstance(event, ModelReplied) for event in events) == (1 if run is None else 2)
    assert ran == [("hunter2hunter2", 120)]
    assert sum(isinstance(event, ToolReturned) for event in stored(tmp_path)) == 1


def test_a_policy_that_asks_for_all_asks_in_the_later_process_too(tmp_path):
    script = call("look"), call("look", call_id="b"), "done"
    policy = ApprovalPolicy(approve=["all"])
    buyer(tmp_path, *script, approvals=policy).run("go")
    agent = buyer(tmp_path, *script, approvals=policy)
    assert agent.resume(True, run="buyer-1").interrupted
    assert agent.resume(True).final_output == "done"
    assert same(stored(tmp_path), agent.last.events)


# what it costs


def cost_of(turns, store):
    """Python calls of a run of so many turns."""
    script = [call("look", call_id="1") for _ in range(turns)]
    agent = buyer(store, *script, "Done.", max_turns=turns + 1)
    return calls_of(lambda: agent.run("go"))


def test_a_turn_of_a_run_that_is_written_costs_the_same_however_long_it_is(tmp_path):
    store = RunStore(tmp_path, disk=QuickDisk())
    cost_of(1, store)
    begin = cost_of(1, store)
    short, long = (cost_of(10, store) - begin) / 9, (cost_of(1000, store) - begin) / 999
    print(f"calls of a turn on disk: {short:.0f} at 10 turns, {long:.0f} at 1,000")
    assert long <= short * 1.05


@pytest.mark.parametrize("stored", [False, True])
def test_a_run_whose_tool_is_gone_waits_on_until_it_is_back(stored, tmp_path):
    agent = buyer(tmp_path if stored else None, paying(), heard, "Later.", tools=[pay])
    agent.run("go")
    agent.own_tools.remove("pay")
    for _ in range(2):
        with pytest.raises(DriftError, match="pay"):
            agent.resume(True)
        assert len(agent.waiting) == 1
    agent.own_tools.register(pay)
    result = agent.resume(True)
    assert (result.status, ran, len(agent.history)) == ("completed", [("Ann", 120)], 2)
    assert agent.run("and now?").final_output == "Later."


def test_what_was_taken_back_is_asked_about_in_a_later_process_too(tmp_path):
    script, policy = (paying(), call("look"), paying(), heard), ApprovalPolicy(["look"])
    agent = buyer(tmp_path, *script, approvals=policy)
    agent.run("go")
    assert agent.resume(Approve(always="tool")).standing == ("pay",)
    assert agent.resume({}, revoke="pay").interrupt.pending.tool_name == "look"
    events = RunStore(tmp_path).read("buyer-1").events
    assert [one.tool for one in events if isinstance(one, ApprovalRevoked)] == ["pay"]
    assert list(events) == [decode(encode(one)) for one in events]
    waits = buyer(tmp_path, *script, approvals=policy).resume(True, run="buyer-1")
    assert (waits.interrupt.pending.tool_name, waits.standing, len(ran)) == ("pay", (), 2)
