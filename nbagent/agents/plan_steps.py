"""Plan steps: what an answer says is to be done, read from its value in JSON."""

from __future__ import annotations

from typing import Any, cast

from nbagent.agents.plan_marker import unnumbered
from nbagent.prompt.formatters.strict import Broken, as_object
from nbagent.texts.phrase import Phrase
from nbagent.values import Struct

_KEYS = ("steps", "plan")
_TITLES = ("step", "title", "task")


class Plan(Struct, frozen=True):
    """What an answer says is to be done."""

    steps: tuple[str, ...]
    """Each in one line. There may be none."""
    repairs: tuple[str, ...] = ()
    """What had to be done to the text for it: `took the list out of the text around it`."""


def steps_of(value: Any) -> tuple[str, ...]:
    """The steps that a list, or an object with one, names; raises Broken where that says no plan."""
    return tuple([text for n, step in enumerate(_listed(value), 1) if (text := _step(step, n))])


def _listed(value: Any) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)
    found = as_object(value)
    given = [key for key in _KEYS if key in found]
    steps = next((found[key] for key in given if isinstance(found[key], list)), None)
    if given and steps is None and all(found[key] in (None, "") for key in given):
        return []
    if found and steps is None:
        raise Broken(Phrase("plan.not_a_list", key=given[0]) if given else Phrase("plan.no_key"))
    return steps or []


def _step(step: Any, number: int) -> str:
    if isinstance(step, dict):
        step = _described(cast("dict[str, Any]", step))
    if isinstance(step, str):
        return unnumbered(step)
    if isinstance(step, bool) or not isinstance(step, int | float):
        raise Broken(Phrase("plan.not_a_text", number=str(number)))
    try:
        return str(step)
    except ValueError as error:  # an integer of more digits than Python writes
        raise Broken(Phrase("plan.step_wrong", number=str(number), problem=str(error))) from None


def _described(step: dict[str, Any]) -> str | None:
    """The title and the description, as far as they are there; None where both are missing."""
    texts = [text for key in (*_TITLES, "description") if isinstance(text := step.get(key), str)]
    said = [text for one in texts if (text := one.strip(" .:：。\n")) and not text.isdigit()]
    description = step.get("description")
    if len(said) > 1 and texts[-1] == description:
        return f"{said[0]}: {description}"
    return said[0] if said else texts[0] if texts else None
