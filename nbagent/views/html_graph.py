"""The call graph of a run in HTML: boxes from top to bottom, joined by lines, and the same as a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nbagent.views.html import collapsible
from nbagent.views.room import label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.views.graph import Graph, Node

_WIDE, _HIGH, _IN, _BELOW = 240, 24, 28, 8
"""Pixels: of a box, how far to the right of its caller it stands, and between boxes."""
_NAME = 28
"""Characters of a name in a box; the list has more."""
_CORNER = 12
"""Pixels that the ends of a step's box are cut by, so that kinds differ in shape."""


class _Spot(NamedTuple):
    """Where a node stands."""

    node: Node
    x: int
    y: int
    mother: int
    """The y of its caller; -1 for the first."""


def graph_html(graph: Graph) -> str:
    more = f"<p><small>and {graph.more:,} more, not drawn</small></p>" if graph.more else ""
    legend = "<p><small>Double frame: agent. Single: tool. Pointed: step.</small></p>"
    listed = collapsible("<small>as a list</small>", "".join(_lines(graph.root, 0)))
    return f'{legend}<div class="nbagent-graph">{_drawn(graph)}</div>{more}{listed}'


def _drawn(graph: Graph) -> str:
    spots: list[_Spot] = []
    _place(graph.root, 0, -1, spots)
    width = max(spot.x for spot in spots) + _WIDE + 2
    height = len(spots) * (_HIGH + _BELOW)
    edges = "".join(map(_edge, spots))
    boxes = "".join(map(_box, spots))
    said = f"Call graph: {graph.line}{f', {graph.more:,} of them not drawn' if graph.more else ''}."
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    texts = "".join(map(_text, spots))
    return f'<svg role="img" aria-label="{said}" {size}><path d="{edges}{boxes}"/>{texts}</svg>'


def _place(node: Node, depth: int, mother: int, spots: list[_Spot]) -> None:
    """Puts a node below all that stand already, and what it called below it."""
    y = len(spots) * (_HIGH + _BELOW) + 1
    spots.append(_Spot(node, depth * _IN + 1, y, mother))
    for each in node.below.values():
        _place(each, depth + 1, y, spots)


def _edge(spot: _Spot) -> str:
    """From below its caller down, and to the right."""
    if spot.mother < 0:
        return ""
    start = spot.mother + _HIGH
    return f"M{spot.x - _IN // 2} {start}v{spot.y + _HIGH // 2 - start}h{_IN // 2}"


def _box(spot: _Spot) -> str:
    x, y = spot.x, spot.y
    if spot.node.kind == "step":
        wide, half = _WIDE - _CORNER, _HIGH // 2
        return f"M{x} {y}h{wide}l{_CORNER} {half}l-{_CORNER} {half}h-{wide}z"
    inner = f"M{x + 3} {y + 3}h{_WIDE - 6}v{_HIGH - 6}h-{_WIDE - 6}z" if spot.node.kind == "agent" else ""
    return f"M{x} {y}h{_WIDE}v{_HIGH}h-{_WIDE}z{inner}"


def _text(spot: _Spot) -> str:
    node = spot.node
    name = (node.title and f"{node.name.removeprefix('step ')}. {node.title}") or node.name
    return f'<text x="{spot.x + 9}" y="{spot.y + 16}">{label(name or "agent", _NAME)}{node.times}</text>'


def _lines(node: Node, depth: int) -> Iterator[str]:
    """What each has called, one of them a line."""
    title = f": {label(node.title)}" if node.title else ""
    name = label(node.name) if node.name else "(no name)"
    kind = f"{node.kind} " if node.kind != "step" else ""
    yield f"<p>{chr(0xA0) * 4 * depth}<small>{kind}</small>{name}{title}{node.times}</p>"
    for each in node.below.values():
        yield from _lines(each, depth + 1)
