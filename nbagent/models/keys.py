"""Keys: where a provider's key is found. It is looked up anew for each request and kept nowhere."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from nbagent.errors import ConfigError, MissingKey
from nbagent.redact import know
from nbagent.redact.known import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable

_TOO_SHORT = 8
_QUOTES = "\"'`“”‘’"


class Settings:
    """Where else than in the environment keys are looked for."""

    dotenv: bool = False
    """Whether a file `.env` of the working directory, or one above it, is read."""
    ask: Callable[[str], str] | None = None
    """Asks a person; None where nobody is there."""


settings = Settings()


class Key:
    """The way to a key. It has no repr that shows it, and cannot be pickled or copied."""

    def __init__(self, variable: str, read: Callable[[], str | None]) -> None:
        self.variable = variable
        self._read = read

    def reveal(self) -> str:
        """The key. Raises ConfigError where there is none any more, or it cannot be one."""
        value = self._read()
        if value is None:
            raise missing(self.variable)
        check(value, self.variable)
        know(value, self.variable)
        return value

    def __repr__(self) -> str:
        return f"Key({self.variable!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not pickled or copied")


def find(variable: str) -> Key | None:
    """The key of this name: from the environment, a `.env` file where that is asked for, the keyring, Colab's secrets.

    None where there is none.
    """
    for read in (_environment, _dotenv, _keyring, _colab):
        if read(variable) is not None:
            return Key(variable, lambda read=read: read(variable))
    return None


def find_or_ask(variable: str, ask: bool = True) -> Key:
    """`find`, and with `ask` a question to the person where there is one. Raises MissingKey where there is no key."""
    key = find(variable)
    if key is None and ask and settings.ask is not None:
        answer = settings.ask(f"{variable} (not shown, not saved): ")
        if answer.strip():
            key = _given(variable, answer.strip())
    if key is None:
        raise missing(variable)
    key.reveal()
    return key


def later(variable: str) -> Key:
    """A key that is looked for when it is needed."""

    def read() -> str | None:
        found = find(variable)
        return found and found.reveal()

    return Key(variable, read)


def _given(variable: str, value: str) -> Key:
    return Key(variable, lambda: value)


def missing(variable: str) -> MissingKey:
    return MissingKey(
        f"no key: the environment variable {variable} is not set. Set it before Jupyter starts, or put it into a file "
        ".env and run `%config NBAgent.dotenv = True`"
    )


def check(value: str, variable: str) -> None:
    """Raises ConfigError for what is surely no key; never shows it."""
    problem = _problem(value)
    if problem:
        raise ConfigError(f"{variable} holds no key: {problem}")


def _problem(value: str) -> str:
    if not value.strip():
        return "it is empty"
    if value != value.strip() or re.search(r"\s", value):
        return "there is white space in it; remove it"
    if value[0] in _QUOTES or value[-1] in _QUOTES:
        return "there are quotes around it; remove them"
    if VARIABLE.fullmatch(value):
        return "it looks like the name of a variable; put the key itself there"
    if re.search(r"(?i)your.?(api.?)?key|<.*>|^x+$|\.\.\.|…", value):
        return "it looks like a placeholder; put the key itself there"
    if not value.isascii():
        return "there are characters in it that no key has"
    return "it is too short" if len(value) < _TOO_SHORT else ""


def _environment(variable: str) -> str | None:
    return os.environ.get(variable) or None


def _dotenv(variable: str) -> str | None:
    if not settings.dotenv:
        return None
    try:
        from dotenv import dotenv_values, find_dotenv
    except ImportError:
        raise ConfigError('reading .env needs python-dotenv: pip install "jupyter-nbagent[keys]"') from None
    return dotenv_values(find_dotenv(usecwd=True)).get(variable) or None


def _keyring(variable: str) -> str | None:
    try:
        keyring: Any = import_module("keyring")
        errors: Any = import_module("keyring.errors")
    except ImportError:
        return None
    try:
        return keyring.get_password("nbagent", variable) or None
    except (errors.KeyringError, RuntimeError):  # no keyring runs here
        return None


def _colab(variable: str) -> str | None:
    if "google.colab" not in sys.modules:
        return None
    userdata: Any = sys.modules["google.colab"].userdata
    try:
        return userdata.get(variable) or None
    except Exception:  # noqa: BLE001  not there, or no leave to read it: Colab has several errors for that
        return None
