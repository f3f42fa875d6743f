"""The timeline of a run in HTML: a line that says what a run did, and below it the bar of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.chart import bar_of_calls
from nbagent.views.kinds import legend
from nbagent.views.room import label
from nbagent.views.words import count

if TYPE_CHECKING:
    from nbagent.views.kinds import Kind
    from nbagent.views.timeline import Row, Timeline

_ENTRIES: tuple[tuple[Kind, str, str], ...] = (("reply", "", "model calls"), ("tool result", "", "tool calls"))
_INDENT = chr(0xA0) * 4


def timeline_html(timeline: Timeline) -> str:
    rows = "".join(_row(row, timeline.span) for row in timeline.rows)
    rest = f"<p><small>and {count(timeline.more, 'more run')} inside</small></p>" if timeline.more else ""
    pieces = [piece for row in timeline.rows for piece in row.pieces]
    kinds = {piece.kind for piece in pieces}
    entries = [entry for entry in _ENTRIES if entry[0] in kinds]
    errors = " Striped: an error, or a reply that is not whole." if any(piece.failed for piece in pieces) else ""
    said = "As wide as their texts are long; no times."
    grouped = max(row.group for row in timeline.rows)
    groups = f" Up to {grouped} turns stand together." if grouped > 1 else ""
    return f"<p><small>{said}{groups}{errors}</small></p>{rows}{rest}{legend(entries)}"


def _row(row: Row, span: int) -> str:
    inside = f"{_INDENT * row.depth}↳ " if row.depth else ""
    name = f"<b>{label(row.agent)}</b> " if row.agent else ""
    return f"<p>{inside}{name}<small>{row.line}</small></p>{bar_of_calls(row.pieces, span, f'Timeline: {row.line}.')}"
