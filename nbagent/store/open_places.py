"""Open places: which events of a run that has ended, or whose process has, are those that it goes on from."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from nbagent.events import ModelReplied, Nested, RunFinished, ToolReturned

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbagent.events import Event

_STOPPED = ("interrupted", "cancelled", "failed")
"""How a run inside ends that goes on with the one around it."""


def open_places(events: Sequence[Event]) -> list[int]:
    """The places of all events but its end, where it has one, and those of runs inside whose calls have not returned:
    these go on, too, unless they have come to an end of their own.
    """
    # One that was stopped when it had just ended has two ends.
    ends = {place for place, event in enumerate(events) if isinstance(event, RunFinished)}
    _add_inside(enumerate(events), ends)
    return [place for place in range(len(events)) if place not in ends]


def _add_inside(events: Iterable[tuple[int, Event]], ends: set[int]) -> None:
    """Adds the places of the ends of runs inside that go on. `events`: of one run, with their places in all."""
    inside: dict[int, list[tuple[int, Event]]] = {}
    for place, event in events:
        match event:
            case ModelReplied():
                inside.clear()  # the calls of earlier replies have returned
            case Nested(_, index, inner):
                inside.setdefault(index, []).append((place, cast("Event", inner)))
            case ToolReturned(_, index):
                inside.pop(index, None)
            case _:
                pass
    for own in inside.values():
        if isinstance(end := own[-1][1], RunFinished) and end.status in _STOPPED:
            ends |= {place for place, event in own if isinstance(event, RunFinished)}
        _add_inside(own, ends)
