"""Checks: what an agent may be made of, and what is said of anything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any, cast

from nbagent.errors import ConfigError
from nbagent.messages import Field, Piece, Source
from nbagent.models.invoked import Invokable, InvokedModel, NoModel
from nbagent.models.model import Model
from nbagent.text import cut, shown
from nbagent.tools.plain import Plain
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.serialise import describe

_SHOWN = 200
"""How many characters of what a user gave an error shows."""


def brief(value: object) -> str:
    """What a user gave, in few words, for an error."""
    return f"the class {value.__name__}" if isinstance(value, type) else cut(shown(value), _SHOWN)[0]


def name_of(what: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{what}: expected a text that is not empty, got {value!r}")
    return value


def model_of(model: object) -> Model:
    """The model; one made of an object with `invoke`; and of a bare `object()` one that only can be looked at."""
    if type(model) is object:
        return NoModel()
    if not isinstance(model, type):
        if isinstance(model, Model):
            return model
        if isinstance(model, Invokable):
            return InvokedModel(model)
    raise ConfigError(
        f"model: expected an object with name, mode, stream(request) and astream(request), such as "
        f"ScriptedLLM([…]), or one with invoke(messages, tools, settings); got {type(model).__name__}: {model!r}"
    )


def registry_of(tools: Any, tool_registry: ToolRegistry | None) -> ToolRegistry:
    if tools is not None and tool_registry is not None:
        raise ConfigError("give tools or tool_registry, not both: tools=[…] makes a registry of its own")
    given: Any = tool_registry if tools is None else tools
    return given if isinstance(given, ToolRegistry) else ToolRegistry.from_tools(() if given is None else given)


def count_of(what: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{what}: expected a whole number from 1, got {value!r}")
    return value


def whole_of(what: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError(f"{what}: expected a whole number from 0, got {value!r}")
    return value


def offering(what: str, value: Any, method: str) -> Any:
    """The value, which has this method, written as it is called. Raises ConfigError."""
    if value is not None and (isinstance(value, type) or not callable(getattr(value, method.partition("(")[0], None))):
        raise ConfigError(f"{what}: expected an object with {method}, got {value!r}")
    return value


def listed(what: str, value: Any, of: str) -> tuple[Any, ...]:
    """The items of a list; none of None. Raises ConfigError for one that stands alone."""
    if value is None:
        return ()
    if not isinstance(value, Iterable) or isinstance(value, str | Mapping):
        raise ConfigError(f"{what}: expected a list of {of}, got {value!r}; write [{value!r}]")
    return tuple(cast("Iterable[Any]", value))


def kept(items: Any) -> Any:
    """The same items, of an iterator too when they are read again."""
    return tuple(items) if isinstance(items, Iterable) and not isinstance(items, str | Mapping) else items  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def attributes_of(value: object) -> MutableMapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, MutableMapping):
        raise ConfigError(f"attributes: expected a dict, got {type(value).__name__}: {value!r}")
    return value  # pyright: ignore[reportUnknownVariableType]


def text_of(value: Any) -> str:
    """What a value is for a model."""
    return describe(value).text


def field_of(name: str, value: Any, source: Source) -> Field:
    """An input of any value, or of pieces that know their sources."""
    if isinstance(value, tuple) and value and all(isinstance(piece, Piece) for piece in value):  # pyright: ignore[reportUnknownVariableType]
        return Field(name, tuple([_as(piece, source) for piece in value]))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    text = text_of(value)
    plain = value if isinstance(value, str) else Plain().of(value)
    return Field(name, (Piece(text, source),) if text else (), None if isinstance(plain, str) else plain)


def _as(piece: Piece, source: Source) -> Piece:
    return Piece(piece.text, source) if piece.source.kind == "template" else piece
