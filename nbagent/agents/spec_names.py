"""Spec names: the fields of a spec that are names, looked up."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from nbagent.errors import ConfigError
from nbagent.models.model import Model
from nbagent.prompt.output import type_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbagent.agents.spec import AgentSpec

AGENT = "agent:"
_LISTS = ("tools", "memories", "retrievers", "input_guardrails", "output_guardrails", "hooks")
_SINGLE = ("script", "output")


def resolved(spec: AgentSpec, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a spec with what their names stand for. Raises ConfigError for a name that stands for nothing."""
    given = {name: getattr(spec, name) for name in type(spec).model_fields}
    for field in _LISTS:
        if isinstance(given[field], list | tuple):
            given[field] = [_value(one, namespace, field) for one in given[field]]
    for field in _SINGLE:
        if isinstance(given[field], str):
            known = type_named(given[field]) if field == "output" and given[field] not in namespace else None
            given[field] = found(given[field], namespace, field) if known is None else known
    if isinstance(spec.model, str) and spec.model.isidentifier() and isinstance(namespace.get(spec.model), Model):
        given["model"] = namespace[spec.model]
    return given


def _value(one: Any, namespace: Mapping[str, Any], field: str) -> Any:
    return found(one.removeprefix(AGENT), namespace, field) if isinstance(one, str) else one


def found(path: str, namespace: Mapping[str, Any], field: str) -> Any:
    """What a name with dots stands for."""
    first, *attributes = path.split(".")
    if first not in namespace:
        near = get_close_matches(first, [name for name in namespace if not name.startswith("_")], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "build_agent(spec, globals()) looks names up in your variables"
        raise ConfigError(f"{field}: nothing is called {first!r}; {hint}")
    value = namespace[first]
    for attribute in attributes:
        if not hasattr(value, attribute):
            raise ConfigError(f"{field}: {path!r}: {type(value).__name__} has no attribute {attribute!r}")
        value = getattr(value, attribute)
    return value
