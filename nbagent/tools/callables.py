"""Callables: what kind of thing a tool is made of, and the function at its core."""

from __future__ import annotations

import functools
import inspect
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_LAYERS = 50
"""An object that wraps itself must not hang us."""


def layers(function: Any) -> Iterator[Any]:
    """The callable, what it wraps, what that wraps, and so on down to the function with the code."""
    for _ in range(_MAX_LAYERS):
        yield function
        if isinstance(function, functools.partial):
            function = cast("functools.partial[Any]", function).func
        elif isinstance(function, MethodType | staticmethod | classmethod):
            function = cast("Any", function).__func__
        elif (wrapped := getattr(function, "__wrapped__", None)) is not None:
            function = wrapped
        elif isinstance(function, FunctionType) or not isinstance(type(function).__call__, FunctionType):
            return
        else:
            function = type(function).__call__


def innermost(function: Any) -> FunctionType | None:
    """The Python function at the core, or None where there is none (built-in functions)."""
    *_, last = layers(function)
    return last if isinstance(last, FunctionType) else None


def code_of(function: Any) -> str:
    """Its source text, or where it comes from; nothing for what nbagent itself calls, which is no tool's own code."""
    core = innermost(function)
    if core is not None and (core.__module__ or "").partition(".")[0] == __name__.partition(".")[0]:
        return ""
    try:
        return inspect.getsource(cast("Any", type(function)) if core is None else core)
    except (OSError, TypeError):
        return source_of(function)


def bound_values(function: Any) -> str:
    """What `functools.partial` has put in place of arguments, as far as it is plain; what an object or a closure holds
    changes with every call, and is no part of a tool."""
    found: list[str] = []
    while isinstance(function, functools.partial):
        given = cast("functools.partial[Any]", function)
        found += [f"{name}={value!r}" for name, value in [*enumerate(given.args), *sorted(given.keywords.items())]
                  if value is None or isinstance(value, str | int | float)]  # fmt: skip
        function = given.func
    return ", ".join(found)


def bound_by_keyword(function: Any) -> set[str]:
    """The parameters that partials have filled by keyword."""
    keywords: list[dict[str, Any]] = [
        layer.keywords for layer in layers(function) if isinstance(layer, functools.partial)
    ]
    return {name for filled in keywords for name in filled}


def name_of(function: Any) -> str:
    """Its own name; of a partial that of its function, of an object that of its class."""
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    return getattr(function, "__name__", type(function).__name__)


def doc_of(function: Any) -> str | None:
    """Its docstring; of a partial that of its function, of an object that of `__call__`, else of its class."""
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    if isinstance(type(function).__call__, FunctionType) and not hasattr(function, "__name__"):
        return type(function).__call__.__doc__ or type(function).__doc__
    return function.__doc__


def source_of(function: Any) -> str:
    """Where it comes from, for error messages: `function add in module __main__`."""
    if isinstance(function, functools.partial):
        return f"partial of {source_of(cast('functools.partial[Any]', function).func)}"
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", None)
    if name is None:
        return f"object of class {type(function).__qualname__} in module {module}"
    return f"{'method' if isinstance(function, MethodType) else 'function'} {name} in module {module}"
