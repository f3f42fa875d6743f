"""Problems: what pydantic found wrong with a call's arguments, in words for the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic import ValidationError

    from nbagent.texts.pack import Filling

Steps = tuple[int | str, ...]

_MAX_PROBLEMS = 20
_MAX_SHOWN = 100


def explain(error: ValidationError, received: Any, parameters: Mapping[str, Any]) -> Phrase:
    """One line: for each wrong place its path, what was expected and what came, sorted by path.

    `received` is the parsed JSON, `parameters` the tool's JSON schema.
    """
    wrong: dict[tuple[Steps, str], list[Filling]] = {}
    for problem in error.errors(include_url=False, include_context=False):
        steps = _steps(problem["loc"], received, problem["type"])
        got = "" if problem["type"] == "missing" else _shown(problem["input"])
        expected = wrong.setdefault((steps, got), [])  # several where a union tried each of its types
        if (words := _expected(cast("Any", problem), steps, parameters)) not in expected:
            expected.append(words)
    places = sorted(wrong, key=lambda place: ([(isinstance(step, str), step) for step in place[0]], place[1]))
    return invalid([differs(_path(steps), either(wrong[steps, got]), got) for steps, got in places])


def invalid(problems: Sequence[Filling]) -> Phrase:
    """What is wrong with the arguments: of many problems the first ones."""
    told = list(problems[:_MAX_PROBLEMS])
    if len(problems) > _MAX_PROBLEMS:
        told.append(Phrase("arguments.more", count=str(len(problems) - _MAX_PROBLEMS)))
    return Phrase("arguments.invalid", problems=Phrase.joined("; ", told))


def differs(place: str, expected: Filling, got: str) -> Phrase:
    """What was expected in a place, and what came; "" where that is nothing."""
    return Phrase("arguments.wrong", place=place, expected=expected, came=got or Phrase("arguments.nothing"))


def either(words: Sequence[Filling]) -> Filling:
    """One of these."""
    found = words[0]
    for other in words[1:]:
        found = Phrase("arguments.or", one=found, other=other)
    return found


def no_argument(known: Iterable[str]) -> Phrase:
    """That there is no argument of this name. `known`: those that there are."""
    names = ", ".join(known)
    return Phrase("arguments.no_argument", names=names) if names else Phrase("arguments.no_arguments")


def value_of(kind: str) -> Phrase:
    """A value of a type; of any where it is empty."""
    return Phrase("arguments.value_of", type=kind) if kind else Phrase("arguments.value")


def unchecked(error: BaseException) -> Phrase:
    """What checks the arguments has failed itself."""
    return Phrase("arguments.unchecked", problem=f"{type(error).__name__}: {error}")


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


def _expected(problem: dict[str, Any], steps: Steps, parameters: Mapping[str, Any]) -> Filling:
    known: Mapping[str, Any] = parameters.get("properties", {})
    if problem["type"] == "missing":
        kind = known.get(str(steps[0]), {}).get("type") if len(steps) == 1 else None
        return value_of(kind if isinstance(kind, str) else "")
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return no_argument(known) if len(problem["loc"]) == 1 else Phrase("arguments.no_key")
    words = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    said = words.removeprefix("Input should be ")
    return said if said != words else Phrase("arguments.otherwise", problem=words)


def _shown(value: Any) -> str:
    try:
        return _cut(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError):  # a validator of the tool's author may have put anything in place
        return f"a value of type {type(value).__name__}"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
