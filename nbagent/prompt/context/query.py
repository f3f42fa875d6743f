"""Query: the text that providers are asked for, found in what the agent is given."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import FOREIGN
from nbagent.text import without_addresses

if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS = ("input", "task", "task_description", "question", "query", "message", "content", "text")
"""The inputs that are likely to be what the agent is asked, the likeliest first (the order is masfactory's)."""


def query_text(inputs: Mapping[str, Any], message: str) -> str:
    """The first that is a str and not blank: one of the inputs in `KEYS`, the rendered message, the only input.

    Where there is none: all inputs as compact JSON with sorted keys; what JSON does not know is its str.
    """
    only = tuple(inputs.values()) if len(inputs) == 1 else ()
    for value in (*(inputs.get(key) for key in KEYS), message, *only):
        if isinstance(value, str) and value.strip():
            return value
    return _json(inputs)


def _json(inputs: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(dict(inputs), ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_plain)
    except FOREIGN:  # it contains itself, its keys cannot be sorted, or its str fails
        return " ".join(sorted(map(str, inputs)))
    return without_addresses(text)


def _plain(value: object) -> Any:
    if isinstance(value, set | frozenset):  # its order differs in each process
        return sorted(str(one) for one in cast("set[object]", value))
    return str(value)
