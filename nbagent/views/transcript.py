"""Transcript: a run as blocks, from its header to its answer. A run inside is told the same way, deeper."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.block import Block, Name, Title, behind, below, names_title
from nbagent.views.growth import Growth
from nbagent.views.outline import call_block, prompt_blocks
from nbagent.views.transcript_plan import checklist_blocks, plan_blocks, writing_blocks
from nbagent.views.transcript_rounds import rounds_blocks
from nbagent.views.transcript_turn import observation_blocks, ran_block, reply_blocks

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
    reason = behind(": ", words.short_reason(trace))
    return (*names, " · ", words.status(trace), *reason, f" · {place.numbers}")


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
        yield Block(1, (words.failed_attempt(failure),), failure.message)
    yield from reply_blocks(turn, place)
    for index, call in enumerate(turn.calls):
        yield call_block(call.asked, 1)
        if call.edited:
            yield ran_block(call.call)
        if call.run is not None:
            yield from _inside(place.inside(turn, index, call.run))
        if call.observation is None:
            yield Block(1, (words.no_result(call, place.trace),))
        else:
            yield from observation_blocks(call.observation, call.figure)
    for note in turn.notes:
        yield Block(1, (words.NOTE,), note)
    for remark in turn.remarks:
        yield Block(1, (words.REMARK,), remark)


def _inside(place: Place) -> Iterator[Block]:
    """The header beside the call, the rest below it."""
    header, *rest = transcript(place)
    yield from below(1, [replace(header, title=("run inside: ", *header.title))])
    yield from below(2, rest, inside=True)


def _ending(place: Place) -> Iterator[Block]:
    trace = place.trace
    if trace.answer is not None and not place.is_observed:
        yield Block(0, ("answer",), words.answered(trace))
    if trace.answer is None or trace.status != "completed":
        yield Block(0, (words.ending(trace),), trace.stop_reason or None)
    elif trace.stop_reason and not words.short_reason(trace):
        yield Block(0, ("stop reason",), trace.stop_reason)
