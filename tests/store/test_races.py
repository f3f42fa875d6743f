"""Races: several processes begin runs in one folder, and want the same run at the same time."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections import Counter
from contextlib import ExitStack

import pytest
from journals import SCALE, times

from nbagent.events import Noted
from nbagent.store.header import Header
from nbagent.store.run_store import RunStore

WRITERS = """
import sys
from nbagent.events import Noted
from nbagent.store.header import Header
from nbagent.store.run_store import RunStore

folder, me, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    with RunStore(folder).create("bot-1", Header(me)) as file:
        for turn in range(3):
            file.keep(Noted(turn, f"{me} {number}"), turn == 2)
    print(file.run_id, flush=True)
"""
OPENERS = """
import sys
from nbagent.errors import RunHeld
from nbagent.events import Noted
from nbagent.store.run_store import RunStore

store, file = RunStore(sys.argv[1]), None
print("ready", flush=True)
for line in sys.stdin:
    if line == "close\\n":
        if file is not None:
            file.close()
        file = None
        print("closed", flush=True)
        continue
    try:
        file = store.open(line.strip())
        file.keep(Noted(1, sys.argv[2]), True)
        print("won", flush=True)
    except RunHeld as held:
        print(held, flush=True)
"""
RESUMERS = """
import sys
from pathlib import Path
from nbagent import Agent, ScriptedLLM, tool
from nbagent.errors import StoreError

folder, waits = Path(sys.argv[1]), False


@tool(approval=True)
def pay(amount: int) -> str:
    "Pays."
    print("pays", file=sys.__stdout__, flush=True)
    if waits:
        sys.stdin.readline()
    with (folder / "effects").open("a") as file:
        file.write(f"{amount}\\n")
    return f"paid {amount}"


def buyer(number):
    script = [ScriptedLLM.tool_call("pay", {"amount": number}), "Done."]
    return Agent("buyer", ScriptedLLM(script), tools=[pay], store=folder / "runs")


if sys.argv[2:]:
    for number in range(1, int(sys.argv[2]) + 1):
        print(buyer(number).run("go").run_id, flush=True)
    sys.exit()
print("ready", flush=True)
for line in sys.stdin:
    number, waits = int(line.split()[0]), line.split()[1] == "waits"
    try:
        print(buyer(number).resume(True, run=f"buyer-{number}").status, flush=True)
    except StoreError as error:
        print(error, flush=True)
"""
LONGEST = 60 if SCALE < 1 else 600
"""Seconds after which a process has hung, and is ended; what is read from it then is empty."""


def process(stack, program, *args):
    one = stack.enter_context(
        subprocess.Popen([sys.executable, "-c", program, *map(str, args)], stdin=-1, stdout=-1, text=True, bufsize=1)
    )
    stack.callback(one.stdin.close)
    hung = threading.Timer(LONGEST, one.kill)
    hung.start()
    stack.callback(hung.cancel)
    return one


def said(one):
    line = one.stdout.readline().strip()
    assert line, "a process has ended, or hung"
    return line


def test_runs_that_begin_at_the_same_time_have_ids_of_their_own(tmp_path):
    processes, count = (8, 50) if SCALE == 1 else (4, 8)
    with ExitStack() as stack:
        ones = [process(stack, WRITERS, tmp_path, f"p{number}", count) for number in range(processes)]
        assert {said(one) for one in ones} == {"ready"}
        for one in ones:
            one.stdin.write("go\n")
        ids = [one.stdout.read().split() for one in ones]
    assert [len(mine) for mine in ids] == [count] * processes
    every = {run_id for mine in ids for run_id in mine}
    total = processes * count
    assert every == {f"bot-{number}" for number in range(1, total + 1)}  # none left out
    store = RunStore(tmp_path)
    for number, mine in enumerate(ids):
        for place, run_id in enumerate(mine):
            stored = store.read(run_id)
            assert stored.header.agent == f"p{number}"
            assert stored.events == tuple(Noted(turn, f"p{number} {place}") for turn in range(3))
    listed = [one.run_id for one in store.list()]
    assert sorted(listed) == sorted(every)
    for mine in ids:  # each process's own, in its order
        assert [run_id for run_id in listed if run_id in mine] == mine
    print(f"{processes} processes x {count} runs: {len(every)} ids, {total} runs whole")


def test_of_those_who_open_a_run_at_the_same_time_one_has_it_and_the_others_are_told_who(tmp_path):
    races = times(200, 15)
    store = RunStore(tmp_path)
    for _ in range(races):
        store.create("bot-1", Header("bot")).close()
    wins = [0, 0]
    with ExitStack() as stack:
        ones = [process(stack, OPENERS, tmp_path, name) for name in ("one", "two")]
        assert {said(one) for one in ones} == {"ready"}
        for race in range(1, races + 1):
            for one in ones if race % 2 else reversed(ones):
                one.stdin.write(f"bot-{race}\n")
            answers = [said(one) for one in ones]
            winner = answers.index("won")
            wins[winner] += 1
            told = answers[1 - winner]
            assert held_by(ones[winner], f"bot-{race}").match(told), told
            for one in ones:
                one.stdin.write("close\n")
            assert {said(one) for one in ones} == {"closed"}
            assert store.read(f"bot-{race}").events == (Noted(1, ("one", "two")[winner]),)
    print(f"{races} races for a run: one winner in each ({wins[0]} and {wins[1]}), the other told who it is")
    assert sum(wins) == races


def held_by(one, run_id):
    return re.compile(rf"store: the run {run_id} is being written by process {one.pid} on \S+ since 2\S+ ")


def is_too_late(told, number):
    """It is completed; or another one has looked at that just then, or had ended before it could be named."""
    late = "cannot go on: it is completed|is being written by (another )?process"
    return re.match(rf"store: (the run )?buyer-{number} ({late})", told) is not None


@pytest.mark.parametrize("waits", [True, False], ids=["while it pays", "at once"])
def test_of_those_who_go_on_with_a_run_at_the_same_time_one_makes_its_call(waits, tmp_path):
    """`waits`: the call ends when the others have been answered; else they may come when all is done."""
    races, counts = times(200, 8), Counter()
    with ExitStack() as stack:
        first = process(stack, RESUMERS, tmp_path, races)
        assert first.stdout.read().split() == [f"buyer-{number}" for number in range(1, races + 1)]
        ones = [process(stack, RESUMERS, tmp_path) for _ in range(3)]
        assert {said(one) for one in ones} == {"ready"}
        for number in range(1, races + 1):
            for one in ones[number % 3 :] + ones[: number % 3]:
                one.stdin.write(f"{number} {'waits' if waits else 'runs'}\n")
            answers = [said(one) for one in ones]
            assert answers.count("pays") == 1
            winner = ones[answers.index("pays")]
            if waits:
                winner.stdin.write("on\n")
            assert said(winner) == "completed"
            counts[f"won by {ones.index(winner)}"] += 1
            for told in [answer for answer in answers if answer != "pays"]:
                is_held = held_by(winner, f"buyer-{number}").match(told) is not None
                assert is_held or (not waits and is_too_late(told, number)), told
                counts["held" if is_held else "too late"] += 1
    assert (tmp_path / "effects").read_text().split() == [f"{number}" for number in range(1, races + 1)]
    assert {one.status for one in RunStore(tmp_path / "runs").list()} == {"completed"}
    print(f"{races} races to go on with a run, 3 processes in each: {races} calls made; {dict(counts)}")
