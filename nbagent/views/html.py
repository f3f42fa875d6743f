"""HTML: a run as static, safe HTML, that reads well without its style sheet too.

Each element is written here; everything else goes through `safe.escape`, or, for the answer, `safe.markdown`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.arguments import laid_out
from nbagent.views.html_growth import growth_html
from nbagent.views.html_prompt import prompt_html
from nbagent.views.html_row import fold, row
from nbagent.views.room import label
from nbagent.views.safe import escape, markdown
from nbagent.views.style import ROOT, STYLE

if TYPE_CHECKING:
    from nbagent.messages import Observation
    from nbagent.views.trace import Call, Trace, Turn

_OPEN_TURNS = 8
"""With more turns than this, all are closed."""
_MANY_TURNS = 30
"""With more turns than this, those in the middle are in one fold."""
_LINE = 120
"""Characters; an observation of one such line needs no fold."""
_FIRST, _LAST = 3, 4
"""How many turns stay outside of the fold, before and after."""


def html(trace: Trace) -> str:
    """The run as one HTML fragment."""
    steps = f"{_prompt(trace)}{growth_html(trace)}{_turns(trace)}{_ending(trace)}"
    return root(f'{_header(trace)}<div class="nbagent-line nbagent-steps">{steps}</div>')


def root(content: str) -> str:
    """The element around everything, with the style sheet."""
    return f'<div class="{ROOT}"><style>{STYLE}</style>{content}</div>'


def _prompt(trace: Trace) -> str:
    if trace.prompt is None:
        return ""
    rest = "<code>prompt.messages</code> of its result hold all of it"
    if trace.agent.isidentifier():  # as the name of an agent of the notebook is
        rest = f"<code>{label(words.writing_prompt(trace.agent))}</code> writes all of it"
    return prompt_html(trace.prompt, words.prompt_title(trace), rest)


def _header(trace: Trace) -> str:
    reason = words.short_reason(trace)
    said = f": {escape(reason)}" if reason else ""
    return header(
        trace.agent,
        trace.model,
        trace.mode,
        f'<span class="{_classes("nbagent-status", words.tone(trace))}">{words.status(trace)}{said}</span>',
        f'<span class="nbagent-numbers">{words.numbers(trace)}</span>',
    )


def header(agent: str, model: str, mode: str, *rest: str) -> str:
    """The line on top. The separators are for readers without the style sheet."""
    badge = [f'<span class="nbagent-badge">{label(mode)}</span>'] if mode else []
    named = [f"<code>{label(model)}</code>"] if model not in {agent, mode} else []
    parts = (f"<b>{label(agent)}</b>", *named, *badge, *rest)
    return f'<div class="nbagent-head">{"<i> · </i>".join(parts)}</div>'


def _classes(name: str, tone: words.Tone) -> str:
    return f"{name} nbagent-{tone}" if tone else name


# turns


def _turns(trace: Trace) -> str:
    turns = trace.turns
    if len(turns) <= _MANY_TURNS:
        return "".join(_turn(turn, trace) for turn in turns)
    hidden = turns[_FIRST:-_LAST]
    errors = sum(words.worst(map(words.outcome_of, turn.calls)) == "bad" for turn in hidden)
    failed = f", {words.count(errors, 'turn')} with errors" if errors else ""
    title = f"<b>Turns {hidden[0].number} to {hidden[-1].number}</b> <small>{len(hidden):,} turns{failed}</small>"
    before, middle, after = (
        "".join(_turn(turn, trace, lean=some is hidden) for turn in some)
        for some in (turns[:_FIRST], hidden, turns[-_LAST:])
    )
    folded = f'<details><summary>{title}</summary><div class="nbagent-steps">{middle}</div></details>'
    return before + folded + after


def _turn(turn: Turn, trace: Trace, *, lean: bool = False) -> str:
    rows = "".join(fold(words.failed_attempt(failure), failure.message, "", "warn") for failure in turn.failures)
    rows += _reply(turn, trace) + "".join(_call(call, trace, lean=lean) for call in turn.calls)
    rows += "".join(_said(words.NOTE, note) for note in turn.notes)
    rows += "".join(_said(words.REMARK, remark) for remark in turn.remarks)
    opened = " open" if len(trace.turns) <= _OPEN_TURNS else ""
    worst = words.worst(map(words.outcome_of, turn.calls))
    classes = f' class="nbagent-{worst}"' if worst else ""
    gist = _gist(turn)
    # Where there are a thousand turns, so are the elements of their titles.
    name = f"{turn.number}" if lean else f"<b>Turn {turn.number}</b>"
    said = (f" · {gist}" if lean else f" <small>{gist}</small>") if gist else ""
    title = f"<summary>{name}{said}</summary>"
    return f"<details{classes}{opened}>{title}{rows}</details>"


def _gist(turn: Turn) -> str:
    """What a closed turn says about itself."""
    names = ", ".join(dict.fromkeys(call.asked.name for call in turn.calls))
    worst = words.worst(map(words.outcome_of, turn.calls))
    said = {"bad": ", error", "warn": ", partial"}.get(worst, "")
    return f"{escape(names)}{said}" if names else ""


def _reply(turn: Turn, trace: Trace) -> str:
    reply = turn.reply
    if reply is None:
        return _note("reply", words.no_reply(trace))
    thoughts = [reasoning.text for reasoning in reply.reasoning if reasoning.text]
    broken = "".join(fold("reasoning", text) for text in thoughts)
    broken += "" if reply.complete else _note("reply", words.BROKEN_OFF + escape(reply.finish_reason), "warn")
    if words.is_answer(turn, trace):
        return broken + _note("reply", "the answer below")
    if reply.content:
        return broken + row("reply", f'<pre class="nbagent-say">{escape(reply.content)}</pre>')
    return broken if turn.calls else broken + _note("reply", "empty")


def _call(call: Call, trace: Trace, *, lean: bool) -> str:
    shown = call_html(call.asked.name, call.asked.arguments, lean=lean)
    if call.edited:
        shown += call_html(call.call.name, call.call.arguments, "ran instead", lean=lean)
    if call.observation is None:
        tone = "warn" if trace.status else ""
        return shown + _note("observation", words.no_result(call, trace), tone)
    return shown + _observation(call.observation, call.figure)


def call_html(name: str, arguments: str, title: str = "call", *, lean: bool = False) -> str:
    named = escape(name) if lean else f"<b>{escape(name)}</b>"
    shown = escape(laid_out(arguments))
    gap = "\n" if "\n" in shown else " "
    return row(title, f"<pre>{named}{gap}{shown}</pre>")


def _observation(observation: Observation, figure: int) -> str:
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


def _said(title: str, text: str) -> str:
    return row(title, f'<pre class="nbagent-say">{escape(text)}</pre>')


def _note(title: str, said: str, tone: words.Tone = "") -> str:
    return row(
        title, f'<p class="{_classes("nbagent-toned", tone)}">{said}</p>' if tone else f"<p><small>{said}</small></p>"
    )


# the end


def _ending(trace: Trace) -> str:
    parts: list[str] = []
    if trace.answer is not None:
        parts.append(_answer(trace.answer))
    tone = words.tone(trace)
    classes = _classes("nbagent-end", tone)
    reason = f'<pre class="nbagent-say nbagent-toned">{escape(trace.stop_reason)}</pre>' if trace.stop_reason else ""
    if trace.answer is None or trace.status != "completed":
        parts.append(f'<div class="{classes}"><b>{words.ending(trace)}</b>{reason}</div>')
    elif reason:
        parts.append(f'<div class="{classes}"><b>Stop reason</b>{reason}</div>')
    return "".join(parts)


def _answer(answer: object) -> str:
    text = words.answer_text(answer)
    shown = markdown(text) if isinstance(answer, str) else f"<pre>{escape(text)}</pre>"
    body = f'<b>Answer</b><div class="nbagent-answer">{shown}</div>'
    return f'<div class="nbagent-end nbagent-good">{body}</div>'
