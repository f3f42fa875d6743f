"""Names: several names, as a caller lists them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbagent.errors import ConfigError


def names_of(what: str, given: Any) -> tuple[str, ...]:
    """The names in their order, each once. Raises ConfigError for a lone one, and for what is no text.

    `what`: which option it is, for the error.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigError(f"{what}: expected a list of names, got {type(given).__name__}: {given!r}; write [{given!r}]")
    names: list[Any] = list(given)  # pyright: ignore[reportUnknownArgumentType]
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise ConfigError(f"{what}: expected names, got {type(wrong).__name__}: {wrong!r}; a name is a text")
    return tuple(dict.fromkeys(names))
