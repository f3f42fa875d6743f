"""Chart: stacked bars as SVG, of nothing but our own numbers. What they show is also said in words beside them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from nbagent.views.kinds import css

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.views.kinds import Totals

_LONG = 1000
"""Units of a bar."""
_GAPS = (3, 10)
"""Units between its pieces, lying and standing, so that not only colour tells them apart."""
_WIDTH, _LEAST, _MOST = 620, 8, 44
"""Pixels: of all columns together, and of one with the gap beside it."""

_PIECES = 50
"""A bar of progress has a piece for each of so many steps."""
_BAR = f'class="nbagent-bar" viewBox="0 0 {_LONG} 10" stroke-width="10"'

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


def _svg(attributes: str, summary: str, lines: Lines) -> str:
    """One path for each class, since there may be many columns."""
    paths = "".join(f'<path class="{name}" d="{"".join(found)}"/>' for name, found in lines.items())
    return f'<svg role="img" preserveAspectRatio="none" {attributes}><title>{summary}</title>{paths}</svg>'
