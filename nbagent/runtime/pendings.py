"""Pendings: the tool calls that an interrupted run waits for. A view of its journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.approvals.pending import PendingAction, digest_of
from nbagent.events import (
    ApprovalDecided,
    ApprovalRequested,
    Nested,
    RunFinished,
    RunStarted,
    ToolReturned,
    ToolStarted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbagent.events import Event


def pendings_of(events: Iterable[Event]) -> Iterator[PendingAction]:
    """Calls that wait for a decision, or were begun and have no result; of a run inside, those that it waits for."""
    open_calls = _Open()
    for event in events:
        open_calls.add(event)
    yield from open_calls.pendings()


class _Open:
    """The calls of the newest reply that have no result yet."""

    def __init__(self) -> None:
        self._run = RunStarted("", "", "", "", 0)
        self._asked: dict[int, ApprovalRequested] = {}
        self._started: dict[int, ToolStarted] = {}
        self._times: dict[int, int] = {}
        """How often each has been started."""
        self._inside: dict[int, list[Event]] = {}

    def add(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._run = event
            case ApprovalRequested(_, index):
                self._asked[index] = event
            case ApprovalDecided(_, index):
                (self._asked if index in self._asked else self._started).pop(index, None)
            case ToolStarted(_, index):
                self._started[index] = event
                self._times[index] = self._times.get(index, 0) + 1
            case Nested(_, index, inner):
                self._inside.setdefault(index, []).append(inner)  # pyright: ignore[reportArgumentType]  # of a journal
            case ToolReturned(_, index):
                for known in (self._asked, self._started, self._inside, self._times):
                    known.pop(index, None)
            case _:
                pass

    def pendings(self) -> Iterator[PendingAction]:
        for index in sorted(self._asked.keys() | self._started.keys()):
            inside = self._inside.get(index)
            if index in self._asked:
                yield asking(self._asked[index], self._run.agent)
            elif inside is None:
                one = self._started[index]
                yield unknown(self._run.run_id, one, self._run.agent, self._times[index])
            elif not isinstance(end := inside[-1], RunFinished) or end.status == "interrupted":
                yield from pendings_of(inside)


def asking(question: ApprovalRequested, agent: str) -> PendingAction:
    """The question about a call that may not run yet."""
    call = question.call
    return PendingAction(call.name, call.arguments, call.id, question.digest, agent, question.origin, question.why)


def unknown(run_id: str, started: ToolStarted, agent: str, times: int) -> PendingAction:
    """The question about a call that was started, so many times, and has no result."""
    call = started.call
    digest = digest_of(run_id, 0, call, "", f"{started.turn}.{started.index}.{times}")
    why = "it was started, and has no result"
    return PendingAction(call.name, call.arguments, call.id, digest, agent, why=why, kind="unknown")
