"""A plan as blocks: the checklist, and below it each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.block import Block, Name, Title
from nbagent.views.checklist import BOXES, LISTED, Item, Revision, Several
from nbagent.views.ends import cut_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbagent.views.place import Place
    from nbagent.views.trace import Step


def checklist_blocks(place: Place) -> Iterator[Block]:
    """Nothing where there is no plan."""
    if place.checklist.items:
        yield Block(0, (place.checklist.line,))
        for line in place.checklist.lines(place.budget):
            said = (
                place.several(line)
                if isinstance(line, Several)
                else (f"{line.number}. ", Name(line.title), *_state(line, place))
            )
            yield Block(1, (f"{BOXES[line.state]} ", *said), listed=True)


def plan_blocks(place: Place, body: Callable[[Step], Iterable[Block]]) -> Iterator[Block]:
    """Each step that was begun. `body`: what it was told, and its turns."""
    for row in place.checklist.rows(place.trace, place.budget):
        if isinstance(row, Item):
            if row.step is not None:
                yield Block(0, (f"step {row.number}: ", Name(row.title), *_state(row, place)), heads=True)
                yield from body(row.step)
        elif not isinstance(row, Several) and row.kind in ("plan", "synthesize"):
            yield from writing_blocks(row, place, body(row))


def writing_blocks(step: Step, place: Place, body: Iterable[Block]) -> Iterator[Block]:
    """The planning, or what else comes once."""
    yield Block(0, place.step_title(step), heads=True)
    yield from _revised(place.checklist.revision_of(step))
    yield from body


def _state(item: Item, place: Place) -> Title:
    """Nothing of a step that is done or has not begun."""
    return (f": {item.said}", *cut_name(": ", item.reason, place.where_events)) if item.said else ()


def _revised(revision: Revision | None) -> Iterator[Block]:
    if revision is None:
        return
    for name, steps in (("dropped", revision.dropped), ("new", revision.new)):
        for number, title in steps[:LISTED]:
            yield Block(1, (f"{name}: {number}. ", Name(title)), listed=True)
        if len(steps) > LISTED:
            yield Block(1, (f"{name}: {len(steps) - LISTED:,} more",), listed=True)
