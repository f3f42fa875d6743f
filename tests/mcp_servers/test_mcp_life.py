"""MCP life: how servers start, end, die, hang and start again."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import mcp_double
import pytest

from nbagent import Agent, ScriptedLLM, tool
from nbagent.errors import ConfigError
from nbagent.mcp import MCPServer, MCPServerLost

DOUBLE = mcp_double.__file__
PATIENCE = 30


def value(server, name, **arguments):
    [one] = server.tools(name)
    return asyncio.run(one(**arguments)).text


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


# --- start and end


def test_the_first_use_starts_it_and_close_ends_it(double):
    server = double()
    assert repr(server).endswith("not open)")
    pid = int(value(server, "pid"))
    assert repr(server).endswith(" open)")
    assert is_alive(pid)
    server.close()
    assert not is_alive(pid)
    assert repr(server).endswith("not open)")
    server.close()


def test_with_opens_and_closes_it_and_it_stays_the_same_in_between(double):
    with double() as server:
        assert server.open() is server
        pids = {value(server, "pid"), value(server, "pid")}
    assert len(pids) == 1
    assert not is_alive(int(pids.pop()))


def test_a_closed_server_starts_again_when_it_is_used(double):
    server = double()
    first = value(server, "pid")
    server.close()
    assert value(server, "pid") != first
    server.close()


def test_it_works_where_a_loop_is_running_and_outlives_it(double):
    server = double()

    async def cell():
        [pid] = server.tools("pid")
        return (await pid()).text

    assert asyncio.run(cell()) == asyncio.run(cell())
    server.close()


def test_many_first_uses_start_it_once(double, tmp_path):
    starts = tmp_path / "starts"
    with double(env={"DOUBLE_STARTS": str(starts)}) as server:
        [add] = server.tools("add")
        server.close()

        async def all_at_once():
            return await asyncio.gather(*(add(a=number) for number in range(8)))

        assert [each.text for each in asyncio.run(all_at_once())] == [str(number + 1) for number in range(8)]
    assert len(starts.read_text().split()) == 2


def test_a_server_that_nobody_has_any_more_ends(double):
    server = double()
    pid = int(value(server, "pid"))
    del server
    gc.collect()
    until(lambda: not is_alive(pid))


def test_an_agent_inside_an_async_tool_can_use_the_same_server(double):
    with double() as server:
        adders = server.tools("add")

        @tool
        async def ask_another() -> str:
            names = [each.name for each in server.tools("a*")]  # waits in plain code, on the thread of async tools
            inner = Agent("inner", ScriptedLLM([ScriptedLLM.tool_call("add", {"a": 1}), "inner done"]), tools=adders)
            return f"{names} {inner.run('go').tool_calls[0].observation.text}"

        script = ScriptedLLM([ScriptedLLM.tool_call("add", {"a": 1}), ScriptedLLM.tool_call("ask_another", {}), "done"])
        result = Agent("outer", script, tools=[*adders, ask_another]).run("go")
    assert [each.observation.text for each in result.tool_calls] == ["2", "['add'] 2"]


def test_the_stderr_of_a_notebook_is_no_file(double, monkeypatch):
    class Stream:
        def write(self, text):
            return len(text)

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stderr", Stream())
    with double() as server:
        assert value(server, "add", a=1) == "2"


def test_only_the_given_environment_reaches_the_server(double, monkeypatch):
    monkeypatch.setenv("DOUBLE_SECRET_OF_OURS", "x")
    with double(env={"DOUBLE_GIVEN": "y"}) as server:
        seen = asyncio.run(server.tools("variables")[0](names=["DOUBLE_SECRET_OF_OURS", "DOUBLE_GIVEN", "PATH"])).data
    assert seen == {"DOUBLE_SECRET_OF_OURS": None, "DOUBLE_GIVEN": "y", "PATH": os.environ["PATH"]}


# --- a bad start


def test_a_server_that_crashes_at_its_start(double):
    server = double("crash", env={"DOUBLE_KEY": "opensesame1"})
    with pytest.raises(ConfigError) as error:
        server.open()
    text = str(error.value)
    assert text.startswith("the MCP server 'double' did not start; ran: ")
    assert "; it ended; run the command in a terminal" in text
    assert text.endswith("\n  the double cannot find its key ‹redacted DOUBLE_KEY›")
    with pytest.raises(ConfigError, match="did not start"):
        server.tools()


def test_a_server_that_never_answers(double):
    with pytest.raises(ConfigError, match=r"did not answer within 1.5 s; .* start_timeout=") as error:
        double("hang", start_timeout=1.5).open()
    assert "the double thinks" in str(error.value) or sys.platform == "win32"


def test_a_server_that_prints_what_is_no_message_and_hangs(double):
    with pytest.raises(ConfigError, match="on stdout, where only messages may be: 'Welcome to the double!'"):
        double("garbage", start_timeout=4).open()


@pytest.mark.parametrize("how", ["noisy", "old"])
def test_servers_that_are_not_quite_right_work(double, how):
    with double(how) as server:
        assert value(server, "add", a=1) == "2"


def test_a_command_that_does_not_exist():
    with pytest.raises(ConfigError, match=r"ran: no-such-program -y; No such file.*its arguments go into args="):
        MCPServer("no-such-program", args=["-y"]).open()


def test_an_address_where_nobody_is():
    with pytest.raises(ConfigError, match=r"asked: http://127\.0\.0\.1:9/mcp; ConnectError: .*is it running there"):
        MCPServer(url="http://127.0.0.1:9/mcp?key=abc").open()


def test_without_the_right_header_the_status_is_said(http_double):
    with http_double("opensesame1") as (_, url):
        with pytest.raises(ConfigError, match="HTTP: 401") as error:
            MCPServer(url=url, headers={"Authorization": "Bearer something-else"}).open()
        assert "something-else" not in str(error.value)
        with MCPServer(url=url, headers={"Authorization": "Bearer opensesame1"}) as server:
            assert value(server, "add", a=1) == "2"


# --- a bad end


def test_a_server_that_dies_is_an_error_once_and_then_starts_again(double, tmp_path):
    starts = tmp_path / "starts"
    with double(env={"DOUBLE_STARTS": str(starts), "DOUBLE_KEY": "opensesame1"}) as server:
        died = value(server, "die")
        assert died.startswith("the MCP server 'double' ended, or the connection to it did: no answer to tool 'die'")
        assert died.endswith("the double dies, with the key ‹redacted DOUBLE_KEY›")
        assert value(server, "add", a=1) == "2"
    assert len(starts.read_text().split()) == 2


def test_a_server_that_died_unnoticed_is_an_error_at_the_next_use(double):
    with double() as server:
        os.kill(int(value(server, "pid")), 9)
        with pytest.raises(MCPServerLost, match="no answer to its list of tools; the next use starts it again"):
            server.tools()
        assert server.prompt("review", code="x")


def test_a_server_over_http_that_is_gone(http_double):
    with http_double() as (process, url), MCPServer(url=url, name="double") as server:
        [add] = server.tools("add")
        process.kill()
        process.wait()
        assert "the connection to it did" in asyncio.run(add(a=1)).text
        assert "did not start" in asyncio.run(add(a=1)).text


def test_an_agent_goes_on_when_a_server_dies(double):
    with double() as server:
        script = ScriptedLLM([ScriptedLLM.tool_call("die", {}), ScriptedLLM.tool_call("add", {"a": 1}), "done"])
        result = Agent("a", script, tools=server.tools("die", "add")).run("go")
    assert [each.observation.status for each in result.tool_calls] == ["error", "success"]
    assert result.final_output == "done"


def test_a_call_that_takes_too_long_is_an_error_and_cancelled(double, tmp_path):
    with double(call_timeout=3) as server:
        text = value(server, "slow", folder=str(tmp_path))
        assert "the MCP server 'double': no answer to tool 'slow' within 3 s" in text
        until((tmp_path / "cancelled").exists)
        assert value(server, "add", a=1) == "2"


def test_closing_ends_calls_that_wait(double, tmp_path):
    server = double()
    [slow] = server.tools("slow")

    async def close_in_the_middle():
        waiting = asyncio.ensure_future(slow(folder=str(tmp_path)))
        while not (tmp_path / "begun").exists():
            await asyncio.sleep(0.01)
        server.close()
        return await waiting

    assert "'double' was closed: no answer to tool 'slow'" in asyncio.run(close_in_the_middle()).text


# --- interrupts


def test_closing_ends_a_start_that_hangs(double):
    server = double("hang")
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(server.open)
        until(lambda: repr(server).endswith(" open)"))
        server.close()
        with pytest.raises(MCPServerLost, match="the MCP server 'double' has ended: no answer to its start"):
            opening.result(PATIENCE)


def test_cancelling_a_task_cancels_the_request(server, tools, tmp_path):
    async def cancel_in_the_middle():
        waiting = asyncio.ensure_future(tools["slow"](folder=str(tmp_path)))
        while not (tmp_path / "begun").exists():
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(cancel_in_the_middle())
    until((tmp_path / "cancelled").exists)
    assert asyncio.run(tools["add"](a=1)).text == "2"


INTERRUPTED = textwrap.dedent(
    """
    import asyncio, os, signal, sys, threading, time
    from pathlib import Path
    from nbagent import Agent, ScriptedLLM
    from nbagent.mcp import MCPServer

    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(sys.argv[2])
    server = MCPServer(sys.executable, args=sys.argv[1:2], start_timeout=40).open()

    def interrupt():
        while not (folder / "begun").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    script = ScriptedLLM([ScriptedLLM.tool_call("slow", {"folder": str(folder)}), "never"])
    agent = Agent("a", script, tools=server.tools())
    try:
        RUN
    except (KeyboardInterrupt, asyncio.CancelledError):  # whether Python was in our code or in the loop's
        print("interrupted", agent.last.status)
    while not (folder / "cancelled").exists():
        time.sleep(0.01)
    print(server.prompt("review", code="x"))
    """
)
RUNS = {"plain code": "agent.run('go')", "async": "asyncio.run(agent.arun('go'))"}


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be sent Ctrl-C alone")
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_an_interrupt_cancels_the_run_and_the_request(run, tmp_path):
    done = fresh(INTERRUPTED.replace("RUN", run), DOUBLE, str(tmp_path))
    assert done.stdout.splitlines() == ["interrupted cancelled", "Review this (short): x"]


HANGING = textwrap.dedent(
    """
    import os, signal, sys, threading, time
    from pathlib import Path
    from nbagent.mcp import MCPServer

    signal.signal(signal.SIGINT, signal.default_int_handler)
    starts = Path(sys.argv[2], "starts")
    server = MCPServer(sys.executable, args=[sys.argv[1], "hang"], env={"DOUBLE_STARTS": str(starts)})

    def interrupt():
        while not (starts.exists() and starts.read_text()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with server:
            print("opened")
    except KeyboardInterrupt:
        print("interrupted")
    print(starts.read_text())
    """
)


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be sent Ctrl-C alone")
def test_an_interrupt_ends_a_start_that_hangs(tmp_path):
    said, pid = fresh(HANGING, DOUBLE, str(tmp_path)).stdout.split()
    assert said == "interrupted"
    assert not is_alive(int(pid))


# --- fresh processes


SLOW = re.compile(r"Executing <.*> took [\d.]+ seconds")
"""What asyncio's development mode says on a busy machine."""


def fresh(program, *arguments):
    """A program in a process of its own, which must end well and say nothing on stderr."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    said = [line for line in done.stderr.splitlines() if not SLOW.match(line)]
    assert (done.returncode, said) == (0, [])
    return done


LEFT_OPEN = textwrap.dedent(
    """
    import asyncio, sys
    from nbagent.mcp import MCPServer

    server = MCPServer(sys.executable, args=sys.argv[1:])
    [pid] = server.tools("pid")

    async def main():
        print((await pid()).text)

    asyncio.run(main())
    """
)


def test_the_server_is_gone_when_python_has_ended():
    assert not is_alive(int(fresh(LEFT_OPEN, DOUBLE).stdout))


def test_the_sdk_is_loaded_by_the_first_start_and_its_absence_named():
    program = textwrap.dedent(
        """
        import sys
        from nbagent.mcp import MCPServer
        server = MCPServer("x")
        print("mcp" in sys.modules, "jsonschema" in sys.modules)
        sys.modules["mcp"] = None
        try:
            server.open()
        except Exception as error:
            print(type(error).__name__, str(error)[-40:])
        """
    )
    loaded, error = fresh(program).stdout.splitlines()
    assert loaded == "False False"
    assert error.startswith("ConfigError ")
    assert error.endswith('pip install "jupyter-nbagent[mcp]"')
