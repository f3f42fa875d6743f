"""Bundle: a run as the MIME bundle that a notebook saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.card import Card, card_html, card_outline
from nbagent.views.html_run import html
from nbagent.views.markdown import blocks_markdown
from nbagent.views.place import Place
from nbagent.views.text import blocks_text
from nbagent.views.trace import Trace
from nbagent.views.transcript import transcript

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbagent.events import Event
    from nbagent.messages import Image


def bundle(events: Iterable[Event]) -> dict[str, str]:
    """The run in all three formats; any prefix of a journal will do."""
    place = Place.of(Trace.of(events))
    blocks = tuple(transcript(place))
    return {"text/html": html(place), "text/markdown": blocks_markdown(blocks), "text/plain": blocks_text(blocks)}


def figures(events: Iterable[Event]) -> tuple[Image, ...]:
    """The images of all observations in order, as the trace numbers them; to be displayed after the bundle."""
    return Trace.of(events).images


def agent_bundle(card: Card) -> dict[str, str]:
    """An agent that has not run, in the same formats."""
    blocks = tuple(card_outline(card))
    return {"text/html": card_html(card), "text/markdown": blocks_markdown(blocks), "text/plain": blocks_text(blocks)}
