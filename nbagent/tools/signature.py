"""Signature: the parameters of a callable that a model sees, with their types resolved."""

from __future__ import annotations

import inspect
import typing
from dataclasses import dataclass
from typing import Any

from nbagent.errors import FOREIGN, ToolDefinitionError
from nbagent.tools.callables import bound_by_keyword, innermost, source_of

if typing.TYPE_CHECKING:
    from types import FrameType, FunctionType

REQUIRED = inspect.Parameter.empty
"""The default of a parameter that has none."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that a model fills."""

    name: str
    hint: Any
    """Its annotation, no longer a string."""
    default: Any
    positional: bool
    """Whether it can only be passed by position."""


def parameters(function: Any, tool: str) -> tuple[Parameter, ...]:
    """What `function` takes, in order, without `*args`, `**kwargs` and what a partial has filled by keyword.

    Raises ToolDefinitionError where a parameter has no annotation, or one that cannot be resolved.
    """
    return tuple(
        Parameter(p.name, _hint(p, function, tool), p.default, p.kind is p.POSITIONAL_ONLY)
        for p in _visible(function, tool)
    )


def _visible(function: Any, tool: str) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError, NameError) as error:
        raise ToolDefinitionError(
            f"tool {tool!r}: the parameters of this {source_of(function)} cannot be read ({error}); "
            f"wrap it in a function with annotated parameters"
        ) from error
    hidden = bound_by_keyword(function)
    left_out = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p for p in signature.parameters.values() if p.kind not in left_out and p.name not in hidden]


def _hint(parameter: inspect.Parameter, function: Any, tool: str) -> Any:
    where = f"tool {tool!r}: parameter {parameter.name!r}"
    name, annotation = parameter.name, parameter.annotation
    if annotation is REQUIRED:
        if name in {"self", "cls"}:
            raise ToolDefinitionError(f"{where}: a method needs its object; take it from one, as in thing.{tool}")
        raise ToolDefinitionError(f"{where} has no type; write {name}: str, or {name}: Any to accept everything")
    try:
        return _resolved(name, annotation, innermost(function))
    except FOREIGN as error:
        raise ToolDefinitionError(
            f"{where}: its type {annotation!r} cannot be found ({type(error).__name__}: {error}); "
            f"define or import it before the function, at the top level"
        ) from error


def _resolved(name: str, annotation: Any, function: FunctionType | None) -> Any:
    # One parameter at a time, so that an error can say which.
    def carrier() -> None: ...

    carrier.__annotations__ = {name: annotation}
    local = _local_names(function) if function and "<locals>" in function.__qualname__ else {}
    known = function.__globals__ if function else {}
    return typing.get_type_hints(carrier, known, local, include_extras=True)[name]


def _local_names(function: FunctionType) -> dict[str, Any]:
    """The variables of the functions around it, which string annotations may mean.

    Python keeps only those that the code uses, in its closure; the others are found where the function around is still
    running, as it is when a decorator inside it runs.
    """
    parts = function.__qualname__.split(".<locals>")[:-1]
    around = {".<locals>".join(parts[: n + 1]) for n in range(len(parts))}
    names: dict[str, Any] = {}
    frame: FrameType | None = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_qualname in around and frame.f_globals is function.__globals__:
            names = {**frame.f_locals, **names}
        frame = frame.f_back
    return {**names, **_closure(function)}


def _closure(function: FunctionType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # empty so far: a function that calls itself is being decorated
            continue
    return found
