"""Differing: which message of a request is not the recorded one, and in what."""

from __future__ import annotations

from difflib import unified_diff
from hashlib import blake2b
from itertools import islice, product
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nbagent.events import ModelReplied, Noted, PromptAssembled, RunStarted, StepFinished, ToolReturned
from nbagent.messages import Message
from nbagent.request import Messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbagent.events import Event
    from nbagent.messages import ModelReply

_TRIED = 500
"""How many guesses at what was sent are looked at."""
_WIDE, _BEFORE, _LINES, _LOOKED_AT = 100, 30, 6, 40
"""Of a diff: characters of a line, those before the first that differs, lines, lines that are compared."""


Shown = tuple[str, tuple[str, ...]]


def changed_messages(recorded: Iterable[Event], digest: str, now: Messages, before: Messages) -> Shown:
    """Which message is not the recorded one: in a few words, and as a diff.

    `recorded`: the events up to the request. `digest`: that of its recorded messages. `before`: those of the last
    request that was the recorded one. What was sent is in no event as such: it is made again of what the events hold,
    and taken for what was sent where it has the digest.
    """
    told = dict.fromkeys(_told(recorded))
    strange = [place for place, message in enumerate(now) if message not in told]
    then = next((one for one in islice(_guesses(now, told, strange), _TRIED) if Messages(one).digest == digest), None)
    if then is not None:
        return _compared(then, tuple(now))
    if strange:
        place = strange[0]
        return f"{_named(now, place)} is in none of the recorded events", differences("", _text(now[place]))
    same = _shared(before, now)
    places = range(same, len(now))
    several = f"message {' or '.join([str(place + 1) for place in places])} of {len(now)}" if places else "their number"
    roles = ", ".join([now[place].role for place in places])
    said = f"its messages differ in {several}{f' ({roles})' if roles else ''}"
    return f"{said}, yet all are as in the recorded events: these have been changed since", ()


def _guesses(now: Messages, told: Iterable[Message], strange: Sequence[int]) -> Iterator[tuple[Message, ...]]:
    """What may have been sent: with others in the place of messages that nobody has recorded, without them, with one
    more."""
    messages, said = tuple(now), set(now)
    unsaid = [message for message in told if message not in said]
    alike = [[one for one in unsaid if one.role == messages[place].role] for place in strange]
    for others in product(*alike) if strange else ():
        changed = dict(zip(strange, others, strict=True))
        yield tuple([changed.get(place, message) for place, message in enumerate(messages)])
    if strange:
        yield tuple([message for place, message in enumerate(messages) if place not in strange])
    for place in range(len(messages), -1, -1):
        for one in unsaid:
            yield (*messages[:place], one, *messages[place:])


def _compared(then: tuple[Message, ...], now: tuple[Message, ...]) -> Shown:
    place = _shared(then, now)
    others = sum(one != other for one, other in zip(then[place + 1 :], now[place + 1 :], strict=False))
    if len(then) > len(now):
        return f"{_named(then, place)} that were recorded is gone", differences(_text(then[place]), "")
    if len(then) < len(now):
        return f"{_named(now, place)} is new", differences("", _text(now[place]))
    more = f", and {others} more of them" if others else ""
    one, other = _text(then[place]), _text(now[place])
    return f"{_named(now, place)} differs from its character {_shared(one, other) + 1} on{more}", differences(
        one, other
    )


def _named(messages: Sequence[Message], place: int) -> str:
    return f"message {place + 1} of {len(messages)} ({messages[place].role})"


def excerpts(then: str, now: str) -> tuple[str, str]:
    """Both texts, of long ones what is around the place where they begin to differ."""
    first = _shared(then, now)
    return _cut(then, first), _cut(now, first)


def _shared(one: Sequence[object], other: Sequence[object]) -> int:
    """How many of both are the same at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def _cut(line: str, place: int) -> str:
    """What is around a place of a line."""
    start = 0 if len(line) <= _WIDE else max(0, min(place - _BEFORE, len(line) - _WIDE))
    end = start + _WIDE
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def differences(then: str, now: str) -> tuple[str, ...]:
    """The lines that differ, from the first on, and not too many of them."""
    place = _shared(then, now)
    start = then.rfind("\n", 0, place) + 1
    before, after = (text[start:].split("\n", _LOOKED_AT)[:_LOOKED_AT] for text in (then, now))
    lines = list(unified_diff(before if then else [], after if now else [], n=0, lineterm=""))[2:]
    lines = [line for line in lines if not line.startswith("@@")]
    shown = [f"{line[0]} {_cut(line[1:], place - start if number < 2 else 0)}" for number, line in enumerate(lines)]
    return (*shown[:_LINES], "…") if len(shown) > _LINES else tuple(shown)


def _told(recorded: Iterable[Event]) -> Iterator[Message]:
    """The messages whose text is in these events."""
    reply: ModelReply | None = None
    ids: dict[int, str] = {}
    for event in recorded:
        match event:
            case RunStarted():
                yield from event.history
            case PromptAssembled(prompt):
                yield from prompt.messages
            case ModelReplied():
                reply, ids = event.reply, {}
                yield reply.message
                yield Message("assistant", reply.content)
            case ToolReturned(_, index, observation):
                yield observation.message
                ids[index] = observation.call_id
                if reply is not None and len(ids) == len(reply.tool_calls):
                    calls = [replace(call, id=ids.get(n, "")) for n, call in enumerate(reply.tool_calls)]
                    yield replace(reply.message, tool_calls=tuple(calls))
            case Noted(_, text):
                yield Message("user", text)
            case StepFinished(output=str(text)):
                yield Message("assistant", text)
            case _:
                pass


def _text(message: Message) -> str:
    """All of it that is sent, to be compared."""
    calls = [f"calls {call.name} {call.arguments} ({call.id})" for call in message.tool_calls]
    answers = [f"answers {message.tool_call_id}"] if message.tool_call_id else []
    images = [f"shows {one!r} ({blake2b(one.data, digest_size=6).hexdigest()})" for one in message.images]
    reasoning = [f"reasoned {one.provider}: {one.data}" for one in message.reasoning]
    return "\n".join([message.content, *calls, *answers, *images, *reasoning])
