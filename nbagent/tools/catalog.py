"""Catalog: what there is to know of tools, in words, for prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbagent.messages import ToolSchema

_ASIDE = ("default", "description", "title")
"""What is said elsewhere than in the type, or not at all."""


def catalog(tools: Iterable[ToolSchema]) -> str:
    """A line for each: `get_weather: Looks the weather up.`"""
    return "\n".join(map(line, tools))


def line(tool: ToolSchema) -> str:
    """Its name and the first line of its description."""
    return _headed(tool.name, tool.description.partition("\n")[0].strip())


def descriptions(tools: Iterable[ToolSchema]) -> str:
    """Each with its whole description, in one line, and its parameters; those that are described, in lines below.

    get_weather(city: string, days: integer = 1): Looks the weather up.
      city: Which city.
    """
    return "\n".join(line for tool in tools for line in _described(tool))


def _described(tool: ToolSchema) -> list[str]:
    properties = _mapping(tool.parameters.get("properties"))
    schemas = {name: _mapping(schema) for name, schema in properties.items()}
    required: Any = tool.parameters.get("required") or ()
    taken = ", ".join(_parameter(name, schema, name in required) for name, schema in schemas.items())
    said = {name: _line(schema.get("description")) for name, schema in schemas.items()}
    return [
        _headed(f"{tool.name}({taken})", _line(tool.description)),
        *(f"  {name}: {text}" for name, text in said.items() if text),
    ]


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> str:
    """`city: string`; a type of more than a word as the JSON schema that it is."""
    kind = {key: value for key, value in schema.items() if key not in _ASIDE}
    word = kind.get("type") if len(kind) == 1 else None
    shown = f"{name}: {word if isinstance(word, str) else _json(kind)}"
    if "default" in schema:
        return f"{shown} = {_json(schema['default'])}"
    return shown if required else f"{shown} = …"


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _headed(head: str, text: str) -> str:
    return f"{head}: {text}" if text else head


def _line(text: object) -> str:
    return " ".join(text.split()) if isinstance(text, str) else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
