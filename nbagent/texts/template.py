"""Template: a text with places for fields, `{topic}`, that are filled once.

Only a bare `{identifier}` is a place. JSON, `{a.b}`, `{ a }`, `{1}` and most code stay as they are; what looks like a
place and is none, as in LaTeX, is doubled: `{{x}}` gives `{x}`. A value is data: nothing in it is read again.

Source: masfactory's `instructions` and `prompt_template`, with braces that can be written and errors that come once.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from nbagent.errors import ConfigError
from nbagent.messages import Piece, Source
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nbagent.messages import Field

_PLACE = re.compile(r"(\{+)([^\W\d]\w*)(\}+)")


class UnknownField(ConfigError):
    """A template has a place without a field. `name`: the field's; `label`: the template's."""

    name = label = ""


class Slot(Struct, frozen=True):
    """A place for a field."""

    name: str
    escaped: str = ""
    """How it is written where it is meant as text."""


Template = tuple[Piece | Slot, ...]


def parse(text: str, label: str) -> Template:
    """The template that a text is. `label` says which text it is, as the source of its pieces."""
    return tuple(joined(_parts(text), Source("template", label)))


def escaped(text: str) -> str:
    """A text as a template has to have it, so that it comes out as it is."""

    def doubled(match: re.Match[str]) -> str:
        opening, name, closing = match.groups()
        count = min(len(opening), len(closing))
        return f"{'{' * count}{opening}{name}{closing}{'}' * count}"

    return _PLACE.sub(doubled, text)


def _parts(text: str) -> Iterator[str | Slot]:
    end = 0
    for match in _PLACE.finditer(text):
        opening, name, closing = match.groups()
        # Braces are doubled to be text; what one side has more than the other belongs to what stands around.
        count = min(len(opening), len(closing))
        yield text[end : match.start()] + "{" * (len(opening) - count + count // 2)
        yield Slot(name, f"{{{{{name}}}}}") if count % 2 else name
        yield "}" * (len(closing) - count + count // 2)
        end = match.end()
    yield text[end:]


def joined(parts: Iterable[str | Piece | Slot], source: Source) -> Iterator[Piece | Slot]:
    """The parts, with texts that follow each other as one piece of this source."""
    literal = ""
    for part in parts:
        if isinstance(part, str):
            literal += part
            continue
        if literal:
            yield Piece(literal, source)
        literal = ""
        yield part
    if literal:
        yield Piece(literal, source)


def shown(template: Template) -> str:
    """The template as it is written, places and all."""
    return "".join([f"{{{part.name}}}" if isinstance(part, Slot) else part.text for part in template])


def fields_in(template: Template) -> frozenset[str]:
    """The names of the fields that it takes."""
    return frozenset([part.name for part in template if isinstance(part, Slot)])


def fill(template: Template, fields: Mapping[str, Field], label: str) -> tuple[Piece, ...]:
    """The text with its fields. Raises ConfigError for a place that has no field, naming the near ones."""
    filled: list[Piece] = []
    for part in template:
        if isinstance(part, Piece):
            filled.append(part)
        elif part.name in fields:
            filled += fields[part.name].pieces
        else:
            raise _unknown(part, tuple(fields), label)
    return tuple([piece for piece in filled if piece.text])


def _unknown(slot: Slot, known: Sequence[str], label: str) -> UnknownField:
    near = get_close_matches(slot.name, known, n=3)
    named = f"did you mean {' or '.join(f'{{{name}}}' for name in near)}" if near else f"there {_are(known)}"
    escape = f"; to send it as text, write {slot.escaped}" if slot.escaped else ""
    error = UnknownField(f"{{{slot.name}}} in {label}: no input field of this name; {named}{escape}")
    error.name, error.label = slot.name, label
    return error


def _are(known: Sequence[str]) -> str:
    return f"are: {', '.join(known)}" if known else "are no input fields"
