"""Waiting: the runs of an agent that wait for a decision, each of which one caller at a time goes on with."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import ConfigError
from nbagent.runtime.pendings import pendings_of
from nbagent.runtime.result import Interrupt

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from nbagent.agents.resuming import Resuming
    from nbagent.agents.stored import Left
    from nbagent.agents.task import Task
    from nbagent.approvals.pending import PendingAction
    from nbagent.runtime.result import RunResult


@dataclass(frozen=True, slots=True)
class Paused:
    """A run that waits for a decision, or was stopped when it had waited for one."""

    task: Task
    """What it was asked for, with the key of its exchange."""
    result: RunResult
    left: Left | None = None
    """Where it has left its file; None where it has none."""
    on: Resuming | None = None
    """The copy of the agent that goes on with it, where it is the fork of a run."""

    @property
    def pendings(self) -> tuple[PendingAction, ...]:
        """The calls that it waits for. None for a plan that was proposed, which is in nobody's way, and for a run that
        was stopped between two calls."""
        return tuple(pendings_of(self.result.events))

    @property
    def waits_for(self) -> Interrupt | None:
        """Calls, or a plan that was proposed; None where it was stopped between two calls."""
        if self.pendings:
            return Interrupt(self.pendings, self.result.stop_reason, self.task.scope, self.result.standing)
        return self.result.interrupt

    def __str__(self) -> str:
        """`buyer-1 (pay(amount=1))`"""
        waiting = self.waits_for
        what = "stopped between two calls" if waiting is None else ", ".join([one.shown for one in waiting.pendings])
        return f"{self.result.run_id} ({what})"


_Name = tuple[Hashable, Hashable]
"""The scope of a run, and the key of its exchange there."""


STOPPED = 50
"""How many runs that were stopped, and wait for nothing, an agent keeps to go on with."""


class Waiting:
    """The runs, in the order in which they began to wait."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._runs: dict[_Name, Paused] = {}
        self._claimed: set[_Name] = set()
        self._lock = Lock()

    def ended(self, task: Task, paused: Paused | None) -> None:
        """A run has ended; it waits, or does not any more. Other runs wait on, but that of the same exchange."""
        with self._lock:
            if paused is None:
                self._runs.pop(_name(task), None)
                return
            self._runs[_name(task)] = paused
            stopped = [name for name, one in self._runs.items() if one.waits_for is None]
            for name in stopped[:-STOPPED]:
                del self._runs[name]

    @contextmanager
    def claimed(self, paused: Paused | None) -> Generator[None]:
        """While the body runs, which goes on with it, nobody else does, and nobody drops it. Raises ConfigError where
        somebody does already. None claims nothing."""
        if paused is None:
            yield
            return
        name = _name(paused.task)
        with self._lock:
            self._check([paused])
            if self._runs.get(name) is not paused:
                raise ConfigError(f"{self._agent}: {paused.result.run_id} waits no more: it went on, or was dropped")
            self._claimed.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._claimed.discard(name)

    def gone_on(self, paused: Paused) -> None:
        """A run under another name has gone on with it."""
        with self._lock:
            if self._runs.get(_name(paused.task)) is paused:
                del self._runs[_name(paused.task)]

    def all(self) -> list[Paused]:
        with self._lock:
            return list(self._runs.values())

    def of(self, result: RunResult) -> Paused | None:
        """What waits of a run that has come to this."""
        return next((one for one in self.all() if one.result is result), None)

    def in_scope(self, scope: Hashable) -> list[Paused]:
        """Those of a conversation."""
        return [one for one in self.all() if one.task.scope == scope]

    def one_of(self, several: list[Paused], decision: Any) -> Paused | None:
        """The one that is meant: that which waits, or about whose calls something is decided by name; None of none.

        Raises ConfigError where it may be any of them.
        """
        found = [one for one in several if one.waits_for is not None] or several
        if len(found) > 1 and isinstance(decision, Mapping):
            names = set(cast("Mapping[Any, Any]", decision))
            calls = [({name for call in one.pendings for name in (call.call_id, call.digest)}, one) for one in found]
            found = [one for known, one in calls if known & names] or [one for one in found if one.pendings] or found
        if len(found) > 1:
            first = found[0].result.run_id
            raise ConfigError(
                f"{len(found)} runs of {self._agent} wait: {', '.join(map(str, found))}; say which: "
                f"{self._agent}.resume(…, run={first!r}), or name its call: {self._agent}.resume({{call id: …}}). "
                f"In a notebook: `%agent approve {self._agent} CALL`"
            )
        return found[0] if found else None

    def drop(self, several: Sequence[Paused]) -> None:
        """They wait no more. Raises ConfigError, and drops none, where somebody goes on with one."""
        with self._lock:
            self._check(several)
            for paused in several:
                self._runs.pop(_name(paused.task), None)

    def forget(self, paused: Paused) -> None:
        """The same of a plan that is proposed anew; where somebody does it, its end says what becomes of it."""
        with self._lock:
            name = _name(paused.task)
            if self._runs.get(name) is paused and not paused.pendings and name not in self._claimed:
                del self._runs[name]

    @property
    def interrupts(self) -> dict[Hashable, Interrupt]:
        """What is waited for, by scope. Where several runs of one wait, all of it, in the order of the runs."""
        found: dict[Hashable, Interrupt] = {}
        for one in self.all():
            if _name(one.task) in self._claimed or (waits := one.waits_for) is None:
                continue
            scope = one.task.scope
            if (first := found.get(scope)) is not None:
                standing = tuple(dict.fromkeys((*first.standing, *waits.standing)))
                reason = f"{first.reason}; {waits.reason}"
                waits = Interrupt((*first.pendings, *waits.pendings), reason, scope, standing)
            found[scope] = waits
        return found

    def check_free(self, scope: Hashable, key: Hashable) -> Paused | None:
        """The run that waits for a decision and has this key, if there is one: another one may take its place.

        Raises ConfigError where any other run of this conversation waits for one, or where somebody goes on with one.
        """
        found = self.in_scope(scope)
        same = next((one for one in found if key is not None and key == one.task.key), None)
        in_the_way = [one for one in found if one is same or (one.pendings and one.on is None)]
        with self._lock:
            self._check(in_the_way)
        waiting = [call.shown for one in in_the_way if one is not same for call in one.pendings]
        if not waiting:
            return same
        name = self._agent
        raise ConfigError(
            f"{name} waits for a decision about {', '.join(waiting)}; decide first: {name}.resume(True), or "
            f"{name}.resume(Reject(reason)); or drop that run: {name}.discard(). "
            f"In a notebook: `%agent approve {name}`, `%agent reject {name} --reason '…'`, `%agent discard {name}`"
        )

    def _check(self, several: Sequence[Paused]) -> None:
        for one in several:
            if _name(one.task) in self._claimed:
                raise ConfigError(
                    f"{self._agent}: somebody goes on with {one.result.run_id} already; wait until that has ended, or "
                    "end it (a stream: close it)"
                )


def _name(task: Task) -> _Name:
    return task.scope, task.key
