"""Everywhere: one text in each place of each view, so that a page of a few of them holds it wherever it may stand."""

import json

from views_samples import PLACES, full_run

from nbagent.events import (
    ApprovalRequested,
    ModelReplied,
    ModelRequested,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
)
from nbagent.messages import Message, ModelReply, Prompt, Segment, Source, ToolCall, ToolSchema
from nbagent.views.bundle import agent_bundle, bundle
from nbagent.views.card import Card
from nbagent.views.dry import Dry, Wire, dry_bundle


def views_of(text):
    """The HTML of each view, by its name."""
    runs = {"run": full_run(**dict.fromkeys(PLACES, text)), "failed": full_run("failed", stop_reason=text)}
    runs |= {"plan": _plan(text), "reflection": _reflection(text), "approval": _approval(text)}
    views = {name: bundle(events)["text/html"] for name, events in runs.items()}
    tool = ToolSchema(text, text, {"type": "object", "properties": {text: {"description": text}}})
    views["card"] = agent_bundle(Card(text, text, text, text, (tool,), 1, "plan"))["text/html"]
    views["prompt"] = dry_bundle(_dry(text, tool))["text/html"]
    return views


def _plan(text):
    return [
        RunStarted("a-1", text, text, text, 3),
        StepStarted("plan", 1),
        StepFinished("plan", 1, "done", (text, "x")),
        StepStarted("execute", 1, text),
        ModelRequested(1, "f"),
        ModelReplied(1, ModelReply(text)),
        StepFinished("execute", 1, "failed", None, text),
        StepStarted("plan", 2),
        StepFinished("plan", 2, "done", (f"{text}!",)),
        RunFinished("failed", None, text),
    ]


def _reflection(text):
    parts = (("draft", 0, text, "done"), ("critique", 1, text, "done"), ("refine", 1, f"{text} {text}", "done"))
    events = [RunStarted("a-1", text, text, text, 3)]
    for kind, number, said, status in parts:
        events += [StepStarted(kind, number), ModelRequested(1, "f"), ModelReplied(1, ModelReply(said))]
        events.append(StepFinished(kind, number, status, said))
    return [*events, RunFinished("completed", text)]


def _approval(text):
    calls = (ToolCall("1", text, json.dumps({"to": text, f"{text}k": text})), ToolCall("2", "run", text))
    asked = [ApprovalRequested(1, index, call, index + 1, "d", text, text) for index, call in enumerate(calls)]
    replied = ModelReplied(1, ModelReply(text, calls, None, "tool_calls"))
    started = RunStarted("a-1", "buyer", text, text, 3)
    return [started, ModelRequested(1, "f"), replied, *asked, RunFinished("interrupted")]


def _dry(text, tool):
    segments = [Segment("system", text, text, Source(kind, text)) for kind in ("template", "variable", "context")]
    said = (Message("user", text), Message("assistant", text), Message("user", text))
    prompt = Prompt((*segments, Segment("user", "task", text, Source("template", text))), said, (tool,))
    return Dry(text, text, text, text, prompt, (Wire(text, json.dumps({"a": text}), text),), f"%prompt {text}")
