"""JSON schema: what a model is told of one, and which of them providers hold a model to."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbagent.texts.pack import Filling

Schema = dict[str, Any]

_NAMES = {
    "string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "array": "list",
    "object": "dict",
}  # fmt: skip
_NOTES = {"title", "description", "$defs"}
_TAKEN = _NOTES | {
    "type", "enum", "const", "anyOf", "$ref", "properties", "required", "additionalProperties", "items", "minItems",
    "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "format",
}  # fmt: skip
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def words(schema: Schema) -> Filling:
    """The type as Python writes it, `list[str]` or `int | None`; the schema itself where there is no such form."""
    if plain := _plain(schema):
        return plain
    return json.dumps(schema, ensure_ascii=False) if schema else Phrase("output.any")


def _plain(schema: Schema) -> Filling:
    kind, rest = schema.get("type"), schema.keys() - {"type"}
    if rest in ({"enum"}, {"const"}):
        values: list[Any] = schema.get("enum") or [schema.get("const")]
        known = all(isinstance(value, str | int | bool) for value in values)
        return Phrase("output.one_of", values=", ".join(map(repr, values))) if known else ""
    if rest == {"anyOf"} and kind is None:
        options = [_plain(option) for option in schema["anyOf"]]
        return Phrase.joined(" | ", options) if all(options) else ""
    if rest == ({"items"} if kind == "array" else {"additionalProperties"}):
        return _filled(kind, schema.get("items", schema.get("additionalProperties")))
    return "" if rest else _NAMES.get(str(kind), "")


def _filled(kind: object, inner: Any) -> Filling:
    """A list or a dict, with the type of what is in it."""
    if kind not in ("array", "object"):
        return ""
    name, keys = ("list", "") if kind == "array" else ("dict", "str, ")
    if inner in (True, {}):
        return name
    of = _plain(cast("Schema", inner)) if isinstance(inner, dict) else ""
    return Phrase.joined("", [f"{name}[{keys}", of, "]"]) if of else ""


def by_itself(part: Schema, defs: Mapping[str, Schema]) -> Schema:
    """A part of a schema with the definitions that it needs."""
    if part.keys() == {"$ref"}:
        part = defs[_target(part["$ref"])]
    needed: dict[str, Schema] = {}
    waiting = list(_targets(part))
    while waiting:
        if (name := waiting.pop()) not in needed:
            needed[name] = defs[name]
            waiting += _targets(defs[name])
    return {**part, "$defs": {name: needed[name] for name in sorted(needed)}} if needed else part


def _targets(part: object) -> Iterator[str]:
    """The names of the definitions that are referred to in it."""
    if isinstance(part, dict):
        for key, value in cast("Schema", part).items():
            if key == "$ref" and isinstance(value, str):
                yield _target(value)
            else:
                yield from _targets(value)
    elif isinstance(part, list):
        for one in cast("list[object]", part):
            yield from _targets(one)


def _target(ref: str) -> str:
    return ref.rpartition("/")[2]


def whole(schema: Schema) -> Schema:
    """The schema of an object, closed: it has no fields but its own, unless it says otherwise."""
    defs: dict[str, Schema] = schema.get("$defs", {})
    if "$ref" in schema:  # so pydantic writes a type that holds itself
        schema = {**defs[_target(schema["$ref"])], "$defs": defs}
    return {**schema, "additionalProperties": schema.get("additionalProperties", False)}


@cache
def without_defaults() -> Any:
    """pydantic's generator, but for `default`: a note for readers, and OpenAI refuses a strict schema that has it."""
    from pydantic.json_schema import GenerateJsonSchema

    class WithoutDefaults(GenerateJsonSchema):
        def default_schema(self, schema: Any) -> Schema:
            return self.generate_inner(schema["schema"])

    return WithoutDefaults


def is_strict(schema: Schema) -> bool:
    """Whether every part of it is within what OpenAI and Anthropic, both, make of strict structured outputs.

    The SDKs add what else these want (`required`, `additionalProperties`), but drop or pass on what they do not take.
    Source: https://developers.openai.com/api/docs/guides/structured-outputs,
    https://platform.claude.com/docs/en/build-with-claude/structured-outputs
    """
    return schema.get("type") == "object" and _is_strict(schema, schema.get("$defs", {}), ())


def _is_strict(part: Schema, defs: Mapping[str, Schema], above: tuple[str, ...]) -> bool:
    if not part.keys() <= _TAKEN:
        return False
    if "$ref" in part:
        name = _target(part["$ref"])
        # Anthropic takes no type that holds itself.
        return name not in above and _is_strict(defs[name], defs, (*above, name))
    if "anyOf" in part:
        parts: Sequence[Schema] = part["anyOf"]
    elif not _is_strict_here(part):
        return False
    else:
        parts = [*part.get("properties", {}).values(), *([part["items"]] if "items" in part else [])]
    return all(_is_strict(one, defs, above) for one in parts)


def _is_strict_here(part: Schema) -> bool:
    """Without what is in it."""
    match part.get("type"):
        case "object":
            fields: Schema = part.get("properties", {})
            closed = part.get("additionalProperties", False) is False
            return bool(fields) and closed and all(map(_KEY.fullmatch, fields))
        case "array":
            return bool(part.get("items"))
        case "string":
            plain = "(?" not in part.get("pattern", "")  # neither has lookaround
            return plain and part.get("format", "date") in _FORMATS
        case kind:
            return kind in _NAMES
