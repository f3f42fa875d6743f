"""A comparison of runs in HTML: a table with small charts, and of two that went apart both ways side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.chart import columns, share
from nbagent.views.comparison import HEADS
from nbagent.views.html import collapsible, root, title_html
from nbagent.views.html_call import call_html
from nbagent.views.html_turn import gist, observation_html, reply_html, said
from nbagent.views.kinds import legend
from nbagent.views.room import label
from nbagent.views.safe import escape, markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.views.comparison import Column, Comparison
    from nbagent.views.kinds import Kind
    from nbagent.views.trace import Turn

_BARS = 50
"""Turns that a chart shows; of more, the last of each group."""
_DRAWN = 30
"""Turns of each run that are shown whole."""


def comparison_html(one: Comparison) -> str:
    apart = _apart(one) if one.is_apart else ""
    forks = "".join(f"<p><small>{_origin(*each)}</small></p>" for each in one.origins)
    parts = (
        collapsible("<b>Table</b>", f'<div class="nbagent-table">{_table(one)}</div>', opened=True),
        collapsible("<b>Tokens per turn</b>", "".join(_tokens(each) for each in one.columns)),
        collapsible("<b>Tools</b>", f'<div class="nbagent-table">{_tools(one)}</div>') if one.tools else "",
        apart,
    )
    head = f'<div class="nbagent-head"><b>{words.count(len(one.columns), "run")} compared</b></div>{forks}'
    return root(f'{head}<div class="nbagent-line nbagent-steps">{"".join(parts)}</div>')


def _origin(name: str, run: str, where: str) -> str:
    return f"<code>{label(name)}</code> was forked from <code>{label(run)}</code> {where}"


# the table


def _table(one: Comparison) -> str:
    heads = "".join(f'<th scope="col">{HEADS[at]}</th>' for at in one.heads)
    most = [max((_number(each, at) for each in one.columns), default=0) for at in range(len(HEADS))]
    rows = "".join(f"<tr>{_row(each, one.heads, most)}</tr>" for each in one.columns)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _row(column: Column, heads: Sequence[int], most: Sequence[float]) -> str:
    drawn: list[str] = []
    for at in heads:
        text, number = column.cells[at], _number(column, at)
        # In code nothing is taken for a formula, whatever stands between two dollar signs.
        shown = f"<code>{label(text, 200)}</code>" if text and HEADS[at] in _OUTSIDE else escape(text)
        bar = share(number, most[at], _KINDS[HEADS[at]], f"{escape(text)}") if HEADS[at] in _KINDS and text else ""
        tag, scope = ("th", ' scope="row"') if at == 0 else ("td", "")
        drawn.append(f"<{tag}{scope}>{shown}{bar}</{tag}>")
    return "".join(drawn)


_OUTSIDE = ("run", "cost", "stop reason", "answer")
_KINDS: dict[str, Kind] = {
    "turns": "framework",
    "tool calls": "tool",
    "tokens in": "input",
    "tokens out": "reply",
    "cost": "context",
}
"""The numbers that have a bar, and its colour."""


def _number(column: Column, at: int) -> float:
    tokens = column.tokens or (0, 0)
    numbers = {
        "turns": column.turns, "tool calls": column.trace.tool_calls, "tokens in": tokens[0], "tokens out": tokens[1],
        "cost": float(column.cost or 0),
    }  # fmt: skip
    return numbers.get(HEADS[at], 0)


# the charts


def _tokens(column: Column) -> str:
    turns = column.per_turn
    if not turns:
        return f"<p><code>{label(column.name)}</code> <small>no turns</small></p>"
    group = -(-len(turns) // _BARS)
    shown = [turn for place, turn in enumerate(turns, 1) if place % group == 0 or place in {1, len(turns)}]
    most = max(sum(turn.values()) for turn in turns)
    said = f"{words.count(len(turns), 'turn')}, {most:,} tokens at most"
    grouped = f"; each bar is the last of {group} turns" if group > 1 else ""
    sent, replied = (sum(turn.get(kind, 0) for turn in turns) for kind in ("input", "reply"))
    chart = columns(shown, f"Tokens of each turn: {said}.")
    names = legend([("input", f"sent {sent:,}"), ("reply", f"{replied:,}")])
    title = f"<p><code>{label(column.name)}</code> <small>{said}{grouped}</small></p>"
    return f'{title}<div class="nbagent-growth"><div>{chart}</div>{names}</div>'


def _tools(one: Comparison) -> str:
    used = [column.tools for column in one.columns]
    most = max(max(each.values(), default=0) for each in used)
    heads = "".join(f'<th scope="col"><code>{label(column.name)}</code></th>' for column in one.columns)
    rows = [
        f'<tr><th scope="row"><code>{label(name)}</code></th>'
        + "".join(f"<td>{each[name]:,}{share(each[name], most, 'tool', f'{each[name]:,}')}</td>" for each in used)
        + "</tr>"
        for name in one.tools
    ]
    return f'<table><thead><tr><th scope="col">tool</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


# two that went apart


def _apart(one: Comparison) -> str:
    left, right = one.columns
    common = one.common
    shared = left.trace.all_turns[:common]
    same = ""
    if shared:
        title = f"<b>{_span(0, common)}</b> <small>the same in both</small>"
        same = collapsible(title, _turns(left, shared, 0))
    sides = "".join(f"<div>{_side(column, common)}</div>" for column in (left, right))
    parted = collapsible(f"<b>From turn {common + 1} on</b>", f'<div class="nbagent-sides">{sides}</div>', opened=True)
    return same + parted


def _span(first: int, last: int) -> str:
    return f"Turn {last}" if last == first + 1 else f"Turns {first + 1} to {last}"


def _side(column: Column, common: int) -> str:
    trace = column.trace
    turns = trace.all_turns[common:]
    title = f"<p><b><code>{label(column.name)}</code></b> <small>{column.place.status}</small></p>"
    if trace.answer is None:
        reason = f'<pre class="nbagent-say">{escape(trace.stop_reason)}</pre>' if trace.stop_reason else ""
        end = f"<p>{words.ending(trace)}</p>{reason}"
    else:
        text = words.answer_text(trace.answer)
        shown = markdown(text) if isinstance(trace.answer, str) else f"<pre>{escape(text)}</pre>"
        end = f'<p><b>Answer</b></p><div class="nbagent-answer">{shown}</div>'
    return title + _turns(column, turns, common) + end


def _turns(column: Column, turns: Sequence[Turn], before: int) -> str:
    drawn = [_turn(column, turn, before + number) for number, turn in enumerate(turns[:_DRAWN], 1)]
    if len(turns) > _DRAWN:
        more = column.place.left_out(turns[_DRAWN:])
        drawn.append(f"<div><small>{title_html(more)}</small></div>")
    return f'<div class="nbagent-steps">{"".join(drawn)}</div>' if drawn else "<p><small>no turns</small></p>"


def _turn(column: Column, turn: Turn, number: int) -> str:
    rows = [reply_html(turn, column.place)]
    for call in turn.calls:
        rows.append(call_html(call, column.trace, column.place.where_events))
        if call.run is not None:
            rows.append(f"<div><i>run inside</i><small>{words.numbers(call.run, inside=True)}</small></div>")
        if call.observation is not None:
            rows.append(observation_html(call.observation, call.figure))
    rows += [said(words.NOTE, text) for text in turn.notes]
    about = gist(turn, column.trace)
    more = f" <small>{about}</small>" if about else ""
    return collapsible(f"<b>Turn {number}</b>{more}", "".join(rows), words.worst_of(turn), opened=True)
