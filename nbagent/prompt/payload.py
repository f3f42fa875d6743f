"""Payload: the user's message as named fields, always in the same order, before a formatter makes it text.

Source: structure and English labels are masfactory's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.messages import Field, Piece, Source
from nbagent.texts.pack import DEFAULT, Texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LABELS = ("payload.message", "payload.rules", "payload.output", "payload.context")


def payload(
    message: tuple[Piece, ...] | None,
    unused: Iterable[Field],
    *,
    texts: Texts = DEFAULT,
    rules: tuple[Piece, ...] = (),
    output: Mapping[str, str] | None = None,
    context: tuple[Piece, ...] = (),
) -> tuple[Field, ...]:
    """The fields of the user's message: message, unused inputs, format rules, output fields, context. What is empty
    has none, but for the message of a template."""
    message_label, rules_label, output_label, context_label = [texts[key] for key in _LABELS]
    fields = [] if message is None else [Field(message_label, message)]
    fields += _inputs(unused, texts)
    if rules:
        fields.append(Field(rules_label, rules))
    if output:
        described = dict(output)
        fields.append(Field(output_label, (Piece(_listed(described), Source("output")),), described))
    if context:
        fields.append(Field(context_label, context))
    return tuple(fields)


def _inputs(unused: Iterable[Field], texts: Texts) -> Iterator[Field]:
    """The inputs, each with a label of its own, so that none passes for a part that is ours, or for another input."""
    reserved = {texts[key].upper() for key in _LABELS}
    taken: set[str] = set()
    for field in unused:
        name = field.name
        while name in taken or name.strip(" :#<>").upper() in reserved:
            name = texts.text("payload.input", name=name)
        taken.add(name)
        yield field if name == field.name else Field(name, field.pieces, field.value)


def _listed(described: Mapping[str, str]) -> str:
    import json

    return json.dumps(described, ensure_ascii=False, indent=2)
