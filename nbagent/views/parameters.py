"""Parameters: what a tool takes, read from its JSON schema for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from nbagent.messages import ToolSchema

_OPTIONS = 8
_DEEP = 3


def signature(tool: ToolSchema) -> str:
    """`(city: string, unit: "c" | "f" = "c")`."""
    required = tool.parameters.get("required")
    needed = cast("list[Any]", required) if isinstance(required, list) else []
    return f"({', '.join(_parameter(name, schema, name in needed) for name, schema in _properties(tool).items())})"


def described(tool: ToolSchema) -> list[tuple[str, str]]:
    """Names and descriptions of the parameters that have one."""
    said = ((name, schema.get("description")) for name, schema in _properties(tool).items())
    return [(name, text) for name, text in said if isinstance(text, str) and text]


def _properties(tool: ToolSchema) -> dict[str, Mapping[str, Any]]:
    properties = tool.parameters.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    found = cast("Mapping[str, Any]", properties)
    return {str(name): _mapping(schema) for name, schema in found.items()}


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> str:
    head = f"{name}: {_type(schema)}"
    if "default" in schema:
        return f"{head} = {_json(schema['default'])}"
    return head if required else f"{head} = …"


def _type(schema: Mapping[str, Any], depth: int = 0) -> str:
    """The type in a few words; what the words cannot say is in the schema."""
    for key in ("anyOf", "oneOf", "enum", "type"):
        options = schema.get(key)
        if isinstance(options, list) and options and depth < _DEEP:
            words = [_option(key, option, depth) for option in cast("list[Any]", options)]
            return " | ".join([*words[:_OPTIONS], "…"] if len(words) > _OPTIONS else words)
    if "const" in schema:
        return _json(schema["const"])
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    kind = schema.get("type")
    if kind == "array" and depth < _DEEP and _mapping(schema.get("items")):
        return f"array of {_type(_mapping(schema['items']), depth + 1)}"
    return kind if isinstance(kind, str) else "any"


def _option(key: str, option: Any, depth: int) -> str:
    match key:
        case "enum":
            return _json(option)
        case "type":
            return str(option)
        case _:
            return _type(_mapping(option), depth + 1)


def schema_text(tool: ToolSchema, indent: int | None = None) -> str:
    """The whole JSON schema."""
    return _json(tool.parameters, indent)


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)


def _plain(value: Any) -> Any:
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else str(value)
