"""Arguments: the JSON text of a tool call, read strictly. Nothing is repaired and nothing is guessed."""

from __future__ import annotations

import json
import math
import re
from typing import Any, cast

from nbagent.texts.phrase import Phrase

MAX_SHOWN = 500
"""How many characters of a wrong text the model gets to see again."""

_EXPECTED = {
    "Expecting value": "value",
    "Expecting property name enclosed in double quotes": "name",
    "Expecting ',' delimiter": "comma",
    "Expecting ':' delimiter": "colon",
    "Extra data": "end",
    "Unterminated string starting at": "quote",
    "Invalid control character at": "control",
    "Invalid \\escape": "escape",
    "Invalid \\uXXXX escape": "digits",
}
"""What stands where in place of what: the last part of the key of a text."""
_TRAILING_COMMA = re.compile(r",\s*")


class InvalidArguments(Exception):
    """A tool call's arguments are wrong. It holds the phrase that the model reads."""


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
        raise InvalidArguments(Phrase("arguments.json_deep", text=excerpt(text))) from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise InvalidArguments(Phrase("arguments.json_problem", problem=str(error))) from None
    if not isinstance(value, dict):
        raise InvalidArguments(Phrase("arguments.object", kind=_kind(value), text=excerpt(text)))
    return cast("dict[str, Any]", value)


def excerpt(text: str) -> str:
    """The text itself, or its beginning where it is longer than MAX_SHOWN."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… ({len(text):,} characters)"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArguments(Phrase("arguments.json_twice", key=json.dumps(excerpt(twice))))
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidArguments(Phrase("arguments.json_large", number=excerpt(digits)))
    return number


def _constant(name: str) -> None:
    raise InvalidArguments(Phrase("arguments.json_constant", name=name))


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_constant)


def _broken(error: json.JSONDecodeError) -> Phrase:
    position, expected = error.pos, _EXPECTED.get(error.msg)
    if error.msg.startswith("Illegal trailing comma"):
        # Python 3.13 points at the comma, older ones behind it: the text must not depend on the version.
        comma = _TRAILING_COMMA.match(error.doc, position)
        position = comma.end() if comma else position
        expected = "name" if error.doc[position : position + 1] == "}" else "value"
    words = error.msg if expected is None else Phrase(f"arguments.json_{expected}")
    return Phrase("arguments.json", place=str(position), expected=words, text=excerpt(error.doc))


def _kind(value: Any) -> Phrase:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return Phrase("json.null" if value is None else f"json.{names[type(value)]}")
