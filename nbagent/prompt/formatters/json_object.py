"""JSON: one object, written exactly and read with a ladder of repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.errors import ConfigError
from nbagent.messages import Piece, Source
from nbagent.prompt.formatters.formatter import BuiltIn
from nbagent.prompt.formatters.json_text import escaped, json_text
from nbagent.prompt.formatters.ladder import around, listed, read_object
from nbagent.prompt.formatters.literals import parse_literal
from nbagent.prompt.formatters.objects import PYTHON, objects
from nbagent.prompt.formatters.pieces import label, layout
from nbagent.prompt.formatters.reading import Reading, Unreadable
from nbagent.prompt.formatters.strict import Broken
from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbagent.messages import Field


class JsonFormatter(BuiltIn):
    """One JSON object with a line for each field; a value that is no text is written as what it is."""

    name = "json"

    def layout(self, fields: Sequence[Field]) -> tuple[Piece, ...]:
        return tuple(_object(fields)) if fields else (layout("{}"),)

    def rules(self, output: Mapping[str, str]) -> Phrase:
        return Phrase("format.json", keys=_keys(output))

    def read_plain(self, text: str, names: Sequence[str]) -> Reading:
        return read_object(text, names)


class LenientJsonFormatter(JsonFormatter):
    """Written like JSON; an answer may be a Python dict, too."""

    name = "lenient json"

    def rules(self, output: Mapping[str, str]) -> Phrase:
        return Phrase("format.lenient", keys=_keys(output))

    def read_plain(self, text: str, names: Sequence[str]) -> Reading:
        try:
            return read_object(text, names)
        except Unreadable:
            if (reading := _literal(text)) is None:
                raise
            return reading


def _literal(text: str) -> Reading | None:
    for found in objects(text, PYTHON):
        try:
            return Reading(parse_literal(found.text), (*around(found), "read it as a Python literal"))
        except Broken:
            continue
    return None


def _keys(output: Mapping[str, str]) -> Phrase | str:
    return Phrase("format.keys", keys=listed(list(output))) if output else ""


def _object(fields: Sequence[Field]) -> Iterator[Piece]:
    for number, field in enumerate(fields):
        yield layout(",\n  " if number else "{\n  ")
        yield label(field, f'"{escaped(field.name)}": ')
        yield from _value(field)
    yield layout("\n}")


def _value(field: Field) -> Iterator[Piece]:
    written = _json(field)
    if written is not None:
        yield Piece(written, field.pieces[0].source if field.pieces else Source("input", field.name))
        return
    texts = [Piece(escaped(piece.text), piece.source) for piece in field.pieces if piece.text]
    yield from (layout('"'), *texts, layout('"')) if texts else (layout('""'),)


def _json(field: Field) -> str | None:
    """The value as JSON, or None where it is text or JSON has no form for it."""
    if field.value is None:
        return None
    try:
        return json_text(field.value, finite=True).replace("\n", "\n  ")  # no string in JSON has a raw line end
    except ConfigError:
        return None
