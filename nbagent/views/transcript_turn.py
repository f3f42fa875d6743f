"""The parts of a turn as blocks: what the model replied, and what came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.block import Block, Name
from nbagent.views.ends import cut_blocks
from nbagent.views.outline import ONE_LINE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.messages import Observation
    from nbagent.views.block import Title
    from nbagent.views.place import Place
    from nbagent.views.trace import Turn


def reply_blocks(turn: Turn, place: Place) -> Iterator[Block]:
    if turn.reply is None:
        yield Block(1, (words.no_reply(place.trace),))
        return
    for reasoning in turn.reply.reasoning:
        if reasoning.text:
            yield from cut_blocks(Block(1, ("reasoning",), reasoning.text), place.where_events)
    if not turn.reply.complete:
        yield Block(1, (words.BROKEN_OFF, Name(turn.reply.finish_reason)))
    if shown := place.shown_elsewhere(turn):
        yield Block(1, (f"reply: {shown}",))
    elif turn.reply.content:
        yield from cut_blocks(Block(1, ("reply",), turn.reply.content), place.where_turn(turn, "content"))
    elif not turn.calls:
        yield Block(1, ("reply: empty",))


def observation_blocks(observation: Observation, figure: int, where: Title = ()) -> Iterator[Block]:
    outcome = words.outcome(observation)
    text = observation.text
    if not outcome and 0 < len(text) <= ONE_LINE and "\n" not in text:
        yield Block(1, ("observation: ", Name(text)))
    else:
        yield from cut_blocks(Block(1, (f"observation, {outcome}" if outcome else "observation",), text), where)
    if extra := words.extra_error(observation):
        yield from cut_blocks(Block(1, ("error message",), extra), where)
    if observation.printed:
        yield from cut_blocks(Block(1, ("printed",), observation.printed), where)
    for number, image in enumerate(observation.images, figure):
        yield Block(1, (f"figure {number}: ", Name(words.caption(image))))
