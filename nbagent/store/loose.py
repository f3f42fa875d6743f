"""Loose: values of any type in what JSON has words for, and back.

As they were come back: None, bool, int, float (NaN and infinities, too), str, list, tuple, dict with any keys, set,
frozenset, bytes, complex, Decimal, Fraction, UUID, date, time, datetime, timedelta. Subclasses of these come back as
the type they are made of: a named tuple as a tuple, a StrEnum as a str. An Enum is put down as its value; a model of
pydantic, a dataclass and a msgspec Struct as a dict of their fields; everything else (a table, an array, a figure, a
result) as the text that a model is shown of it. What is put down in another form is so for good: written, read and
written again it is the same bytes. Nothing is pickled, and reading makes no object of any other class.
"""

from __future__ import annotations

import dataclasses
import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, cast
from uuid import UUID

from msgspec import Struct, structs

from nbagent.errors import FOREIGN
from nbagent.store.jsontext import dumps

TAG = "$"
"""The key that says what a JSON object stands for; a dict that has it is put down as its pairs."""
MOST = 200_000
"""How many values one value may hold; one with more is put down as its text."""
DEEPEST = 100
_SHORT = 2**63

Mask = Callable[[str], str]


def put(value: Any, mask: Mask = str) -> Any:
    """`value` in JSON's words. `mask`: what is made of each text. Never raises but for what ends the process."""
    kind = cast("type[object]", type(value))
    if kind is str:
        return mask(value)
    if value is None or kind is bool or (kind is int and -_SHORT < value < _SHORT):
        return value
    return _Putting(mask).whole(value)


def take(words: dict[str, Any]) -> Any:
    """What a JSON object stands for: the `object_hook` of the reader. Raises ValueError for what `put` never writes."""
    kind = words.get(TAG)
    if kind is None:
        if TAG in words:
            raise ValueError("an object without a kind")
        return words
    made = _TAKE.get(kind) if isinstance(kind, str) else None
    if made is None or words.keys() != {TAG, "of"}:
        raise ValueError(f"a value of an unknown kind: {kind!r}")
    return made(words["of"])


class _TooMuch(Exception):
    """It is too large, too deep or without an end."""


class _Putting:
    """One value on its way."""

    __slots__ = ("_depth", "_mask", "_room")

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._room = MOST
        self._depth = 0

    def whole(self, value: Any) -> Any:
        try:
            return self.of(value)
        except (*FOREIGN, _TooMuch):  # a value's methods are the user's code
            return self._text(value)

    def of(self, value: Any) -> Any:
        self._room -= 1
        if self._room < 0 or self._depth >= DEEPEST:
            raise _TooMuch
        kind = cast("type[object]", type(value))
        if kind is str:
            return self._mask(value)
        if value is None or kind is bool:
            return value
        if kind is bytes or kind is bytearray:
            return self.bytes(bytes(value))
        if (scalar := _PUT.get(kind)) is not None:
            return scalar(value)
        self._depth += 1
        try:
            return self._larger(value, kind)
        finally:
            self._depth -= 1

    def _larger(self, value: Any, kind: type[object]) -> Any:
        if issubclass(kind, Enum):
            return self.of(value.value)
        if hasattr(kind, "_tool_response_"):  # a result is its answer, not its journal
            return self._text(value)
        for base, made in _CONTAINERS.items():
            if issubclass(kind, base):
                return made(self, value)
        for base, plain in _BASES.items():
            if issubclass(kind, base):
                return self.of(plain(value))
        if (fields := _fields(value)) is not None:
            return self.mapping(fields)
        return self._text(value)

    def bytes(self, value: bytes) -> Any:
        read = value.decode("latin-1")  # a character for each byte
        masked = self._mask(read)
        return {TAG: "bytes", "of": b64encode(value).decode("ascii")} if masked == read else masked

    def items(self, value: Any) -> list[Any]:
        return [self.of(item) for item in value]

    def sequence(self, value: Any) -> Any:
        return {TAG: "tuple", "of": self.items(value)}

    def unordered(self, value: Any) -> Any:
        kind = "frozenset" if isinstance(value, frozenset) else "set"
        return {TAG: kind, "of": sorted(self.items(value), key=dumps)}  # its own order differs in each process

    def mapping(self, value: Mapping[Any, Any]) -> Any:
        if all(type(key) is str for key in value) and TAG not in value:
            named = {self._mask(key): self.of(item) for key, item in value.items()}
            if len(named) == len(value):  # no two keys have become one
                return named
        return {TAG: "dict", "of": [[self.of(key), self.of(item)] for key, item in value.items()]}

    def _text(self, value: Any) -> str:
        from nbagent.tools.serialise import describe  # not needed for most values, and its tables take a while

        return self._mask(describe(value).text)


def _fields(value: Any) -> Mapping[str, Any] | None:
    """The fields of a record that may be seen; None of anything else."""
    if isinstance(value, type):
        return None
    if hasattr(cast("object", type(value)), "model_dump"):  # of pydantic
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.repr}
    return structs.asdict(value) if isinstance(value, Struct) else None


def _integer(value: int) -> Any:
    # JSON readers and Python itself refuse long ones.
    return value if -_SHORT < value < _SHORT else {TAG: "int", "of": hex(value)}


def _real(value: float) -> Any:
    return value if math.isfinite(value) else {TAG: "float", "of": repr(value)}


def _named(kind: str, text: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: {TAG: kind, "of": text(value)}


def _parts(value: timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


def _moment(value: datetime | time) -> Any:
    return [value.isoformat(), value.fold]


_PUT: dict[type[object], Callable[[Any], Any]] = {
    int: _integer,
    float: _real,
    complex: _named("complex", lambda value: [repr(value.real), repr(value.imag)]),
    Decimal: _named("decimal", str),
    Fraction: _named("fraction", str),
    UUID: _named("uuid", str),
    date: _named("date", date.isoformat),
    time: _named("time", _moment),
    datetime: _named("datetime", _moment),
    timedelta: _named("timedelta", _parts),
}
_BASES: dict[type[object], Callable[[Any], Any]] = {str: str.__str__, int: int.__int__, float: float.__float__}
"""Not by calling them: a subclass may say something else of itself."""
_CONTAINERS: dict[type[object], Callable[[_Putting, Any], Any]] = {
    dict: _Putting.mapping,
    list: _Putting.items,
    tuple: _Putting.sequence,
    set: _Putting.unordered,
    frozenset: _Putting.unordered,
    Mapping: _Putting.mapping,
}
_TAKE: dict[str, Callable[[Any], Any]] = {
    "int": lambda of: int(of, 16),
    "float": float,
    "complex": lambda of: complex(float(of[0]), float(of[1])),
    "bytes": lambda of: b64decode(of, validate=True),
    "decimal": Decimal,
    "fraction": Fraction,
    "uuid": UUID,
    "date": date.fromisoformat,
    "time": lambda of: time.fromisoformat(of[0]).replace(fold=of[1]),
    "datetime": lambda of: datetime.fromisoformat(of[0]).replace(fold=of[1]),
    "timedelta": lambda of: timedelta(*of),
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "dict": lambda of: {key: value for key, value in of},  # noqa: C416  its keys may be tuples
}
