"""Output: the fields that an answer must have, how they are described to the model, and how an answer is checked."""

from __future__ import annotations

import ast
import json
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, cast, get_args, get_origin

from nbagent.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES: dict[str, Any] = {
    "str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "None": None, "Literal": Literal,
}  # fmt: skip


class InvalidAnswer(ValueError):
    """An answer does not have the declared fields. Its str is for the model."""


class Output:
    """The declared output fields of an agent.

    `declared`: for each name a description (`"the mood, in one word"`), a type (`int`, `list[str]`, an Enum, a pydantic
    model), the text of one (`"list[str]"`), or a tuple of type and description. Raises ConfigError.
    """

    def __init__(self, declared: Mapping[str, Any]) -> None:
        fields = {_name(name): _read(name, value) for name, value in declared.items()}
        self._adapters = {name: _adapter(name, kind) for name, (kind, _) in fields.items() if kind is not None}
        self.described = {
            name: _described(kind, text, self._adapters.get(name)) for name, (kind, text) in fields.items()
        }
        """Each name with what the model is told about it."""

    def checked(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The answer with its declared fields first, each as its type; others follow as they are.

        Raises InvalidAnswer naming every field that is missing or wrong.
        """
        wrong = [f"{name}: missing" for name in self.described if name not in answer]
        found: dict[str, Any] = {}
        for name in self.described:
            if name in answer:
                try:
                    found[name] = self._value(name, answer[name])
                except InvalidAnswer as error:
                    wrong.append(str(error))
        if wrong:
            raise InvalidAnswer(
                f"The answer cannot be used. Expected the fields {', '.join(self.described)}.\n"
                f"What is wrong: {'; '.join(wrong)}.\nAnswer again, with all of them."
            )
        return {**found, **answer, **found}

    def _value(self, name: str, value: Any) -> Any:
        if name not in self._adapters:
            return value
        from pydantic import ValidationError

        adapter = self._adapters[name]
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            if isinstance(value, str):  # of a formatter that knows texts only
                try:
                    return adapter.validate_json(value)
                except ValidationError:
                    pass
            problems = [f"{'.'.join([name, *map(str, e['loc'])])}: {e['msg'].lower()}" for e in error.errors()]
            raise InvalidAnswer("; ".join(problems)) from None

    def __len__(self) -> int:
        return len(self.described)


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise ConfigError(f"output: a field's name is a text of one line that is not empty; got {name!r}")
    return name


def _read(name: str, value: Any) -> tuple[Any, str]:
    if isinstance(value, str):
        kind = type_named(value)
        return (kind, "") if kind is not None else (None, value)
    if isinstance(value, tuple) and len(cast("tuple[Any, ...]", value)) == 2:
        kind, text = cast("tuple[Any, Any]", value)
        named = type_named(kind) if isinstance(kind, str) else kind
        if named is None or not isinstance(text, str):
            raise ConfigError(f"output: {name}: expected a type and a description, got {value!r}")
        return named, text
    if value is None or isinstance(value, list | dict | int | float):
        raise ConfigError(f"output: {name}: expected a description, a type, or both as a tuple; got {value!r}")
    return cast("Any", value), ""


def type_named(text: str) -> Any:
    """The type that a text names, such as `int`, `list[str]`, `str | None`, `Literal["a", "b"]`; else None."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _type(tree.body)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return None


def _type(node: ast.expr) -> Any:
    match node:
        case ast.Name(id=name) if name in _NAMES and name not in ("None", "Literal"):
            return _NAMES[name]
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            values = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return Literal[tuple(ast.literal_eval(value) for value in values)]  # pyright: ignore[reportInvalidTypeForm]
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return list[_type(inner)]  # pyright: ignore[reportInvalidTypeForm]
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, value])):
            return dict[_type(key), _type(value)]  # pyright: ignore[reportInvalidTypeForm]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return Union[_type_or_none(left), _type_or_none(right)]  # pyright: ignore[reportInvalidTypeForm]  # noqa: UP007
        case _:
            raise ValueError("no type")


def _type_or_none(node: ast.expr) -> Any:
    return None if isinstance(node, ast.Constant) and node.value is None else _type(node)


def _adapter(name: str, kind: Any) -> Any:
    """What checks a value of this type. Raises ConfigError for a type that pydantic does not know."""
    from pydantic import TypeAdapter

    try:
        adapter = TypeAdapter[Any](kind)
        adapter.json_schema()
    except Exception as error:  # noqa: BLE001 - pydantic has many, and a type's own hooks may raise anything
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError(f"output: {name}: a type that cannot be described or checked: {why}") from None
    return adapter


def _described(kind: Any, text: str, adapter: Any) -> str:
    if kind is None:
        return text
    named = _plain(kind) or json.dumps(adapter.json_schema(), ensure_ascii=False)
    return f"{named}: {text}" if text else named


def _plain(kind: Any) -> str:
    """A type of Python's own as it is written, `list[str]`, `int | None`; empty for one that needs a schema."""
    if kind is type(None):
        return "None"
    if kind in _BUILTIN:
        return kind.__name__
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal and all(isinstance(value, str | int | bool) for value in inner):
        return f"one of {', '.join(map(repr, inner))}"
    names = [_plain(one) for one in inner]
    if not inner or not all(names):
        return ""
    if origin in (Union, UnionType):
        return " | ".join(names)
    return f"{origin.__name__}[{', '.join(names)}]" if origin in (list, dict) else ""


_BUILTIN = (str, int, float, bool, list, dict)
