"""Strict: JSON text read exactly. Nothing is repaired and nothing is guessed."""

from __future__ import annotations

import json
import math
from typing import Any, cast

_NEAR = 40


class Broken(ValueError):
    """A text is not what it should be. Its str says what is wrong, as a part of a sentence."""


def parse(text: str) -> Any:
    """The value that the text holds; raises Broken.

    NaN, Infinity, numbers too large for a float and keys that an object has twice are refused; integers stay exact.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Broken(f"{error.msg}: line {error.lineno}, column {error.colno}{_near(text, error.pos)}") from None
    except RecursionError:
        raise Broken("it is nested too deeply") from None
    except Broken:
        raise
    except ValueError as error:  # an integer of more digits than Python reads
        raise Broken(str(error)) from None


def parse_object(text: str) -> dict[str, Any]:
    """The object that the text holds; raises Broken for any other value, too."""
    return as_object(parse(text))


def as_object(value: Any) -> dict[str, Any]:
    """The value itself; raises Broken where it is no object."""
    if not isinstance(value, dict):
        raise Broken(f"it is {_kind(value)}, not an object")
    return cast("dict[str, Any]", value)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dict; raises Broken where a key comes twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise Broken(f"the key {json.dumps(twice[:_NEAR])} is there more than once in an object")
    return found


def finite(digits: str) -> float:
    """The number; raises Broken where a float cannot hold it."""
    number = float(digits)
    if math.isinf(number):
        raise Broken(f"the number {digits[:_NEAR]} is too large")
    return number


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return names[type(value)]


def _constant(name: str) -> None:
    raise Broken(f"{name} is no number that JSON has")


_DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_float=finite, parse_constant=_constant)


def _near(text: str, position: int) -> str:
    rest = " ".join(text[position : position + _NEAR].split())
    return f", before `{rest}`" if rest else ", at the end"
