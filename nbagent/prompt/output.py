"""Output: the fields that an answer must have, how they are described to the model, and how an answer is checked."""

from __future__ import annotations

import ast
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Union, cast

from nbagent.errors import ConfigError
from nbagent.prompt.json_schema import is_strict, whole, without_defaults, words
from nbagent.text import without_addresses
from nbagent.texts.pack import DEFAULT, Texts
from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nbagent.texts.pack import Filling

_NAMES: dict[str, Any] = {
    "str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "None": None, "Literal": Literal,
}  # fmt: skip


Wrong = Phrase | str
"""What is wrong with a field, with its name."""


class InvalidAnswer(ValueError):
    """An answer does not have the declared fields. What it says, a phrase, is for the model."""


def invalid(names: Iterable[str], wrong: Iterable[Wrong]) -> InvalidAnswer:
    """The error about an answer that should have these fields."""
    return InvalidAnswer(Phrase("answer.invalid", names=", ".join(names), wrong=_listed(wrong)))


def _listed(wrong: Iterable[Wrong]) -> tuple[Wrong, ...]:
    return tuple([part for one in wrong for part in ("; ", one)])[1:]


def validated(adapter: Any, value: Any) -> Any:
    """The value as the adapter's type. Raises pydantic's ValidationError."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):  # a formatter of the user's gives what it likes
        return adapter.validate_python(value)
    return adapter.validate_json(text)  # as what it is: a strict type takes a date from JSON, and none from a str


def problems(error: Any, *place: str) -> list[Wrong]:
    """What a ValidationError says, each problem with where it is: at `place`, or somewhere in it."""
    told: list[Wrong] = []
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        where, text = ".".join([*place, *map(str, one["loc"])]), one["msg"]
        if one["type"] == "missing" and len(one["loc"]) + len(place) == 1:
            told.append(Phrase("answer.missing", field=where))
        elif where:
            told.append(f"{where}: {text[:1].lower()}{text[1:]}")
        else:
            told.append(Phrase("answer.whole", problem=f"{text[:1].lower()}{text[1:]}"))
    return told


class Output:
    """The declared output fields of an agent.

    `declared`: for each name a description (`"the mood, in one word"`), a type (`int`, `list[str]`, an Enum, a pydantic
    model), the text of one (`"list[str]"`), or a tuple of type and description. Raises ConfigError.
    """

    def __init__(self, declared: Mapping[str, Any]) -> None:
        fields = {_name(name): _read(name, value) for name, value in declared.items()}
        self._texts = {name: text for name, (_, text) in fields.items()}
        self._adapters = {
            name: adapter_of(kind, f"output: {name}: a type that cannot be described or checked")
            for name, (kind, _) in fields.items()
            if kind is not None
        }
        self.described: dict[str, Filling] = {name: self._told(name) for name in fields}
        """Each name with what the model is told about it, before it is known in which words."""

    def told(self, texts: Texts = DEFAULT) -> dict[str, str]:
        """Each name with what the model is told about it."""
        return {name: texts.said(told) for name, told in self.described.items()}

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of an answer: an object that has all the fields. It is not to be changed."""
        from pydantic import TypeAdapter

        kinds, shared = TypeAdapter[Any].json_schemas(
            [(name, "validation", adapter) for name, adapter in self._adapters.items()],
            schema_generator=without_defaults(),
        )
        fields = {
            name: {**kinds.get((name, "validation"), {}), **({"description": text} if text else {})}
            for name, text in self._texts.items()
        }
        return whole({**shared, "type": "object", "properties": fields, "required": list(fields)})

    @cached_property
    def native(self) -> bool:
        """Whether providers can hold a model to the schema; what is described in words only, they cannot."""
        return is_strict(self.schema)

    def checked(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The answer with its declared fields first, each as its type; others follow as they are.

        Raises InvalidAnswer naming every field that is missing or wrong.
        """
        wrong: list[Wrong] = [Phrase("answer.missing", field=name) for name in self.described if name not in answer]
        found: dict[str, Any] = {}
        for name in self.described:
            if name in answer:
                try:
                    found[name] = self._value(name, answer[name])
                except InvalidAnswer as error:
                    wrong += error.args
        if wrong:
            raise invalid(self.described, wrong)
        return {**found, **answer, **found}

    def _value(self, name: str, value: Any) -> Any:
        if name not in self._adapters:
            return value
        from pydantic import ValidationError

        adapter = self._adapters[name]
        try:
            return validated(adapter, value)
        except ValidationError as error:
            if isinstance(value, str):  # of a formatter that knows texts only
                try:
                    return adapter.validate_json(value)
                except ValidationError:
                    pass
            raise InvalidAnswer(*problems(error, name)) from None

    def _told(self, name: str) -> Filling:
        parts = [words(self._adapters[name].json_schema())] if name in self._adapters else []
        return Phrase.joined(": ", [*parts, *filter(None, [self._texts[name]])])

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


def adapter_of(kind: Any, refused: str) -> Any:
    """What checks a value of this type. Raises ConfigError, which begins with `refused`, where pydantic cannot."""
    from pydantic import TypeAdapter

    try:
        adapter = TypeAdapter[Any](kind)
        adapter.json_schema()
    except Exception as error:  # noqa: BLE001 - pydantic has many, and a type's own hooks may raise anything
        why = without_addresses(str(error)).splitlines()
        raise ConfigError(f"{refused}: {why[0] if why else type(error).__name__}") from None
    return adapter
