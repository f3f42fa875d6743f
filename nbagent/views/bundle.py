"""Bundle: a run as the MIME bundle that a notebook saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.budget import BRIEF, LESS
from nbagent.views.card import Card, card_html, card_outline
from nbagent.views.html_run import html
from nbagent.views.markdown import blocks_markdown
from nbagent.views.place import Place
from nbagent.views.text import blocks_text
from nbagent.views.trace import Trace
from nbagent.views.transcript import transcript

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nbagent.events import Event
    from nbagent.messages import Image


LONG = (12, 60)
"""With more steps than this, or more turns, a run is long."""
LIMIT = 300_000
"""Bytes that a long one may take in a saved notebook; its answer and what its ends have said are whole all the same."""
_LINE = 14
"""Bytes that a notebook takes for a line, beside its text."""


def bundle(events: Iterable[Event]) -> dict[str, str]:
    """The run in all three formats; any prefix of a journal will do.

    Of a long run as much is whole as it takes to stay within `LIMIT`. The plain text of a long plan is
    brief: it is what a log of CI shows.
    """
    trace = Trace.of(events)
    place = Place.of(trace)
    if not _is_long(place):
        return _shown(place)
    text = blocks_text(transcript(Place.of(trace, BRIEF)), brief=True) if place.checklist.items else None
    shown, smaller = _shown(place, text), iter(LESS)
    while _saved(shown) > LIMIT and (near := next(smaller, None)):
        shown = _shown(Place.of(trace, near), text)
    return shown


def _shown(place: Place, text: str | None = None) -> dict[str, str]:
    """`text`: the plain text, where it is not that of all that is whole."""
    blocks = tuple(transcript(place))
    plain = blocks_text(blocks) if text is None else text
    return {"text/html": html(place), "text/markdown": blocks_markdown(blocks), "text/plain": plain}


def _is_long(place: Place) -> bool:
    steps, turns = LONG
    return len(place.checklist.items) > steps or place.budget.turns > turns


def _saved(shown: Mapping[str, str]) -> int:
    """About how many bytes a notebook takes for it."""
    return sum(len(text.encode()) + text.count("\n") * _LINE + text.count('"') for text in shown.values())


def figures(events: Iterable[Event]) -> tuple[Image, ...]:
    """The images of all observations in order, as the trace numbers them; to be displayed after the bundle."""
    return Trace.of(events).images


def agent_bundle(card: Card) -> dict[str, str]:
    """An agent that has not run, in the same formats."""
    blocks = tuple(card_outline(card))
    return {"text/html": card_html(card), "text/markdown": blocks_markdown(blocks), "text/plain": blocks_text(blocks)}
