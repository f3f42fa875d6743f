"""What nbagent costs here, as ratios to a bare loop measured in the same run: `python benchmarks/measure.py`.

CPU time, not wall, except for parallel tools; medians over rounds in which the two sides take turns. The bare loop is
what a careful person writes by hand: a list of messages, json.loads, pydantic validation, nothing else.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import time

from pydantic import create_model

from nbagent import Agent, ScriptedLLM, tool

ROUNDS = 7
ARGUMENTS = '{"a": 19, "b": 23}'


def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def bare_loop(turns):
    """One run of the hand-written loop: ask the model, look the tool up, check the arguments, call it, go on."""
    table = {"add": (add, create_model("add", a=(int, ...), b=(int, ...)))}
    ids = itertools.count()

    def model(messages):
        if (len(messages) - 2) // 2 == turns:
            return {"role": "assistant", "content": "done"}
        function = {"name": "add", "arguments": ARGUMENTS}
        return {"role": "assistant", "content": "", "tool_calls": [{"id": f"call_{next(ids)}", "function": function}]}

    def call_tool(call):
        function, check = table[call["function"]["name"]]
        arguments = check.model_validate(json.loads(call["function"]["arguments"]))
        return str(function(**arguments.__dict__))

    def run():
        messages = [{"role": "system", "content": "You add."}, {"role": "user", "content": "go"}]
        while True:
            reply = model(messages)
            messages.append(reply)
            if not reply.get("tool_calls"):
                return reply["content"]
            results = map(call_tool, reply["tool_calls"])
            for call, result in zip(reply["tool_calls"], results, strict=True):
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    return run


def agent_loop(turns):
    """The same work by an agent, journal and events included."""
    script = [ScriptedLLM.tool_call("add", ARGUMENTS) for _ in range(turns)]
    agent = Agent("a", ScriptedLLM([*script, "done"]), "You add.", tools=[add], max_turns=turns + 1)

    def run():
        agent.reset()
        agent.model.reset()
        return agent.run("go").final_output

    return run


def plain(runs):
    """Runs with no tool, one after another."""
    agent = Agent("a", ScriptedLLM(["done"] * runs))

    def run():
        agent.model.reset()
        for _ in range(runs):
            agent.clear_history()
            agent.run("hello")

    return run


def parallel(count):
    """One turn that asks for `count` calls of a tool that sleeps 50 ms."""

    @tool(parallel=True)
    def nap(i: int) -> int:
        """Sleep."""
        time.sleep(0.05)
        return i

    calls = [ScriptedLLM.tool_call("nap", {"i": i}) for i in range(count)]
    agent = Agent("a", ScriptedLLM([calls, "done"]), tools=[nap])

    def run():
        agent.reset()
        agent.run("go")

    return run


def clocked(run, clock=time.process_time):
    before = clock()
    run()
    return clock() - before


def median_of(times, measure):
    return statistics.median(measure() for _ in range(times))


def fresh(code):
    """CPU milliseconds of a fresh process that runs the code and prints what it measured."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


CPU = "import time; _b = time.process_time()\n{}\nprint((time.process_time() - _b) * 1000)"
SHELL = """
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
shell.display_pub = CapturingDisplayPublisher(parent=shell)
shell.run_cell("def add(a: int, b: int) -> int:\\n    return a + b")
"""
CELL = "%%agent a\\ntools: [add]\\nscript:\\n  - call: add\\n    args: {a: 19, b: 23}\\n  - done\\n---\\ngo"


def main():
    rows = []
    sides = {turns: (bare_loop(turns), agent_loop(turns)) for turns in (100, 1000)}
    for pair in sides.values():
        for run in pair:
            run()
    seen = {turns: [(clocked(bare), clocked(agent)) for _ in range(ROUNDS)] for turns, (bare, agent) in sides.items()}
    for turns, pairs in seen.items():
        ratio = statistics.median(agent / bare for bare, agent in pairs)
        microseconds = statistics.median(agent for _, agent in pairs) / turns * 1e6
        rows.append((f"tool turn, N={turns}", f"{microseconds:.1f} µs", f"{ratio:.1f} × the bare loop"))
    growth = statistics.median(a for _, a in seen[1000]) / statistics.median(a for _, a in seen[100]) / 10
    rows.append(("a turn at N=1000 over one at N=100", f"{growth:.2f} ×", ""))
    run = plain(1000)
    run()
    rows.append(("plain run", f"{median_of(3, lambda: clocked(run)) * 1000:.1f} µs", ""))
    side_by_side = parallel(16)
    wall = median_of(3, lambda: clocked(side_by_side, time.perf_counter))
    rows.append(("16 parallel calls of 50 ms", f"{wall * 1000:.0f} ms wall", ""))
    load = "shell.run_line_magic('load_ext', 'nbagent')"
    for name, before, code in [
        ("import nbagent", "", "import nbagent"),
        ("%load_ext nbagent", SHELL, load),
        ("first agent cell", f"{SHELL}{load}\n", f'shell.run_cell("{CELL}")'),
    ]:
        milliseconds = median_of(ROUNDS, lambda before=before, code=code: fresh(before + CPU.format(code)))
        rows.append((name, f"{milliseconds:.1f} ms", ""))
    for name, figure, more in rows:
        print(f"{name:38} {figure:>14}  {more}")


if __name__ == "__main__":
    main()
