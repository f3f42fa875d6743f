"""A message in HTML, with the calls that it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.arguments import laid_out
from nbagent.views.room import Room, label

if TYPE_CHECKING:
    from nbagent.messages import Message, ToolCall


def message_html(entry: tuple[Message, str], room: Room) -> str:
    """Who says it, and below that what."""
    return f"<i>{who(*entry)}</i>{said(entry[0], room)}"


def who(message: Message, answers: str) -> str:
    """`tool get_weather`."""
    return f"{message.role} {label(answers)}" if answers else message.role


def said(message: Message, room: Room) -> str:
    return room.shared(lambda part: _said(message, part), 2)


def _said(message: Message, room: Room) -> str:
    calls = room.list(message.tool_calls, _call, "call")
    text = f'<pre class="nbagent-say">{room.text(message.content)}</pre>' if message.content or not calls else ""
    return text + calls


def _call(call: ToolCall, room: Room) -> str:
    return f"<pre><b>{label(call.name)}</b> {room.text(laid_out(call.arguments))}</pre>"
