"""Runs that wait: one caller at a time goes on with each, and several of one conversation wait side by side."""

from __future__ import annotations

import asyncio
import threading

import pytest

from nbagent import Agent, ApprovalPolicy, Approve, PlanAgent, RunStore, ScriptedLLM
from nbagent.errors import ConfigError, DecisionError, DecisionsLeftOver, ModelError

call = ScriptedLLM.tool_call
ran: list = []
GOES_ON = "bot: somebody goes on with bot-1 already; wait until that has ended"


@pytest.fixture(autouse=True)
def _nothing_ran():
    ran.clear()


async def pay(amount: int) -> str:
    """Pays."""
    await asyncio.sleep(0.01)
    ran.append(amount)
    return f"paid {amount}"


async def slow() -> str:
    """Waits."""
    await asyncio.sleep(0.05)
    return "ok"


def paying(amount=1):
    return call("pay", {"amount": amount})


def bot(*script, kind=Agent, **options):
    policy = ApprovalPolicy(approve=["pay"])
    return kind("bot", ScriptedLLM(script), tools=[pay, slow], approvals=policy, **options)


@pytest.fixture(params=[False, True], ids=["in memory", "stored"])
def store(request, tmp_path):
    return RunStore(tmp_path / "runs") if request.param else None


async def at_once(*several):
    return await asyncio.gather(*several, return_exceptions=True)


# one caller at a time


def test_of_two_who_go_on_with_a_run_at_once_one_does(store):
    async def both():
        return await at_once(agent.aresume(True), agent.aresume(True))

    agent = bot(paying(), "done", "more", store=store)
    agent.run("go")
    done, refused = asyncio.run(both())
    assert (done.final_output, ran) == ("done", [1])
    assert isinstance(refused, ConfigError)
    assert str(refused).startswith(GOES_ON)
    assert agent.model.position == 2


