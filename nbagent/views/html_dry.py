"""A prompt that is looked at, in HTML: its pieces by source, its text, its messages, its requests, each in a tab."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.chart import wide_bar
from nbagent.views.html import Section, collapsible, header, root
from nbagent.views.html_message import said, who
from nbagent.views.html_prompt import prompt_rows
from nbagent.views.html_row import row
from nbagent.views.html_tool import tool_html
from nbagent.views.kinds import css, legend, totals
from nbagent.views.room import Room, fitted, label
from nbagent.views.safe import escape
from nbagent.views.tabs import Tab, tabs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.messages import Image, Message, Prompt, Span
    from nbagent.views.dry import Dry, Wire
    from nbagent.views.kinds import Kind, Totals


def dry_html(dry: Dry) -> str:
    note = [f'<span class="nbagent-status">{escape(dry.note)}</span>'] if dry.note else []
    numbers = f'<span class="nbagent-numbers">{dry.numbers}</span>'
    head = header(dry.agent, dry.model, dry.mode, *note, numbers)
    rest = "its <code>messages</code> hold all of it"
    if dry.command:
        rest = f"<code>{label(dry.command)}</code> writes all of it"
    return fitted(lambda room: root(head + tabs(tuple(_tabs(dry, room)))), rest=rest)


def _tabs(dry: Dry, room: Room) -> Iterator[Tab]:
    yield Tab("Segments", _segments(dry.prompt, room))
    yield Tab("Plain text", f"<div><pre>{room.text(_plain(dry.prompt))}</pre></div>")
    yield Tab("Messages", _messages(dry.prompt, room))
    yield from _wires(dry.wires, room)


def _wires(wires: Sequence[Wire], room: Room) -> Iterator[Tab]:
    for wire in wires:
        note = f"<p><small>{label(wire.note)}</small></p>" if wire.note else ""
        yield Tab(label(wire.protocol), f"<div>{note}<pre>{room.text(wire.text)}</pre></div>")


_REQUEST = 16 * 1024
"""Bytes of a request beside a run that goes on."""


def request_section(wires: Sequence[Wire], command: str) -> Section:
    """The first request of a run, as it is sent. `command`: what shows all of it."""
    rest = f"<code>{label(command)}</code> shows all of it"
    shown = fitted(lambda room: tabs(tuple(_wires(wires, room))), _REQUEST, rest)
    return Section("request", collapsible("<b>Request</b> <small>the first one, as JSON</small>", shown))


# segments

_FEW = 12
"""A list of more pieces starts closed."""


def _segments(prompt: Prompt, room: Room) -> str:
    spans = prompt.spans
    return f"<div>{_sums(totals(spans))}{prompt_rows(prompt, room)}</div>{_pieces(spans, room)}"


def _sums(found: Totals) -> str:
    whole = sum(found.values())
    shares: list[tuple[Kind, str]] = [(kind, f"{tokens:,} · {_share(tokens, whole)}") for kind, tokens in found.items()]
    said = ", ".join(f"{kind} {tokens:,}" for kind, tokens in found.items())
    summary = f"{words.count(whole, 'token')} (estimated): {said or 'nothing'}."
    return f'<div class="nbagent-sums">{wide_bar(found, summary)}{legend(shares)}</div>'


def _share(tokens: int, whole: int) -> str:
    percent = round(100 * tokens / whole)
    return f"{percent}%" if percent else "under 1%"


def _pieces(spans: Sequence[Span], room: Room) -> str:
    most = max((span.tokens for span in spans), default=0) or 1
    rows = room.list(spans, lambda span, part: _piece(span, most, part), "piece")
    return collapsible("<b>Pieces</b> <small>in tokens, estimated</small>", rows, opened=len(spans) <= _FEW)


def _piece(span: Span, most: int, room: Room) -> str:
    who = f"<small>{escape(span.role)} · {room.text(str(span.source))}</small>"
    return row(f"{span.tokens:,}", f"<p>{_bar(span, most)} {who}</p>")


def _bar(span: Span, most: int) -> str:
    """As text on a ground, since the width of an element of its own would need a style of its own."""
    wide = chr(0xA0) * max(1, round(40 * span.tokens / most))
    return f'<mark class="nbagent-solid {css(span.source.kind)}">{wide}</mark>' if span.tokens else ""


# text and messages


def _plain(prompt: Prompt) -> str:
    """Each message under its role, as it stands."""
    return "\n\n".join(f"[{who}]\n{text}" for message in prompt.messages for who, text in _spoken(message))


def _spoken(message: Message) -> Iterator[tuple[str, str]]:
    if message.content or not message.tool_calls:
        yield message.role, message.content
    for call in message.tool_calls:
        yield f"{message.role} calls {call.name}", call.arguments


def _messages(prompt: Prompt, room: Room) -> str:
    shown = room.list(tuple(words.attributed(prompt.messages)), _message, "message")
    return f"<div>{shown}{room.list(prompt.tools, tool_html, 'tool')}</div>"


def _message(entry: tuple[Message, str], room: Room) -> str:
    images = room.list(entry[0].images, _image, "image")
    return row(who(*entry), f"<div>{said(entry[0], room)}{images}</div>")


def _image(image: Image, room: Room) -> str:
    return f"<p><small>image: {room.text(words.caption(image))}</small></p>"
