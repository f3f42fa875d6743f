"""Spec no text: what of an agent's spec has no text in a cell, and what it is called instead."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class NoText(Exception):
    """A value that has no text in a cell. Its str says what it is."""


def number_of(value: Any) -> str:
    return f"the number {value}" if isinstance(value, int | float | Decimal) else kind_of(value)


def no_text(value: Any) -> dict[str, Any]:
    """For a field that has no key in a cell."""
    raise NoText(kind_of(value))


def json_value(value: Any, text: Callable[[str], str] = str) -> Any:
    """A value of JSON. `text`: how a text in it is written, which is no key. Raises NoText for any other value."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in cast("Mapping[Any, Any]", value)):
            raise NoText("a mapping with keys that are no texts")
        return {key: json_value(one, text) for key, one in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [json_value(one, text) for one in cast("Iterable[Any]", value)]
    if value is None or (isinstance(value, bool | int | float) and isfinite(value)):
        return value
    raise NoText(kind_of(value))


def kind_of(value: Any) -> str:
    if isinstance(value, list | tuple):
        kinds = dict.fromkeys(type(one).__name__ for one in cast("Iterable[Any]", value))
        return f"a list of {', '.join(kinds)}"
    return f"an object of type {type(value).__name__}"
