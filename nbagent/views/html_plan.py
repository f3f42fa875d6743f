"""A plan in HTML: how far it has come, and a box for each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import step_words, words
from nbagent.views.chart import progress
from nbagent.views.checklist import LISTED, Item, Revision, Several, State
from nbagent.views.html import Section, collapsible, steps_inside, title_html
from nbagent.views.html_row import row
from nbagent.views.html_turn import said
from nbagent.views.room import label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from nbagent.views.place import Place
    from nbagent.views.trace import Step

_BOXES: Mapping[State, str] = {"open": "☐", "running": "▶", "stopped": "☒", "done": "☑", "failed": "☒"}
_TONES: Mapping[State, str] = {"open": "open", "running": "now", "stopped": "warn", "done": "good", "failed": "bad"}
_TITLE = 500
"""Characters of the title of a step; its prompt has all of it."""
_REASON = 120
"""Characters of the reason in the line of a step that failed or was stopped; below it is all of a longer one."""


def progress_html(place: Place) -> str:
    """Nothing where there is no plan."""
    plan = place.checklist
    if not plan.items:
        return ""
    bar = progress([f"nbagent-{_TONES[item.state]}" for item in plan.items], f"{plan.line}.")
    return f'<div class="nbagent-progress">{bar}<small>{plan.line}</small></div>'


def plan_sections(place: Place, body: Callable[[Step], str]) -> Iterator[Section]:
    """`body`: what a step was told, and its turns."""
    for each in place.checklist.rows(place.trace, place.budget):
        if isinstance(each, Item):
            yield Section(f"step {each.number}", _item(each, place, body))
        elif isinstance(each, Several):
            line = f"<small>{title_html(place.several(each))}</small>"
            yield Section(f"steps from {each.items[0].number}", _boxed(each.state, line))
        elif each.kind in ("plan", "synthesize"):
            yield Section(f"{each.kind} {each.number}", writing_html(each, place, body(each)))


def _boxed(state: State, line: str, content: str = "", *, opened: bool = False) -> str:
    """A step with its box; a fold where there is something in it."""
    classes = f'class="nbagent-step nbagent-{_TONES[state]}"'
    line = f'<i class="nbagent-box">{_BOXES[state]}</i> {line}'
    if not content:
        return f"<div {classes}>{line}</div>"
    return f"<details {classes}{' open' if opened else ''}><summary>{line}</summary>{content}</details>"


def _item(item: Item, place: Place, body: Callable[[Step], str]) -> str:
    line = f"{item.number}. {label(item.title, _TITLE)}"
    if item.step is None:
        return _boxed(item.state, line)
    about = [words.count(len(item.step.turns), "turn"), *_called(item.step)]
    state = item.said + (f": {label(item.reason, _REASON)}" if item.reason else "")
    more = f' <small class="nbagent-toned">{state}</small>' if item.said else ""
    is_cut = len(item.reason) > _REASON or "\n" in item.reason
    content = (said(item.state, item.reason, place.where_events) if is_cut else "") + body(item.step)
    opened = item.state in ("running", "stopped")
    return _boxed(item.state, f"{line}{more} <small>{more and '· '}{' · '.join(about)}</small>", content, opened=opened)


def _called(step: Step) -> Iterator[str]:
    names = list(dict.fromkeys(call.asked.name for turn in step.turns for call in turn.calls))
    if names:
        yield ", ".join(label(name) for name in names[:3]) + (" …" if len(names) > 3 else "")


def writing_html(step: Step, place: Place, inner: str) -> str:
    """The planning, or what else comes once. `inner`: what it was told, and its turns."""
    tone = _tone(step, place)
    reason = step_words.failure(step)
    said = place.about(step) + (f": {label(reason)}" if reason else "")
    revision = place.checklist.revision_of(step)
    toned = ' class="nbagent-toned"' if tone else ""
    title = f"<b>{step_words.step_name(step).capitalize()}</b>" + (f" <small{toned}>{said}</small>" if said else "")
    if revision is not None:
        call = collapsible("<b>Planning call</b>", inner) if inner else ""
        inner = _revised(revision) + steps_inside(call)
    if inner:
        return collapsible(title, inner, tone, opened=step.status != "done" or revision is not None)
    classes = f' class="nbagent-{tone}"' if tone else ""
    return f"<div{classes}>{title}</div>"


def _tone(step: Step, place: Place) -> words.Tone:
    if step.status is None:
        return "" if step_words.goes_on(place.trace) else "warn"
    return "bad" if step.status == "failed" else ""


def _revised(revision: Revision) -> str:
    rows: list[str] = []
    for name, mark, steps in (("dropped", "del", revision.dropped), ("new", "ins", revision.new)):
        lines = [f"{number}. <{mark}>{label(title, _TITLE)}</{mark}>" for number, title in steps[:LISTED]]
        lines += [f"<small>and {len(steps) - LISTED:,} more</small>"] if len(steps) > LISTED else []
        rows += [row(name, "".join(f"<p>{line}</p>" for line in lines))] if lines else []
    return "".join(rows)
