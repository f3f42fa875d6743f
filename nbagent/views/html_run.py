"""A run in HTML, from its header to its answer. A run inside is drawn the same way, in a fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import verdict, words
from nbagent.views.ends import whole_or_ends
from nbagent.views.html import Section, classes, collapsible, header, line, root, steps_inside, title_html
from nbagent.views.html_call import call_html
from nbagent.views.html_pictures import pictures_html
from nbagent.views.html_plan import plan_sections, progress_html, writing_html
from nbagent.views.html_prompt import prompt_html
from nbagent.views.html_question import questions_html, ways_html
from nbagent.views.html_rounds import rounds_sections
from nbagent.views.html_row import fold
from nbagent.views.html_turn import gist, note, observation_html, reply_html, said
from nbagent.views.room import label
from nbagent.views.safe import escape, markdown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.events import Guarded, Stage
    from nbagent.views.place import Place
    from nbagent.views.trace import Step, Trace, Turn

_OPEN_TURNS = 8
"""With more turns than this, all are closed."""
_MANY_TURNS = 30
"""With more rows than this, those in the middle are in one fold."""
_FIRST, _LAST = 3, 4
"""How many of them stay outside of the fold, before and after."""
_OWN = 8 * 1024
"""Bytes of the prompt of a step, or of a run inside."""


def html(place: Place) -> str:
    """The run as one HTML fragment."""
    return root(head_html(place) + line(_run(place)))


def head_html(place: Place, status: str = "") -> str:
    """What stands above a run. `status`: in the place of its own, while it goes on."""
    left_out = f"<p><small>{title_html(said)}</small></p>" if (said := place.note()) else ""
    return header(*_names(place.trace), *_numbers(place, status)) + progress_html(place) + left_out


def _names(trace: Trace) -> tuple[str, str, str]:
    return trace.agent, trace.model, trace.mode


def _numbers(place: Place, said: str = "") -> tuple[str, str]:
    trace = place.trace
    more = f": {escape(place.reason)}" if place.reason else ""
    tone = words.tone(trace) or ("warn" if place.waiting else "")
    status = f'<span class="{classes("nbagent-status", tone)}">{said or place.status}{more}</span>'
    return status, f'<span class="nbagent-numbers">{place.numbers}</span>'


def _run(place: Place) -> str:
    pictures = "" if place.depth else pictures_html(place.trace)
    before, after = ("".join(one.html for one in some) for some in (before_turns(place), after_turns(place)))
    return f"{before}{pictures}{_turns(place.trace.turns, place)}{after}"


def before_turns(place: Place) -> Iterator[Section]:
    """What comes before the turns of the run that belong to no step."""
    yield Section("input checks", _checks(place.trace, "input"))
    for step in place.trace.steps:
        if step.kind == "compact":
            yield Section("compact", writing_html(step, place, _step(step, place)))
    yield Section("prompt", _prompt(place))


def after_turns(place: Place) -> Iterator[Section]:
    """What comes after them: the steps of a plan, the rounds of a reflection, the end."""
    yield from plan_sections(place, lambda step: _step(step, place))
    yield from rounds_sections(place, lambda step: _step(step, place))
    yield Section("output checks", _checks(place.trace, "output"))
    yield Section("end", _ending(place))


def _checks(trace: Trace, stage: Stage) -> str:
    return "".join(_check(check) for check in trace.checks if check.stage == stage)


def _check(check: Guarded) -> str:
    said = words.guarded(check) + (f": {escape(check.message)}" if check.message else "")
    tone = "" if check.passed else ' class="nbagent-bad"'
    toned = "" if check.passed else ' class="nbagent-toned"'
    title = f"<b>{check.stage.capitalize()} guardrail</b> <code>{label(check.name)}</code>"
    return f"<div{tone}>{title} <small{toned}>{said}</small></div>"


def _prompt(place: Place) -> str:
    """That of a workflow is closed: first of all, its output says what there is to do."""
    trace, own = place.trace, place.own
    if own is None:
        return ""
    rest = "<code>prompt.messages</code> of its result hold all of it"
    if place.depth == 0 and place.path:
        rest = f"<code>{label(words.writing_prompt(trace.agent))}</code> writes all of it"
    title = words.prompt_title(trace)
    if place.depth:
        return prompt_html(own.prompt, title, rest, own.after, _OWN)
    return prompt_html(own.prompt, title, rest, is_closed=trace.is_workflow)


def _step(step: Step, place: Place) -> str:
    """What a step was told, and its turns."""
    prompt = ""
    if own := place.own_of(step):
        rest = "the events of its result hold all of it"
        prompt = prompt_html(own.prompt, "prompt", rest, own.after, _OWN)
    inner = prompt + _turns(step.turns, place)
    return steps_inside(inner) if inner else ""


# turns


def _turns(turns: Sequence[Turn], place: Place) -> str:
    opened = len(turns) <= _OPEN_TURNS
    rows = list(place.budget.turns_of(turns))
    drawn = [_left_out(row, place) if isinstance(row, tuple) else turn_html(row, place, opened=opened) for row in rows]
    if len(rows) <= _MANY_TURNS:
        return "".join(drawn)
    before, middle, after = ("".join(part) for part in (drawn[:_FIRST], drawn[_FIRST:-_LAST], drawn[-_LAST:]))
    title = turns_title([turn for row in rows[_FIRST:-_LAST] for turn in (row if isinstance(row, tuple) else (row,))])
    return before + collapsible(title, f'<div class="nbagent-steps">{middle}</div>') + after


def _left_out(turns: Sequence[Turn], place: Place) -> str:
    return f"<div><small>{title_html(place.left_out(turns))}</small></div>"


def turns_title(turns: Sequence[Turn]) -> str:
    """What stands on a fold of turns."""
    said = f"{len(turns):,} turns{words.with_errors(turns)}{verdict.with_decisions(turns)}"
    return f"<b>Turns {turns[0].number} to {turns[-1].number}</b> <small>{said}</small>"


def turn_html(turn: Turn, place: Place, *, opened: bool) -> str:
    """A turn, which belongs to no step or to any."""
    rows = [
        fold(words.failed_attempt(failure), failure.message, "", "warn", where=place.where_events)
        for failure in turn.failures
    ]
    rows.append(reply_html(turn, place))
    rows += [_call(turn, index, place) for index in range(len(turn.calls))]
    rows += [said(words.NOTE, text, place.where_events) for text in turn.notes]
    rows += [said(words.REMARK, remark, place.where_events) for remark in turn.remarks]
    about = gist(turn, place.trace)
    more = f" <small>{about}</small>" if about else ""
    opened = opened or verdict.waits(turn, place.trace)
    return collapsible(f"<b>Turn {turn.number}</b>{more}", "".join(rows), words.worst_of(turn), opened=opened)


def _call(turn: Turn, index: int, place: Place) -> str:
    call, trace = turn.calls[index], place.trace
    shown = call_html(call, trace, place.where_events)
    if call.run is not None:
        shown += _inside(place.inside(turn, index, call.run))
    if call.observation is not None:
        where = place.where_call(turn, index)
        return shown + observation_html(call.observation, call.figure, where, is_live=place.is_live)
    said = verdict.no_result(call, turn, trace)
    is_over = trace.status is not None and not verdict.waits(turn, trace)
    return shown + (note("observation", said, "warn" if is_over else "") if said else "")


def _inside(place: Place) -> str:
    """A run inside a call; closed, but where it has not come to its end."""
    trace = place.trace
    names = [label(name) for name in dict.fromkeys(_names(trace)) if name]
    title = "<i> · </i>".join((f"<b>{names[0]}</b>", *names[1:], *_numbers(place)) if names else _numbers(place))
    summary = f'<i>run inside</i> <span class="nbagent-gist">{title}</span>'
    return collapsible(summary, steps_inside(_run(place)), opened=trace.status != "completed")


# the end


def _ending(place: Place) -> str:
    trace = place.trace
    parts: list[str] = []
    if trace.answer is not None and not place.is_observed:
        parts.append(_answer(trace.answer, math=trace.math))
    if place.asks:
        asked = questions_html(place.asks) + ways_html(place.ways)
        return "".join((*parts, f'<div class="nbagent-end nbagent-warn"><b>{place.pause}</b>{asked}</div>'))
    shown = bool(trace.stop_reason) and not place.waiting
    reason = (
        f'<pre class="nbagent-say nbagent-toned">{whole_or_ends(trace.stop_reason, place.where_events)}</pre>'
        if shown
        else ""
    )
    if trace.answer is None or trace.status != "completed":
        parts.append(_end(trace, words.ending(trace), reason))
    elif reason and not words.short_reason(trace):
        parts.append(_end(trace, "Stop reason", reason))
    return "".join(parts)


def _end(trace: Trace, title: str, reason: str) -> str:
    return f'<div class="{classes("nbagent-end", words.tone(trace))}"><b>{title}</b>{reason}</div>'


def _answer(answer: object, *, math: bool) -> str:
    text = words.answer_text(answer)
    shown = markdown(text, math=math) if isinstance(answer, str) else f"<pre>{escape(text)}</pre>"
    body = f'<b>Answer</b><div class="nbagent-answer">{shown}</div>'
    return f'<div class="nbagent-end nbagent-good">{body}</div>'
