"""Runs of all kinds, whose journals are put down and read again; scripted, and the same each time."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum

from pydantic import BaseModel

from nbagent import (
    Agent,
    AgentTool,
    Answer,
    ApprovalPolicy,
    Approve,
    Compact,
    Image,
    Limits,
    PlanAgent,
    ReflectionAgent,
    Reject,
    Retry,
    Rewrite,
    ScriptedLLM,
    Stop,
    ToolResponse,
    tool,
)
from nbagent.errors import ModelError
from nbagent.messages import ModelReply, Reasoning, Usage
from nbagent.store.codec import alike
from nbagent.store.disk import Disk

SCALE = float(os.environ.get("NBAGENT_SCALE", "0.05"))
"""Which part of the whole figures is tried; 1 for all of them."""
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c020000000b4944415478da6364f80f00010501012718e366"
    "0000000049454e44ae426082"
)
call = ScriptedLLM.tool_call


DISK_CALLS = (
    "make_folder", "names", "create", "open", "read", "write", "size", "sync", "truncate", "close", "sync_folder",
    "replace", "remove",
)  # fmt: skip
"""All that is asked of a disk."""


class QuickDisk(Disk):
    """Does not wait for what no test can see: whether a loss of power would take it away."""

    def sync(self, fd):
        pass

    def sync_folder(self, folder):
        pass


def same(one, other):
    """Whether these events are alike, one by one."""
    return len(one) == len(other) and all(map(alike, one, other))


def times(whole, least=1):
    return max(least, int(whole * SCALE))


class Weather(BaseModel):
    city: str
    degrees: int


@dataclass(frozen=True)
class Point:
    x: int
    when: date


class Mood(Enum):
    good = "Good"


@tool
def add(a: int, b: int) -> int:
    """Add."""
    print("adding", a, b)
    return a + b


@tool(parallel=True)
def double(i: int) -> int:
    """Double."""
    return 2 * i


@tool
def fail() -> None:
    """Fail."""
    raise ValueError("always")


@tool
def picture() -> ToolResponse:
    """A picture."""
    return ToolResponse.ok("a dot", Image(PNG, caption="a dot"))


@tool(max_chars=100)
def things(kind: str) -> object:
    """Something of that kind."""
    import pandas as pd

    return {
        "table": pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}),
        "record": Point(1, date(2026, 11, 30)),
        "model": Weather(city="Oslo", degrees=3),
        "mood": Mood.good,
        "plain": {"a": (1, 2.5, None), 3: {"x"}, "$": float("nan"), "n": 10**400},
        "moment": [datetime(2026, 11, 30, tzinfo=UTC), Decimal("1.10"), b"\x00\xff"],
        "long": "a long text " * 100,
        "half": "half \ud83d a character",
    }[kind]


TOOLS = [add, double, fail, picture, things]
KINDS = ["table", "record", "model", "mood", "plain", "moment", "long", "half"]
ADDING = call("add", {"a": 1, "b": 2})


def agent_of(*script, name="bot", kind=Agent, **options):
    return kind(name, ScriptedLLM(script), **{"tools": TOOLS, "retry": Retry(shortest=0, longest=0), **options})


def chat():
    yield agent_of("Hello."), "Hi 日本 \U0001f600 \u2028 \x00"
    yield (
        agent_of(ADDING, [call("fail"), call("nothing"), call("add", {"a": "x"})], "Done.", system_prompt="Add."),
        "go",
    )
    yield agent_of(*[call("things", {"kind": kind}) for kind in KINDS], "Done.", max_turns=20), "look"
    yield agent_of(call("picture"), "A dot."), "show"
    yield agent_of([call("double", {"i": i}) for i in range(5)], "Done."), "go"
    yield agent_of(*[ADDING] * 3, max_turns=2), "out of turns"
    usage = Usage(10, 5, cache_read_tokens=3, cost=Decimal("0.0010"))
    reasoning = (Reasoning("anthropic", '{"signature": "abc"}', "hm"),)
    yield agent_of(ModelReply("Hm.", (), usage, "stop", reasoning)), "think"
    yield agent_of(ModelError("busy", kind="overloaded"), ModelError("busy", kind="server"), "Hi."), "retry"
    yield agent_of('{"city": "Oslo", "degrees": 3}', output=Weather), "weather"
    yield agent_of('{"value": "Good"}', output=Mood), "mood"
    yield agent_of('{"x": 1, "when": "2026-11-30"}', output=Point), "point"
    yield agent_of("no", '{"value": [1]}', output=list[int]), "repaired"


def failing():
    """Those that end with an error; their journals are as good as any."""
    yield agent_of(ModelError("no", kind="auth")), "go"
    yield agent_of("x", input_guardrails=[lambda text: "go" not in text]), "go"
    yield agent_of(ADDING, ADDING, limits=Limits(max_tool_calls=1)), "go"


def checked():
    def shorter(messages):
        return messages[-1:]

    class Hook:
        def before_model(self, messages):
            return shorter(messages)

    yield agent_of("Call 1234", output_guardrails=[lambda text: Rewrite(text.replace("1234", "****"))]), "go"
    yield agent_of(ADDING, "Three.", hooks=[Hook()]), "go"
    told = agent_of("x" * 200, "x" * 200, "x" * 200, "They said x.", "done", compact=Compact(120, 1))
    for task in ("one", "two", "three"):
        told.run(task)
    yield told, "four"


def steps():
    plan = '{"steps": ["look", "count"]}'
    yield agent_of(plan, ADDING, "Looked.", "Counted.", "All.", kind=PlanAgent), "go"
    yield agent_of("Draft.", "1. too short", "Longer.", "GOOD ENOUGH", kind=ReflectionAgent), "write"
    yield agent_of('{"city": "Oslo", "degrees": 3}', "GOOD ENOUGH", kind=ReflectionAgent, output=Weather), "weather"


def nested():
    asking = [call("worker", {"task": "1 + 2?"}), call("helper", {"task": "again"})]
    worker = agent_of(ADDING, "Three.", [call("double", {"i": i}) for i in range(3)], "Six.", name="worker")
    helper = agent_of(call("picture"), "A dot.", name="helper")
    yield (
        agent_of(
            asking, call("worker", {"task": "2?"}), "Done.", name="lead", tools=[AgentTool(worker), AgentTool(helper)]
        ),
        "go",
    )
    inner = agent_of(ADDING, "Three.", name="inner")
    middle = agent_of(call("inner", {"task": "?"}), "It is three.", name="middle", tools=[AgentTool(inner)])
    yield agent_of(call("middle", {"task": "?"}), "Three.", name="outer", tools=[AgentTool(middle)]), "go"


def asking():
    edited, noted = Approve({"a": 1, "b": 5}), Approve(note="ok", always="arguments")
    decisions = [True, False, Reject("no"), Answer("7"), edited, noted, Stop("x")]
    for decision in decisions:
        policy = ApprovalPolicy(approve=["all"])
        yield agent_of(ADDING, "Done.", approvals=policy, decide=lambda pendings, said=decision: said), f"as {decision}"
    yield agent_of(ADDING, "Done.", approvals=ApprovalPolicy(approve=["add(a > 0)"])), "wait"
    yield agent_of(ADDING, "Done.", approvals=ApprovalPolicy(deny=["add(a > 0)"])), "refuse"


def all_agents():
    for several in (chat, failing, checked, steps, nested, asking):
        for agent, task in several():
            yield f"{several.__name__}: {task[:20]}", agent, task


def ended(agent, task):
    """The result of a run, however it ends."""
    try:
        return agent.run(task)
    except Exception:
        return agent.last


def thirty_turns():
    script = [call("add", {"a": turn, "b": turn}) for turn in range(29)]
    return agent_of(*script, "Done.", max_turns=30).run("go").events


def keeping(agent, keeper):
    """The same agent, whose runs are told to the keeper; of runs inside, as the run around them knows of them."""

    class Keeping(type(agent)):
        def _run(self, task, history, nest, *more, **options):
            run = super()._run(task, history, nest, *more, **options)
            if nest is None:
                run.journal.keeper = keeper
            return run

        @contextmanager
        def _rerun(self, *more):
            with super()._rerun(*more) as run:
                run.journal.keeper = keeper
                yield run

    agent.__class__ = Keeping
    return agent
