"""Recorded: what the events of an earlier run say about how to go on from them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from nbagent.errors import ConfigError
from nbagent.events import Event, ModelReplied, RunStarted, ToolReturned
from nbagent.messages import Piece
from nbagent.models.model import Model, go_to, position
from nbagent.prompt.inputs import Inputs

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence


def started_of(events: Sequence[Event]) -> RunStarted:
    """How the run began. Raises ConfigError where these are not the events of one."""
    started = events[0] if events else None
    if not isinstance(started, RunStarted):
        raise ConfigError(f"replay: expected the events of a run, from its RunStarted on; got {started!r}")
    return started


def inputs_of(started: RunStarted) -> Inputs:
    """What the run was given."""
    return Inputs(tuple([Piece(segment.text, segment.source) for segment in started.task]), started.fields)


@contextmanager
def script_at(model: Model, events: Sequence[Event]) -> Generator[None]:
    """While the body runs, the model's script stands where these events leave it; afterwards where it was."""
    here = position(model)
    go_to(model, _place(events))
    try:
        yield
    finally:
        go_to(model, here)


def _place(events: Sequence[Event]) -> int:
    place = 0
    for event in events:
        if isinstance(event, RunStarted | ModelReplied):
            place = event.position
        elif isinstance(event, ToolReturned):
            place = max(place, event.position)  # of several that ran side by side
    return place
