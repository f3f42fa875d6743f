"""A reflection in HTML: the draft, and each round with what it changed, old and new side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import step_words, words
from nbagent.views.difference import Difference
from nbagent.views.html import Section, classes, collapsible, steps_inside, title_html
from nbagent.views.html_turn import note, said
from nbagent.views.room import label
from nbagent.views.safe import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbagent.views.difference import Stretch
    from nbagent.views.place import Place
    from nbagent.views.rounds import Round
    from nbagent.views.trace import Step

_OPEN_ROUNDS = 4
"""With more rounds than this, all are closed."""
_MARKS = {"same": ("", ""), "out": ("<del>", "</del>"), "in": ("<ins>", "</ins>"), "cut": ("<small>", "</small>")}


def rounds_sections(place: Place, body: Callable[[Step], str]) -> Iterator[Section]:
    """`body`: what a call was told, and its turns."""
    rounds = place.rounds
    opened = len(rounds.rounds) <= _OPEN_ROUNDS
    for number, draft in enumerate(rounds.drafts):
        yield Section(f"draft {number}", _draft(draft, place, body))
    for each in rounds.rows(place.budget):
        if isinstance(each, tuple):
            left_out = f"<div><small>{title_html(place.rounds_left_out(each))}</small></div>"
            yield Section(f"rounds from {each[0].number}", left_out)
        else:
            yield Section(f"round {each.number}", _round(each, place, body, opened=opened))


def _draft(step: Step, place: Place, body: Callable[[Step], str]) -> str:
    return collapsible(f"<b>Draft</b>{_state(step, place)}", body(step), opened=True)


def _round(one: Round, place: Place, body: Callable[[Step], str], *, opened: bool) -> str:
    badge = f'<span class="{classes("nbagent-verdict", one.tone)}">{one.verdict}</span>'
    rows = said("critique", one.said, place.where_events) if one.said else ""
    if one.after is not None:
        rows += _sides(Difference.of(one.before, one.after))
    calls = "".join(_call(step, place, body) for step in one.steps)
    opened = opened or any(step.status is None for step in one.steps)
    return collapsible(f"<b>Round {one.number}</b> {badge}", rows + steps_inside(calls), one.tone, opened=opened)


def _call(step: Step, place: Place, body: Callable[[Step], str]) -> str:
    name = step_words.step_name(step).capitalize()
    return collapsible(f"<b>{name} call</b>{_state(step, place)}", body(step), opened=step.status is None)


def _state(step: Step, place: Place) -> str:
    reason = step_words.failure(step)
    said = place.about(step) + (f": {label(reason)}" if reason else "")
    turns = words.count(len(step.turns), "turn")
    return f" <small>{said}{said and ' · '}{turns}</small>"


def _sides(difference: Difference) -> str:
    if not difference.places:
        return note("changes", "none")
    old, new = (_side(name, part) for name, part in (("before", difference.before), ("after", difference.after)))
    return f'<div class="nbagent-sides">{old}{new}</div>'


def _side(name: str, stretches: Iterable[Stretch]) -> str:
    return f'<div><small>{name}</small><pre class="nbagent-say">{marked_html(stretches)}</pre></div>'


def marked_html(stretches: Iterable[Stretch]) -> str:
    """A text with what was taken out of it and what came in."""
    return "".join(escape(stretch.shown).join(_MARKS[stretch.kind]) for stretch in stretches)
