"""Sections: a run while it goes on, in pieces that change on their own. They are the pieces of the static output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.html import Section, collapsible
from nbagent.views.html_run import after_turns, before_turns, head_html, turn_html, turns_title
from nbagent.views.html_turn import gist

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nbagent.views.place import Place
    from nbagent.views.trace import Turn

BATCH = 25
"""So many turns become one section, when they are over."""
RECENT = 10
"""So many of those that are over stay sections of their own at least."""
BATCHES = 10
"""So many batches become one section, in which each turn has a line."""
_NEWEST = 2
"""So many batches are whole at least."""
_OPEN = 8
"""With more turns than this, those that are over are closed."""
_MOST = 96 * 1024
"""Characters of a batch; of a longer one each turn has a line."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Turns that belong together: a section each, or one for all of them."""

    key: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Sections:
    """A run, from top to bottom. A section that has nothing to show is empty."""

    head: str
    before: tuple[Section, ...]
    batches: tuple[Batch, ...]
    after: tuple[Section, ...]


class Sectioned:
    """Makes the sections of one run, again and again. What is over is drawn once."""

    def __init__(self) -> None:
        self._drawn: dict[str, Section] = {}

    def of(self, place: Place, status: str) -> Sections:
        """The sections as they are now. `status`: what happens, as HTML of ours."""
        goes_on = place.trace.status is None and not place.waiting
        head = f"{head_html(place, status if goes_on else '')}{_turns_bar(place)}"
        return Sections(
            head,
            tuple(before_turns(place)),
            tuple(self._batches(place)),
            tuple(_without_end(place, after_turns(place))),
        )

    def _batches(self, place: Place) -> Iterator[Batch]:
        turns = place.trace.turns
        whole = max((len(turns) - 1 - RECENT) // BATCH, 0)
        older = max((whole - _NEWEST) // BATCHES, 0)
        size = BATCH * BATCHES
        for first in range(0, older * size, size):
            yield self._folded(turns[first : first + size], place, is_brief=True)
        for first in range(older * size, whole * BATCH, BATCH):
            yield self._folded(turns[first : first + BATCH], place)
        for first in range(whole * BATCH, len(turns), BATCH):
            some = turns[first : first + BATCH]
            yield Batch(_key(some), tuple(self._turn(turn, place, is_last=turn is turns[-1]) for turn in some))

    def _turn(self, turn: Turn, place: Place, *, is_last: bool) -> Section:
        key = f"turn {turn.number}"
        if is_last:  # it still changes
            return Section(key, turn_html(turn, place, opened=True))
        return self._once(key, lambda: turn_html(turn, place, opened=turn.number <= _OPEN))

    def _folded(self, turns: Sequence[Turn], place: Place, *, is_brief: bool = False) -> Batch:
        def drawn() -> str:
            whole = "" if is_brief else "".join(self._turn(turn, place, is_last=False).html for turn in turns)
            inner = whole if whole and len(whole) <= _MOST else "".join(_brief(turn, place) for turn in turns)
            for turn in turns:
                self._drawn.pop(f"turn {turn.number}", None)
            return collapsible(turns_title(turns), f'<div class="nbagent-steps">{inner}</div>')

        return Batch(_key(turns), (self._once(f"turns {turns[0].number} to {turns[-1].number}", drawn),))

    def _once(self, key: str, draw: Callable[[], str]) -> Section:
        if key not in self._drawn:
            self._drawn[key] = Section(key, draw())
        return self._drawn[key]


def _key(turns: Sequence[Turn]) -> str:
    return f"from turn {turns[0].number}"


def _brief(turn: Turn, place: Place) -> str:
    about = gist(turn, place.trace)
    return f"<div><b>Turn {turn.number}</b> <small>{about}</small></div>"


def _without_end(place: Place, sections: Iterator[Section]) -> Iterator[Section]:
    """A run that goes on does not say that it has not finished."""
    for section in sections:
        if section.key != "end" or place.trace.status is not None or place.waiting:
            yield section


def _turns_bar(place: Place) -> str:
    """How many of its turns a run has used; of a plan the steps say how far it is."""
    trace = place.trace
    if trace.is_workflow or not trace.max_turns or not trace.turns:
        return ""
    number = len(trace.turns)
    said = f"turn {number:,} of at most {words.count(trace.max_turns, 'turn')}"
    bar = f'<progress value="{number}" max="{trace.max_turns}" aria-label="{said}"></progress>'
    return f'<div class="nbagent-progress">{bar}<small>{said}</small></div>'
