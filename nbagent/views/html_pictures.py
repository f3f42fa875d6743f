"""Pictures: the charts of a run in HTML, in one closed fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.graph import Graph
from nbagent.views.html import collapsible
from nbagent.views.html_graph import graph_html
from nbagent.views.html_growth import growth_html
from nbagent.views.html_picture import picture
from nbagent.views.html_timeline import timeline_html
from nbagent.views.html_usage import usage_html
from nbagent.views.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.views.trace import Trace


def pictures_html(trace: Trace) -> str:
    """Nothing for a run of one turn. Only of a run that is shown on its own: it has those inside it."""
    found = list(_pictures(trace))
    if not found:
        return ""
    names = ", ".join(name.lower() for name, _ in found)
    return collapsible(f"<b>Pictures</b> <small>{names}</small>", "".join(drawn for _, drawn in found))


def _pictures(trace: Trace) -> Iterator[tuple[str, str]]:
    """Each with its name, and with a heading of that name."""
    if growth := growth_html(trace):
        yield "Prompt growth", growth
    if usage := usage_html(trace):
        yield "Tokens per turn", usage
    timeline = Timeline.of(trace)
    if timeline is None:
        return
    yield "Timeline", picture("Timeline", "", timeline_html(timeline))
    if graph := Graph.of(trace):
        yield "Call graph", picture("Call graph", graph.line, graph_html(graph))
