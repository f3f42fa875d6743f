"""Rows: what the steps of the HTML view are made of, a label on the left and text on the right."""

from __future__ import annotations

from nbagent.views.safe import escape
from nbagent.views.words import Tone, count

_LONG = 2_000
"""Characters; what is longer starts closed."""


def row(label: str, content: str) -> str:
    """A label of ours, and content that is HTML already."""
    return f"<div><i>{label}</i>{content}</div>"


def fold(label: str, text: str, note: str = "", tone: Tone = "") -> str:
    """A row of text from outside that opens and closes."""
    is_open = len(text) < _LONG
    notes = ", ".join(n for n in (note, "" if is_open else count(len(text), "character")) if n)
    coloured = f" nbagent-{tone}" if tone else ""
    shown = f'<pre class="nbagent-out{coloured}">{escape(text)}</pre>' if text else "<p><small>empty</small></p>"
    said = f'<span class="nbagent-toned{coloured}">{notes}</span>' if tone else notes
    return details(label, said, shown, is_open=is_open)


def details(label: str, note: str, content: str, *, is_open: bool = False) -> str:
    """A row that opens and closes; note and content are HTML already."""
    attributes = ("" if note else ' class="nbagent-plain"') + (" open" if is_open else "")
    said = f" <small>{note}</small>" if note else ""
    return f"<details{attributes}><summary><i>{label}</i>{said}</summary>{content}</details>"
