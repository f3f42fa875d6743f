"""Forks of stored runs: a prefix of the journal is a run of its own, which goes on from there."""

from __future__ import annotations

import pytest
from buying import BOTH, call, heard, look, nothing_ran, pay, paying, ran, resume  # noqa: F401
from journals import all_agents, ended

from nbagent import Agent, Approve, RunStore, ScriptedLLM
from nbagent.errors import ConfigError, StoreError
from nbagent.events import ModelReplied
from nbagent.store.open_places import open_places


def buyer(folder, *script, **options):
    script = script or (paying(50), paying(120), paying(130), heard)
    return Agent("buyer", ScriptedLLM(script), tools=[pay, look], store=folder, **options)


def replies(events):
    return [one.reply for one in events if isinstance(one, ModelReplied)]


@BOTH
def test_a_run_goes_on_from_any_of_its_replies_as_a_run_of_its_own(asynchronous, tmp_path):
    first = buyer(tmp_path, decide=lambda pendings: True)
    whole, store = first.run("go"), RunStore(tmp_path)
    before, made = (tmp_path / "buyer-1.jsonl").read_bytes(), []
    assert len(ran) == 3
    for kept in range(5):
        ran.clear()
        fork = store.fork("buyer-1", replies=kept)
        made.append(fork)
        assert (store.look(fork).header.agent, store.list()[-1].status) == ("buyer", "unfinished")
        again = resume(buyer(tmp_path, decide=lambda pendings: True), None, asynchronous=asynchronous, run=fork)
        assert (again.run_id, again.status, replies(again.events)) == (fork, "completed", replies(whole.events))
        assert len(ran) == 3 - min(kept, 3)  # what had returned is not done again
        assert (again.usage.llm_calls, again.usage.tool_calls) == (4, 3)
    assert made == [f"buyer-{number}" for number in range(2, 7)]
    assert (tmp_path / "buyer-1.jsonl").read_bytes() == before


def test_an_undone_turn_is_asked_about_anew_and_may_come_out_otherwise(tmp_path):
    agent = buyer(tmp_path)
    agent.run("go")
    agent.resume(Approve(always="tool"))
    fork = agent.store.fork("buyer-1", replies=2)
    other = buyer(tmp_path)
    waits = other.resume(run=fork)
    # What was approved in the other run is not approved here.
    assert (waits.interrupt.pending.shown, len(ran)) == ('pay(to="Ann", amount=130)', 3)
    assert other.resume(False).final_output.startswith("heard: Not run")
    assert [one.status for one in agent.stored()] == ["completed", "completed"]


def test_runs_of_every_kind_can_be_forked_at_every_reply(tmp_path):
    forked = 0
    for number, (name, agent, task) in enumerate(all_agents()):
        store = RunStore(tmp_path / str(number))
        agent.store = store
        result = ended(agent, task)
        known = replies(result.events)
        for kept in range(len(known) + 1):
            fork = store.fork(result.run_id, kept)
            events = store.read(fork).events
            assert replies(events) == known[:kept], name
            recorded = [result.events[place] for place in open_places(result.events)]
            assert events[1:] == tuple(recorded[1 : len(events)]), name
            forked += 1
    print(f"{forked} forks")
    assert forked > 60


@pytest.mark.parametrize("wrong", [-1, True, "1", None, 1.0, 5])
def test_a_number_that_the_run_has_not_is_refused(wrong, tmp_path):
    buyer(tmp_path, decide=lambda pendings: True).run("go")
    with pytest.raises(ConfigError, match=r"replies: (expected|buyer-1 has 4 of them; got 5)"):
        RunStore(tmp_path).fork("buyer-1", wrong)
    assert [one.run_id for one in RunStore(tmp_path).list()] == ["buyer-1"]


def test_what_is_damaged_masked_or_not_there_is_not_forked(tmp_path):
    store = RunStore(tmp_path)
    with pytest.raises(StoreError):
        store.fork("buyer-1", 0)
    agent = buyer(tmp_path, paying(5, to="sk-proj-0123456789abcdefghijABCDEFGHIJ"), heard)
    agent.run("go")
    with pytest.raises(StoreError, match="a key or a password is masked"):
        store.fork("buyer-1", 1)
    assert store.fork("buyer-1", 0) == "buyer-2"  # before anything was masked
    path = tmp_path / "buyer-2.jsonl"
    path.write_bytes(path.read_bytes().replace(b"go", b"no", 1))
    with pytest.raises(StoreError):
        store.fork("buyer-2", 0)
