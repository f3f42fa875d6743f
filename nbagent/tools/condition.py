"""Condition: when a rule counts, in a small language about the arguments of a call. Nothing is ever run."""

from __future__ import annotations

import ast
import operator
import re
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_LONGEST = 500
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
    ast.Is: lambda one, other: one is other,
    ast.IsNot: lambda one, other: one is not other,
}
_LANGUAGE = "arguments by name, numbers, texts, lists, True, False, None, comparisons, in, and, or, not, len(…)"


class Undetermined(Exception):
    """Whether the condition holds cannot be said for these arguments."""


class Condition:
    """A condition about the arguments of a call, such as `amount > 100 and currency != "EUR"`.

    It knows argument names (`address.city` looks into an object), constants, lists, comparisons, `in`, `and`, `or`,
    `not` and `len(…)`, with Python's grammar and meaning; it has no other calls, no attributes of Python objects, no
    arithmetic, so evaluating it can neither run anything nor take long. Raises ConfigError for everything else.
    """

    def __init__(self, text: str) -> None:
        one_line = " ".join(text.split())
        self.text = text.strip() if one_line != text.strip() and re.search("[\"']", text) else one_line
        if len(text) > _LONGEST:
            raise ConfigError(f"a condition has at most {_LONGEST} characters; got {len(text):,}")
        try:
            self._tree = ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            why = error.msg if isinstance(error, SyntaxError) else "it is nested too deeply"
            raise ConfigError(f"expected a condition such as amount > 100; got {self.text!r}: {why}") from None
        if isinstance(self._tree, ast.Tuple | ast.List):
            raise ConfigError(f"a condition is one comparison, or several with and, or; got {self.text!r}")
        for node in _foreign(self._tree):
            raise ConfigError(f"a condition knows {_LANGUAGE}; got {ast.unparse(node)!r} in {self.text!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that it speaks of, in their order."""
        found = [node for node in ast.walk(self._tree) if isinstance(node, ast.Name) and node.id != "len"]
        return tuple(dict.fromkeys([node.id for node in sorted(found, key=lambda node: node.col_offset)]))

    def holds(self, arguments: Mapping[str, Any]) -> bool:
        """Whether it holds. Raises Undetermined where an argument is not there, or is of a kind that it cannot be
        compared with."""
        try:
            return bool(_value(self._tree, arguments))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise Undetermined(f"{self.text}: {type(error).__name__}") from None

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def _foreign(node: ast.expr) -> Iterator[ast.expr]:
    """What the language does not have."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None) | ast.Name():
            return
        case ast.Attribute(value=inner) if _is_path(inner):
            return
        case ast.Compare(left=left, ops=ops, comparators=others) if all(map(_compares, ops, others)):
            parts = [left, *others]
        case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            pass
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            parts = [operand]
        case ast.Call(func=ast.Name(id="len"), args=[operand], keywords=[]):
            parts = [operand]
        case _:
            yield node
            return
    for part in parts:
        yield from _foreign(part)


def _compares(op: ast.cmpop, other: ast.expr) -> bool:
    """Whether the language has this comparison: `is` only with None."""
    return not isinstance(op, ast.Is | ast.IsNot) or (isinstance(other, ast.Constant) and other.value is None)


def _is_path(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_path(node.value))


def _value(node: ast.expr, arguments: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return arguments[name]
        case ast.Attribute(value=inner, attr=name):
            held = _value(inner, arguments)
            if not isinstance(held, dict):
                raise TypeError(name)
            return cast("dict[str, Any]", held)[name]
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _compared(_value(left, arguments), ops, others, arguments)
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, arguments) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, arguments) for part in parts)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, arguments) for part in parts]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, arguments)
        case ast.UnaryOp(operand=operand):
            return -_value(operand, arguments)
        case ast.Call(args=[operand]):
            return len(_value(operand, arguments))
        case _:
            raise TypeError(ast.dump(node))


def _compared(left: Any, ops: list[ast.cmpop], others: list[ast.expr], arguments: Mapping[str, Any]) -> bool:
    for op, other in zip(ops, others, strict=True):
        right = _value(other, arguments)
        if isinstance(left, bool) is not isinstance(right, bool) and not isinstance(op, ast.In | ast.NotIn):
            raise TypeError("a truth value is no number")
        if not _COMPARE[type(op)](left, right):
            return False
        left = right
    return True
