"""A comparison of runs as plain text and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.block import Block, Name, below
from nbagent.views.comparison import HEADS
from nbagent.views.html_comparison import comparison_html
from nbagent.views.markdown import blocks_markdown, span
from nbagent.views.safe import inline
from nbagent.views.text import blocks_text
from nbagent.views.transcript_call import call_blocks
from nbagent.views.transcript_turn import observation_blocks, reply_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.views.comparison import Column, Comparison
    from nbagent.views.trace import Turn


def comparison_bundle(one: Comparison) -> dict[str, str]:
    """The comparison in all three formats."""
    blocks = tuple(_blocks(one))
    return {
        "text/html": comparison_html(one),
        "text/markdown": "\n\n".join([_markdown_table(one), blocks_markdown(blocks)]).strip(),
        "text/plain": "\n\n".join([_text_table(one), blocks_text(blocks)]).strip(),
    }


def _text_table(one: Comparison) -> str:
    rows = [[HEADS[at] for at in one.heads]]
    rows += [[inline(column.cells[at]) for at in one.heads] for column in one.columns]
    widths = [max(len(row[at]) for row in rows) for at in range(len(one.heads))]
    lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def _markdown_table(one: Comparison) -> str:
    rows = [[HEADS[at] for at in one.heads], ["---" for _ in one.heads]]
    rows += [[_cell(column.cells[at], at) for at in one.heads] for column in one.columns]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(text: str, at: int) -> str:
    """In code nothing is read as Markdown, nor as a formula; a bar would end the cell all the same."""
    if HEADS[at] in ("run", "cost", "stop reason", "answer"):
        return span(text).replace("|", "\\|") if text else ""
    return text


def _blocks(one: Comparison) -> Iterator[Block]:
    for name, run, where in one.origins:
        yield Block(0, (Name(name), " was forked from ", Name(run), f" {where}"))
    for column in one.columns:
        if column.per_turn:
            yield Block(0, ("tokens per turn of ", Name(column.name), f": {_numbers(column)}"))
    if one.tools:
        yield Block(0, ("tools",), heads=True)
        for column in one.columns:
            yield Block(1, (Name(column.name), ": ", *_used(column)))
    if one.is_apart:
        yield from _apart(one)


def _numbers(column: Column) -> str:
    """Of each turn what was sent, and the reply: `120+8, 140+9`."""
    said = [f"{turn.get('input', 0):,}+{turn.get('reply', 0):,}" for turn in column.per_turn]
    shown = said if len(said) <= _SPELLED else [*said[:3], "…", said[-1]]
    return ", ".join(shown)


_SPELLED = 12
_DRAWN = 30
"""Turns of each run that are shown whole."""


def _used(column: Column) -> Iterator[str | Name]:
    tools = sorted(column.tools.items())
    for number, (name, times) in enumerate(tools):
        yield ", " if number else ""
        yield Name(name)
        yield f" ×{times:,}"
    if not tools:
        yield "none"


def _apart(one: Comparison) -> Iterator[Block]:
    left, right = one.columns
    common = one.common
    if common:
        span_ = "turn 1" if common == 1 else f"turns 1 to {common}"
        yield Block(0, (f"{span_}, the same in both",))
        yield from _turns(left, left.trace.all_turns[:common], 0)
    for column in (left, right):
        yield Block(0, (f"from turn {common + 1} on: ", Name(column.name)), heads=True)
        yield from _turns(column, column.trace.all_turns[common:], common)
        trace = column.trace
        if trace.answer is not None:
            yield Block(1, ("answer",), words.answered(trace), is_whole=True)
        else:
            yield Block(1, (words.ending(trace),), trace.stop_reason or None)


def _turns(column: Column, turns: Sequence[Turn], before: int) -> Iterator[Block]:
    for number, turn in enumerate(turns[:_DRAWN], before + 1):
        yield Block(1, (f"turn {number}",), heads=True)
        yield from below(1, _turn(column, turn))
    if len(turns) > _DRAWN:
        yield Block(1, column.place.left_out(turns[_DRAWN:]))


def _turn(column: Column, turn: Turn) -> Iterator[Block]:
    yield from reply_blocks(turn, column.place)
    for call in turn.calls:
        yield from call_blocks(call, column.trace)
        if call.run is not None:
            yield Block(1, (f"run inside: {words.numbers(call.run, inside=True)}",))
        if call.observation is not None:
            yield from observation_blocks(call.observation, call.figure)
    for note in turn.notes:
        yield Block(1, (words.NOTE,), note)
