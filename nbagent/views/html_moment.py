"""A turn in HTML as it was on the wire: what was sent, what came back, and how one request differs from another."""

from __future__ import annotations

from itertools import takewhile
from operator import eq
from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.difference import Difference
from nbagent.views.html import root
from nbagent.views.html_message import said, who
from nbagent.views.html_rounds import marked_html
from nbagent.views.html_row import row
from nbagent.views.html_tool import tool_html
from nbagent.views.room import Room, fitted, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.messages import Image, Message, ModelReply, ToolSchema
    from nbagent.views.dry import Wire

_REST = "<code>result.events</code> hold all of it"


def messages_html(messages: Sequence[Message], tools: Sequence[ToolSchema], note: str) -> str:
    """The messages of a request, and the tools that it names. `note`: how exact they are; in our words."""
    number = f"{words.count(len(messages), 'message')}, {words.count(len(tools), 'tool')}: {note}"

    def draw(room: Room) -> str:
        shown = room.list(tuple(words.attributed(messages)), _message, "message")
        return _page(number, shown + room.list(tools, tool_html, "tool"))

    return fitted(draw, rest=_REST)


def _message(entry: tuple[Message, str], room: Room) -> str:
    images = room.list(entry[0].images, _image, "image")
    return row(who(*entry), f"<div>{said(entry[0], room)}{images}</div>")


def _image(image: Image, room: Room) -> str:
    return f"<p><small>image: {room.text(words.caption(image))}</small></p>"


def wires_html(wires: Sequence[Wire], note: str) -> str:
    """The request in each protocol, as text."""

    def draw(room: Room) -> str:
        part = room.part(len(wires))
        rows = [row(label(one.protocol), f"<pre>{part.text(one.text)}</pre>") for one in wires]
        return _page(note, "".join(rows))

    return fitted(draw, rest=_REST)


def whole_reply_html(reply: ModelReply) -> str:
    """All of a reply, as it came."""
    used = "" if reply.usage is None else f", {words.count(reply.usage.total_tokens, 'token')}"
    about = f"finish reason <code>{label(reply.finish_reason)}</code>{used}"

    def draw(room: Room) -> str:
        thoughts = [row("reasoning", f"<pre>{room.text(one.text)}</pre>") for one in reply.reasoning if one.text]
        text = row("text", f'<pre class="nbagent-say">{room.text(reply.content)}</pre>') if reply.content else ""
        calls = [
            row(f"call {number}", f"<pre><b>{label(call.name)}</b> {room.text(call.arguments)}</pre>")
            for number, call in enumerate(reply.tool_calls)
        ]
        return _page(about, "".join([*thoughts, text, *calls]) or row("text", "<p><small>empty</small></p>"))

    return fitted(draw, rest=_REST)


def changes_html(one: Sequence[Message], other: Sequence[Message], names: tuple[str, str]) -> str:
    """How the messages of one request became those of another, message by message."""
    same = sum(takewhile(bool, map(eq, one, other)))
    end = sum(takewhile(bool, map(eq, reversed(one[same:]), reversed(other[same:]))))
    gone, come = one[same : len(one) - end], other[same : len(other) - end]
    about = f"from {names[0]} to {names[1]}: {words.count(same + end, 'message')} the same, {len(gone):,} gone or "
    about += f"changed, {len(come):,} new or changed"

    def draw(room: Room) -> str:
        pairs = list(zip(gone, come, strict=False)) if [m.role for m in gone] == [m.role for m in come] else []
        changed = room.list(pairs, _changed, "message")
        rest = room.list([] if pairs else gone, lambda each, part: _mark("del", "gone", each, part), "message")
        rest += room.list([] if pairs else come, lambda each, part: _mark("ins", "new", each, part), "message")
        return _page(about, changed + rest or row("changes", "<p><small>none</small></p>"))

    return fitted(draw, rest=_REST)


def _changed(pair: tuple[Message, Message], room: Room) -> str:
    before, after = (_text(one) for one in pair)
    if len(before) + len(after) > room.size:
        return _mark("del", "gone", pair[0], room) + _mark("ins", "new", pair[1], room)
    stretches = Difference.of(before, after).stretches
    return row(f"{pair[1].role}<small>changed</small>", f'<pre class="nbagent-say">{marked_html(stretches)}</pre>')


def _mark(tag: str, word: str, message: Message, room: Room) -> str:
    text = f'<pre class="nbagent-say"><{tag}>{room.text(_text(message))}</{tag}></pre>'
    return row(f"{message.role}<small>{word}</small>", text)


def _text(message: Message) -> str:
    calls = [f"{call.name} {call.arguments}" for call in message.tool_calls]
    return "\n".join([*([message.content] if message.content or not calls else []), *calls])


def nothing_html(text: str) -> str:
    """Where there is nothing to show. `text`: in our words."""
    return _page(text, "")


def _page(about: str, rows: str) -> str:
    said = f"<p><small>{about}</small></p>" if about else ""
    return root(f'<div class="nbagent-steps nbagent-moment"><div>{said}{rows}</div></div>')
