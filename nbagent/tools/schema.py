"""Schema: what a model is told about a callable, and how the arguments it sends become the callable's."""

from __future__ import annotations

import collections.abc
import json
import typing
from dataclasses import dataclass
from enum import Enum
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, Union, cast, get_args, get_origin

from pydantic import ConfigDict, Field, Strict, TypeAdapter, ValidationError, with_config
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import TypedDict

from nbagent.errors import FOREIGN, ToolDefinitionError
from nbagent.messages import ToolSchema
from nbagent.texts.phrase import Phrase
from nbagent.tools import docstring
from nbagent.tools.arguments import InvalidArguments, excerpt, parse
from nbagent.tools.callables import doc_of
from nbagent.tools.exact import exact
from nbagent.tools.problems import explain, unchecked
from nbagent.tools.signature import REQUIRED, Parameter, parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic_core.core_schema import ModelSchema


@dataclass(frozen=True, slots=True)
class Interface:
    """What a model sees of a callable, and the way from the JSON text of a call to the arguments."""

    schema: ToolSchema
    validate: Callable[..., dict[str, Any]]
    strict: bool | None
    """True: strict at every depth. None: where one parameter asks for coercion, each type by its own settings."""
    positional: Mapping[str, Any]
    """The parameters that can only be passed by position, in order, with their defaults."""

    def bind(self, text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments; raises InvalidArguments."""
        if not text or text.isspace():
            text = "{}"
        received = parse(text)
        try:
            values = self.validate(text, strict=self.strict)
        except ValidationError as error:
            if error.error_count() == 1 and (problem := error.errors(include_input=False)[0])["type"] == "json_invalid":
                said = problem["msg"].partition(": ")[2]
                raise InvalidArguments(Phrase("arguments.json_problem", problem=f"{said} in {excerpt(text)}")) from None
            raise InvalidArguments(explain(error, received, self.schema.parameters)) from None
        except FOREIGN as error:  # a validator that the tool's author wrote
            raise InvalidArguments(unchecked(error)) from error
        if not self.positional:
            return (), values
        return tuple(values.pop(name, default) for name, default in self.positional.items()), values


def interface(function: Any, name: str, description: str | None) -> Interface:
    """Builds the interface of `function`; `description` None takes the docstring's.

    Raises ToolDefinitionError where a parameter has no type, or one that JSON cannot carry.
    """
    docs = docstring.read(doc_of(function))
    taken = parameters(function, name)
    for parameter in taken:
        _refuse_field_as_default(parameter, name)
        _refuse_lazy(parameter, name)
        _refuse_self(parameter, name)
    fields = {p.name: _field(p, docs.parameters.get(p.name, "")) for p in taken}
    try:
        core, validator = exact(_adapter(fields))
        raw = _QuietGenerator().generate(core)
        shown = _tidy(raw, taken)
    except FOREIGN as error:
        raise _blame(taken, fields, name) or error from error
    text = docs.description if description is None else description.strip()
    return Interface(
        ToolSchema(name, text, shown),
        validator.validate_json,
        None if any(_asks_for_coercion(p.hint) for p in taken) else True,
        {p.name: p.default for p in taken if p.positional},
    )


_LAZY = (collections.abc.Iterable, collections.abc.Iterator, collections.abc.Generator)


class _QuietGenerator(GenerateJsonSchema):
    # A default that JSON does not have is left out of the schema; that is no reason to warn.
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  pydantic's own form

    def model_schema(self, schema: ModelSchema) -> dict[str, Any]:
        shown = super().model_schema(schema)
        # Pydantic asks the class; the schema says what `exact` made of it.
        if schema.get("config", {}).get("extra_fields_behavior") == "forbid" and "properties" in shown:
            shown.setdefault("additionalProperties", False)
        return shown


def _adapter(fields: dict[str, Any]) -> TypeAdapter[dict[str, Any]]:
    # A TypedDict and not a model: its keys may be called anything, `schema`, `json` and `_x` too.
    arguments = TypedDict("arguments", fields)  # pyright: ignore[reportArgumentType,reportGeneralTypeIssues]  # made at run time
    checked = with_config(ConfigDict(extra="forbid", strict=True))(cast("Any", arguments))
    return TypeAdapter[dict[str, Any]](checked)


def _field(parameter: Parameter, documented: str) -> Any:
    hint = parameter.hint
    text = _annotated_text(hint) or ("" if any(f.description for f in _field_infos(hint)) else documented)
    if text:
        hint = Annotated[hint, Field(description=text)]
    return hint if parameter.default is REQUIRED else NotRequired[hint]


def _annotated_text(hint: Any) -> str:
    """The text of `Annotated[str, "text"]`, also where `| None` follows."""
    if get_origin(hint) is Annotated:
        texts = [m for m in hint.__metadata__ if isinstance(m, str)]
        return " ".join(texts[-1].split()) if texts else _annotated_text(hint.__origin__)
    if get_origin(hint) in (Union, UnionType):
        return next((text for text in map(_annotated_text, get_args(hint)) if text), "")
    return ""


def _field_infos(hint: Any) -> list[FieldInfo]:
    return [m for m in getattr(hint, "__metadata__", ()) if isinstance(m, FieldInfo)]


def _asks_for_coercion(hint: Any) -> bool:
    """Whether it says `Field(strict=False)`."""
    metadata = [*getattr(hint, "__metadata__", ()), *(m for info in _field_infos(hint) for m in info.metadata)]
    return any(isinstance(m, Strict) and not m.strict for m in metadata)


def _refuse_lazy(parameter: Parameter, tool: str) -> None:
    if get_origin(parameter.hint) in _LAZY or parameter.hint in _LAZY:
        raise ToolDefinitionError(
            f"tool {tool!r}: parameter {parameter.name!r} is an iterator, whose items would be checked only when they "
            f"are used; write {parameter.name}: list[...]"
        )


def _refuse_self(parameter: Parameter, tool: str) -> None:
    if _mentions_self(parameter.hint):
        raise ToolDefinitionError(
            f"tool {tool!r}: parameter {parameter.name!r} has the type Self, which no JSON can mean here; "
            "write the name of the class"
        )


def _mentions_self(hint: Any) -> bool:

    return hint is cast("Any", typing).Self or any(map(_mentions_self, get_args(hint)))


def _refuse_field_as_default(parameter: Parameter, tool: str) -> None:
    if isinstance(parameter.default, FieldInfo):
        raise ToolDefinitionError(
            f"tool {tool!r}: parameter {parameter.name!r} has Field(...) as its default, which the function itself "
            f"would receive; write {parameter.name}: Annotated[type, Field(...)] = default"
        )


def _blame(taken: tuple[Parameter, ...], fields: dict[str, Any], tool: str) -> ToolDefinitionError | None:
    """The error that names the parameter whose type pydantic cannot use."""
    for parameter in taken:
        try:
            _adapter({parameter.name: fields[parameter.name]}).json_schema(schema_generator=_QuietGenerator)
        except FOREIGN as error:  # pydantic has many, and types may raise their own
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            return ToolDefinitionError(
                f"tool {tool!r}: parameter {parameter.name!r}: no JSON can be checked against its type "
                f"{parameter.hint!r} ({why}); use str, int, float, bool, list, dict, Literal, an Enum, a dataclass, "
                f"a pydantic model or the like"
            )
    return None


def _tidy(raw: dict[str, Any], taken: tuple[Parameter, ...]) -> dict[str, Any]:
    """The schema in reading order, without pydantic's titles and with the functions' defaults."""
    schema = cast("dict[str, Any]", _untitled(raw))
    for parameter in taken:
        known = schema["properties"].get(parameter.name)
        if known is not None and parameter.default is not REQUIRED:
            known.update(_shown_default(parameter.default))
    order = ("type", "properties", "required", "additionalProperties")
    return {key: schema[key] for key in order if key in schema} | {k: schema[k] for k in schema if k not in order}


_NAMED = {"properties", "patternProperties", "$defs", "dependentSchemas"}
_DATA = {"default", "const", "enum", "examples", "required"}


def _untitled(node: Any) -> Any:
    """The JSON schema without its titles. A property, a default or an example may well be called title."""
    if isinstance(node, list):
        return [_untitled(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    kept: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", node).items():
        if key in _NAMED and isinstance(value, dict):
            kept[key] = {name: _untitled(schema) for name, schema in cast("dict[str, Any]", value).items()}
        elif key in _DATA:
            kept[key] = value
        elif key != "title":
            kept[key] = _untitled(value)
    return kept


def _shown_default(default: Any) -> dict[str, Any]:
    value = default.value if isinstance(default, Enum) else default
    try:
        return {"default": json.loads(json.dumps(value, allow_nan=False))}
    except (TypeError, ValueError, RecursionError):
        return {}  # not JSON: the model sees only that it may leave the parameter out