def test_of_many_threads_who_go_on_with_a_run_one_does(store):
    rounds, width = 10, 4
    for number in range(1, rounds + 1):
        agent = bot(paying(number), *["done"] * width, store=store)
        agent.run("go")
        barrier, said = threading.Barrier(width), []

        def go_on(agent=agent, barrier=barrier, said=said):
            barrier.wait()
            try:
                said.append(agent.resume(True).status)
            except ConfigError:
                said.append("refused")

        threads = [threading.Thread(target=go_on) for _ in range(width)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(said) == ["completed", *["refused"] * (width - 1)]
    assert ran == list(range(1, rounds + 1))
    print(f"{rounds} runs that {width} threads go on with: {len(ran)} calls ran")


@pytest.mark.parametrize(
    "other",
    [
        lambda agent: agent.resume(True),
        lambda agent: agent.resume(True, run="bot-1"),
        lambda agent: agent.discard(),
        lambda agent: agent.discard(run="bot-1"),
        lambda agent: agent.reset(),
        lambda agent: agent.run("another"),
        lambda agent: agent.run("again", key="cell"),
        lambda agent: agent.undo(),
    ],
)
def test_while_a_stream_stands_its_run_is_claimed_and_free_when_it_is_closed(other, store):
    agent = bot(paying(), "done", "more", store=store)
    agent.run("go", key="cell")
    stream = agent.stream_resume(True)
    next(stream)
    with pytest.raises(ConfigError, match=GOES_ON):
        other(agent)
    assert (agent.waiting, ran) == ({}, [])
    stream.close()
    assert [one.shown for one in agent.waiting[None].pendings] == ["pay(amount=1)"]
    assert (agent.resume(True).final_output, ran) == ("done", [1])


def test_a_stream_that_nobody_has_begun_claims_nothing(store):
    agent = bot(paying(), "done", store=store)
    agent.run("go")
    stream = agent.stream_resume(True)
    assert agent.resume(True).final_output == "done"
    with pytest.raises(ConfigError, match="no run of bot waits"):
        next(stream)


def test_a_run_that_waits_again_or_could_not_go_on_is_free_again(store):
    agent = bot(paying(1), paying(2), "done", store=store)
    agent.run("go")
    with pytest.raises(DecisionError):
        agent.resume("yes")
    assert agent.resume(True).interrupted
    assert [one.shown for one in agent.waiting[None].pendings] == ["pay(amount=2)"]
    agent.prompting.context.newest = fails = Fails(agent.prompting.context.newest)
    with pytest.raises(ModelError, match="the memory is gone"):
        agent.resume(True)
    fails.mended = True
    assert (agent.resume(True).final_output, ran) == ("done", [1, 2])


class Fails:
    def __init__(self, real):
        self.real, self.mended = real, False

    def __call__(self, *args):
        if not self.mended:
            raise ModelError("the memory is gone", kind="auth")
        return self.real(*args)


def test_while_an_exchange_is_made_again_the_run_that_it_replaces_is_claimed():
    agent = bot(paying(), paying(), "done")
    agent.run("go", key="cell")
    stream = agent.stream("go", key="cell")
    next(stream)
    with pytest.raises(ConfigError, match=GOES_ON):
        agent.resume(True)
    list(stream)
    assert (len(agent.waiting[None].pendings), agent.resume(True).run_id, ran) == (1, "bot-2", [1])


# several of one conversation


def paying_as_asked(request):
    """Whichever of both comes first: the first pays 1, the second 2."""
    [asked] = [message.content for message in request.messages if message.role == "user"]
    return paying(["first", "second"].index(asked) + 1)


def two_wait(**options):
    async def both():
        return await at_once(agent.arun("first"), agent.arun("second"))

    agent = bot(call("slow"), call("slow"), paying_as_asked, paying_as_asked, "a", "b", "c", **options)
    first, second = asyncio.run(both())
    assert (first.interrupt.pending.shown, second.interrupt.pending.shown) == ("pay(amount=1)", "pay(amount=2)")
    return agent, first, second


def test_runs_side_by_side_wait_side_by_side(store):
    agent, first, second = two_wait(store=store)
    waiting = agent.waiting[None]
    assert waiting.pendings == (*first.interrupt.pendings, *second.interrupt.pendings)
    assert waiting.reason == "waits for a decision about pay(amount=1); waits for a decision about pay(amount=2)"
    with pytest.raises(ConfigError, match=r"about pay\(amount=1\), pay\(amount=2\); decide first"):
        agent.run("third")
    both = r"2 runs of bot wait: bot-1 \(pay\(amount=1\)\), bot-2 \(pay\(amount=2\)\); say which: .*run='bot-1'\)"
    for decision in (True, {}, {one.digest: True for one in waiting.pendings}):
        with pytest.raises(ConfigError, match=both):
            agent.resume(decision)
    assert ran == []
    assert (agent.resume(True, run="bot-2").final_output, ran) == ("a", [2])
    assert (agent.resume(True).final_output, ran) == ("b", [2, 1])  # the only one that is left
    assert (agent.waiting, agent.run("third").final_output) == ({}, "c")
    assert [m.content for m in agent.history] == ["first", "b", "second", "a", "third", "c"]


def test_a_call_by_name_says_which_run_is_meant(store):
    agent, first, second = two_wait(store=store)
    assert agent.resume({second.interrupt.pending.call_id: True}).run_id == second.run_id
    assert agent.resume({first.interrupt.pending.digest: True}).run_id == first.run_id
    assert ran == [2, 1]


def test_two_of_one_conversation_go_on_side_by_side(store):
    async def both():
        return await at_once(agent.aresume(True, run="bot-1"), agent.aresume(True, run="bot-2"))

    agent, _, _ = two_wait(store=store)
    assert {one.status for one in asyncio.run(both())} == {"completed"}
    assert (sorted(ran), agent.waiting) == ([1, 2], {})


def test_one_of_several_is_dropped_or_all_of_them(store):
    agent, first, second = two_wait(store=store)
    assert agent.discard(run="bot-1") is first
    assert agent.waiting[None].pendings == second.interrupt.pendings
    assert agent.discard(run="bot-7") is None
    agent, _, second = two_wait(store=store)
    assert agent.discard() is second
    assert (agent.waiting, agent.discard(), ran) == ({}, None, [])


def test_a_run_that_ends_leaves_one_that_waits_where_it_is(store):
    async def both():
        return await at_once(agent.arun("a while"), agent.arun("pay"))

    agent = bot(call("slow"), paying(), "slow is done", "paid", store=store)
    first, second = asyncio.run(both())
    assert (first.status, second.status) == ("completed", "interrupted")
    assert agent.waiting == {None: second.interrupt}
    assert (agent.resume(True).final_output, ran) == ("paid", [1])


def test_the_script_goes_on_behind_what_others_have_used_of_it_meanwhile():
    agent = bot(paying(1), "one", paying(2), "two", "a", "b", "next")
    agent.run("first", scope="a")
    agent.run("meanwhile", scope="c")
    agent.run("second", scope="b")
    agent.run("meanwhile", scope="c")
    assert [agent.resume(True, scope=scope).final_output for scope in ("a", "b")] == ["a", "b"]
    assert (agent.run("on", scope="c").final_output, agent.model.position) == ("next", 7)


def test_runs_that_were_stopped_all_go_on():
    def stop(request):
        raise KeyboardInterrupt

    agent, _, _ = two_wait()
    agent.model = ScriptedLLM([*["-"] * 4, stop, stop, "a", "b"])
    agent.model.position = 4
    for run in ("bot-1", "bot-2"):
        with pytest.raises(KeyboardInterrupt):
            agent.resume(True, run=run)
    assert (agent.waiting, ran) == ({}, [1, 2])
    with pytest.raises(ConfigError, match=r"bot-1 \(stopped between two calls\), bot-2"):
        agent.resume()
    agent.model.position = 6
    assert [agent.resume(run=run).final_output for run in ("bot-1", "bot-2")] == ["a", "b"]
    assert ran == [1, 2]


# plans


def planner(*script, **options):
    return bot('["A", "B"]', *script, kind=PlanAgent, **options)


def test_a_plan_is_done_by_one_at_a_time(store):
    agent = planner("a", "b", "done", "a", "b", "done", store=store)
    agent.propose("go")
    stream = agent.stream_plan()
    next(stream)
    for other in (lambda: agent.resume(True), agent.run_plan, agent.reset, agent.discard):
        with pytest.raises(ConfigError, match=GOES_ON):
            other()
    list(stream)
    assert (agent.last.final_output, agent.waiting) == ("done", {})
    assert agent.run_plan().final_output == "done"  # once more


def test_a_plan_that_was_proposed_waits_on_while_other_runs_end(store):
    agent = planner('["X"]', "x", "x is done", "a", "b", "done", store=store)
    agent.propose("go")
    assert agent.run("something else").final_output == "x is done"
    assert [one.kind for one in agent.waiting[None].pendings] == ["plan"]
    assert (agent.resume(True).final_output, agent.waiting) == ("done", {})
    assert [m.content for m in agent.history] == ["go", "done", "something else", "x is done"]


def test_a_plan_proposed_anew_takes_the_place_of_the_one_before():
    agent = planner('["C"]', "c", "done")
    agent.propose("go")
    agent.propose("anew")
    [pending] = agent.waiting[None].pendings
    assert (pending.arguments, agent.plan) == ('{"steps": ["C"]}', ["C"])
    assert agent.resume(True).final_output == "done"


def test_what_a_plan_waits_for_is_decided_once_however_it_goes_on(store):
    agent = planner(paying(), "a", "b", "done", store=store)
    agent.propose("go", key="plan")
    assert agent.run_plan(key="cell").interrupted
    assert agent.run_plan().interrupted  # goes on with that run
    assert [one.shown for one in agent.waiting[None].pendings] == ["pay(amount=1)"]
    assert (agent.resume(True).final_output, ran, agent.waiting) == ("done", [1], {})


def test_a_plan_takes_decisions_like_any_run(store):
    def asked():
        agent = planner(paying(5), paying(6), "a", "b", "done", store=store)
        agent.propose("go")
        return agent

    assert asked().run_plan(decisions=[True, Approve({"amount": 7})]).final_output == "done"
    assert ran == [5, 7]
    with pytest.raises(DecisionsLeftOver, match="approve"):
        list(asked().stream_plan(decisions=[True, True, True]))
    assert asyncio.run(asked().arun_plan(decide=lambda pendings: False)).final_output == "done"
    assert ran == [5, 7, 5, 6]
    with pytest.raises(DecisionError):
        asked().run_plan(decisions=["yes"])


# whose run an id means


def test_an_id_means_the_run_in_the_store_and_not_another_one_with_that_id(tmp_path):
    here = RunStore(tmp_path / "here")
    bot(paying(999), "done", store=here).run("go", scope="there")
    agent = bot(paying(5), "done", "and the other")
    assert agent.run("go").run_id == "bot-1"
    agent.store = here
    other = agent.fork()
    result = other.resume(False, run="bot-1")
    assert (result.interrupt, ran, [e.scope for e in result.events[:1]]) == (None, [], ["there"])
    agent.store = RunStore(tmp_path / "elsewhere")  # which has no such run
    assert (agent.resume(True, run="bot-1").final_output, ran) == ("done", [5])


def test_a_run_in_one_store_is_not_that_of_another(tmp_path):
    one, other = RunStore(tmp_path / "one"), RunStore(tmp_path / "other")
    agent = bot(paying(1), "a", store=one)
    agent.run("go")
    bot(paying(3), "done", store=other).run("go", scope="x")
    agent.store = other
    agent.model.position = 0
    assert agent.resume(False, run="bot-1", scope="x").events[0].scope == "x"
    assert [one.shown for one in agent.waiting[None].pendings] == ["pay(amount=1)"]
    assert [one.status for one in (*one.list(), *other.list())] == ["interrupted", "completed"]


def test_a_run_that_waits_here_belongs_to_its_conversation(store):
    agent = bot(paying(), "done", store=store)
    agent.run("go", scope="a")
    with pytest.raises(ConfigError, match="scope: bot-1 belongs to the conversation 'a', not to 'b'"):
        agent.resume(True, run="bot-1", scope="b")
    assert agent.resume(True, run="bot-1", scope="a").final_output == "done"
