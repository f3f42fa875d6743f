"""JSON text: values written as JSON, and the fields that are made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Any, cast

from nbagent.errors import ConfigError
from nbagent.messages import Field, Piece, Source

_SURROGATE = re.compile("[\ud800-\udfff]")


def field_of(name: str, value: Any) -> Field:
    """The field of an input: a str as it is, None as nothing, anything else as JSON. Raises ConfigError."""
    source = Source("input", name)
    if value is None or isinstance(value, str):
        return Field(name, (Piece(value, source),) if value else ())
    try:
        return Field(name, (Piece(json_text(value), source),), value)
    except ConfigError as error:
        raise ConfigError(f"`{name}`: {error}") from error


def json_text(value: Any, *, indent: int | None = 2, finite: bool = False) -> str:
    """The value as JSON: keys in their order, sets sorted by their JSON, text not escaped more than it has to be.

    Half a surrogate pair is escaped, so that the text can be encoded. `finite` refuses NaN and Infinity, which are
    written by default. Raises ConfigError for what JSON has no form for.
    """
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=not finite, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"expected a value that can be written as JSON: {error}") from error
    return _escape_surrogates(text)


def escaped(text: str) -> str:
    """The text as it stands between the quotes of a JSON string."""
    return _escape_surrogates(json.dumps(text, ensure_ascii=False)[1:-1])


def _escape_surrogates(text: str) -> str:
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _plain(value: Any) -> Any:
    if isinstance(value, AbstractSet):
        return sorted(cast("AbstractSet[Any]", value), key=lambda each: json_text(each, indent=None))
    if isinstance(value, Mapping):
        return dict(cast("Mapping[Any, Any]", value))
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    kind = cast("type[Any]", type(value))
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:  # it would be an address
        raise TypeError(f"got an object of type {kind.__name__}")
    return str(value)
