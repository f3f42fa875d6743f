"""Stretches: the messages of an edited request, put down as what is new in them and where the rest is known from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from nbagent.events import Stretch
from nbagent.messages import Message
from nbagent.request import Messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_TRIED = 8
"""At how many places the same message is looked for at most."""

Kind = Literal["request", "edited"]
Known = dict[Kind, tuple[Message, ...]]


def stretches_of(sent: Messages, request: Messages, edited: Messages) -> tuple[Stretch, ...]:
    """What to put down of what is sent in place of a request. `edited`: what was sent for the edited one before it."""
    known: Known = {"request": tuple(request), "edited": tuple(edited)}
    messages, places = tuple(sent), _Places(known)
    made: list[Stretch] = []
    new: list[Message] = []
    place = 0
    while place < len(messages):
        best = _longest(messages, place, known, _beside(messages, place, known))
        best = best or _longest(messages, place, known, places.of(messages[place]))
        if best is None:
            new.append(messages[place])
            place += 1
        else:
            made += [*_new(new), best]
            new.clear()
            place += best.stop - best.start
    return (*made, *_new(new))


def _new(messages: list[Message]) -> tuple[Stretch, ...]:
    return (Stretch("new", messages=tuple(messages)),) if messages else ()


def messages_in(stretches: Iterable[Stretch], request: Messages, edited: Messages) -> Messages:
    """What was sent."""
    sent: list[Message] = []
    for stretch in stretches:
        match stretch.kind:
            case "new":
                sent += stretch.messages
            case "request":
                sent += request[stretch.start : stretch.stop]
            case "edited":
                sent += edited[stretch.start : stretch.stop]
    return Messages(sent)


class _Places:
    """Where each message is; worked out when it is asked for."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._found: dict[Message, list[tuple[Kind, int]]] | None = None

    def of(self, message: Message) -> Sequence[tuple[Kind, int]]:
        if self._found is None:
            self._found = {}
            for kind, messages in self._known.items():
                for place, one in enumerate(messages):
                    self._found.setdefault(one, []).append((kind, place))
        return self._found.get(message, ())[:_TRIED]


def _beside(messages: Sequence[Message], place: int, known: Known) -> Iterator[tuple[Kind, int]]:
    """The same place, counted from the beginning and from the end: where a message mostly is."""
    for kind, others in known.items():
        yield kind, place
        yield kind, place + len(others) - len(messages)


def _longest(
    messages: Sequence[Message], place: int, known: Known, starts: Iterable[tuple[Kind, int]]
) -> Stretch | None:
    """The stretch from one of these places on that has the most messages from `place` on."""
    found = [Stretch(kind, start, _end(messages, place, known[kind], start)) for kind, start in starts if start >= 0]
    best = max(found, key=lambda one: one.stop - one.start, default=None)
    return best if best is not None and best.stop > best.start else None


def _end(messages: Sequence[Message], place: int, others: Sequence[Message], start: int) -> int:
    """Up to where the others are the messages from `place` on."""
    most = min(len(messages) - place, len(others) - start)
    same = (n for n in range(most) if messages[place + n] is not others[start + n])
    return start + next((n for n in same if messages[place + n] != others[start + n]), max(0, most))
