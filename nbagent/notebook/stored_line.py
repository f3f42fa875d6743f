"""Stored line: the subcommands of `%agent` about runs on disk: runs, resume."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import CellError, StoreError
from nbagent.notebook.build import agents, find
from nbagent.notebook.decision_line import decided_about
from nbagent.notebook.header import shorten
from nbagent.views.safe import inline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nbagent.agents.base import BaseAgent
    from nbagent.approvals.decision import Decision
    from nbagent.approvals.pending import PendingAction
    from nbagent.notebook.cell import LineCell
    from nbagent.store.reading import Stored
    from nbagent.store.run_store import Listed, RunStore

FORMS = {
    "runs": "%agent runs [NAME] [--when]",
    "resume": "%agent resume ID [--replies N] [--decision approve|reject|answer|stop …]",
}
_REPLIES = re.compile(r"--replies(?:=|\s+)(\d+)(?:\s+|\Z)")
_DECISION = re.compile(r"--decision(?:=|\s+)(approve|reject|answer|stop)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Resumption:
    """A run on disk that goes on."""

    agent: BaseAgent
    run: str
    decision: dict[str, Decision]
    """By the digest of the call."""
    notes: tuple[str, ...] = ()
    """What is to be said of its file."""


def at_store(line: LineCell, namespace: Mapping[str, Any], usual: str) -> Resumption | str:
    """The run that goes on; or the list of those that there are. `usual`: where runs are of agents that name no
    folder. Raises CellError.
    """
    rest = line.cell.task.strip()
    return _listed(rest, namespace, usual) if line.subcommand == "runs" else _resumption(rest, namespace, usual)


# runs


def _listed(rest: str, namespace: Mapping[str, Any], usual: str) -> str:
    words = rest.split()
    with_times = "--when" in words
    names = [word for word in words if word != "--when"]
    if len(names) > 1 or any(name.startswith("-") for name in names):
        raise CellError(f"`{FORMS['runs']}`: expected one name or none; got {rest!r}")
    found = {str(store.folder): _of(store.list(), names) for store in _stores(namespace, usual)}
    lines: list[str] = []
    for folder, several in found.items():
        if several and len(found) > 1:
            lines.append(f"{inline(folder)}:")
        lines += [_line(one, with_time=with_times) for one in several]
    return "\n".join(lines) or (f"no runs of {names[0]} on disk" if names else "no runs on disk")


def _of(runs: Iterable[Listed], names: Sequence[str]) -> list[Listed]:
    return [one for one in runs if not names or one.agent in names]


def _line(one: Listed, *, with_time: bool) -> str:
    """Without the time where that was not asked for: it would be another one in each execution of a notebook."""
    words = [one.run_id, one.agent, one.status, one.when if with_time else ""]
    return " · ".join([inline(word) for word in words if word])


# resume


def _resumption(rest: str, namespace: Mapping[str, Any], usual: str) -> Resumption:
    run, _, options = rest.partition(" ")
    if not run or run.startswith("-"):
        raise CellError(f"`%agent resume` needs the id of a run: `{FORMS['resume']}`; `%agent runs` lists them")
    fork = _REPLIES.match(options.strip())
    options = options.strip().removeprefix("" if fork is None else fork[0])
    said = _DECISION.fullmatch(options.strip())
    if said is None and options.strip():
        raise CellError(f"`{FORMS['resume']}`: got {shorten(options.strip(), 100)!r} after the id")
    agent, stored = _agent_of(run, namespace, usual)
    notes = (f"{inline(run)}: {stored.torn}",) if stored.torn else ()
    if fork is not None and agent.store is not None:
        first, run = run, agent.store.fork(run, int(fork[1]))
        stored = agent.store.look(run)
        notes = (*notes, f"{inline(run)} begins as {inline(first)} did, up to its reply {fork[1]}")
    if said is None:
        return Resumption(agent, run, {}, notes)
    decision = decided_about(said[1], said[2] or "", _waiting(run, stored), stored.events)
    return Resumption(agent, run, decision, notes)


def _agent_of(run: str, namespace: Mapping[str, Any], usual: str) -> tuple[BaseAgent, Stored]:
    """The agent whose run it is, and what there is on disk."""
    stores = _stores(namespace, usual)
    for store in stores:
        if (stored := _looked_at(store, run)) is None:
            continue
        name = "" if stored.header is None else stored.header.agent
        agent = _called(name, namespace)
        if agent is None:
            raise CellError(
                f"{run} is a run of the agent {name!r}, which is not in this notebook; run the cell that describes it"
            )
        if agent.store is None or agent.store.folder != store.folder:
            raise CellError(
                f"{run} is in {store.folder}, where {name} does not keep its runs; say so in its cell: "
                f"`store: {store.folder}`"
            )
        return agent, stored
    known = [one.run_id for store in stores for one in store.list()]
    there = f"there are: {', '.join(known[-_MOST:])}" if known else "there are none on disk"
    raise CellError(f"no run {run!r}; {there}. An agent with `store: yes` has its runs on disk")


_MOST = 10
"""Runs that an error names: the newest."""


def _looked_at(store: RunStore, run: str) -> Stored | None:
    """What the file of a run says; None where there is none. One that is damaged is refused when it is to go on."""
    try:
        return store.look(run)
    except StoreError:
        return None


def _called(name: str, namespace: Mapping[str, Any]) -> BaseAgent | None:
    """The agent with this name: that which the variable of this name holds, or any other."""
    several = [cast("BaseAgent", namespace[variable]) for variable in agents(namespace)]
    first = find(name, namespace) if name in agents(namespace) else None
    return next((one for one in [first, *several] if one is not None and one.name == name), None)


def _waiting(run: str, stored: Stored) -> Sequence[PendingAction]:
    """The calls about which something may be decided."""
    from nbagent.agents.stored import waiting_in

    if not (waiting := waiting_in(stored)):
        raise CellError(f"no call of {run} waits for a decision; `%agent resume {run}` goes on with it")
    return waiting


def _stores(namespace: Mapping[str, Any], usual: str) -> list[RunStore]:
    """Where the agents of the notebook keep their runs; without any that does, where they would."""
    from nbagent.store.run_store import RunStore

    found: dict[str, RunStore] = {}
    for name in agents(namespace):
        if (store := cast("BaseAgent", namespace[name]).store) is not None:
            found.setdefault(str(store.folder), store)
    if usual or not found:
        store = RunStore(usual) if usual else RunStore()
        found.setdefault(str(store.folder), store)
    return list(found.values())
