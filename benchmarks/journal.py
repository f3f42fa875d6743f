"""What it costs to put a run down on disk, turn by turn: `python benchmarks/journal.py [FOLDER]`.

CPU time, medians over rounds in which all sides take turns. What a turn costs must not depend on how many there were:
the last row is to stay below 1.5.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from nbagent import Agent, RunStore, ScriptedLLM

ROUNDS = 7
TURNS = (10, 100, 1000)


def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def agent_of(turns):
    script = [ScriptedLLM.tool_call("add", {"a": turn, "b": 23}) for turn in range(turns)]
    return Agent("a", ScriptedLLM([*script, "done"]), "You add.", tools=[add], max_turns=turns + 1)


def clocked(agent, store):
    """CPU and wall seconds of a run; `store`: where it is put down, None for nowhere."""
    agent.reset()
    agent.model.reset()
    agent.store = store
    cpu, wall = time.process_time(), time.perf_counter()
    agent.run("go")
    return time.process_time() - cpu, time.perf_counter() - wall


def main(folder):
    store = RunStore(folder)
    agents = {turns: agent_of(turns) for turns in TURNS}
    for agent in agents.values():
        clocked(agent, store)
    seen = {(turns, on): [] for turns in TURNS for on in (False, True)}
    for _ in range(ROUNDS):
        for turns, agent in agents.items():
            for on in (False, True):
                times = max(1, 200 // turns)  # a short run is over before the clock has ticked
                spent = [clocked(agent, store if on else None) for _ in range(times)]
                seen[turns, on].append([sum(column) / times / turns * 1e6 for column in zip(*spent, strict=True)])
    cpu = {key: statistics.median(one[0] for one in rows) for key, rows in seen.items()}
    wall = {key: statistics.median(one[1] for one in rows) for key, rows in seen.items()}
    print(f"{'turns':>6} {'off, CPU':>10} {'on, CPU':>10} {'on, wall':>10}   microseconds a turn")
    for turns in TURNS:
        print(f"{turns:6} {cpu[turns, False]:10.0f} {cpu[turns, True]:10.0f} {wall[turns, True]:10.0f}")
    size = max(path.stat().st_size for path in Path(folder).glob("*.jsonl"))
    print(f"bytes of a run of {TURNS[-1]} turns: {size:,}")
    print(f"a turn at 1000 over one at 100, on disk: {cpu[1000, True] / cpu[100, True]:.2f}")
    print(f"a turn at 1000 over one at 10, on disk: {cpu[1000, True] / cpu[10, True]:.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as made:
            main(f"{made}/runs")
