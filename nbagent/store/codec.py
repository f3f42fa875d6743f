"""Codec: an event as JSON, and back. `decode(encode(event)) == event` for all but what `loose` puts down as text.

The body of an event has the fields of its class by name, without those that have their default; a field that a later
version adds with a default does not make older files unreadable.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast, get_args, get_origin

import msgspec
from msgspec import Struct, structs

from nbagent.events import Event, Nested
from nbagent.store import loose
from nbagent.store.jsontext import dumps, loads

if TYPE_CHECKING:
    from nbagent.store.loose import Mask

EVENTS: dict[str, type[Struct]] = {kind.__name__: kind for kind in get_args(Event)}
_TAGGED = dumps(loose.TAG)
_SIMPLE = (str, int, bool, type(None), tuple)


def encode(event: Event, mask: Mask = str) -> bytes:
    """The event as one JSON object in ASCII, always the same bytes. `mask`: what is made of each free text in it.

    Raises ValueError for an event that could not be read again: one with a field of another type than it says.
    """
    words = _put_event(event, mask)
    text = dumps(words)
    take_event(loads(text, loose.take) if _TAGGED in text else words)
    return text.encode("ascii")


def decode(data: str | bytes) -> Event:
    """Raises ValueError for what is no event; no object is made but events, messages and what `loose` names."""
    return take_event(loads(data, loose.take))


def alike(one: Event, other: Event) -> bool:
    """Whether two events are the same on disk: also where one holds a value that the other has as it was put down."""
    return one == other or encode(one) == encode(other)


def take_event(words: Any) -> Event:
    """The event of a JSON object that has been read with `loose.take`."""
    try:
        name, body = words["kind"], words["event"]
        kind = EVENTS[name]
    except (TypeError, KeyError, AttributeError):
        kinds = ", ".join(EVENTS)
        raise ValueError(f"expected an event, one of {kinds}; got {str(words)[:80]}") from None
    try:
        if kind is Nested:
            return Nested(int(body["turn"]), int(body["index"]), take_event(body["event"]))
        return cast("Event", msgspec.convert(body, kind))
    except (TypeError, KeyError, ValueError) as error:  # msgspec's own errors are ValueErrors
        raise ValueError(f"{name}: {error}") from None


def _put_event(event: Event, mask: Mask) -> dict[str, Any]:
    if isinstance(event, Nested):
        inner = _put_event(cast("Event", event.event), mask)
        return {"kind": "Nested", "event": {"turn": event.turn, "index": event.index, "event": inner}}
    return {"kind": type(event).__name__, "event": _put_struct(event, mask)}


class _Field(NamedTuple):
    name: str
    default: Any
    how: Literal["word", "loose", "text"]
    """`word`: one of a few, and never masked. `loose`: of any type."""


@cache
def _fields_of(kind: type[Struct]) -> tuple[_Field, ...]:
    return tuple([_Field(one.name, one.default, _how(one.type)) for one in structs.fields(kind)])


def _how(kind: Any) -> Literal["word", "loose", "text"]:
    parts = get_args(kind) if get_origin(kind) is not Literal else (kind,)
    if kind is Any or get_origin(kind) is Mapping:
        return "loose"
    return "word" if any(get_origin(part) is Literal for part in parts) else "text"


def _put_struct(value: Struct, mask: Mask) -> dict[str, Any]:
    words: dict[str, Any] = {}
    for name, default, how in _fields_of(type(value)):
        held = getattr(value, name)
        if type(held) is type(default) and isinstance(held, _SIMPLE) and held == default:
            continue
        words[name] = held if how == "word" else loose.put(held, mask) if how == "loose" else _put(held, mask)
    return words


def _put(value: Any, mask: Mask) -> Any:
    kind = cast("type[object]", type(value))
    if kind is str:
        return mask(value)
    if value is None or kind is int or kind is bool:
        return value
    if kind is tuple:
        return [_put(item, mask) for item in value]
    if isinstance(value, Struct):
        return _put_struct(value, mask)
    if kind is bytes:
        return b64encode(value).decode("ascii")
    return str(value) if kind is Decimal else loose.put(value, mask)
