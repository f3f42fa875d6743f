"""Output model: an answer that is one value of a type, and how the type is told to the model and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cached_property
from inspect import isroutine
from types import NoneType
from typing import TYPE_CHECKING, Any, cast, get_origin

from nbagent.errors import ConfigError
from nbagent.prompt.json_schema import by_itself, whole, without_defaults, words
from nbagent.prompt.output import Output, adapter_of, invalid, problems, validated
from nbagent.text import shown
from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from nbagent.texts.pack import Filling


class ModelOutput(Output):
    """The fields of a type that has fields."""

    def __init__(self, adapter: Any) -> None:
        """adapter: what checks an answer, whose JSON schema has `properties`."""
        self._adapter = adapter
        self.described = _described(whole(adapter.json_schema()))

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the type. It is not to be changed."""
        return whole(self._adapter.json_schema(schema_generator=without_defaults()))

    def checked(self, answer: Mapping[str, Any]) -> Any:
        """The answer as an instance of the type. Raises InvalidAnswer naming every problem."""
        from pydantic import ValidationError

        try:
            return self._made(answer)
        except ValidationError as error:
            raise invalid(self.described, problems(error)) from None

    def _made(self, answer: Mapping[str, Any]) -> Any:
        from pydantic import ValidationError

        try:
            return validated(self._adapter, dict(answer))
        except ValidationError as error:
            # A formatter that knows texts only gives numbers and lists as texts, too.
            texts = {name: answer[name] for name in _places(error) if isinstance(answer.get(name), str)}
            read = {name: _read(text) for name, text in texts.items()}
            if read == texts:
                raise
        return validated(self._adapter, {**answer, **read})


class ValueOutput(Output):
    """One field, `value`, that is the answer."""

    def __init__(self, kind: Any) -> None:
        super().__init__({"value": kind})

    def checked(self, answer: Mapping[str, Any]) -> Any:
        """The value as its type. Raises InvalidAnswer."""
        return super().checked(answer)["value"]


def model_output(kind: Any) -> ModelOutput | ValueOutput:
    """The output that is one value of this type.

    A pydantic model, a dataclass or a TypedDict: its fields, by the names that they have in JSON. Any other type that
    pydantic knows, such as `list[int]` or an Enum: one field, `value`. Raises ConfigError for what is no such type.
    """
    refused = f"output_schema: expected a pydantic model or a type such as list[int], got {_told(kind)}"
    if isinstance(kind, _VALUES) or isroutine(kind) or _has_fields(type(kind)):
        raise ConfigError(refused)
    adapter = adapter_of(kind, refused)
    if not (_has_fields(kind) and "properties" in whole(adapter.json_schema())):
        return ValueOutput(kind)
    output = ModelOutput(adapter)
    if not output.described:
        raise ConfigError(f"{refused}, which has no fields")
    return output


_VALUES = (str, Mapping, list, tuple, int, float, NoneType)
"""Some of these pydantic would take for types."""


def _has_fields(kind: Any) -> bool:
    from pydantic import BaseModel, RootModel
    from typing_extensions import is_typeddict

    base: Any = get_origin(kind) or kind
    if not isinstance(base, type):
        return False
    if is_dataclass(cast("type[Any]", base)) or is_typeddict(base):
        return True
    return issubclass(base, BaseModel) and not issubclass(base, RootModel)


def _told(kind: Any) -> str:
    if _has_fields(type(kind)):
        name = type(kind).__name__
        return f"an instance of {name}: write {name}, the class itself"
    return kind.__qualname__ if isinstance(kind, type) else shown(kind)


def _described(schema: dict[str, Any]) -> dict[str, Filling]:
    required = schema.get("required", ())
    return {
        name: _field(field, schema.get("$defs", {}), optional=name not in required)
        for name, field in schema["properties"].items()
    }


def _field(field: dict[str, Any], defs: dict[str, Any], *, optional: bool) -> Filling:
    """A field as the model reads of it: `int, optional, default 1: how many`."""
    bare = {key: value for key, value in field.items() if key not in ("title", "description", "default")}
    told, default = words(by_itself(bare, defs)), field.get("default")
    if optional and default is None:
        told = Phrase("output.optional", type=told)
    elif optional:
        told = Phrase("output.default", type=told, default=json.dumps(default, ensure_ascii=False))
    return Phrase.joined(": ", [told, *filter(None, [field.get("description", "")])])


def _places(error: Any) -> set[str]:
    """The fields that there is something wrong with."""
    return {cast("str", one["loc"][0]) for one in error.errors() if one["loc"]}


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
