"""The tokens of each turn in HTML: how many, and the chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.chart import columns
from nbagent.views.html_picture import picture
from nbagent.views.kinds import legend
from nbagent.views.usage import TurnUsage
from nbagent.views.words import count

if TYPE_CHECKING:
    from nbagent.views.trace import Trace


def usage_html(trace: Trace) -> str:
    """Nothing for a run of one turn, and where nobody has counted."""
    usage = TurnUsage.of(trace)
    if usage is None:
        return ""
    chart = columns(usage.bars, f"Tokens of {count(len(usage.bars), 'bar')}, turn by turn: {usage.line}.")
    most = max(sum(bar.values()) for bar in usage.bars)
    each = f"each bar is {usage.group} turns" if usage.group > 1 else "each bar is a turn"
    inside = ", with the runs inside it" if usage.has_inside else ""
    said = f"<p><small>{each}{inside}, {most:,} tokens at most</small></p>"
    return picture("Tokens per turn", usage.line, f"{said}<div>{chart}</div>{_legend(usage)}")


def _legend(usage: TurnUsage) -> str:
    total = usage.total
    return legend([("history", f"{total.input_tokens:,}", "read"), ("reply", f"{total.output_tokens:,}", "written")])
