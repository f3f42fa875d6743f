"""Inputs: what one run is given, a task in words or fields with names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from nbagent.errors import ConfigError
from nbagent.messages import Field, Piece, Segment, Source
from nbagent.values import Struct

Text = str | Sequence[Piece | Segment]
"""A prompt text: plain, or in pieces that know their source (as a cell's references do)."""
AsField = Callable[[str, Any, Source], Field]
"""Makes a field of a name and any value."""


class Inputs(Struct, frozen=True):
    """What one run is given."""

    task: tuple[Piece, ...] = ()
    fields: tuple[Field, ...] = ()

    @property
    def text(self) -> str:
        """The task."""
        return "".join([piece.text for piece in self.task])


def inputs_of(given: Text | Mapping[str, Any] | Inputs, as_field: AsField) -> Inputs:
    """What the user gave. Raises ConfigError where it is empty, or nothing that can be an input."""
    if isinstance(given, Inputs):
        return given
    if isinstance(given, Mapping):
        fields = cast("Mapping[Any, Any]", given)
        return Inputs((), tuple([_field(name, value, "input", as_field) for name, value in fields.items()]))
    inputs = Inputs(pieces("task", given))
    if not inputs.text.strip():
        raise _empty(given)
    return inputs


def _empty(given: object) -> ConfigError:
    return ConfigError(f"task: expected a text that is not empty, or a dict of input fields; got {repr(given)[:60]}")


def attributes_of(
    attributes: Mapping[str, Any], pulled: Mapping[str, str] | None, pushed: Mapping[str, str], as_field: AsField
) -> tuple[Field, ...]:
    """The attributes that a prompt may use: those that are pulled, or else all but those that answers are written to.

    Raises ConfigError where one is missing.
    """
    missing = [name for name in pulled or () if name not in attributes]
    if pulled and missing:
        said = f" ({pulled[missing[0]]})" if pulled[missing[0]] else ""
        raise ConfigError(f"pull: there is no attribute {missing[0]!r}{said}; set it first")
    names = tuple(pulled) if pulled is not None else [name for name in attributes if name not in pushed]
    return tuple([_field(name, attributes[name], "attribute", as_field) for name in names])


def _field(name: Any, value: Any, kind: Any, as_field: AsField) -> Field:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise ConfigError(f"inputs: a field's name is a text of one line that is not empty; got {name!r}")
    if isinstance(value, Field):
        return value
    detail = f"{name}: {type(value).__name__}" if kind == "attribute" else name
    return as_field(name, value, Source(kind, detail))


def pieces(label: str, text: Text | None) -> tuple[Piece, ...]:
    """A text in pieces: one for a plain text, those it has where it knows its sources, none for None or ''."""
    if isinstance(text, str):
        return (Piece(text, Source("template", label)),) if text else ()
    parts: tuple[Any, ...] = tuple(text) if isinstance(text, Sequence) else (text,) if text is not None else ()
    for part in parts:
        if not isinstance(part, Piece | Segment):
            raise ConfigError(f"{label}: expected a text, got {type(text).__name__}: {text!r}")
    return tuple([part if isinstance(part, Piece) else Piece(part.text, part.source) for part in parts])
