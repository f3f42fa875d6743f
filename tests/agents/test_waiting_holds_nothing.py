"""A run that waits is its journal and nothing else: no thread, no process, no open file, nothing on an event loop."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading

import pytest
from holding import held

from nbagent import Agent, ApprovalPolicy, PlanAgent, ReflectionAgent, ScriptedLLM, tool

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="what is held is counted in /proc")
call = ScriptedLLM.tool_call
PAYING = call("pay", {"amount": 120})
WAITING = 5


@tool(approval=True)
def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


@tool(parallel=True)
def look(n: int) -> str:
    """Looks; several side by side."""
    return f"seen {n}"


@tool
async def fetch() -> str:
    """Fetches."""
    await asyncio.sleep(0)
    return "fetched"


BEFORE = [[call("look", {"n": n}) for n in range(3)], call("fetch")]
TOOLS = [pay, look, fetch]


def chat(**options):
    return Agent("buyer", ScriptedLLM([*BEFORE, [PAYING, PAYING], "done"]), tools=TOOLS, **options)


def nested(**options):
    workers = [Agent(f"w{n}", ScriptedLLM([*BEFORE, PAYING, "done"]), tools=TOOLS) for n in range(3)]
    calls = [call(worker.name, {"task": "pay"}) for worker in workers]
    return Agent("lead", ScriptedLLM([calls, "done"]), tools=workers, **options)


def plan(**options):
    return PlanAgent("planner", ScriptedLLM(['["A"]', *BEFORE, PAYING, "a", "done"]), tools=TOOLS, **options)


def reflection(**options):
    return ReflectionAgent("writer", ScriptedLLM(["draft", PAYING, "GOOD ENOUGH"]), tools=TOOLS, **options)


def ruled(**options):
    return chat(approvals=ApprovalPolicy(["all"]), **options)


def asked(**options):
    async def decide(pendings):
        await asyncio.sleep(0)

    return chat(decide=decide, **options)


KINDS = {one.__name__: one for one in (chat, nested, plan, reflection, ruled, asked)}


@pytest.fixture(params=[False, True], ids=["in memory", "in a store"])
def options(request, tmp_path):
    return {"store": tmp_path} if request.param else {}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_runs_that_wait_hold_nothing(kind, options):
    first = kind(**options)
    assert first.run("go").interrupted  # what is made once, such as the thread for tools that await
    before = held()
    agents = [kind(**options) for _ in range(WAITING)]
    for agent in agents:
        assert agent.run("go").interrupted
        assert agent.resume({}).interrupted
    assert held() == before


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_runs_that_wait_have_nothing_to_do_on_an_event_loop(kind, options):
    async def main():
        first = kind(**options)
        assert (await first.arun("go")).interrupted
        before = held()
        agents = [kind(**options) for _ in range(2 * WAITING)]
        for agent in agents[:WAITING]:
            assert (await agent.arun("go")).interrupted
        results = await asyncio.gather(*[agent.arun("go") for agent in agents[WAITING:]])
        assert [result.status for result in results] == ["interrupted"] * WAITING
        assert held() == before

    asyncio.run(main())


def test_what_is_held_is_counted(tmp_path):
    """Else nothing above could fail."""

    async def main():
        loop, before, ended = asyncio.get_running_loop(), held(), threading.Event()
        thread = threading.Thread(target=ended.wait)
        thread.start()
        assert held() - before == {"threads": 1}
        ended.set()
        thread.join()
        with (tmp_path / "file").open("w"):
            assert held() - before == {"files": 1}
        timer = loop.call_later(60, print)
        assert held() - before == {"timers": 1}
        timer.cancel()
        task = loop.create_task(asyncio.Event().wait())
        assert held() - before == {"tasks": 1}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        reading, writing = os.pipe()
        loop.add_reader(reading, print)
        assert held() - before == {"pipes": 2, "watched files": 1}
        loop.remove_reader(reading)
        os.close(reading)
        os.close(writing)
        with socket.socket():
            assert held() - before == {"sockets": 1}
        assert held() == before

    asyncio.run(main())
    before = held()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1) as process:
        assert held() - before == {"processes": 1, "pipes": 1}
        process.communicate(b"\n")
    assert held() - before == {}
