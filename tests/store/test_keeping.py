"""Keeping: a run tells its keeper of each event before it goes on; what is kept is the run, which goes on from it."""

from __future__ import annotations

import asyncio
import threading

import pytest
from counting import calls_of
from journals import ADDING, QuickDisk, agent_of, all_agents, call, ended, keeping, nested, same

from nbagent import AgentTool, ScriptedLLM, tool
from nbagent.errors import StoreFailed
from nbagent.events import Nested, RunFinished, ToolReturned, ToolStarted, innermost
from nbagent.store.disk import Disk
from nbagent.store.header import Header
from nbagent.store.run_store import RunStore

HEADER = Header("bot")
LASTING = ("ApprovalDecided", "ToolStarted", "ToolReturned", "RunFinished")
"""What has to be on disk before the run goes on."""
AGENTS = {f"{number} {name}": number for number, (name, _, _) in enumerate(all_agents())}

NOT_REPLAYED = ("failing", "four")
"""A run that ends with an error, and one in a conversation that only its own agent has."""


def numbered(number):
    return list(all_agents())[number][1:]


class Notes:
    """A keeper that keeps it all in memory, and may fail at the event of this number, from 1."""

    def __init__(self, fails_at=0):
        self.events, self.told, self.settled = [], [], []
        self.fails_at, self.asked = fails_at, 0

    def keep(self, event, durable):
        self.asked += 1
        if self.asked == self.fails_at:
            raise StoreFailed("the disk is full")
        self.events.append(event)
        self.told.append((event, durable))

    def settle(self, start, events):
        self.settled.append(start)
        self.events[start:] = events


@pytest.mark.parametrize("number", list(AGENTS.values()), ids=AGENTS)
def test_a_keeper_is_told_of_all_events_and_which_of_them_must_last(number):
    agent, task = numbered(number)
    keeper = Notes()
    result = ended(keeping(agent, keeper), task)
    assert tuple(keeper.events) == result.events
    told = [(type(innermost(event)).__name__, durable) for event, durable in keeper.told]
    assert told == [(name, name in LASTING) for name, _ in told]
    assert sorted(name for name, _ in told) == sorted(type(innermost(event)).__name__ for event in result.events)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["run", "arun"])
@pytest.mark.parametrize("number", list(AGENTS.values()), ids=AGENTS)
def test_what_is_on_disk_is_the_run(number, asynchronous, tmp_path):
    agent, task = numbered(number)
    store = RunStore(tmp_path)
    with store.create("bot-1", HEADER) as file:
        keeping(agent, file)
        try:
            asyncio.run(agent.arun(task)) if asynchronous else agent.run(task)
        except Exception:
            assert "failing" in list(AGENTS)[number]
        result = agent.last
    stored = store.read("bot-1")
    assert same(stored.events, result.events)
    assert stored.finished.status == result.status


def test_a_call_is_on_disk_before_its_tool_runs_and_what_came_of_it_before_the_model_hears_of_it(tmp_path):
    class Watched(Disk):
        pending = b""

        def write(self, fd, data):
            self.pending += data
            return super().write(fd, data)

        def sync(self, fd):
            super().sync(fd)
            self.pending = b""

    disk = Watched()
    store = RunStore(tmp_path, disk=disk)
    seen = []

    @tool
    def look() -> str:
        """Look."""
        seen.append((store.read("bot-1").events[-1], disk.pending))
        return "seen"

    def answer(request):
        returned = [event for event in store.read("bot-1").events if isinstance(event, ToolReturned)]
        seen.append((returned[-1].observation.text, b"ToolReturned" in disk.pending))
        return "Done."

    with store.create("bot-1", HEADER) as file:
        looking = call("look", call_id="1")
        keeping(agent_of(looking, answer, tools=[look]), file).run("go")
    assert seen == [(ToolStarted(1, 0, looking.tool_calls[0]), b""), ("seen", False)]
    assert disk.pending == b""  # the end has to last, too


def team():
    worker = agent_of(ADDING, "Three.", name="worker", tools=[counted])
    return agent_of(call("worker", {"task": "?"}), ADDING, "Done.", name="lead", tools=[AgentTool(worker), counted])


ran: list = []


@tool(name="add")
def counted(a: int, b: int) -> int:
    """Add."""
    ran.append((a, b))
    return a + b


@pytest.mark.parametrize("kind", ["chat", "team"])
def test_where_the_keeper_fails_nothing_more_happens(kind):
    def agent():
        return team() if kind == "team" else agent_of(ADDING, ADDING, "Done.", tools=[counted])

    whole = agent().run("go").events
    for at in range(1, len(whole) + 1):
        ran.clear()
        one, keeper = agent(), Notes(at)
        with pytest.raises(StoreFailed, match="the disk is full"):
            keeping(one, keeper).run("go")
        kept = tuple(keeper.events)
        assert kept == whole[: at - 1]
        told = [event for event in one.last.events if not isinstance(innermost(event), RunFinished) or event in kept]
        assert tuple(told) == kept  # nothing happened that is not kept
        assert one.last.status == "failed"
        assert keeper.asked == at  # and it is not asked again
        assert len(ran) == sum(isinstance(innermost(e), ToolStarted) and innermost(e).call.name == "add" for e in kept)
    print(f"{len(whole)} failures of a keeper: nothing done after any of them")


