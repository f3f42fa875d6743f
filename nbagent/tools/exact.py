"""Exact: what a tool's author left open is strict.

`true` and `1.0` are not the 1 of a Literal or an Enum, though Python calls them equal; a key that a model does not have
is refused, though pydantic would drop it.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import PydanticCustomError, SchemaValidator, core_schema

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import CoreSchema

_DATA = {"metadata", "default", "expected", "members", "cls", "config", "serialization", "ref", "type"}


def exact(adapter: TypeAdapter[Any]) -> tuple[CoreSchema, SchemaValidator]:
    """The adapter's schema and validator, made strict where nothing is said."""
    schema = adapter.core_schema
    strict = _exact(schema)
    if strict is schema:
        return schema, cast("SchemaValidator", adapter.validator)
    # Not the validators that the models have built already: those know nothing of the changes.
    return strict, SchemaValidator(strict, _use_prebuilt=False)


def _exact(node: Any) -> Any:
    """The same schema with each choice among numbers guarded; the very same object where it has none."""
    if isinstance(node, list | tuple):
        items = cast("list[Any]", node)
        guarded = [_exact(item) for item in items]
        changed = any(new is not old for new, old in zip(guarded, items, strict=True))
        return type(items)(guarded) if changed else items
    if not isinstance(node, dict):
        return node
    schema = cast("dict[str, Any]", node)
    choices = schema.get("expected") if schema.get("type") == "literal" else schema.get("members")
    if schema.get("type") in ("literal", "enum") and isinstance(choices, list):
        return _guarded(schema, [c.value if isinstance(c, Enum) else c for c in cast("list[Any]", choices)])
    return _exact_children(schema)


def _exact_children(schema: dict[str, Any]) -> dict[str, Any]:
    # The names of fields and tags are the user's: there, no key is a word of the schema language.
    named = not isinstance(schema.get("type"), str)
    children = {key: value if key in _DATA and not named else _exact(value) for key, value in schema.items()}
    if schema.get("type") == "model" and not schema.get("root_model"):
        return children | {"config": {"extra_fields_behavior": "forbid", **schema.get("config", {})}}
    return children if any(children[key] is not schema[key] for key in schema) else schema


def _guarded(schema: dict[str, Any], choices: list[Any]) -> dict[str, Any]:
    kinds: set[type] = {type(choice) for choice in choices}
    if not kinds & {bool, int, float}:
        return schema
    refused = tuple({bool, int, float} - kinds - ({int} if float in kinds else set[type]()))
    expected = " or ".join(json.dumps(choice, default=str) for choice in choices)

    def check(value: Any) -> Any:
        if type(value) in refused:
            raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": expected})
        return value

    inner = {key: value for key, value in schema.items() if key != "ref"}
    guard = core_schema.no_info_before_validator_function(check, cast("Any", inner), ref=schema.get("ref"))
    return cast("dict[str, Any]", guard)
