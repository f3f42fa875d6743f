"""Buying: what tests of approvals have in common: a tool that pays, which has to be approved above 100, and one that
looks; what has run is in `ran`."""

from __future__ import annotations

import asyncio

import pytest

from nbagent import ScriptedLLM, tool

call = ScriptedLLM.tool_call
BOTH = pytest.mark.parametrize("asynchronous", [False, True], ids=["run", "arun"])
ran: list = []


@pytest.fixture(autouse=True)
def nothing_ran():
    """To be imported: at the beginning of each test."""
    ran.clear()


@tool(approval="amount > 100")
def pay(to: str, amount: int) -> str:
    """Pays."""
    ran.append((to, amount))
    return f"paid {amount}"


@tool(effect="read")
def look() -> str:
    """Looks."""
    ran.append("looked")
    return "seen"


def paying(amount=120, to="Ann", **more):
    return call("pay", {"to": to, "amount": amount}, **more)


def heard(request):
    """Answers with what the newest message says."""
    return f"heard: {request.messages[-1].content}"


def run(agent, task="go", *, asynchronous=False, **options):
    return asyncio.run(agent.arun(task, **options)) if asynchronous else agent.run(task, **options)


def resume(agent, decision=None, *, asynchronous=False, **options):
    return asyncio.run(agent.aresume(decision, **options)) if asynchronous else agent.resume(decision, **options)
