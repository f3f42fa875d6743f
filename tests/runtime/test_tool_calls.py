"""Tool calls in a run: what the model is told, what runs and what does not."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
import threading
import time
import warnings

import pytest

from nbagent import Agent, ScriptedLLM, ToolResponse, tool
from nbagent.errors import ModelError, ScriptExhausted
from nbagent.events import ToolReturned, ToolStarted
from nbagent.messages import ModelReply, ToolCall

ran: list = []


@pytest.fixture(autouse=True)
def _fresh():
    ran.clear()


@tool
def pay(amount: int) -> str:
    """Pay an amount."""
    ran.append(amount)
    return f"paid {amount}"


@tool
def search(query: str) -> str:
    """Search."""
    ran.append(query)
    return f"found {query}"


def both(agent_of):
    """The result of a run by each driver; they must be equal."""
    sync = agent_of().run("go")
    asynchronous = asyncio.run(agent_of().arun("go"))
    assert sync == asynchronous
    return sync


def observe(call, tools=(pay, search)):
    """The one observation that a call leads to, by both drivers."""
    result = both(lambda: Agent("a", ScriptedLLM([call, "done"]), tools=tools))
    assert result.status == "completed"
    [exchange] = result.tool_calls
    return exchange.observation, result


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("pay", '{"amount": 1000', ["invalid JSON at character 15", '{"amount": 1000']),
        ("pay", "[1,2]", ["object", "array"]),
        ("pay", '"x"', ["object", "string"]),
        ("pay", "null", ["object", "null"]),
        ("pay", "", ["amount", "integer", "got nothing"]),
        ("pay", '{"amount":5,"amount":500}', ["amount", "more than once"]),
        ("pay", '{"amount":5,"memo":"x"}', ["memo"]),
        ("pay", '{"amount":"5"}', ["amount", "integer", 'got "5"']),
        ("pay", '{"amount": NaN}', ["NaN"]),
        ("pay", '{"amount": 1e999}', ["1e999"]),
        ("pay", '{"amount": true}', ["amount", "integer"]),
        ("pay", '{"amount": 1.0}', ["amount", "integer"]),
        ("pay", "{'amount': 5}", ["invalid JSON at character 1"]),
        ("pay", "{amount: 5}", ["invalid JSON at character 1"]),
        ("pay", '{"amount": 5,}', ["invalid JSON"]),
        ("delete_everything", "{}", ["delete_everything", "pay", "search"]),
        ("Pay", '{"amount": 5}', ['"Pay"', "pay"]),
        ("pay ", '{"amount": 5}', ['"pay "', "pay"]),
        ("functions.pay", '{"amount": 5}', ["functions.pay", "pay"]),
    ],
)
def test_a_wrong_call_does_not_run_and_the_model_is_told_why(name, arguments, told):
    observation, result = observe(ScriptedLLM.tool_call(name, arguments))
    assert ran == []
    assert observation.status == "error"
    for word in told:
        assert word in observation.text
    assert result.usage.tool_calls == 0
    assert not any(isinstance(event, ToolStarted) for event in result.events)


def test_integers_stay_exact():
    observe(ScriptedLLM.tool_call("pay", '{"amount": 12345678901234567890123}'))
    assert ran == [12345678901234567890123] * 2


def test_empty_arguments_are_none_for_a_tool_without_parameters():
    @tool
    def now() -> str:
        """The time."""
        return "12:00"

    observation, _ = observe(ScriptedLLM.tool_call("now", ""), [now])
    assert (observation.status, observation.text) == ("success", "12:00")


def test_the_nearest_tool_name_comes_first():
    observation, _ = observe(ScriptedLLM.tool_call("serch", {"query": "x"}))
    assert observation.text.index("search") < observation.text.index("pay")


def test_an_agent_without_tools_says_so():
    observation, _ = observe(ScriptedLLM.tool_call("pay", {"amount": 1}), [])
    assert observation.status == "error"


def test_text_that_looks_like_a_call_is_text():
    reply = '<tool_call>{"name":"pay","arguments":{"amount":5}}</tool_call>'
    assert both(lambda: Agent("a", ScriptedLLM([reply]), tools=[pay])).final_output == reply
    assert ran == []


def test_two_calls_with_one_id_run_neither_and_are_asked_for_again():
    clash = ModelReply(
        "", (ToolCall("x", "pay", '{"amount":5}'), ToolCall("x", "pay", '{"amount":500}')), None, "tool_calls"
    )
    result = both(lambda: Agent("a", ScriptedLLM([clash, "done"]), tools=[pay]))
    assert ran == []
    assert ["same id 'x'" in exchange.observation.text for exchange in result.tool_calls] == [True, True]
    request = Agent("a", ScriptedLLM([clash, "done"]), tools=[pay])
    request.run("go")
    _, answered, *results = request.model.requests[1].messages
    assert [call.id for call in answered.tool_calls] == [message.tool_call_id for message in results] == ["x", "x-2"]


def test_a_second_clash_of_ids_ends_the_run():
    clash = ModelReply("", (ToolCall("x", "pay", "{}"), ToolCall("x", "pay", "{}")), None, "tool_calls")
    with pytest.raises(ModelError, match="second time"):
        Agent("a", ScriptedLLM([clash, clash, "done"]), tools=[pay]).run("go")


def test_ids_that_come_again_in_a_later_turn_are_told_apart():
    agent = Agent(
        "a",
        ScriptedLLM([ScriptedLLM.tool_call("pay", {"amount": i}, call_id="1") for i in (1, 2)] + ["done"]),
        tools=[pay],
    )
    agent.run("go")
    ids = [message.tool_call_id for message in agent.model.requests[-1].messages if message.role == "tool"]
    assert (ids, ran) == (["1", "1-2"], [1, 2])


def test_an_exception_goes_back_to_the_model_and_the_run_goes_on():
    @tool
    def fail(city: str) -> str:
        """Fail."""
        raise ValueError(f"no city {city}")

    observation, result = observe(ScriptedLLM.tool_call("fail", {"city": "Atlantis"}), [fail])
    assert observation.text.startswith("ValueError: no city Atlantis")
    assert 'raise ValueError(f"no city {city}")' in observation.text
    assert __file__ not in observation.text
    assert __file__ in observation.error.traceback
    assert result.usage.tool_calls == 1


def test_on_error_raise_gives_the_error_itself():
    @tool(on_error="raise")
    def fail() -> str:
        """Fail."""
        raise LookupError("debug me")

    for asynchronous in (False, True):
        agent = Agent("a", ScriptedLLM([ScriptedLLM.tool_call("fail"), "done"]), tools=[fail])
        with pytest.raises(LookupError, match="debug me"):
            asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")
        assert agent.last.status == "failed"


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("asynchronous_tool", [False, True])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_system_exit_is_an_observation_and_keyboard_interrupt_cancels(parallel, asynchronous_tool, asynchronous):
    def make(error):
        def sync_stop(i: int = 0) -> None:
            """Stop."""
            raise error

        async def async_stop(i: int = 0) -> None:
            """Stop."""
            await asyncio.sleep(0)
            raise error

        chosen = async_stop if asynchronous_tool else sync_stop
        calls = [ScriptedLLM.tool_call("stop", {"i": i}) for i in range(1 + parallel)]
        return Agent("a", ScriptedLLM([calls, "done"]), tools=[tool(name="stop", parallel=parallel)(chosen)])

    def run(agent):
        return asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")

    assert "SystemExit" in run(make(SystemExit(3))).tool_calls[0].observation.text
    agent = make(KeyboardInterrupt())
    # A KeyboardInterrupt must not leave a task: it would go through the event loop, and end a kernel.
    with pytest.raises(asyncio.CancelledError if asynchronous else KeyboardInterrupt):
        run(agent)
    assert (agent.last.status, agent.history, agent.model.position) == ("cancelled", (), 0)
    assert agent.last.turns[0].tool_calls[0].observation is None


def test_a_tool_response_says_its_status():
    @tool
    def half() -> ToolResponse:
        """Half."""
        return ToolResponse("3 of 5", "partial", data=[1, 2, 3])

    observation, _ = observe(ScriptedLLM.tool_call("half"), [half])
    assert (observation.status, observation.text, observation.data) == ("partial", "3 of 5", [1, 2, 3])


def test_values_become_json_and_stay_whole_on_the_event():
    @tool
    def values() -> dict:
        """Values."""
        return {"b": [1, None], "a": "é"}

    observation, _ = observe(ScriptedLLM.tool_call("values"), [values])
    assert observation.text == '{"b": [1, null], "a": "é"}'
    assert observation.data == {"b": [1, None], "a": "é"}


def test_long_results_are_cut_for_the_model_and_kept_for_people():
    @tool(max_chars=100)
    def long() -> str:
        """Long."""
        print("y" * 500)
        return "x" * 5000

    observation, _ = observe(ScriptedLLM.tool_call("long"), [long])
    assert len(observation.text) < 300
    assert "left out" in observation.text
    assert observation.full_text == "x" * 5000
    assert len(observation.printed) < 300


def test_what_a_tool_prints_warns_and_logs_is_in_its_observation(capsys):
    @tool
    def chatty() -> str:
        """Talk."""
        print("out")
        print("err", file=sys.stderr)
        warnings.warn("careful", stacklevel=1)
        return "done"

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        observation, _ = observe(ScriptedLLM.tool_call("chatty"), [chatty])
    assert observation.printed == "out\nerr\nUserWarning: careful\n"
    assert observation.content.endswith("printed:\nout\nerr\nUserWarning: careful\n")
    assert capsys.readouterr() == ("", "")


def test_a_warning_is_shown_each_time():
    @tool
    def old() -> str:
        """Warn."""
        warnings.warn("old", UserWarning, stacklevel=1)
        return "done"

    agent = Agent("a", ScriptedLLM([ScriptedLLM.tool_call("old"), ScriptedLLM.tool_call("old"), "done"]), tools=[old])
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = agent.run("go")
    assert [e.observation.printed for e in result.tool_calls] == ["UserWarning: old\n"] * 2


def test_streams_and_warnings_are_put_back():
    before = (sys.stdout, sys.stderr, warnings.showwarning)
    observe(ScriptedLLM.tool_call("search", {"query": "x"}))
    assert (sys.stdout, sys.stderr, warnings.showwarning) == before


def test_what_a_task_prints_after_its_tool_goes_to_the_person(capsys):
    tasks = []

    async def late():
        await asyncio.sleep(0.05)
        print("late")

    async def begin() -> str:
        """Begin."""
        tasks.append(asyncio.create_task(late()))
        return "begun"

    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(0.2)
        print("waited")
        return "done"

    script = [ScriptedLLM.tool_call("begin"), ScriptedLLM.tool_call("wait"), "end"]
    result = asyncio.run(Agent("bot", ScriptedLLM(script), tools=[begin, wait]).arun("go"))
    assert [one.observation.printed for one in result.tool_calls] == ["", "waited\n"]
    assert capsys.readouterr().out == "late\n"


def test_a_debugger_talks_to_the_person_not_to_the_observation(capsys, monkeypatch):
    import pdb

    @tool
    def debugged() -> str:
        """Debug."""
        pdb.Pdb(nosigint=True).message("(Pdb) here")
        return "done"

    observation, _ = observe(ScriptedLLM.tool_call("debugged"), [debugged])
    assert observation.printed == ""
    assert capsys.readouterr().out == "(Pdb) here\n" * 2


def test_a_lone_sync_tool_runs_in_the_callers_thread_and_context():
    variable = contextvars.ContextVar("variable", default="unset")
    seen = []

    @tool(parallel=True)
    def where() -> str:
        """Where."""
        seen.append((threading.current_thread() is threading.main_thread(), variable.get()))
        return "here"

    variable.set("set")
    observe(ScriptedLLM.tool_call("where"), [where])
    assert seen == [(True, "set")] * 2


def test_an_async_tool_works_from_plain_code_inside_a_running_loop():
    @tool
    async def later() -> str:
        """Later."""
        await asyncio.sleep(0)
        print("printed there")
        return "now"

    async def main():
        return Agent("a", ScriptedLLM([ScriptedLLM.tool_call("later"), "done"]), tools=[later]).run("go")

    [exchange] = asyncio.run(main()).tool_calls
    assert (exchange.observation.text, exchange.observation.printed) == ("now", "printed there\n")


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("kind", ["sync", "async", "mixed"])
def test_sixteen_parallel_calls_run_at_the_same_time_and_keep_their_order(kind, asynchronous):
    variable = contextvars.ContextVar("variable", default="unset")
    together = threading.Barrier(16, timeout=20)

    @tool(parallel=True)
    def meet(i: int) -> str:
        """Wait until all sixteen are here."""
        together.wait()
        print(f"printed by {i}")
        return f"{i} {variable.get()}"

    arrived = []

    @tool(parallel=True)
    async def ameet(i: int) -> str:
        """Wait until all others are here."""
        arrived.append(i)
        while len(arrived) < (16 if kind == "async" else 8):
            await asyncio.sleep(0.001)
        print(f"printed by {i}")
        return f"{i} {variable.get()}"

    if kind == "mixed":
        together = threading.Barrier(8, timeout=20)
    variable.set("mine")
    names = {"sync": ["meet"] * 16, "async": ["ameet"] * 16, "mixed": ["meet", "ameet"] * 8}[kind]
    calls = [ScriptedLLM.tool_call(name, {"i": i}) for i, name in enumerate(names)]
    agent = Agent("a", ScriptedLLM([calls, "done"]), tools=[meet, ameet])
    result = asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")
    observations = [exchange.observation for exchange in result.tool_calls]
    assert [o.text for o in observations] == [f"{i} mine" for i in range(16)]
    assert [o.printed for o in observations] == [f"printed by {i}\n" for i in range(16)]
    kinds = [type(event) for event in result.events if isinstance(event, ToolStarted | ToolReturned)]
    assert kinds == [ToolStarted] * 16 + [ToolReturned] * 16


def test_one_tool_that_does_not_allow_it_makes_all_run_one_after_another():
    running = []

    @tool(parallel=True)
    def free(i: int) -> int:
        """Free."""
        running.append(i)
        time.sleep(0.01)
        return len(running) - running.index(i)

    @tool
    def alone(i: int) -> int:
        """Alone."""
        return free(i)

    calls = [ScriptedLLM.tool_call(name, {"i": i}) for i, name in enumerate(["free", "alone", "free"])]
    result = both(lambda: running.clear() or Agent("a", ScriptedLLM([calls, "done"]), tools=[free, alone]))
    assert [exchange.observation.text for exchange in result.tool_calls] == ["1", "1", "1"]


def test_a_wrong_call_among_parallel_ones_is_answered_in_its_place():
    @tool(parallel=True)
    def double(i: int) -> int:
        """Double."""
        return 2 * i

    calls = [ScriptedLLM.tool_call("double", {"i": value}) for value in (1, "two", 3)]
    result = both(lambda: Agent("a", ScriptedLLM([calls, "done"]), tools=[double]))
    assert [exchange.observation.status for exchange in result.tool_calls] == ["success", "error", "success"]


def test_an_async_tool_whose_own_task_is_cancelled_is_an_error_not_a_cancelled_run():
    @tool
    async def inner() -> str:
        """Cancel an inner task."""
        task = asyncio.ensure_future(asyncio.sleep(10))
        task.cancel()
        await task
        return "never"

    observation, _ = observe(ScriptedLLM.tool_call("inner"), [inner])
    assert "CancelledError" in observation.text


@pytest.mark.parametrize("asynchronous", [False, True])
def test_agents_nest_through_async_tools_to_any_depth(asynchronous):
    def nested(depth):
        @tool
        async def ask(task: str) -> str:
            """Ask the next one."""
            return str(nested(depth - 1).run(task)) if depth else "the bottom"

        return Agent(
            f"level{depth}", ScriptedLLM([ScriptedLLM.tool_call("ask", {"task": "go"}), f"from {depth}"]), tools=[ask]
        )

    result = asyncio.run(nested(4).arun("go")) if asynchronous else nested(4).run("go")
    assert result.tool_calls[0].observation.text == "from 3"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_redirected_streams_of_parallel_tools_are_put_back(asynchronous):
    import contextlib
    import io

    @tool(parallel=True)
    def redirect(i: int) -> str:
        """Redirect."""
        with contextlib.redirect_stdout(io.StringIO()):
            time.sleep(0.01 * i)
        return "done"

    before = sys.stdout
    agent = Agent(
        "a", ScriptedLLM([[ScriptedLLM.tool_call("redirect", {"i": i}) for i in (1, 3, 2)], "done"]), tools=[redirect]
    )
    asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")
    assert sys.stdout is before


def test_what_ends_a_run_ends_it_in_any_wrapping():
    def wrapped():
        try:
            Agent("inner", ScriptedLLM([])).run("go")
        except ScriptExhausted as error:
            raise ValueError("hidden") from error

    async def grouped():
        async with asyncio.TaskGroup() as group:
            group.create_task(Agent("inner", ScriptedLLM([])).arun("go"))

    for function in (wrapped, grouped):
        function.__annotations__["return"] = str
        agent = Agent("a", ScriptedLLM([ScriptedLLM.tool_call(function.__name__), "fine"]), tools=[function])
        with pytest.raises(ScriptExhausted):
            asyncio.run(agent.arun("go"))


def test_a_run_that_a_tool_returns_is_its_answer():
    @tool
    def delegate() -> object:
        """Delegate."""
        return Agent("inner", ScriptedLLM(["the answer"])).run("go")

    observation, _ = observe(ScriptedLLM.tool_call("delegate"), [delegate])
    assert (observation.status, observation.text) == ("success", "the answer")


def test_a_hidden_coroutine_is_an_error_that_says_what_to_do():
    async def later() -> str:
        return "never"

    @tool
    def hidden() -> str:
        """Hide."""
        return later()

    observation, _ = observe(ScriptedLLM.tool_call("hidden"), [hidden])
    assert "coroutine that nobody awaits" in observation.text


def test_a_printed_address_is_left_out():
    @tool
    def show() -> str:
        """Show."""
        print(object())
        return "shown"

    observation, _ = observe(ScriptedLLM.tool_call("show"), [show])
    assert observation.printed == "<object object>\n"


def test_a_huge_integer_is_text_too():
    @tool
    def factorial() -> int:
        """Compute."""
        return 10**5000

    observation, _ = observe(ScriptedLLM.tool_call("factorial"), [factorial])
    assert observation.status == "success"


def test_parallel_batches_nest_without_waiting_for_each_other():
    @tool(parallel=True)
    def leaf() -> str:
        """Leaf."""
        return "leaf"

    @tool(parallel=True)
    def branch() -> str:
        """Run an agent that runs tools side by side."""
        return str(Agent("i", ScriptedLLM([[ScriptedLLM.tool_call("leaf")] * 2, "in"]), tools=[leaf]).run("go"))

    result = Agent("o", ScriptedLLM([[ScriptedLLM.tool_call("branch")] * 80, "out"]), tools=[branch]).run("go")
    assert [exchange.observation.text for exchange in result.tool_calls] == ["in"] * 80


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_error_without_a_text_still_ends_the_run(asynchronous):
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    @tool(on_error="raise")
    def fail() -> str:
        """Fail."""
        raise Mute

    for script, error in (([ScriptedLLM.tool_call("fail")], Mute), ([Mute()], ModelError)):
        agent = Agent("a", ScriptedLLM(script), tools=[fail])
        with pytest.raises(error):
            asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")
        assert (agent.last.status, "Mute" in agent.last.stop_reason) == ("failed", True)


def test_nothing_is_logged():
    class Loud(logging.Handler):
        def emit(self, record):
            raise AssertionError(record)

    handler = Loud()
    logging.getLogger("nbagent").addHandler(handler)
    try:
        observe(ScriptedLLM.tool_call("search", {"query": "x"}))
    finally:
        logging.getLogger("nbagent").removeHandler(handler)


def test_a_warning_in_a_loop_is_shown_once_for_each_call():
    @tool
    def old() -> str:
        """Warn."""
        for _ in range(5):
            warnings.warn("old", UserWarning, stacklevel=1)
        return "done"

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        observation, _ = observe(ScriptedLLM.tool_call("old"), [old])
    assert observation.printed == "UserWarning: old\n"


@pytest.mark.parametrize("error", [StopIteration("no"), StopAsyncIteration("no")])
def test_on_error_raise_names_an_error_that_no_generator_may_raise(error):
    @tool(on_error="raise")
    def stop() -> str:
        """Stop."""
        raise error

    for asynchronous in (False, True):
        agent = Agent("a", ScriptedLLM([ScriptedLLM.tool_call("stop")]), tools=[stop])
        with pytest.raises(RuntimeError, match=f"tool 'stop' raised {type(error).__name__}: no") as raised:
            asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")
        assert raised.value.__cause__ is error


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_agent_below_a_redirected_stream_keeps_its_tools_prints(asynchronous, capsys):
    import contextlib
    import io

    @tool
    def chatty() -> str:
        """Talk."""
        print("inner")
        return "done"

    inner = Agent("inner", ScriptedLLM([ScriptedLLM.tool_call("chatty"), "ok"] * 2), tools=[chatty])

    @tool
    async def adelegate() -> str:
        """Delegate."""
        buffer = io.StringIO()
        with contextlib.redirect_stdout(buffer):
            result = await inner.arun("go")
            print("outer")
        return f"{buffer.getvalue()!r} {result.tool_calls[0].observation.printed!r}"

    @tool
    def delegate() -> str:
        """Delegate."""
        buffer = io.StringIO()
        with contextlib.redirect_stdout(buffer):
            result = inner.run("go")
            print("outer")
        return f"{buffer.getvalue()!r} {result.tool_calls[0].observation.printed!r}"

    before = (sys.stdout, sys.stderr, warnings.showwarning)
    name = "adelegate" if asynchronous else "delegate"
    observation, _ = observe(ScriptedLLM.tool_call(name), [delegate, adelegate])
    assert observation.text == r"'outer\n' 'inner\n'"
    assert (sys.stdout, sys.stderr, warnings.showwarning) == before
    assert capsys.readouterr() == ("", "")


def test_a_script_that_waits_for_no_tool_after_ctrl_c_ends_at_once(tmp_path):
    import subprocess

    script = tmp_path / "script.py"
    script.write_text("""
import signal, threading, time
from nbagent import Agent, ScriptedLLM, tool

@tool(parallel=True)
def long(i: int) -> None:
    "Long."
    if i == 0:  # to that thread: interrupt_main would not wake it where it waits already
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    time.sleep(100)

try:
    Agent("a", ScriptedLLM([[ScriptedLLM.tool_call("long", {"i": i}) for i in range(3)]]), tools=[long]).run("go")
except KeyboardInterrupt:
    print("stopped")
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("stopped\n", 0)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_more_parallel_tools_than_there_is_room_for_all_run(asynchronous, monkeypatch):
    from nbagent.runtime import beside

    monkeypatch.setattr(beside, "AT_ONCE", 2)
    now, most = [0], [0]
    lock = threading.Lock()

    @tool(parallel=True)
    def count(i: int) -> int:
        """Count."""
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1
        return i

    agent = Agent("a", ScriptedLLM([[ScriptedLLM.tool_call("count", {"i": i}) for i in range(7)], "ok"]), tools=[count])
    result = asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")
    assert [e.observation.text for e in result.tool_calls] == [str(i) for i in range(7)]
    assert most == [2]
