"""Forking: a run of its own that begins as another one has begun: a prefix of its journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from nbagent.errors import ConfigError, StoreError
from nbagent.events import ModelReplied, ModelRequested, RunFinished, RunStarted, StepFinished, ToolReturned, innermost
from nbagent.store.open_places import open_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.events import Event
    from nbagent.store.reading import Stored
    from nbagent.store.run_store import RunStore


def fork(store: RunStore, run_id: str, replies: int) -> str:
    """See `RunStore.fork`."""
    stored = store.read(run_id)
    if stored.header is None or not stored.events:
        raise StoreError(f"store: {run_id} cannot be forked: its process ended before it began")
    places = _prefix(run_id, stored, replies)
    events = [stored.events[place] for place in places]
    if any(_matters(stored.events[place]) for place in stored.masked if place in places):
        raise StoreError(f"store: {run_id} cannot be forked: a key or a password is masked in its file; run it anew")
    with store.create(run_id, stored.header) as file:
        for number, event in enumerate(events, 1):
            one = structs.replace(event, run_id=file.run_id) if isinstance(event, RunStarted) else event
            file.keep(one, durable=number == len(events))
        return file.run_id


def _prefix(run_id: str, stored: Stored, replies: int) -> list[int]:
    """The places of what there is up to the request for the next reply."""
    if isinstance(replies, bool) or not isinstance(replies, int) or replies < 0:  # pyright: ignore[reportUnnecessaryIsInstance]  # notebooks are not type-checked
        raise ConfigError(f"replies: expected how many replies of the model are kept, from 0; got {replies!r}")
    events: Sequence[Event] = stored.events
    open_ones = open_places(events)
    known = [place for place in open_ones if isinstance(events[place], ModelReplied)]
    if replies > len(known):
        raise ConfigError(f"replies: {run_id} has {len(known)} of them; got {replies}")
    done = [place for place in open_ones if replies == 0 or place > known[replies - 1]]
    end = next((place for place in done if isinstance(events[place], ModelRequested)), len(events))
    return [place for place in open_ones if place < end]


def _matters(event: Event) -> bool:
    """Whether what comes after it depends on what is masked in it."""
    return not isinstance(innermost(event), ToolReturned | StepFinished | RunFinished)
