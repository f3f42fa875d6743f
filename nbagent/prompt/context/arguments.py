"""Arguments: what the constructors here are given, checked; ConfigError says what was expected, and what came."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from nbagent.errors import FOREIGN, ConfigError
from nbagent.text import without_addresses


def flag(value: object, what: str) -> bool:
    """`value`, which has to be True or False."""
    if not isinstance(value, bool):
        raise unexpected(what, "True or False", value)
    return value


def text(value: object, what: str) -> str:
    """`value`, which has to be a str with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise unexpected(what, "a text that is not blank", value)
    return value


def count(value: object, what: str, *, least: int = 1) -> int:
    """`value`, which has to be an int of at least `least`; a bool is none."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise unexpected(what, f"a whole number of at least {least}", value)
    return value


def cosine(value: object, what: str) -> float:
    """`value`, which has to be a number from -1 to 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not -1 <= value <= 1:
        raise unexpected(what, "a number from -1 to 1", value)
    return float(value)


def packages(modules: tuple[str, ...], who: str, extra: str) -> None:
    """Nothing, where all modules can be imported; it imports none of them."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ConfigError(f'{who} needs {" and ".join(missing)}: pip install "jupyter-nbagent[{extra}]"')


def unexpected(what: str, expected: str, got: object) -> ConfigError:
    return ConfigError(f"{what}: expected {expected}, got {shown(got)}")


def shown(value: Any) -> str:
    """What came, for an error: its type and, in short, its repr."""
    if value is None:
        return "None"
    try:
        words = " ".join(without_addresses(repr(value)).split())
    except FOREIGN:  # a repr is the user's code
        return type(value).__name__
    return f"{type(value).__name__}: {words if len(words) <= 80 else f'{words[:79]}…'}"
