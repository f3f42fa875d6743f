"""The parts of a turn in HTML: what the model replied, what it called, what came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.arguments import laid_out
from nbagent.views.html import classes
from nbagent.views.html_row import fold, row
from nbagent.views.safe import escape

if TYPE_CHECKING:
    from nbagent.messages import Observation, ToolCall
    from nbagent.views.place import Place
    from nbagent.views.trace import Turn

_LINE = 120
"""Characters; an observation of one such line needs no fold."""


def gist(turn: Turn) -> str:
    """What a closed turn says about itself."""
    names = ", ".join(dict.fromkeys(call.asked.name for call in turn.calls))
    said = {"bad": ", error", "warn": ", partial"}.get(words.worst_of(turn), "")
    return f"{escape(names)}{said}" if names else ""


def reply_html(turn: Turn, place: Place) -> str:
    reply = turn.reply
    if reply is None:
        return note("reply", words.no_reply(place.trace))
    thoughts = [reasoning.text for reasoning in reply.reasoning if reasoning.text]
    before = "".join(fold("reasoning", text) for text in thoughts)
    before += "" if reply.complete else note("reply", words.BROKEN_OFF + escape(reply.finish_reason), "warn")
    if shown := place.shown_elsewhere(turn):
        return before + note("reply", shown)
    if reply.content:
        return before + said("reply", reply.content)
    return before if turn.calls else before + note("reply", "empty")


def call_html(call: ToolCall, title: str = "call") -> str:
    shown = escape(laid_out(call.arguments))
    gap = "\n" if "\n" in shown else " "
    return row(title, f"<pre><b>{escape(call.name)}</b>{gap}{shown}</pre>")


def observation_html(observation: Observation, figure: int) -> str:
    outcome = words.outcome(observation)
    tone = words.worst([outcome])
    is_short = not outcome and 0 < len(observation.text) <= _LINE and "\n" not in observation.text
    shown = f"<pre>{escape(observation.text)}</pre>" if is_short else ""
    rows = [row("observation", shown) if shown else fold("observation", observation.text, outcome, tone)]
    if extra := words.extra_error(observation):
        rows.append(fold("error message", extra, "", "bad"))
    if observation.printed:
        rows.append(fold("printed", observation.printed))
    rows += [
        row(f"figure {number}", f"<p>{escape(words.caption(image))}</p>")
        for number, image in enumerate(observation.images, figure)
    ]
    return "".join(rows)


def said(title: str, text: str) -> str:
    return row(title, f'<pre class="nbagent-say">{escape(text)}</pre>')


def note(title: str, text: str, tone: words.Tone = "") -> str:
    """`text`: HTML already."""
    shown = f'<p class="{classes("nbagent-toned", tone)}">{text}</p>' if tone else f"<p><small>{text}</small></p>"
    return row(title, shown)
