"""The parts of a turn as blocks: what the model replied, and what came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.arguments import laid_out
from nbagent.views.block import Block, Name
from nbagent.views.outline import ONE_LINE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.messages import Observation, ToolCall
    from nbagent.views.place import Place
    from nbagent.views.trace import Turn


def reply_blocks(turn: Turn, place: Place) -> Iterator[Block]:
    if turn.reply is None:
        yield Block(1, (words.no_reply(place.trace),))
        return
    for reasoning in turn.reply.reasoning:
        if reasoning.text:
            yield Block(1, ("reasoning",), reasoning.text)
    if not turn.reply.complete:
        yield Block(1, (words.BROKEN_OFF, Name(turn.reply.finish_reason)))
    if shown := place.shown_elsewhere(turn):
        yield Block(1, (f"reply: {shown}",))
    elif turn.reply.content:
        yield Block(1, ("reply",), turn.reply.content)
    elif not turn.calls:
        yield Block(1, ("reply: empty",))


def ran_block(call: ToolCall) -> Block:
    """What ran in the place of what was asked for."""
    return Block(1, ("ran instead ", Name(call.name)), laid_out(call.arguments), "json")


def observation_blocks(observation: Observation, figure: int) -> Iterator[Block]:
    outcome = words.outcome(observation)
    text = observation.text
    if not outcome and 0 < len(text) <= ONE_LINE and "\n" not in text:
        yield Block(1, ("observation: ", Name(text)))
    else:
        yield Block(1, (f"observation, {outcome}" if outcome else "observation",), text)
    if extra := words.extra_error(observation):
        yield Block(1, ("error message",), extra)
    if observation.printed:
        yield Block(1, ("printed",), observation.printed)
    for number, image in enumerate(observation.images, figure):
        yield Block(1, (f"figure {number}: ", Name(words.caption(image))))
