"""Transcript: a run as blocks, from its header to its answer. A run inside is told the same way, deeper."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbagent.views import verdict, words
from nbagent.views.block import Block, Name, Title, behind, below, names_title
from nbagent.views.ends import cut_blocks
from nbagent.views.growth import Growth
from nbagent.views.outline import prompt_blocks
from nbagent.views.transcript_call import call_blocks
from nbagent.views.transcript_plan import checklist_blocks, plan_blocks, writing_blocks
from nbagent.views.transcript_question import questions_blocks, ways_blocks
from nbagent.views.transcript_rounds import rounds_blocks
from nbagent.views.transcript_turn import observation_blocks, reply_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.events import Stage
    from nbagent.views.place import Place
    from nbagent.views.trace import Step, Trace, Turn


def transcript(place: Place) -> Iterator[Block]:
    trace = place.trace
    yield Block(0, _header(place))
    if not place.depth and (note := place.note()):
        yield Block(0, note)
    yield from checklist_blocks(place)
    yield from _checks(trace, "input")
    for step in trace.steps:
        if step.kind == "compact":
            yield from writing_blocks(step, place, _step(step, place))
    if own := place.own:
        after = f", {own.after}" if own.after else ""
        yield Block(0, (words.prompt_title(trace) + after,))
        yield from prompt_blocks(own.prompt)
    if not place.depth and (growth := Growth.of(trace)):
        yield Block(0, (f"prompt growth: {growth.line}",))
    yield from _turns(trace.turns, place)
    yield from plan_blocks(place, lambda step: _step(step, place))
    yield from rounds_blocks(place, lambda step: _step(step, place))
    yield from _checks(trace, "output")
    yield from _ending(place)


def _header(place: Place) -> Title:
    trace = place.trace
    names = names_title(trace.agent, trace.model, trace.mode)
    return (*names, " · ", place.status, *behind(": ", place.reason), f" · {place.numbers}")


def _checks(trace: Trace, stage: Stage) -> Iterator[Block]:
    for check in trace.checks:
        if check.stage == stage:
            said = (f": {words.guarded(check)}", *behind(": ", check.message))
            yield Block(0, (f"{stage} guardrail ", Name(check.name), *said), heads=True)


def _step(step: Step, place: Place) -> Iterator[Block]:
    """What a step was told, and its turns."""
    if own := place.own_of(step):
        yield Block(1, ("prompt" + (f", {own.after}" if own.after else ""),), heads=True)
        yield from below(1, prompt_blocks(own.prompt))
    elif step.kind == "draft" and place.trace.assembled:
        yield Block(1, ("prompt: the one above",), heads=True)
    yield from below(1, _turns(step.turns, place))


def _turns(turns: Sequence[Turn], place: Place) -> Iterator[Block]:
    for turn in place.budget.turns_of(turns):
        yield from [Block(0, place.left_out(turn))] if isinstance(turn, tuple) else _turn(turn, place)


def _turn(turn: Turn, place: Place) -> Iterator[Block]:
    yield Block(0, (f"turn {turn.number}",), heads=True)
    for failure in turn.failures:
        yield from cut_blocks(Block(1, (words.failed_attempt(failure),), failure.message), place.where_events)
    yield from reply_blocks(turn, place)
    for index, call in enumerate(turn.calls):
        for block in call_blocks(call, place.trace):
            yield from cut_blocks(block, place.where_events)
        if call.run is not None:
            yield from _inside(place.inside(turn, index, call.run))
        if call.observation is not None:
            yield from observation_blocks(call.observation, call.figure, place.where_call(turn, index))
        elif said := verdict.no_result(call, turn, place.trace):
            yield Block(1, (said,))
    for note in turn.notes:
        yield from cut_blocks(Block(1, (words.NOTE,), note), place.where_events)
    for remark in turn.remarks:
        yield from cut_blocks(Block(1, (words.REMARK,), remark), place.where_events)


def _inside(place: Place) -> Iterator[Block]:
    """The header beside the call, the rest below it."""
    header, *rest = transcript(place)
    yield from below(1, [replace(header, title=("run inside: ", *header.title))])
    yield from below(2, rest, inside=True)


def _ending(place: Place) -> Iterator[Block]:
    trace = place.trace
    if trace.answer is not None and not place.is_observed:
        yield Block(0, ("answer",), words.answered(trace), is_whole=True)
    if place.asks:
        yield Block(0, (place.pause,))
        yield from questions_blocks(place.asks, 1)
        yield from ways_blocks(place.ways, 1)
    elif trace.answer is None or trace.status != "completed":
        reason = (not place.waiting and trace.stop_reason) or None
        yield from cut_blocks(Block(0, (words.ending(trace),), reason), place.where_events)
    elif trace.stop_reason and not words.short_reason(trace):
        yield from cut_blocks(Block(0, ("stop reason",), trace.stop_reason), place.where_events)
