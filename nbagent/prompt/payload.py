"""Payload: the user's message as named fields, always in the same order, before a formatter makes it text.

Source: structure and labels are masfactory's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.messages import Field, Piece, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MESSAGE = "MESSAGE TO YOU"
RULES = "RESPONSE FORMAT REQUIREMENTS"
OUTPUT = "REQUIRED OUTPUT FIELDS AND THEIR DESCRIPTIONS"
CONTEXT = "CONTEXT"
_RESERVED = frozenset({MESSAGE, RULES, OUTPUT, CONTEXT})


def payload(
    message: tuple[Piece, ...] | None,
    unused: Iterable[Field],
    *,
    rules: str = "",
    output: Mapping[str, str] | None = None,
    context: tuple[Piece, ...] = (),
) -> tuple[Field, ...]:
    """The fields of the user's message: message, unused inputs, format rules, output fields, context. What is empty
    has none, but for the message of a template."""
    fields = [] if message is None else [Field(MESSAGE, message)]
    taken: set[str] = set()
    fields += [_input(field, taken) for field in unused]
    if rules:
        fields.append(Field(RULES, (Piece(rules, Source("format")),)))
    if output:
        described = dict(output)
        fields.append(Field(OUTPUT, (Piece(_listed(described), Source("output")),), described))
    if context:
        fields.append(Field(CONTEXT, context))
    return tuple(fields)


def _input(field: Field, taken: set[str]) -> Field:
    """An input with a label of its own, so that none passes for a part that is ours, or for another input."""
    name = field.name
    while name in taken or name.strip(" :#<>").upper() in _RESERVED:
        name = f"{name} (input)"
    taken.add(name)
    return field if name == field.name else Field(name, field.pieces, field.value)


def _listed(described: Mapping[str, str]) -> str:
    import json

    return json.dumps(described, ensure_ascii=False, indent=2)
