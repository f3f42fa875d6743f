"""The growth of a prompt in HTML: the numbers, and the chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.chart import columns
from nbagent.views.growth import Growth
from nbagent.views.html_picture import picture
from nbagent.views.kinds import legend

if TYPE_CHECKING:
    from nbagent.views.trace import Trace


def growth_html(trace: Trace) -> str:
    """Nothing for a run of one turn."""
    growth = Growth.of(trace)
    if growth is None:
        return ""
    return picture("Prompt growth", growth.line, f"{_chart(growth)}{_legend(growth)}")


def _chart(growth: Growth) -> str:
    first, last = growth.turns[0], growth.turns[-1]
    chart = columns(growth.requests, f"Prompt growth: {growth.line}.")
    grouped = f"; each bar is the last of {growth.group} turns" if growth.group > 1 else ""
    most = f"<p><small>{max(growth.sums):,} tokens at most (estimated){grouped}</small></p>"
    ends = f'<p class="nbagent-ends"><small>turn {first:,}</small> <small>turn {last:,}</small></p>'
    return f"{most}<div>{chart}{ends}</div>"


def _legend(growth: Growth) -> str:
    """Each kind with how much it was in the first request and in the last."""
    first, last = growth.requests[0], growth.requests[-1]
    return legend([(kind, _change(first.get(kind, 0), tokens)) for kind, tokens in last.items()])


def _change(before: int, after: int) -> str:
    return f"{after:,}" if before == after else f"{before:,} → {after:,}"
