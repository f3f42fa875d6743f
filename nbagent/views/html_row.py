"""Rows: what the steps of the HTML view are made of, a label on the left and text on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.ends import whole_or_ends
from nbagent.views.words import Tone, count

if TYPE_CHECKING:
    from nbagent.views.block import Title

_LONG = 2_000
"""Characters; what is longer starts closed."""


def row(label: str, content: str) -> str:
    """A label of ours, and content that is HTML already."""
    return f"<div><i>{label}</i>{content}</div>"


def fold(label: str, text: str, note: str = "", tone: Tone = "", *, where: Title = (), value: str = "") -> str:
    """A row of text from outside that opens and closes. `where`: how to see all of a long one. `value`: HTML in
    place of the text, which holds it, too."""
    is_open = len(text) < _LONG
    notes = ", ".join(n for n in (note, "" if is_open else count(len(text), "character")) if n)
    coloured = f" nbagent-{tone}" if tone else ""
    made = f'<pre class="nbagent-out{coloured}">{whole_or_ends(text, where)}</pre>'
    shown = f"<div>{value}</div>" if value else made if text else "<p><small>empty</small></p>"
    said = f'<span class="nbagent-toned{coloured}">{notes}</span>' if tone else notes
    return details(label, said, shown, is_open=is_open)


def details(label: str, note: str, content: str, *, is_open: bool = False) -> str:
    """A row that opens and closes; note and content are HTML already."""
    attributes = ("" if note else ' class="nbagent-plain"') + (" open" if is_open else "")
    said = f" <small>{note}</small>" if note else ""
    return f"<details{attributes}><summary><i>{label}</i>{said}</summary>{content}</details>"
