"""Chart: stacked bars as SVG, of nothing but our own numbers. What they show is also said in words beside them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from nbagent.views.kinds import css

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.views.kinds import Kind, Totals
    from nbagent.views.timeline import Piece

_LONG = 1000
"""Units of a bar."""
_GAPS = (3, 10)
"""Units between its pieces, lying and standing, so that not only colour tells them apart."""
_WIDTH, _LEAST, _MOST = 620, 8, 44
"""Pixels: of all columns together, and of one with the gap beside it."""

_PIECES = 50
"""A bar of progress has a piece for each of so many steps."""
_BAR = f'class="nbagent-bar" viewBox="0 0 {_LONG} 10" stroke-width="10"'

_SHORT_BAR = f'viewBox="0 0 {_LONG} 10" width="72" height="6" stroke-width="10"'
"""That of a cell in a table."""

_CALLS = 24
"""Pixels that a bar of calls is high."""
_THICK = ("", "", " nbagent-two", " nbagent-three", " nbagent-four")
"""The class of a piece that shares its height with others."""

Lines = dict[str, list[str]]
"""The strokes of each class."""


def progress(states: Sequence[str], summary: str) -> str:
    """One bar with a piece for each step, in the class of its state; of many steps, a piece for each state."""
    number = len(states)
    pieces = [(state, 1) for state in states] if number <= _PIECES else list(Counter(states).items())
    lines: Lines = {}
    low = 0
    for state, size in pieces:
        left, right = (_LONG * each // number for each in (low, low + size))
        lines.setdefault(state, []).append(f"M{left} 5h{max(right - left - _GAPS[0], 1)}")
        low += size
    return _svg(_BAR, summary, lines)


def wide_bar(totals: Totals, summary: str) -> str:
    """One bar, as wide as the page."""
    whole = sum(totals.values()) or 1
    lines: Lines = {}
    low = 0
    for kind, tokens in totals.items():
        left, right = (_LONG * each // whole for each in (low, low + tokens))
        lines[css(kind)] = [f"M{left} 5h{max(right - left - _GAPS[0], 1)}"]
        low += tokens
    return _svg(_BAR, summary, lines)


def share(part: float, most: float, kind: Kind, summary: str) -> str:
    """A short bar, as wide as its part of the most that there is."""
    width = max(round(_LONG * part / most), 1) if part > 0 and most > 0 else 0
    return _svg(_SHORT_BAR, summary, {css(kind): [f"M0 5h{width}"]})


def columns(stacks: Sequence[Totals], summary: str) -> str:
    """A column for each stack, as high as its sum."""
    step = min(max(_WIDTH // len(stacks), _LEAST), _MOST)
    most = max(sum(stack.values()) for stack in stacks) or 1
    lines: Lines = {}
    for number, stack in enumerate(stacks):
        low = 0
        for kind, tokens in stack.items():
            bottom, top = (_LONG * each // most for each in (low, low + tokens))
            line = f"M{number * step + step // 2} {_LONG - top}v{max(top - bottom - _GAPS[1], 5)}"
            lines.setdefault(css(kind), []).append(line)
            low += tokens
    width = step * len(stacks)
    size = f'viewBox="0 0 {width} {_LONG}" width="{width}" height="100"'
    return _svg(f'class="nbagent-columns" {size} stroke-width="{step - max(step // 6, 2)}"', summary, lines)


def bar_of_calls(pieces: Sequence[Piece], span: int, summary: str) -> str:
    """A bar with a piece for each call, lying; those that ran side by side above each other. Errors are striped."""
    lines: Lines = {}
    for piece in pieces:
        left, right = (_LONG * each // max(span, 1) for each in (piece.start, piece.start + piece.size))
        thick = _CALLS // piece.lanes
        names = f"{css(piece.kind)}{_THICK[piece.lanes]}{' nbagent-bad' if piece.failed else ''}"
        line = f"M{left} {piece.lane * thick + thick // 2}h{max(right - left - _GAPS[0], 2)}"
        lines.setdefault(names, []).append(line)
    paths = "".join(f'<path class="{name}" d="{"".join(found)}"/>' for name, found in lines.items())
    size = f'class="nbagent-calls" viewBox="0 0 {_LONG} {_CALLS}" preserveAspectRatio="none"'
    return f'<svg role="img" aria-label="{summary}" {size}>{paths}</svg>'


def _svg(attributes: str, summary: str, lines: Lines) -> str:
    """One path for each class, since there may be many columns."""
    paths = "".join(f'<path class="{name}" d="{"".join(found)}"/>' for name, found in lines.items())
    return f'<svg role="img" preserveAspectRatio="none" {attributes}><title>{summary}</title>{paths}</svg>'
