"""Outline: a trace as a flat list of titled blocks. The plain transcript and the Markdown one are both written from it.

Everything from outside is in a `Name` or in a body, so each format has only these two to make safe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.arguments import laid_out
from nbagent.views.growth import Growth
from nbagent.views.left_out import LeftOut, left_out
from nbagent.views.parameters import described, schema_text, signature
from nbagent.views.pieces import Origin, Part, Pieces
from nbagent.views.safe import inline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.messages import Message, Observation, Prompt, ToolCall, ToolSchema
    from nbagent.views.trace import Trace, Turn

_ONE_LINE = 72
_PREVIEW = 40
_LISTED = 10
"""How many pieces that were left out, and of how many groups, are named."""


@dataclass(frozen=True, slots=True)
class Name:
    """Text from outside that belongs on one line."""

    text: str


Title = tuple[str | Name, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A title of our words and of names, and below it text from outside."""

    level: int
    """0 for a section, 1 for what is in it, 2 for what belongs to that."""
    title: Title
    body: str | None = None
    language: str = ""


def outline(trace: Trace) -> Iterator[Block]:
    yield Block(0, _header(trace))
    if trace.prompt is not None:
        yield Block(0, (words.prompt_title(trace),))
        yield from prompt_blocks(trace.prompt)
    if growth := Growth.of(trace):
        yield Block(0, (f"prompt growth: {growth.line}",))
    for turn in trace.turns:
        yield from _turn(turn, trace)
    yield from _ending(trace)


def _header(trace: Trace) -> Title:
    reason = words.short_reason(trace)
    said: Title = (": ", Name(reason)) if reason else ()
    return (
        *names_title(trace.agent, trace.model, trace.mode),
        " · ",
        words.status(trace),
        *said,
        f" · {words.numbers(trace)}",
    )


def names_title(agent: str, model: str, mode: str) -> Title:
    names = dict.fromkeys((agent, model, mode))
    return tuple(word for name in names for word in (" · ", Name(name)))[1:]


def _ending(trace: Trace) -> Iterator[Block]:
    if trace.answer is not None:
        yield Block(0, ("answer",), words.answer_text(trace.answer))
    if trace.answer is None or trace.status != "completed":
        yield Block(0, (words.ending(trace),), trace.stop_reason or None)
    elif trace.stop_reason:
        yield Block(0, ("stop reason",), trace.stop_reason)


# the prompt


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
            preview = f": {piece.shown}" if len(piece.shown) <= _PREVIEW else ""
            where = f"character {start} to {end}" if piece.text else "empty"
            yield inline(f"{origins[piece.number - 1].name} ({part.role}, {where}){preview}")


def _left_out(groups: Sequence[LeftOut]) -> Iterator[Block]:
    for group in groups[:_LISTED]:
        reason: Title = (": ", Name(group.reason)) if group.reason else ()
        number = f", {group.number}" if group.number else ""
        body = "\n".join(map(inline, group.previews(_LISTED))) if number else group.segments[0].text
        yield Block(1, ("left out: ", Name(group.name), f" ({group.role})", *reason, number), body)
    if more := sum(len(group.segments) for group in groups[_LISTED:]):
        yield Block(1, (f"left out: {words.count(more, 'more piece')}",))


def _messages(name: str, messages: Sequence[Message]) -> Iterator[Block]:
    if messages:
        yield Block(1, (f"{name}, {words.count(len(messages), 'message')}",))
    for message, answers in words.attributed(messages):
        named: Title = (" ", Name(answers)) if answers else ()
        if message.content or not message.tool_calls:
            yield Block(2, (message.role, *named), message.content)
        for call in message.tool_calls:
            yield _call(call, 2, "assistant call ")


def tool_blocks(tool: ToolSchema) -> Iterator[Block]:
    yield Block(1, ("tool ", Name(tool.name + signature(tool))), tool.description or None)
    for name, text in described(tool):
        yield Block(2, ("parameter ", Name(name)), text)
    yield Block(2, ("schema ", Name(schema_text(tool))))


# the turns


def _turn(turn: Turn, trace: Trace) -> Iterator[Block]:
    yield Block(0, (f"turn {turn.number}",))
    for failure in turn.failures:
        yield Block(1, (words.failed_attempt(failure),), failure.message)
    yield from _reply(turn, trace)
    for call in turn.calls:
        yield _call(call.asked, 1)
        if call.edited:
            yield Block(1, ("ran instead ", Name(call.call.name)), laid_out(call.call.arguments), "json")
        if call.observation is None:
            yield Block(1, (words.no_result(call, trace),))
        else:
            yield from _observation(call.observation, call.figure)
    for note in turn.notes:
        yield Block(1, (words.NOTE,), note)
    for remark in turn.remarks:
        yield Block(1, (words.REMARK,), remark)


def _reply(turn: Turn, trace: Trace) -> Iterator[Block]:
    if turn.reply is None:
        yield Block(1, (words.no_reply(trace),))
        return
    for reasoning in turn.reply.reasoning:
        if reasoning.text:
            yield Block(1, ("reasoning",), reasoning.text)
    if not turn.reply.complete:
        yield Block(1, (words.BROKEN_OFF, Name(turn.reply.finish_reason)))
    if words.is_answer(turn, trace):
        yield Block(1, ("reply: the answer below",))
    elif turn.reply.content:
        yield Block(1, ("reply",), turn.reply.content)
    elif not turn.calls:
        yield Block(1, ("reply: empty",))


def _call(call: ToolCall, level: int, verb: str = "call ") -> Block:
    arguments = laid_out(call.arguments)
    if not arguments:
        return Block(level, (verb, Name(call.name), ", no arguments"))
    if len(arguments) <= _ONE_LINE and "\n" not in arguments:
        return Block(level, (verb, Name(call.name), " ", Name(arguments)))
    return Block(level, (verb, Name(call.name)), arguments, "json")


def _observation(observation: Observation, figure: int) -> Iterator[Block]:
    outcome = words.outcome(observation)
    text = observation.text
    if not outcome and 0 < len(text) <= _ONE_LINE and "\n" not in text:
        yield Block(1, ("observation: ", Name(text)))
    else:
        yield Block(1, (f"observation, {outcome}" if outcome else "observation",), text)
    if extra := words.extra_error(observation):
        yield Block(1, ("error message",), extra)
    if observation.printed:
        yield Block(1, ("printed",), observation.printed)
    for number, image in enumerate(observation.images, figure):
        yield Block(1, (f"figure {number}: ", Name(words.caption(image))))
