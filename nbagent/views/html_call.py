"""A call in HTML: what the model asked for, what was decided about it, and what ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.arguments import laid_out
from nbagent.views.ends import whole_or_ends
from nbagent.views.html import title_html
from nbagent.views.html_rounds import marked_html
from nbagent.views.html_row import row
from nbagent.views.html_turn import said
from nbagent.views.safe import escape
from nbagent.views.verdict import BELOW, Version, aftermath, approval, is_below, versions

if TYPE_CHECKING:
    from nbagent.views.block import Title
    from nbagent.views.trace import Call, Trace
    from nbagent.views.verdict import Verdict

_LINE = 72
"""Characters; a note of one such line stands beside what was decided."""


def call_html(call: Call, trace: Trace, where: Title) -> str:
    """As the model made it, and what hooks and people have made of it, with their decisions in between.

    `where`: how to see all of a long one.
    """
    below = is_below(call, trace)
    asked, ran = versions(call)
    rows = [_version(each, where, below=below and each is asked[-1]) for each in asked]
    rows += [_verdict("approval", decided, where)] if (decided := approval(call, trace)) else []
    rows += [_version(each, where) for each in ran]
    rows += [_verdict("decision", decided, where)] if (decided := aftermath(call, trace)) else []
    return "".join(rows)


def _version(version: Version, where: Title, *, below: bool = False) -> str:
    call = version.call
    if below:
        return row(version.title, f"<p><code><b>{escape(call.name)}</b></code> <small>{BELOW}</small></p>")
    shown = whole_or_ends(laid_out(call.arguments), where)
    gap = "\n" if "\n" in shown else " "
    made = row(version.title, f"<pre><b>{escape(call.name)}</b>{gap}{shown}</pre>")
    return made + (row("changes", f"<pre>{marked_html(version.changes)}</pre>") if version.changes else "")


def _verdict(label: str, verdict: Verdict, where: Title) -> str:
    badge = f'<span class="nbagent-verdict{verdict.tone and f" nbagent-{verdict.tone}"}">{verdict.word}</span>'
    is_short = len(verdict.text) <= _LINE and "\n" not in verdict.text
    beside = f"{verdict.said and ', '}{verdict.noun}: {escape(verdict.text)}" if verdict.text and is_short else ""
    about = f" <small>{title_html(verdict.about)}</small>" if verdict.about else ""
    line = row(label, f"<p>{badge} {verdict.said}{about}{beside}</p>")
    return line + ("" if is_short else said(verdict.noun, verdict.text, where))
