"""Literals: a dict as Python writes it. The text is parsed and never run."""

from __future__ import annotations

import ast
import math
import warnings
from typing import Any, cast

from nbagent.prompt.formatters.strict import Broken, unique

MAX_LENGTH = 200_000
"""How many characters are tried: Python's parser takes far more time and memory than JSON's."""

_CONSTANTS = {"true": True, "false": False, "null": None}


def parse_literal(text: str) -> dict[str, Any]:
    """The dict that the text holds, tuples as lists; raises Broken for whatever JSON has no form for."""
    if len(text) > MAX_LENGTH:
        raise Broken(f"it has more than {MAX_LENGTH:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of odd literals such as "\d"
            value = _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, MemoryError, RecursionError, UnicodeError) as error:
        raise Broken(f"it is no Python literal: {type(error).__name__}") from None
    except Broken:
        raise
    except ValueError as error:  # an integer of more digits than Python reads, or a null byte
        raise Broken(str(error)) from None
    if not isinstance(value, dict):
        raise Broken("it is no dict")
    return cast("dict[str, Any]", value)


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Dict(keys, values):
            return unique([(_key(key), _value(value)) for key, value in zip(keys, values, strict=True)])
        case ast.List(items) | ast.Tuple(items):
            return [_value(item) for item in items]
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)) if not isinstance(number, bool):
            return -_number(number)
        case ast.Constant(int() | float() as number):
            return _number(number)
        case ast.Constant(str() | None as value):
            return value
        case ast.Name(name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case _:
            raise Broken(f"it holds something that JSON has no form for: {ast.unparse(node)[:40]}")


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise Broken("a key is no string")


def _number(number: float) -> float:
    if isinstance(number, float) and math.isinf(number):
        raise Broken("a number is too large")
    return number
