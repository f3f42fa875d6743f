"""Interrupts: Ctrl-C ends a run as cancelled, wherever it is. Real signals; without them each would wait a minute."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = textwrap.dedent(
    """
    import asyncio, os, signal, threading, time
    from nbagent import Agent, ScriptedLLM, tool

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit "ignored"
    once = threading.Lock()

    def interrupt_soon():
        if once.acquire(blocking=False):
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    def wait():
        interrupt_soon()
        deadline = time.monotonic() + 60
        {wait}

    @tool(parallel={parallel})
    {tool}

    def answer(request):
        {answer}
        return "done"

    call = ScriptedLLM.tool_call("work")
    agent = Agent("a", ScriptedLLM([[call] * {calls}, answer, "again"]), tools=[work])
    before = time.monotonic()
    handler = signal.getsignal(signal.SIGINT)
    try:
        {run}
    except KeyboardInterrupt:
        print("interrupted")
    except asyncio.CancelledError:
        print("task cancelled")
    assert time.monotonic() - before < 30
    assert signal.getsignal(signal.SIGINT) == handler
    print(agent.last.status, agent.history, agent.model.position, agent.last.usage.tool_calls)
    agent.model.position = 2
    print(agent.run("once more").final_output)
    os._exit(0)  # a thread that still sleeps must not keep the test waiting
    """
)
WAITS = {
    "sleep": "time.sleep(60)",
    "Python code": "while time.monotonic() < deadline: pass",
    "nothing": "pass",
}
TOOLS = {
    "sync": "def work() -> str:\n    wait()\n    return 'ok'",
    "async": "async def work() -> str:\n    interrupt_soon()\n    await asyncio.sleep(60)\n    return 'ok'",
    "async that blocks": "async def work() -> str:\n    wait()\n    return 'ok'",
    "quick": "def work() -> str:\n    return 'ok'",
}
RUNS = {
    "sync": "agent.run('go')",
    "async": "asyncio.run(agent.arun('go'))",
    # As ipykernel does while it awaits a cell: its handler only asks the loop to cancel, and does not wake it.
    "kernel": """
        async def cell():
            try:
                await agent.arun('go')
            except (KeyboardInterrupt, asyncio.CancelledError):
                print("interrupted")
        async def kernel():
            task = asyncio.ensure_future(cell())
            loop = asyncio.get_running_loop()
            before = signal.signal(signal.SIGINT, lambda *_: loop.call_soon(task.cancel))
            try:
                await task
            finally:
                signal.signal(signal.SIGINT, before)
        asyncio.run(kernel())""",
}


def run_program(run, tool="sync", wait="sleep", answer="pass", calls=1, parallel=False):
    source = (
        PROGRAM.replace("{wait}", WAITS[wait])
        .replace("{tool}", TOOLS[tool])
        .replace("{answer}", answer)
        .replace("{calls}", str(calls))
        .replace("{parallel}", str(parallel))
        .replace("{run}", textwrap.indent(textwrap.dedent(RUNS[run]).strip(), "    ").strip())
    )
    done = subprocess.run([sys.executable, "-u", "-c", source], capture_output=True, text=True, timeout=55)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("tool", "wait"),
    [("sync", "sleep"), ("sync", "Python code"), ("async", "nothing"), ("async that blocks", "sleep")],
)
def test_a_tool_is_interrupted(run, tool, wait):
    first, state, again = run_program(run, tool, wait)
    assert first in ("interrupted", "task cancelled")
    assert state == "cancelled () 0 1"
    assert again == "again"


@pytest.mark.parametrize("run", RUNS)
def test_parallel_tools_are_interrupted(run):
    first, state, again = run_program(run, "sync", "sleep", calls=3, parallel=True)
    assert first in ("interrupted", "task cancelled")
    assert (state, again) == ("cancelled () 0 3", "again")


@pytest.mark.parametrize("run", ["async", "kernel"])
def test_parallel_async_tools_that_block_do_not_start_one_after_the_other(run):
    first, state, again = run_program(run, "async that blocks", "sleep", calls=3, parallel=True)
    assert first in ("interrupted", "task cancelled")
    assert (state, again) == ("cancelled () 0 3", "again")


@pytest.mark.parametrize("run", RUNS)
def test_a_model_is_interrupted(run):
    first, state, again = run_program(run, "quick", answer="interrupt_soon(); time.sleep(60)")
    assert first in ("interrupted", "task cancelled")
    assert (state, again) == ("cancelled () 0 1", "again")


def test_a_long_run_that_never_waits_can_be_cancelled():
    source = textwrap.dedent(
        """
        import asyncio
        from nbagent import Agent, ScriptedLLM, tool

        @tool
        def spin(i: int) -> int:
            "Spin."
            return sum(range(20000))

        async def main():
            script = [ScriptedLLM.tool_call("spin", {"i": i}) for i in range(100_000)]
            agent = Agent("a", ScriptedLLM(script), tools=[spin], max_turns=100_000)
            task = asyncio.ensure_future(agent.arun("go"))
            await asyncio.sleep(0.3)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                print(agent.last.status, 0 < agent.last.usage.tool_calls < 100_000)

        asyncio.run(main())
        """
    )
    done = subprocess.run([sys.executable, "-u", "-c", source], capture_output=True, text=True, timeout=55, check=True)
    assert done.stdout == "cancelled True\n"


@pytest.mark.parametrize("run", RUNS)
def test_the_wait_before_another_attempt_is_interrupted(run):
    failing = "raise ModelError('no', kind='rate_limited', retry_after=25)"
    answer = f"interrupt_soon(); from nbagent.errors import ModelError; {failing}"
    first, state, again = run_program(run, "quick", answer=answer)
    assert first in ("interrupted", "task cancelled")
    assert (state, again) == ("cancelled () 0 1", "again")


REMOTE = textwrap.dedent(
    """
    import asyncio, os, signal, sys, threading, time
    sys.path.insert(0, {tests!r})
    from servers import FAULTS, Server, reply
    from nbagent import Agent
    from nbagent.models.openai import OpenAIModel

    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Server() as server:
        server.play(FAULTS[{fault!r}]("chat", True), reply("chat", True, text="again"))
        agent = Agent("a", OpenAIModel("m", base_url=server.url, key=None))

        def interrupt():
            while not server.requests:
                time.sleep(0.01)
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        try:
            {run}
        except KeyboardInterrupt:
            print("interrupted")
        except asyncio.CancelledError:
            print("task cancelled")
        assert server.hangup.wait(5), "the connection is closed"
        print(agent.last.status, agent.history)
        print(agent.run("once more").final_output)
    """
)


@pytest.mark.parametrize("fault", ["stall_before_first_byte", "stall_after_first_piece"])
@pytest.mark.parametrize("run", RUNS)
def test_a_model_behind_a_network_is_interrupted(run, fault):
    body = textwrap.indent(textwrap.dedent(RUNS[run]).strip(), " " * 8).strip()
    source = REMOTE.format(tests=str(Path(__file__).parents[1]), fault=fault, run="{run}").replace("{run}", body)
    done = subprocess.run([sys.executable, "-u", "-c", source], capture_output=True, text=True, timeout=55)
    assert done.returncode == 0, done.stderr[-2000:]
    first, state, again = done.stdout.splitlines()
    assert first in ("interrupted", "task cancelled")
    assert (state, again) == ("cancelled ()", "again")
