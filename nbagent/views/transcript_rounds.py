"""A reflection as blocks: the draft, and each round with what it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.block import Block, below
from nbagent.views.difference import Difference
from nbagent.views.ends import cut_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbagent.views.difference import Stretch
    from nbagent.views.place import Place
    from nbagent.views.rounds import Round
    from nbagent.views.trace import Step


def rounds_blocks(place: Place, body: Callable[[Step], Iterable[Block]]) -> Iterator[Block]:
    """`body`: what a call was told, and its turns."""
    for draft in place.rounds.drafts:
        yield Block(0, place.step_title(draft), heads=True)
        yield from body(draft)
    for row in place.rounds.rows(place.budget):
        if isinstance(row, tuple):
            yield Block(0, place.rounds_left_out(row))
        else:
            yield from _round(row, place, body)


def _round(one: Round, place: Place, body: Callable[[Step], Iterable[Block]]) -> Iterator[Block]:
    yield Block(0, (f"round {one.number}: {one.verdict}",), heads=True)
    if one.said:
        yield from cut_blocks(Block(1, ("critique",), one.said), place.where_events)
    if one.after is not None:
        yield _changes(Difference.of(one.before, one.after))
    for step in one.steps:
        yield Block(1, place.step_title(step, " call"), heads=True)
        yield from below(1, body(step))


def _changes(difference: Difference) -> Block:
    if not difference.places:
        return Block(1, ("no changes",))
    return Block(1, (f"changes in {words.count(difference.places, 'place')}",), marked_text(difference.stretches))


def marked_text(stretches: Iterable[Stretch]) -> str:
    """A text with what was taken out of it and what came in."""
    marks = {"same": "{}", "out": "[-{}-]", "in": "{{+{}+}}", "cut": "{}"}
    return "".join(marks[stretch.kind].format(stretch.shown) for stretch in stretches)
