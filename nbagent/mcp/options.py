"""Options: what a server is described with, checked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from nbagent.errors import ConfigError
from nbagent.mcp.target import Address, Command

if TYPE_CHECKING:
    from os import PathLike

    from nbagent.mcp.target import Target

_USAGE = "an MCP server is MCPServer(command='…', args=[…]) or MCPServer(url='https://…')"


def checked_target(command: Any, url: Any, *, args: Any, env: Any, cwd: Any, headers: Any) -> Target:
    """Where the server is; raises ConfigError for what does not go together or is of the wrong type."""
    if (command is None) == (url is None):
        raise ConfigError(f"{_USAGE}; got {'neither' if url is None else 'both'}")
    if url is not None:
        if args or env or cwd is not None:
            raise ConfigError("args, env and cwd go with command=; the server at a url runs already")
        return Address(_checked_url(url), _checked_texts("headers", headers))
    if headers:
        raise ConfigError("headers go with url=; a command gets what it needs by env= and args=")
    if isinstance(args, str) or not isinstance(args, Sequence):
        raise ConfigError(f"args: expected a list of texts such as ['server.py', '--quiet'], got {type(args).__name__}")
    texts = tuple(_checked_path("args", each) for each in cast("Sequence[Any]", args))
    folder = None if cwd is None else _checked_path("cwd", cwd)
    return Command(_checked_command(command), texts, _checked_texts("env", env), folder)


def _checked_command(command: Any) -> str:
    text = _checked_path("command", command)
    if "://" in text:
        raise ConfigError(f"command: expected a program, got an address; write {_USAGE}")
    if not text.strip():
        raise ConfigError("command: expected a program, got an empty text")
    return text


def _checked_path(key: str, value: Any) -> str:
    if isinstance(value, str | os.PathLike):
        return os.fsdecode(cast("str | PathLike[str]", value))
    raise ConfigError(f"{key}: expected text or a path, got {type(value).__name__}")


def _checked_url(url: Any) -> str:
    if isinstance(url, str) and urlsplit(url).scheme in {"http", "https"} and urlsplit(url).netloc:
        return url
    raise ConfigError("url: expected an address such as 'https://example.org/mcp', with http:// or https:// in front")


def _checked_texts(key: str, values: Any) -> dict[str, str]:
    """Names and texts. What is wrong is named by its key alone: the value may be a secret."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise ConfigError(f"{key}: expected a dict of texts, got {type(values).__name__}")
    known = cast("Mapping[Any, Any]", values)
    for name, value in known.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise ConfigError(f"{key}: expected texts, got {type(value).__name__} for {name!r}")
    return dict(known)


def checked_seconds(key: str, seconds: Any) -> float:
    """A limit of time; raises ConfigError."""
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0:
        return float(seconds)
    raise ConfigError(f"{key}: expected a number of seconds above 0, got {seconds!r}")
