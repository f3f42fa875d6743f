"""Run named: the run that a line means by `NAME`, `NAME@2` or `NAME@ID`, of this kernel or on disk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbagent.errors import CellError, StoreError
from nbagent.runtime.result import RunResult
from nbagent.views.safe import inline

if TYPE_CHECKING:
    from nbagent.agents.base import BaseAgent

_NUMBER = re.compile("[1-9][0-9]{0,8}")
_MOST = 10
"""Runs that an error names: the newest."""


def run_named(agent: BaseAgent, which: str = "", hint: str = "") -> RunResult:
    """The agent's newest run; its run of this number; or the run of this id, in its store.

    Where this kernel has no such run, one of its store is taken: after a restart, `2` is the run `NAME-2`. `hint`: what
    an error says to do. Raises CellError, which says which runs there are.
    """
    if (here := _here(agent, which)) is not None:
        return here
    run_id = _on_disk(agent)[-1:] if not which else [f"{agent.name}-{which}" if _NUMBER.fullmatch(which) else which]
    found = _stored(agent, run_id[0]) if run_id else None
    if found is None:
        raise CellError(f"{_missing(agent, which)}{f'; {hint}' if hint else ''}")
    return found


def name_of(agent: BaseAgent, name: str, result: RunResult) -> str:
    """What a line calls a run: `bot@2`; one that is on disk only, by its id."""
    number = next((n for n, one in agent.results.items() if one is result), None)
    return f"{name}@{result.run_id if number is None else number}"


def _here(agent: BaseAgent, which: str) -> RunResult | None:
    if not which:
        return agent.last
    if _NUMBER.fullmatch(which):
        return agent.results.get(int(which))
    return next((one for one in reversed(list(agent.results.values())) if one.run_id == which), None)


def _stored(agent: BaseAgent, run_id: str) -> RunResult | None:
    """A run of this agent, as far as its file is sound."""
    if agent.store is None:
        return None
    try:
        stored = agent.store.look(run_id)
    except StoreError:
        return None
    is_its = stored.header is not None and stored.header.agent == agent.name
    return RunResult(stored.events) if is_its and stored.events else None


def _on_disk(agent: BaseAgent) -> list[str]:
    """The ids of its runs in its store, the newest last."""
    return [] if agent.store is None else [one.run_id for one in agent.store.list() if one.agent == agent.name]


def _missing(agent: BaseAgent, which: str) -> str:
    stored = [inline(one) for one in _on_disk(agent)[-_MOST:]]
    there = [", ".join(map(str, agent.results))] if agent.results else []
    there += [f"on disk {', '.join(stored)}"] if stored else []
    said = "has not run yet" if not which else f"has no run {which}"
    return f"agent {agent.name!r} {said}" + (f"; there are {'; '.join(there)}" if there else "")
