"""Plan reading: the steps of a plan out of a model's answer, with as little repair as it takes, each with a note."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from nbagent.agents.plan_lines import Lines
from nbagent.agents.plan_objects import form_of, founds_in, plan_in
from nbagent.agents.plan_spans import Spans
from nbagent.agents.plan_steps import Plan, steps_of
from nbagent.prompt.formatters.reading import unreadable
from nbagent.prompt.formatters.strict import Broken, parse
from nbagent.prompt.formatters.thinking import without_thinking
from nbagent.texts.phrase import Phrase, phrase_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def read_plan(text: str) -> Plan:
    """The plan that the answer says; raises Unreadable, which is for the model.

    The answer is asked to be `{"steps": ["…", "…"]}`; `plan` as the key, other keys beside it, and the list alone are
    as good. With a note of what was done the same is read in a code fence, between other text, with the faults that
    the ladder mends, and as Python writes it; and so are lines that begin with `1.`, `1)`, `1:`, `①`, `Step 1:`,
    `第1步：`, `一、`, `-` or `*`. Of several, objects with that key come first, then lists on lines of their own, then
    lines and lists in a sentence, and of each kind what is last. Two lists made of lines are refused: which is the
    plan cannot be told.

    A line below such a step belongs to it where it is indented, or a part of it, or runs on to the next step; other
    lines are left out. A step may be an object with a text as `step`, `title` or `task`, as `description`, or both. Its
    number, and steps without any text, are left out.
    """
    plain = without_thinking(text)
    try:
        plan = _plan(plain.text)
    except Broken as error:
        expected, advice = Phrase("plan.expected"), Phrase("answer.object_again")
        raise unreadable(text, expected=expected, wrong=phrase_of(error), advice=advice) from None
    return Plan(plan.steps, (*plain.repairs, *plan.repairs))


def _plan(text: str) -> Plan:
    try:
        value = parse(text)
    except Broken:
        return _repaired(text)
    return Plan(steps_of(value))


def _repaired(text: str) -> Plan:
    wrong: Phrase | str = ""
    for way in sorted(_ways(text), key=lambda way: way.likeliness, reverse=True):
        try:
            return way.read()
        except Broken as error:
            wrong = wrong or phrase_of(error)
    raise Broken(wrong or Phrase("plan.no_list"))


class _Way(NamedTuple):
    """What may be the plan."""

    likeliness: tuple[int, int]
    """Of what form it is, and where it begins."""
    read: Callable[[], Plan]


def _ways(text: str) -> Iterator[_Way]:
    lines = Lines(text)
    founds = [found for found in founds_in(text) if found.start not in lines.covered]
    end = len(text.rstrip())
    for found in founds:
        form = form_of(found, text)
        if form >= 0 or found.alone or found.end == end:
            yield _Way((form, found.start), partial(plan_in, found))
    taken = Spans((found.start, found.end) for found in founds)
    if steps := [step for step in lines.steps if step.start not in taken]:
        yield _Way((0, steps[0].start), partial(lines.plan, steps))
