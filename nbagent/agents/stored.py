"""Stored: an agent's runs on disk: which file a run is written to, and what has to be as it was where one goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec.structs import replace

from nbagent.agents.recorded import inputs_of, started_of
from nbagent.errors import ConfigError, StoreError
from nbagent.events import (
    ApprovalDecided,
    ApprovalRequested,
    PromptAssembled,
    RunFinished,
    StepFinished,
    ToolReturned,
    ToolStarted,
    innermost,
)
from nbagent.runtime.differing import differences
from nbagent.runtime.pendings import pendings_of
from nbagent.store.open_places import open_places
from nbagent.texts.template import shown

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from nbagent.agents.runner import Runner
    from nbagent.approvals.pending import PendingAction
    from nbagent.events import Event, StreamEvent
    from nbagent.runtime.run import Run
    from nbagent.store.line import Place
    from nbagent.store.reading import Stored
    from nbagent.store.run_file import RunFile
    from nbagent.store.run_store import RunStore

_ANEW = "run it anew"
_SYSTEM = "system prompt"


def store_of(given: RunStore | str | os.PathLike[str] | None) -> RunStore | None:
    """A store as it is given. Raises ConfigError."""
    if given is None:
        return None
    from pathlib import Path

    from nbagent.store.run_store import RunStore  # who keeps nothing needs no locks

    if isinstance(given, str | Path) and str(given).strip():
        return RunStore(given)
    if not isinstance(given, RunStore):
        raise ConfigError(f"store: expected a folder, as a text or a Path, or RunStore(folder); got {given!r}")
    return given


class Left(NamedTuple):
    """Where a run has left its file."""

    store: RunStore
    place: Place


def left_by(run: Run) -> Left | None:
    """Where a run that has ended has left its file; None where it has none."""
    file = cast("RunFile | None", run.journal.keeper)
    return None if file is None or file.store is None else Left(file.store, file.place)


def created(agent: Runner, store: RunStore | None) -> RunFile | None:
    """The file of a run that begins now."""
    if store is None:
        return None
    from nbagent.store.header import Header

    return store.create(f"{agent.name}-{agent.next_run}", Header(agent.name, digests_of(agent)))


def reopened(agent: Runner, begun: Sequence[Event], left: Left | None) -> tuple[RunFile | None, Sequence[Event]]:
    """The file of a plan that is done, with what is done already. One that was done before, or that has been gone on
    with elsewhere, is a run of its own from here on."""
    if left is None:
        return None, begun
    if (file := _open_for(left, begun)) is not None:
        return file, begun
    if (file := created(agent, left.store)) is None:
        return None, begun
    return file, (replace(started_of(begun), run_id=file.run_id), *begun[1:])


def resumed(agent: Runner, begun: Sequence[Event], left: Left | None) -> RunFile | None:
    """The file of a run that has waited in this process, to go on in; None where it has none. Raises StoreError where
    it was gone on with elsewhere meanwhile: in another process, or by another agent."""
    if left is None:
        return None
    if (file := _open_for(left, begun)) is None:
        run_id = started_of(begun).run_id
        raise StoreError(
            f"store: {run_id} was gone on with elsewhere since; drop what waits here: {agent.name}.discard()"
        )
    return file


def _open_for(left: Left, begun: Sequence[Event]) -> RunFile | None:
    """The file of a run that this agent has left, where nothing was added since and it may go on from these events."""
    file = left.store.open(started_of(begun).run_id)
    try:
        is_as_left = file.place == left.place and not _is_over(file.stored)
        if is_as_left and len(open_places(file.stored.events)) == len(begun):
            file.go_on(begun)
            return file
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def opened(agent: Runner, run_id: str) -> RunFile:
    """The file of a run of an earlier process, which can go on.

    Raises ConfigError where the agent has no store; StoreError where the run is over, or is another one by now: which
    of its tools and prompts have changed, with a diff where the file holds the text.
    """
    store = agent.store
    if store is None:
        raise ConfigError(f"run: {agent.name} has no store that {run_id} could be in; give it one: store='folder'")
    file = store.open(run_id)
    try:
        _check(agent, run_id, file.stored)
    except BaseException:
        file.close()
        raise
    return file


def digests_of(agent: Runner, within: str = "", seen: tuple[Runner, ...] = ()) -> dict[str, str]:
    """What has to be the same where one of its runs goes on, and in the agents that are its tools: by name, a hash."""
    from nbagent.store.header import digest_of

    plan = agent.prompting.blueprint
    texts = {_SYSTEM: shown(plan.system), "prompt template": shown(plan.message or ()), "model": agent.model.name}
    found = {f"{within}{name}": digest_of(text) for name, text in texts.items()}
    for tool in agent.prompting.own_tools:
        inner: Runner | None = getattr(tool, "agent", None)
        found[f"{within}tool {tool.name}"] = tool.source if inner is None else digest_of(inner.name)
        if inner is not None and inner not in (*seen, agent):
            found |= digests_of(inner, f"{within}{tool.name}: ", (*seen, agent))
    return found


def _check(agent: Runner, run_id: str, stored: Stored) -> None:
    header, cannot = stored.header, f"store: {run_id} cannot go on"
    if header is not None and header.agent != agent.name:
        raise StoreError(f"{cannot} here: it is a run of the agent {header.agent!r}, and this one is {agent.name!r}")
    if not stored.events:
        raise StoreError(f"{cannot}: its process ended before it began; {_ANEW}")
    if why := _is_over(stored):
        raise StoreError(f"{cannot}: {why}; {_ANEW}")
    changed = () if header is None else header.changed(digests_of(agent))
    if changed:
        diff = _system_diff(agent, stored.events) if _SYSTEM in changed else ()
        said = f"{cannot}: not as they were when it began: {', '.join(changed)}. Restore them, or {_ANEW}"
        raise StoreError("\n".join([said, *diff]))
    if masked := next(_masked(stored), ""):
        raise StoreError(f"{cannot}: a key or a password is masked in {masked}, in its file; {_ANEW}")


def _is_over(stored: Stored) -> str:
    """Why the run cannot go on; empty where it can."""
    end = stored.finished
    if end is None:
        return ""
    if end.status == "cancelled" and any(_has_stopped(one) for one in map(innermost, stored.events)):
        return "a person has stopped it"
    return "" if end.status in ("interrupted", "cancelled", "failed") else f"it is {end.status.replace('_', ' ')}"


def _has_stopped(event: StreamEvent) -> bool:
    return isinstance(event, ApprovalDecided) and event.verdict == "stopped"


def _system_diff(agent: Runner, events: Sequence[Event]) -> tuple[str, ...]:
    """The lines in which the system prompt is not the recorded one."""
    recorded = next((event.prompt for event in events if isinstance(event, PromptAssembled)), None)
    if recorded is None:
        return ()
    then = [one.text for one in recorded.segments if one.role == "system" and one.kept]
    now = [one.text for one in agent.prompting.draft(inputs_of(started_of(events))).system]
    return differences("".join(then), "".join(now))


def _masked(stored: Stored) -> Iterator[str]:
    """What there is in the file that is not what happened, and that the rest of the run would be made of. What a tool
    has returned is masked before the model reads it."""
    left = {*stored.masked} & {*open_places(stored.events)}
    for place in sorted(left):
        match innermost(stored.events[place]):
            case ToolStarted(call=call) | ApprovalRequested(call=call):
                yield f"the arguments of {call.name}"
            case ToolReturned() | StepFinished() | RunFinished():
                pass
            case other:
                yield _NAMES.get(type(other).__name__, "what the model has read or said")


_NAMES = {
    "RunStarted": "what it was given", "PromptAssembled": "its prompt", "ApprovalDecided": "a decision",
}  # fmt: skip


def waiting_in(stored: Stored) -> tuple[PendingAction, ...]:
    """The calls that a stored run waits for, or that were started and have no result."""
    return tuple(pendings_of([stored.events[place] for place in open_places(stored.events)]))
