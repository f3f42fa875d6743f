"""Naming: a server's names of tools as names that every model takes: letters, digits, _ and -, at most 64."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from nbagent.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MOST = 64


def valid_names(names: Iterable[str], prefix: str = "") -> list[str]:
    """One valid name for each, in order; a name that is taken already gets `_2`, `_3` and so on."""
    taken: dict[str, None] = {}
    for name in names:
        plain = re.sub(r"[^a-zA-Z0-9_-]", "_", prefix + name)[:_MOST] or "_"
        chosen, number = plain, 1
        while chosen in taken:
            number += 1
            chosen = f"{plain[: _MOST - len(str(number)) - 1]}_{number}"
        taken[chosen] = None
    return list(taken)


def chosen(names: Sequence[str], patterns: Sequence[str], server: str) -> list[bool]:
    """Which of the names are meant by the patterns (`read*`), all of them where there is no pattern.

    Raises ConfigError for a pattern that fits none.
    """
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ConfigError(
                f"the MCP server {server!r} has no tool {pattern!r}; it has: {', '.join(names) or 'none at all'}"
            )
    return [not patterns or any(fnmatchcase(name, pattern) for pattern in patterns) for name in names]
