"""Arguments: the JSON text of a tool call, read strictly. Nothing is repaired and nothing is guessed."""

from __future__ import annotations

import json
import math
import re
from typing import Any, cast

MAX_SHOWN = 500
"""How many characters of a wrong text the model gets to see again."""

_EXPECTED = {
    "Expecting value": "a value",
    "Expecting property name enclosed in double quotes": "a name in double quotes",
    "Expecting ',' delimiter": '"," or the end of the object or array',
    "Expecting ':' delimiter": '":"',
    "Extra data": "the end of the text",
    "Unterminated string starting at": "a closing quote for the string that starts here",
    "Invalid control character at": "\\n, \\t or \\u00XX in place of a raw control character",
    "Invalid \\escape": 'one of the escapes \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX',
    "Invalid \\uXXXX escape": "four hexadecimal digits after \\u",
}
_TRAILING_COMMA = re.compile(r",\s*")


class InvalidArguments(Exception):
    """A tool call's arguments are wrong. Its str is the text that the model reads."""


def parse(text: str) -> dict[str, Any]:
    """The object that `text` holds; raises InvalidArguments where it is not exactly one sound JSON object.

    NaN, Infinity, numbers too large for a float and duplicate keys at any depth are refused; integers stay exact.
    """
    try:
        value, end = _DECODER.raw_decode(text) if text[:1] == "{" else (None, -1)
        if end != len(text):  # blanks around it, or something wrong: the thorough way, which says what
            value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InvalidArguments(_broken(error)) from None
    except RecursionError:
        raise InvalidArguments(f"invalid JSON: nested too deeply in {excerpt(text)}") from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise InvalidArguments(f"invalid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidArguments(f"arguments: expected a JSON object, got {_kind(value)}: {excerpt(text)}")
    return cast("dict[str, Any]", value)


def excerpt(text: str) -> str:
    """The text itself, or its beginning where it is longer than MAX_SHOWN."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… ({len(text):,} characters)"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArguments(f"invalid JSON: expected each key once, got {json.dumps(excerpt(twice))} more than once")
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidArguments(f"invalid JSON: expected a finite number, got {excerpt(digits)}, which is too large")
    return number


def _constant(name: str) -> None:
    raise InvalidArguments(f"invalid JSON: expected a finite number, got {name}, which JSON does not have")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_constant)


def _broken(error: json.JSONDecodeError) -> str:
    position, expected = error.pos, _EXPECTED.get(error.msg, error.msg)
    if error.msg.startswith("Illegal trailing comma"):
        # Python 3.13 points at the comma, older ones behind it: the text must not depend on the version.
        comma = _TRAILING_COMMA.match(error.doc, position)
        position = comma.end() if comma else position
        expected = _EXPECTED["Expecting value"]
        if error.doc[position : position + 1] == "}":
            expected = _EXPECTED["Expecting property name enclosed in double quotes"]
    return (
        f"invalid JSON at character {position}: expected {expected}. "
        f"Arguments must be one JSON object, got: {excerpt(error.doc)}"
    )


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return names[type(value)]
