"""A kernel that is killed while an agent works: in the next one its run goes on, and nothing is done twice."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from kernels import Kernel, wait_for_lines

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))
from journals import SCALE  # the scale of the tests of the store

PAYMENTS = 6
LAST = f"before {PAYMENTS - 1}"
MOMENTS = [
    moment
    for amount in range(1, PAYMENTS - 1)
    for moment in [
        (f"before {amount}", f"before {amount}"), (f"after {amount}", f"after {amount}"), (f"after {amount}", LAST),
    ]
]  # fmt: skip
"""When a kernel is killed, and where its tool waits for that: in the call, before its effect or after it, or not before
the last call, so that it is killed wherever it is by then."""
KERNELS = 25 if SCALE == 1 else 3
CODE = """
import os, time
os.chdir(FOLDER)
%load_ext nbagent
from nbagent import tool

def moment(which):
    with open("moments", "a") as file:
        file.write(f"{which}\\n")
    while open("waits at").read() == which:
        time.sleep(0.01)

@tool(approval=True)
def pay(amount: int) -> str:
    "Pays."
    moment(f"before {amount}")
    with open("effects", "a") as file:
        file.write(f"{amount}\\n")
    moment(f"after {amount}")
    return f"paid {amount}"
"""
CELL = """%%agent buyer
tools: [pay]
store: yes
DECISIONS
max_turns: 20
script:
SCRIPT
  - done
---
"""
SCRIPT = "\n".join(f"  - call: pay\n    args: {{amount: {n}}}" for n in range(PAYMENTS))
STATE = (
    "__import__('json').dumps([buyer.last.status, [[p.call_id, p.kind, p.arguments] "
    "for one in buyer.waiting.values() for p in one.pendings]])"
)


def cell(decisions, task=""):
    said = f"decisions: [{', '.join(['approve'] * decisions)}]" if decisions else "quiet: no"
    return CELL.replace("DECISIONS", said).replace("SCRIPT", SCRIPT) + task


def begun(folder, waits_at=""):
    (folder / "waits at").write_text(waits_at)
    kernel = Kernel()
    assert kernel.run(CODE.replace("FOLDER", repr(str(folder)))) == []
    return kernel


def effects(folder):
    path = folder / "effects"
    return path.read_text().split() if path.exists() else []


def die(folder, moment, waits_at):
    """Kills a kernel in which a cell runs, when its tool has come to that moment."""
    kernel = begun(folder, waits_at)
    try:
        pid = int(kernel.value("os.getpid()"))
        kernel.start(cell(PAYMENTS, "go"), "a")
        when, amount = moment.split()
        wait_for_lines(folder / "moments", 2 * int(amount) + 1 + (when == "after"))
        os.kill(pid, signal.SIGKILL)
    finally:
        kernel.close()


def go_on(folder):
    """What a person does in the next kernel; the result, and how often nobody knew whether a call took effect."""
    kernel, unknown = begun(folder), 0
    try:
        kernel.run(cell(0), "a")
        [(_, listed)] = kernel.run("%agent runs", "b")
        assert listed["data"]["text/plain"] == "buyer-1 · buyer · unfinished"
        kernel.run("%agent resume buyer-1", "c")
        for _ in range(2 * PAYMENTS):
            status, waiting = json.loads(kernel.value(STATE))
            if not waiting:
                break
            [(call_id, kind, arguments)] = waiting
            amount = str(json.loads(arguments)["amount"])
            unknown += kind == "unknown"
            is_done = kind == "unknown" and amount in effects(folder)
            kernel.run(f"%agent answer buyer {call_id} paid {amount}" if is_done else f"%agent approve buyer {call_id}")
        [(_, listed)] = kernel.run("%agent runs", "d")
        said = json.loads(kernel.value("__import__('json').dumps([e.observation.text for e in buyer.last.tool_calls])"))
        return (status, listed["data"]["text/plain"], said), unknown
    finally:
        kernel.close()


@pytest.mark.skipif(os.name == "nt", reason="nothing is killed so there")
def test_a_run_whose_kernel_was_killed_goes_on_in_the_next_one(tmp_path):
    killed, unknown = Counter(), 0
    for number in range(KERNELS):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        moment, waits_at = MOMENTS[number % len(MOMENTS)]
        die(folder, moment, waits_at)
        is_in_call = moment == waits_at
        killed["in a call, " + moment.split()[0] + " its effect" if is_in_call else "anywhere"] += 1
        before = len(effects(folder))
        ended, asked = go_on(folder)
        unknown += asked
        assert 0 < before < PAYMENTS
        assert asked == 1 if is_in_call else asked <= 1
        assert ended == (
            "completed", "buyer-1 · buyer · completed", [f"paid {n}" for n in range(PAYMENTS)],
        )  # fmt: skip
        assert effects(folder) == [str(n) for n in range(PAYMENTS)]
    print(f"{KERNELS} kernels killed, {dict(killed)}; {unknown} calls of which nobody knew; each payment made once")
    assert sum(killed.values()) == KERNELS
    assert len(killed) == 3
