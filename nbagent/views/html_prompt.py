"""The prompt in HTML: its text with the marked pieces, their sources, the examples, the history, the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.html import collapsible
from nbagent.views.html_message import message_html
from nbagent.views.html_row import details, row
from nbagent.views.html_tool import tool_html
from nbagent.views.kinds import css
from nbagent.views.left_out import LeftOut, left_out
from nbagent.views.parameters import signature
from nbagent.views.pieces import Origin, Part, Piece, Pieces
from nbagent.views.room import Room, fitted, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.messages import Image, Message, Prompt

_LONG = 1_500
"""Characters; a prompt that is longer starts closed."""
_MOST = 32 * 1024
"""Bytes of a prompt in the output of a run."""
_PREVIEWS = 20
_FEW = 3
"""So many rows of what was left out need no fold around them."""


def prompt_html(
    prompt: Prompt, title: str, rest: str = "", note: str = "", most: int = _MOST, *, is_closed: bool = False
) -> str:
    """A fold that holds the prompt, in so many bytes at most. `note`: more about it. `rest`: how to see what of it had
    no room. Both are HTML of ours."""
    summary = f"<b>{title.capitalize()}</b>{_gist(prompt, note)}"
    rows = fitted(lambda room: prompt_rows(prompt, room), most, rest)
    return collapsible(summary, rows, opened=_size(prompt) < _LONG and not is_closed)


def prompt_rows(prompt: Prompt, room: Room) -> str:
    pieces = Pieces.of(prompt.segments)
    rows = [
        *(_part(part, room) for part in pieces.before),
        _messages("examples", prompt.examples, room),
        _messages("history", prompt.history, room),
        *(_part(part, room) for part in pieces.after),
        room.list(tuple(enumerate(prompt.images, 1)), _image, "image"),
        _sources(pieces.origins, room),
        _left_out(left_out(prompt.segments), room),
        room.list(prompt.tools, tool_html, "tool"),
    ]
    return "".join(rows)


def _size(prompt: Prompt) -> int:
    """How many characters an open prompt shows."""
    segments = sum(len(s.text) for s in prompt.segments if s.kept)
    tools = sum(len(t.description) + len(t.name) + len(signature(t)) for t in prompt.tools)
    return segments + tools


def _gist(prompt: Prompt, note: str) -> str:
    examples = [words.count(len(prompt.examples), "message") + " of examples"] if prompt.examples else []
    history = [words.count(len(prompt.history), "message") + " before"] if prompt.history else []
    tools = [words.count(len(prompt.tools), "tool")] if prompt.tools else []
    said = ", ".join([*([note] if note else []), *examples, *history, *tools])
    return f" <small>{said}</small>" if said else ""


def _part(part: Part, room: Room) -> str:
    labels = f" <small>{label(', '.join(part.labels))}</small>" if part.labels else ""
    return row(part.role + labels, f'<pre class="nbagent-say">{room.list(part.pieces, _piece, "piece")}</pre>')


def _piece(piece: Piece, room: Room) -> str:
    """Marked, with its number; line breaks around it stay outside, where a mark would be a stub of colour."""
    if not piece.number:
        text = room.text(piece.shown)
        return f"<small>{text}</small>" if piece.kind == "framework" else text
    text = piece.shown.strip("\n")
    before, _, after = piece.shown.partition(text) if text else ("", "", piece.shown)
    mark = f'<mark class="{css(piece.kind)}">{room.text(text)}</mark><sup>{piece.number}</sup>'
    return room.text(before) + mark + room.text(after)


def _image(numbered: tuple[int, Image], room: Room) -> str:
    number, image = numbered
    return row(f"image {number}", f"<p>{room.text(words.caption(image))}</p>")


def _sources(origins: Sequence[Origin], room: Room) -> str:
    shown = room.list(tuple(enumerate(origins, 1)), _source, "source")
    return row("sources", f'<p class="nbagent-legend"><small>{shown}</small></p>') if shown else ""


def _source(numbered: tuple[int, Origin], room: Room) -> str:
    number, origin = numbered
    separator = "<i> · </i>" if number > 1 else ""
    kind = css(origin.kind)
    return f'{separator}<span><mark class="{kind}"><sup>{number}</sup></mark> {room.text(origin.name)}</span>'


def _messages(name: str, messages: Sequence[Message], room: Room) -> str:
    if not messages:
        return ""
    entries = room.list(tuple(words.attributed(messages)), message_html, "message")
    kind = "nbagent-example" if name == "examples" else "nbagent-history"
    inner = f'<div class="nbagent-inner {kind}">{entries}</div>'
    return details(name, words.count(len(messages), "message"), inner)


def _left_out(groups: Sequence[LeftOut], room: Room) -> str:
    shown = room.list(groups, _group, "reason")
    if len(groups) <= _FEW:
        return shown
    pieces = words.count(sum(len(group.segments) for group in groups), "piece")
    return details("left out", pieces, f'<div class="nbagent-inner">{shown}</div>')


def _group(group: LeftOut, room: Room) -> str:
    reason = f": {label(group.reason)}" if group.reason else ""
    number = f" · {group.number}" if group.number else ""
    title = f"{label(group.name)} ({group.role}){reason}{number}"
    if group.number:
        text = room.list(group.previews(_PREVIEWS), lambda line, part: f"{part.text(line)}\n", "piece")
    else:
        text = room.text(group.segments[0].text)
    return details("left out", title, f"<pre>{text}</pre>")