RESUMABLE = {name: number for name, number in AGENTS.items() if not any(word in name for word in NOT_REPLAYED)}


@pytest.mark.parametrize("number", list(RESUMABLE.values()), ids=RESUMABLE)
def test_a_run_whose_process_ended_anywhere_goes_on_in_its_file_to_the_same_end(number, tmp_path):
    agent, task = numbered(number)
    whole = RunStore(tmp_path / "whole")
    with whole.create("bot-1", HEADER) as file:
        result = keeping(agent, file).run(task)
    lines = (tmp_path / "whole" / "bot-1.jsonl").read_bytes().splitlines(keepends=True)
    for cut in range(2, len(lines)):
        store = RunStore(tmp_path / f"{cut}", disk=QuickDisk())
        (tmp_path / f"{cut}").mkdir(mode=0o700)
        (tmp_path / f"{cut}" / "bot-1.jsonl").write_bytes(b"".join(lines[:cut]) + lines[cut][: cut % len(lines[cut])])
        fresh, _ = numbered(number)
        with store.open("bot-1") as file:
            again = keeping(fresh, file).replay(file.go_on(), unknown="run_again")
        stored = store.read("bot-1").events
        assert same(stored, result.events), cut
        assert same(again.events, result.events), cut
    print(f"{len(lines) - 2} places to go on from")


def test_an_interrupted_run_is_answered_and_goes_on_in_its_file(tmp_path):
    def agent():
        return agent_of(ADDING, ADDING, "Done.", tools=[counted])

    whole = agent().run("go")
    cut = [type(event) for event in whole.events].index(ToolStarted) + 1
    store = RunStore(tmp_path)
    with store.create("bot-1", HEADER) as file:
        for event in whole.events[:cut]:
            file.keep(event, True)
    with store.open("bot-1") as file:
        paused = keeping(agent(), file).replay(file.go_on())
    assert paused.status == store.read("bot-1").finished.status == store.list()[0].status == "interrupted"
    with store.open("bot-1") as file:
        result = keeping(agent(), file).replay(file.go_on(), unknown="run_again")
    assert store.read("bot-1").events == result.events == whole.events
    assert store.list()[0].status == "completed"


def test_parallel_calls_and_runs_inside_are_read_in_the_order_of_their_calls(tmp_path):
    has_ended = [threading.Event() for _ in range(5)]
    has_ended[4].set()
    ended_in = []

    @tool(parallel=True)
    def nap(i: int) -> int:
        """Ends when the one behind it has."""
        assert has_ended[i + 1].wait(60)
        ended_in.append(i)
        has_ended[i].set()
        return i

    store = RunStore(tmp_path)
    with store.create("bot-1", HEADER) as file:
        result = keeping(agent_of([call("nap", {"i": i}) for i in range(4)], "ok", tools=[nap]), file).run("go")
    assert ended_in == [3, 2, 1, 0]
    assert store.read("bot-1").events == result.events
    returned = [event.index for event in result.events if isinstance(event, ToolReturned)]
    assert returned == [0, 1, 2, 3]
    (agent, task), *_ = nested()
    with store.create("bot-2", HEADER) as file:
        result = keeping(agent, file).run(task)
    assert store.read("bot-2").events == result.events
    assert any(isinstance(event, Nested) for event in result.events)


# what it costs


class Counting(QuickDisk):
    def __init__(self):
        self.writes = self.syncs = self.reads = self.bytes = 0

    def write(self, fd, data):
        self.writes, self.bytes = self.writes + 1, self.bytes + len(data)
        return super().write(fd, data)

    def sync(self, fd):
        self.syncs += 1

    def read(self, *args, **more):
        self.reads += 1
        return super().read(*args, **more)


def cost_of(turns, folder):
    """Python calls, writes, syncs, reads and bytes of a run of so many turns."""
    script = [ScriptedLLM.tool_call("add", {"a": 1, "b": 2}, call_id="1") for _ in range(turns)]
    disk = Counting()
    with RunStore(folder, disk=disk).create("bot-1", HEADER) as file:
        agent = keeping(agent_of(*script, "Done.", tools=[counted], max_turns=turns + 1), file)
        calls = calls_of(lambda: agent.run("go"))
    return calls, disk.writes, disk.syncs, disk.reads, disk.bytes


def test_a_turn_costs_the_same_however_long_the_run_and_nothing_is_read(tmp_path):
    cost_of(1, tmp_path / "warm")
    ten, hundred, thousand = (cost_of(turns, tmp_path / f"{turns}") for turns in (10, 100, 1000))
    first, later = (
        [(b - a) / n for a, b in zip(one, other, strict=True)]
        for one, other, n in ((ten, hundred, 90), (hundred, thousand, 900))
    )
    print(f"a turn at 10-100: {first}; at 100-1,000: {later} (calls, writes, syncs, reads, bytes)")
    assert later[1:4] == first[1:4] == [4, 2, 0]
    assert later[0] <= first[0] * 1.01
    assert later[4] <= first[4] * 1.05  # the numbers have a digit more
