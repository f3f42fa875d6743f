"""Chart: stacked bars as SVG, of nothing but our own numbers. What they show is also said in words beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.kinds import css

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.views.kinds import Kind, Totals

_LONG = 1000
"""Units of a bar."""
_GAPS = (3, 10)
"""Units between its pieces, lying and standing, so that not only colour tells them apart."""
_WIDTH, _LEAST, _MOST = 620, 8, 44
"""Pixels: of all columns together, and of one with the gap beside it."""

Lines = dict["Kind", list[str]]
"""The strokes of each kind."""


def wide_bar(totals: Totals, summary: str) -> str:
    """One bar, as wide as the page."""
    whole = sum(totals.values()) or 1
    lines: Lines = {}
    low = 0
    for kind, tokens in totals.items():
        left, right = (_LONG * each // whole for each in (low, low + tokens))
        lines[kind] = [f"M{left} 5h{max(right - left - _GAPS[0], 1)}"]
        low += tokens
    return _svg(f'class="nbagent-bar" viewBox="0 0 {_LONG} 10" stroke-width="10"', summary, lines)


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
            lines.setdefault(kind, []).append(line)
            low += tokens
    width = step * len(stacks)
    size = f'viewBox="0 0 {width} {_LONG}" width="{width}" height="100"'
    return _svg(f'class="nbagent-columns" {size} stroke-width="{step - max(step // 6, 2)}"', summary, lines)


def _svg(attributes: str, summary: str, lines: Lines) -> str:
    """One path for each kind, since there may be many columns."""
    paths = "".join(f'<path class="{css(kind)}" d="{"".join(found)}"/>' for kind, found in lines.items())
    return f'<svg role="img" preserveAspectRatio="none" {attributes}><title>{summary}</title>{paths}</svg>'
