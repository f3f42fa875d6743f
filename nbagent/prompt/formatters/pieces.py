"""Pieces: the text of fields, put together so that each stretch knows where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.messages import Piece, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nbagent.messages import Field

_LAYOUT = Source("framework", "layout")


def layout(text: str) -> Piece:
    """What stands between values: separators and brackets."""
    return Piece(text, _LAYOUT)


def label(field: Field, text: str) -> Piece:
    """What says which value follows."""
    return Piece(text, Source("framework", f"label {field.name}"))


def in_blocks(fields: Sequence[Field], head: Callable[[str], str], *, gap: str, separator: str) -> tuple[Piece, ...]:
    """Each field as its head, made of its name, and its value; the gap is between the two where there is a value."""
    return tuple(_blocks(fields, head, gap, separator))


def _blocks(fields: Sequence[Field], head: Callable[[str], str], gap: str, separator: str) -> Iterator[Piece]:
    for number, field in enumerate(fields):
        if number:
            yield layout(separator)
        value = [piece for piece in field.pieces if piece.text]
        yield label(field, head(field.name) + (gap if value else ""))
        yield from value
