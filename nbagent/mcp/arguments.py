"""Arguments: a tool call checked against the JSON schema that a server gives for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import ToolDefinitionError
from nbagent.texts.phrase import Phrase
from nbagent.tools.arguments import InvalidArguments, parse
from nbagent.tools.problems import differs, invalid, no_argument, unchecked, value_of
from nbagent.tools.schema import Interface

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbagent.messages import ToolSchema

_MAX_SHOWN = 100
_MAX_WORDS = 300


@dataclass(frozen=True, slots=True)
class ServerInterface(Interface):
    """What a model sees of a server's tool: its own schema. The arguments are passed on as they are."""

    def bind(self, text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call; raises InvalidArguments, whose str is for the model."""
        received = parse(text if text and not text.isspace() else "{}")
        try:
            json.dumps(received, ensure_ascii=False).encode()
        except UnicodeEncodeError:  # it would end the connection, and not only the call
            raise InvalidArguments(Phrase("arguments.half", escape="\\ud83d")) from None
        return (), self.validate(received)


def server_interface(schema: ToolSchema) -> ServerInterface:
    """The interface for a schema; raises ToolDefinitionError where it is no JSON schema."""
    return ServerInterface(schema, _checker(schema), strict=True, positional={})


def _checker(schema: ToolSchema) -> Callable[[dict[str, Any]], dict[str, Any]]:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry

    parameters = dict(schema.parameters)
    kind: Any = validator_for(parameters, default=Draft202012Validator)
    try:
        kind.check_schema(parameters)
    except SchemaError as error:
        raise ToolDefinitionError(
            f"tool {schema.name!r}: the server's input schema is no JSON schema: {error.message[:_MAX_WORDS]}; "
            "leave the tool out by naming the others: server.tools('name', …)"
        ) from None
    validator = kind(parameters, registry=cast("Any", Registry)())  # an empty one: nothing is fetched from the network

    def check(received: dict[str, Any]) -> dict[str, Any]:
        try:
            found = {str(one): one for one in _problems(validator.iter_errors(received))}
        except Exception as error:  # a $ref that leads nowhere, a pattern that Python does not know
            raise InvalidArguments(unchecked(error)) from error
        if found:
            raise InvalidArguments(invalid([found[text] for text in sorted(found)]))
        return received

    return check


def _problems(errors: Iterable[Any]) -> Iterator[Phrase | str]:
    """Each wrong place: its path, what was expected, what came."""
    for error in errors:
        path = _path(error.absolute_path)
        match error.validator:
            case "required":
                missing = [name for name in error.validator_value if name not in error.instance]
                for name in missing:
                    yield differs(_path((*error.absolute_path, name)), value_of(_wanted(error.schema, name)), "")
            case "additionalProperties" if error.validator_value is False:
                known = cast("dict[str, Any]", error.schema.get("properties", {}))
                for name in error.instance.keys() - known.keys():
                    place = _path((*error.absolute_path, name))
                    yield Phrase("arguments.superfluous", place=place, expected=no_argument(known))
            case "type":
                yield differs(path, value_of(_types(error.validator_value)), _shown(error.instance))
            case "enum":
                one = Phrase("arguments.one_of", values=_shown(error.validator_value))
                yield differs(path, one, _shown(error.instance))
            case _:
                yield f"{path}: {error.message[:_MAX_WORDS]}"


def _wanted(schema: dict[str, Any], name: str) -> str:
    kind: Any = schema.get("properties", {}).get(name, {})
    kind = kind.get("type") if isinstance(kind, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]  # JSON
    return "" if kind is None else _types(kind)


def _types(kind: Any) -> str:
    return " or ".join(cast("list[str]", kind)) if isinstance(kind, list) else str(kind)


def _path(steps: Iterable[int | str]) -> str:
    """`places[0].city`."""
    return "".join(f"[{s}]" if isinstance(s, int) else f".{s[:_MAX_SHOWN]}" for s in steps).lstrip(".") or "arguments"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
