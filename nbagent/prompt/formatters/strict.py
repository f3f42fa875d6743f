"""Strict: JSON text read exactly. Nothing is repaired and nothing is guessed."""

from __future__ import annotations

import json
import math
from typing import Any, cast

from nbagent.texts.phrase import Phrase

_NEAR = 40


class Broken(ValueError):
    """A text is not what it should be. It says what is wrong as a part of a sentence: a phrase, or a text."""


def parse(text: str) -> Any:
    """The value that the text holds; raises Broken.

    NaN, Infinity, numbers too large for a float and keys that an object has twice are refused; integers stay exact.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Broken(_placed(error)) from None
    except RecursionError:
        raise Broken(Phrase("json.deep")) from None
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
        raise Broken(Phrase("json.kind", kind=Phrase(f"json.{_kind(value)}")))
    return cast("dict[str, Any]", value)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dict; raises Broken where a key comes twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise Broken(Phrase("json.twice", key=json.dumps(twice[:_NEAR])))
    return found


def finite(digits: str) -> float:
    """The number; raises Broken where a float cannot hold it."""
    number = float(digits)
    if math.isinf(number):
        raise Broken(Phrase("json.large", number=digits[:_NEAR]))
    return number


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return names[type(value)]


def _constant(name: str) -> None:
    raise Broken(Phrase("json.constant", name=name))


_DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_float=finite, parse_constant=_constant)


def _placed(error: json.JSONDecodeError) -> Phrase:
    """What is wrong, and where."""
    rest = " ".join(error.doc[error.pos : error.pos + _NEAR].split())
    line, column = str(error.lineno), str(error.colno)
    if not rest:
        return Phrase("json.end", problem=error.msg, line=line, column=column)
    return Phrase("json.before", problem=error.msg, line=line, column=column, rest=rest)
