"""The prompt in HTML: its text with the marked pieces, their sources, the history, the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.arguments import laid_out
from nbagent.views.html_row import details, row
from nbagent.views.parameters import described, schema_text, signature
from nbagent.views.pieces import Part, Pieces, origin
from nbagent.views.safe import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.messages import Message, Prompt, Segment, ToolSchema

_LONG = 1_500
"""Characters; a prompt that is longer starts closed."""


def prompt_html(prompt: Prompt, title: str) -> str:
    pieces = Pieces.of(prompt.segments)
    rows = [*map(_part, pieces.before), _history(prompt.history), *map(_part, pieces.after)]
    rows += [
        row(f"image {number}", f"<p>{escape(words.caption(image))}</p>")
        for number, image in enumerate(prompt.images, 1)
    ]
    if pieces.origins:
        rows.append(row("sources", f"<p><small>{_legend(pieces.origins)}</small></p>"))
    rows += [_dropped(segment) for segment in pieces.dropped]
    rows += [tool_html(tool) for tool in prompt.tools]
    opened = " open" if _size(prompt) < _LONG else ""
    summary = f"<b>{title.capitalize()}</b>{_gist(prompt)}"
    return f"<details{opened}><summary>{summary}</summary>{''.join(rows)}</details>"


def _size(prompt: Prompt) -> int:
    """How many characters an open prompt shows."""
    segments = sum(len(s.text) for s in prompt.segments if s.kept)
    tools = sum(len(t.description) + len(t.name) + len(signature(t)) for t in prompt.tools)
    return segments + tools


def _gist(prompt: Prompt) -> str:
    history = [words.count(len(prompt.history), "message") + " before"] if prompt.history else []
    tools = [words.count(len(prompt.tools), "tool")] if prompt.tools else []
    said = ", ".join([*history, *tools])
    return f" <small>{said}</small>" if said else ""


def _part(part: Part) -> str:
    labels = f" <small>{escape(', '.join(part.labels))}</small>" if part.labels else ""
    text = "".join(
        f"<mark>{escape(piece.text)}</mark><sup>{piece.number}</sup>" if piece.number else escape(piece.text)
        for piece in part.pieces
    )
    return row(part.role + labels, f'<pre class="nbagent-say">{text}</pre>')


def _legend(origins: Sequence[str]) -> str:
    return " · ".join(f"<sup>{number}</sup> {escape(text)}" for number, text in enumerate(origins, 1))


def _dropped(segment: Segment) -> str:
    reason = f": {segment.reason}" if segment.reason else ""
    title = escape(f"{origin(segment)} ({segment.role}){reason}")
    return details("left out", title, f"<pre>{escape(segment.text)}</pre>")


def _history(history: Sequence[Message]) -> str:
    if not history:
        return ""
    entries = "".join(_entry(message, answers) for message, answers in words.attributed(history))
    count = words.count(len(history), "message")
    return details("history", count, f'<div class="nbagent-inner">{entries}</div>')


def _entry(message: Message, answers: str) -> str:
    who = f"{message.role} {escape(answers)}" if answers else message.role
    calls = "".join(f"<pre><b>{escape(c.name)}</b> {escape(laid_out(c.arguments))}</pre>" for c in message.tool_calls)
    said = f'<pre class="nbagent-say">{escape(message.content)}</pre>' if message.content or not calls else ""
    return f"<i>{who}</i>{said}{calls}"


def tool_html(tool: ToolSchema) -> str:
    """A tool with its signature and description; the JSON schema is one click deeper."""
    parameters = "".join(f"<p><code>{escape(name)}</code> {escape(text)}</p>" for name, text in described(tool))
    schema = (
        f"<details><summary><small>JSON schema</small></summary><pre>{escape(schema_text(tool, 2))}</pre></details>"
    )
    said = f'<pre class="nbagent-say">{escape(tool.description)}</pre>' if tool.description else ""
    head = f"<pre><b>{escape(tool.name)}</b>{escape(signature(tool))}</pre>"
    return row("tool", f"<div>{head}{said}{parameters}{schema}</div>")
