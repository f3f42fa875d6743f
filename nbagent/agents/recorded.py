"""Recorded: what the events of an earlier run say about how to go on from them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from nbagent.agents.marks import Marks
from nbagent.errors import ConfigError
from nbagent.events import Event, Guarded, ModelFailed, ModelReplied, Nested, RunStarted, ToolReturned, ToolStarted
from nbagent.messages import Piece
from nbagent.prompt.inputs import Inputs

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from nbagent.agents.runner import Runner
    from nbagent.events import StreamEvent
    from nbagent.models.model import Model


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
def scripts_at(agent: Runner, events: Sequence[Event]) -> Generator[None]:
    """While the body runs, the scripts stand where these events leave them; afterwards where they were."""
    here = Marks.of(agent.models)
    after(agent, events).go()
    try:
        yield
    finally:
        here.go()


def after(agent: Runner, events: Sequence[Event]) -> Marks:
    """Where these events leave the scripts."""
    found: dict[int, tuple[Model, int]] = {}
    reading = _Places(agent)
    for event in events:
        reading.take(event, found)
    return Marks(found.values())


class _Places:
    """Where the scripts of an agent, and of those inside it, stand after some events."""

    def __init__(self, agent: Runner) -> None:
        self._agent = agent
        self._inside: dict[tuple[int, int], _Places] = {}

    def take(self, event: StreamEvent, found: dict[int, tuple[Model, int]]) -> None:
        model = self._agent.model
        match event:
            case RunStarted():
                found[id(model)] = (model, event.position)
                inside = zip(self._agent.models[1:], event.inside, strict=False)
                found.update({id(one): (one, place) for one, place in inside})
            case Guarded() | ModelReplied():
                found[id(model)] = (model, event.position)
            case ModelFailed():  # an entry that raises is used, too
                found[id(model)] = (model, found.get(id(model), (model, 0))[1] + 1)
            case ToolReturned():  # of several that ran side by side, the last need not be the furthest
                before = found.get(id(model), (model, 0))[1]
                found[id(model)] = (model, max(before, event.position))
            case ToolStarted(turn, index, call):
                inner: Runner | None = getattr(self._agent.prompting.own_tools.get(call.name), "agent", None)
                if inner is not None:
                    self._inside[turn, index] = _Places(inner)
            case Nested(turn, index, inside) if (turn, index) in self._inside:
                self._inside[turn, index].take(inside, found)
            case _:
                pass
