"""Outline: a prompt as blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.arguments import laid_out
from nbagent.views.block import Block, Name, Title, behind
from nbagent.views.left_out import LeftOut, left_out
from nbagent.views.parameters import described, schema_text, signature
from nbagent.views.pieces import Origin, Part, Pieces
from nbagent.views.safe import inline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.messages import Message, Prompt, ToolCall, ToolSchema

ONE_LINE = 72
"""Characters; a shorter text of one line stands beside its title."""
_PREVIEW = 40
_LISTED = 10
"""How many pieces that were left out, and of how many groups, are named."""


def prompt_blocks(prompt: Prompt) -> Iterator[Block]:
    pieces = Pieces.of(prompt.segments)
    for part in pieces.before:
        yield Block(1, (part.role, *_labels(part)), part.text)
    yield from _messages("examples", prompt.examples)
    yield from _messages("history", prompt.history)
    for part in pieces.after:
        yield Block(1, (part.role, *_labels(part)), part.text)
    for number, image in enumerate(prompt.images, 1):
        yield Block(1, (f"image {number}: ", Name(words.caption(image))))
    sources = [line for part in (*pieces.before, *pieces.after) for line in _sources(part, pieces.origins)]
    if sources:
        yield Block(1, ("sources",), "\n".join(sources))
    yield from _left_out(left_out(prompt.segments))
    for tool in prompt.tools:
        yield from tool_blocks(tool)


def _labels(part: Part) -> Title:
    return tuple(word for label in part.labels for word in (" · ", Name(label)))


def _sources(part: Part, origins: Sequence[Origin]) -> Iterator[str]:
    """Where a part's pieces come from, by position: marks within the text would hide what was really sent."""
    end = 0
    for piece in part.pieces:
        start, end = end + 1, end + len(piece.text)
        if piece.number:
            is_short = len(piece.shown) <= _PREVIEW and piece.kind != "framework"
            preview = f": {piece.shown}" if is_short else ""
            where = f"character {start} to {end}" if piece.text else "empty"
            yield inline(f"{origins[piece.number - 1].name} ({part.role}, {where}){preview}")


def _left_out(groups: Sequence[LeftOut]) -> Iterator[Block]:
    for group in groups[:_LISTED]:
        number = f", {group.number}" if group.number else ""
        body = "\n".join(map(inline, group.previews(_LISTED))) if number else group.segments[0].text
        yield Block(1, ("left out: ", Name(group.name), f" ({group.role})", *behind(": ", group.reason), number), body)
    if more := sum(len(group.segments) for group in groups[_LISTED:]):
        yield Block(1, (f"left out: {words.count(more, 'more piece')}",))


def _messages(name: str, messages: Sequence[Message]) -> Iterator[Block]:
    if messages:
        yield Block(1, (f"{name}, {words.count(len(messages), 'message')}",))
    for message, answers in words.attributed(messages):
        if message.content or not message.tool_calls:
            yield Block(2, (message.role, *behind(" ", answers)), message.content)
        for call in message.tool_calls:
            yield call_block(call, 2, "assistant call ")


def tool_blocks(tool: ToolSchema) -> Iterator[Block]:
    yield Block(1, ("tool ", Name(tool.name + signature(tool))), tool.description or None)
    for name, text in described(tool):
        yield Block(2, ("parameter ", Name(name)), text)
    yield Block(2, ("schema ", Name(schema_text(tool))))


def call_block(call: ToolCall, level: int, verb: str = "call ") -> Block:
    arguments = laid_out(call.arguments)
    if not arguments:
        return Block(level, (verb, Name(call.name), ", no arguments"))
    if len(arguments) <= ONE_LINE and "\n" not in arguments:
        return Block(level, (verb, Name(call.name), " ", Name(arguments)))
    return Block(level, (verb, Name(call.name)), arguments, "json")
