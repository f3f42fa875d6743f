"""Serialise: any value as text for a model. Total: it never raises, ends, and gives the same text each time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import FOREIGN
from nbagent.text import cut, shown, sound
from nbagent.tools.failure import describe_error
from nbagent.tools.plain import Plain
from nbagent.tools.response import ToolResponse
from nbagent.values import Struct

if TYPE_CHECKING:
    from nbagent.messages import Image, ObservationStatus

__all__ = ["Described", "cut", "describe", "describe_error"]

_LOOK_FOR_IMAGES = 1_000
"""How many values in a ToolResponse's data are looked at: its text is given, only its figures are wanted."""

_to_json = json.JSONEncoder(ensure_ascii=False).encode


class Described(Struct):
    """A value as a model gets it."""

    text: str
    status: ObservationStatus
    data: Any
    """The value itself; of a ToolResponse its data."""
    images: tuple[Image, ...]


def describe(value: Any) -> Described:
    """`value` as text and images.

    A str stays as it is; a figure, a picture or a table says what it is; everything else is JSON, with the repr for
    what JSON has no words for. A ToolResponse gives its own text and status, and the images in its data.
    """
    if type(value) is str:
        return Described(sound(value), "success", value, ())
    if cast("object", type(value)) is int and _is_short(value):
        return Described(str(value), "success", value, ())
    if (own := getattr(cast("Any", type(value)), "_tool_response_", None)) is not None:
        value = own(value)  # a RunResult is its answer, not its journal
    if issubclass(type(value), ToolResponse):
        plain = Plain(_LOOK_FOR_IMAGES)
        plain.of(value.data)
        return Described(sound(value.text), value.status, value.data, tuple(plain.images))
    plain = Plain()
    return Described(_text(plain.of(value), value), "success", value, tuple(plain.images))


def _is_short(number: int) -> bool:
    # Python refuses to write integers of more than 4,300 digits as text.
    return -(2**63) < number < 2**63


def _text(plain: Any, value: Any) -> str:
    try:
        return sound(plain if isinstance(plain, str) else _to_json(plain))
    except FOREIGN:  # the stack may end here, far down in someone's recursion
        return shown(value)
