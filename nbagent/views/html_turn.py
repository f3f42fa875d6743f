"""The parts of a turn in HTML: what the model replied, what it called, what came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import verdict, words
from nbagent.views.ends import whole_or_ends
from nbagent.views.html import classes
from nbagent.views.html_figure import figure_html
from nbagent.views.html_row import fold, row
from nbagent.views.html_value import value_html
from nbagent.views.safe import escape

if TYPE_CHECKING:
    from nbagent.messages import Observation
    from nbagent.views.block import Title
    from nbagent.views.place import Place
    from nbagent.views.trace import Trace, Turn

_LINE = 120
"""Characters; an observation of one such line needs no fold."""


def gist(turn: Turn, trace: Trace) -> str:
    """What a closed turn says about itself."""
    names = ", ".join(dict.fromkeys(call.asked.name for call in turn.calls))
    outcomes = {outcome.partition(":")[0] for call in turn.calls if (outcome := words.outcome_of(call))}
    worst = next((outcome for outcome in ("error", "partial") if outcome in outcomes), "")
    return ", ".join(filter(None, (escape(names), worst, verdict.gist(turn, trace))))


def reply_html(turn: Turn, place: Place) -> str:
    reply = turn.reply
    if reply is None:
        return note("reply", words.no_reply(place.trace))
    thoughts = [reasoning.text for reasoning in reply.reasoning if reasoning.text]
    before = "".join(fold("reasoning", text, where=place.where_events) for text in thoughts)
    before += "" if reply.complete else note("reply", words.BROKEN_OFF + escape(reply.finish_reason), "warn")
    if shown := place.shown_elsewhere(turn):
        return before + note("reply", shown)
    if reply.content:
        return before + said("reply", reply.content, place.where_turn(turn, "content"))
    return before if turn.calls else before + note("reply", "empty")


def observation_html(observation: Observation, figure: int, where: Title = (), *, is_live: bool = False) -> str:
    """`where`: how to see all of it; `is_live`: whether its pictures are shown here."""
    outcome = words.outcome(observation)
    tone = words.worst([outcome])
    is_short = not outcome and 0 < len(observation.text) <= _LINE and "\n" not in observation.text
    value = "" if tone == "bad" else value_html(observation.text)
    shown = f"<pre>{escape(observation.text)}</pre>" if is_short and not value else ""
    rows = [
        row("observation", shown)
        if shown
        else fold("observation", observation.text, outcome, tone, where=where, value=value)
    ]
    if extra := words.extra_error(observation):
        rows.append(fold("error message", extra, "", "bad", where=where))
    if observation.printed:
        rows.append(fold("printed", observation.printed, where=where))
    rows += [figure_html(image, number, is_live=is_live) for number, image in enumerate(observation.images, figure)]
    return "".join(rows)


def said(title: str, text: str, where: Title = ()) -> str:
    return row(title, f'<pre class="nbagent-say">{whole_or_ends(text, where)}</pre>')


def note(title: str, text: str, tone: words.Tone = "") -> str:
    """`text`: HTML already."""
    shown = f'<p class="{classes("nbagent-toned", tone)}">{text}</p>' if tone else f"<p><small>{text}</small></p>"
    return row(title, shown)
