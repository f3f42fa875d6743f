"""A tool in HTML: its signature and description; the JSON schema is one click deeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.html import collapsible
from nbagent.views.html_row import row
from nbagent.views.parameters import described, schema_text, signature
from nbagent.views.room import Room, label

if TYPE_CHECKING:
    from nbagent.messages import ToolSchema


def tool_html(tool: ToolSchema, room: Room) -> str:
    inner = room.shared(lambda part: _tool(tool, part), 4)
    return row("tool", f'<div class="nbagent-inner nbagent-tool">{inner}</div>')


def _tool(tool: ToolSchema, room: Room) -> str:
    schema = collapsible("<small>JSON schema</small>", f"<pre>{room.text(schema_text(tool, 2))}</pre>")
    said = f'<pre class="nbagent-say">{room.text(tool.description)}</pre>' if tool.description else ""
    head = f"<pre><b>{label(tool.name)}</b>{room.text(signature(tool))}</pre>"
    return f"{head}{said}{room.list(described(tool), _parameter, 'parameter')}{schema}"


def _parameter(parameter: tuple[str, str], room: Room) -> str:
    name, text = parameter
    return f"<p><code>{label(name)}</code> {room.text(text)}</p>"
