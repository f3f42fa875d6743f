"""Spec no text: what of an agent's spec has no text in a cell, and what it is called instead."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable


class NoText(Exception):
    """A value that has no text in a cell. Its str says what it is."""


def number_of(value: Any) -> str:
    return f"the number {value}" if isinstance(value, int | float | Decimal) else kind_of(value)


def no_text(value: Any) -> dict[str, Any]:
    """For a field that has no key in a cell."""
    raise NoText(kind_of(value))


def kind_of(value: Any) -> str:
    if isinstance(value, list | tuple):
        kinds = dict.fromkeys(type(one).__name__ for one in cast("Iterable[Any]", value))
        return f"a list of {', '.join(kinds)}"
    return f"an object of type {type(value).__name__}"
