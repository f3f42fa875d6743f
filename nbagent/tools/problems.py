"""Problems: what pydantic found wrong with a call's arguments, in words for the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError

Steps = tuple[int | str, ...]

_MAX_PROBLEMS = 20
_MAX_SHOWN = 100


def explain(error: ValidationError, received: Any, parameters: Mapping[str, Any]) -> str:
    """One line: for each wrong place its path, what was expected and what came, sorted by path.

    `received` is the parsed JSON, `parameters` the tool's JSON schema.
    """
    wrong: dict[tuple[Steps, str], list[str]] = {}
    for problem in error.errors(include_url=False, include_context=False):
        steps = _steps(problem["loc"], received, problem["type"])
        got = "nothing" if problem["type"] == "missing" else _shown(problem["input"])
        expected = wrong.setdefault((steps, got), [])  # several where a union tried each of its types
        if (words := _expected(cast("Any", problem), steps, parameters)) not in expected:
            expected.append(words)
    places = sorted(wrong, key=lambda place: ([(isinstance(step, str), step) for step in place[0]], place[1]))
    lines = [f"{_path(steps)}: expected {' or '.join(wrong[steps, got])}, got {got}" for steps, got in places]
    more = f"; and {len(lines) - _MAX_PROBLEMS} more" if len(lines) > _MAX_PROBLEMS else ""
    return "invalid arguments: " + "; ".join(lines[:_MAX_PROBLEMS]) + more


def _steps(location: Steps, received: Any, kind: str) -> Steps:
    """Where it is: only steps that the JSON has, since pydantic also names the branches of a union."""
    steps: list[int | str] = []
    node = received
    for number, step in enumerate(location, 1):
        if isinstance(node, dict) and step in node:
            node = cast("dict[str, Any]", node)[str(step)]
        elif isinstance(node, list) and isinstance(step, int) and step < len(cast("list[Any]", node)):
            node = cast("list[Any]", node)[step]
        elif not (kind == "missing" and number == len(location)):
            continue
        steps.append(step)
    return tuple(steps)


def _path(steps: Steps) -> str:
    """`places[0].city`."""
    return "".join(f"[{s}]" if isinstance(s, int) else f".{_cut(s)}" for s in steps).lstrip(".") or "arguments"


def _expected(problem: dict[str, Any], steps: Steps, parameters: Mapping[str, Any]) -> str:
    known: Mapping[str, Any] = parameters.get("properties", {})
    if problem["type"] == "missing":
        kind = known.get(str(steps[0]), {}).get("type") if len(steps) == 1 else None
        return f"a value of type {kind}" if isinstance(kind, str) else "a value"
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        top = len(problem["loc"]) == 1
        return f"no such argument (there are: {', '.join(known) or 'none'})" if top else "no such key"
    words = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return words.removeprefix("Input should be ") if words.startswith("Input should be ") else f"otherwise: {words}"


def _shown(value: Any) -> str:
    try:
        return _cut(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError):  # a validator of the tool's author may have put anything in place
        return f"a value of type {type(value).__name__}"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
