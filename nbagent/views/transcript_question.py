"""A question as blocks: a call that waits, with all of its arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbagent.views.block import Block, Name, behind
from nbagent.views.field import fields
from nbagent.views.pending import handle, meaning, title
from nbagent.views.safe import exact
from nbagent.views.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.views.field import Field
    from nbagent.views.pending import Pending
    from nbagent.views.ways import Ways


def questions_blocks(pendings: Sequence[Pending], level: int, *, raw: bool = False) -> Iterator[Block]:
    """`raw`: with the arguments as they came, too, and the digest that a decision is bound to."""
    for each in pendings:
        for block in _question(each, level, handle(each, pendings) if len(pendings) > 1 else "", raw=raw):
            yield replace(block, is_whole=True)


def _question(pending: Pending, level: int, named: str, *, raw: bool) -> Iterator[Block]:
    yield Block(level, (*title(pending), *behind(", call ", named)))
    yield from _arguments(pending.arguments, level + 1, raw=raw)
    if raw and pending.digest:
        yield Block(level + 1, ("digest: ", Name(pending.digest)), listed=True)
    if said := meaning(pending):
        yield Block(level + 1, (said,))


def ways_blocks(known: Ways, level: int) -> Iterator[Block]:
    """How to go on."""
    for where, lines in known:
        said = [word for line in lines for word in (" or ", Name(line))]
        yield Block(level, (f"{where}: ", *said[1:]))


def _arguments(arguments: str, level: int, *, raw: bool) -> Iterator[Block]:
    found = fields(arguments)
    if found is None:
        yield Block(level, ("arguments",), exact(arguments))
    elif not found:
        yield Block(level, ("no arguments",), listed=True)
    else:
        for field in found:
            yield _field(field, level)
        if raw:
            yield Block(level, ("as sent: ", Name(exact(arguments))), listed=True)


def _field(field: Field, level: int) -> Block:
    if field.is_code:
        return Block(level, (Name(field.name), f", {count(len(field.lines), 'line')}"), field.numbered)
    if "\n" in field.value:
        return Block(level, (Name(field.name),), field.value, "json")
    return Block(level, (Name(field.name), ": ", Name(field.value)), listed=True)
