"""Codec: every event of every kind of run as JSON, and back; what no JSON has words for as its text."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import NamedTuple
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journals import KINDS, Mood, Point, Weather, all_agents, ended, things, times

from nbagent.events import (
    ApprovalRevoked,
    Nested,
    Noted,
    PlanEdited,
    RunFinished,
    StepFinished,
    ToolReturned,
    innermost,
)
from nbagent.messages import Image, Message, Observation
from nbagent.store import loose
from nbagent.store.codec import EVENTS, alike, decode, encode
from nbagent.store.jsontext import dumps, loads

NOT_JSON = (Weather, Mood, Point)
"""What the samples answer with and no JSON has words for."""


def back(value):
    return decode(encode(RunFinished("completed", value))).final_output


def test_every_event_of_every_kind_of_run_comes_back_as_it_was():
    kinds, count = {PlanEdited.__name__, ApprovalRevoked.__name__}, 0  # which only a run that goes on has
    for name, agent, task in all_agents():
        result = ended(agent, task)
        for event in result.events:
            data = encode(event)
            again = decode(data)
            assert encode(again) == data, name
            assert alike(again, event), name
            if not isinstance(event, RunFinished) or not isinstance(event.final_output, NOT_JSON):
                assert again == event, name
            kinds |= {type(event).__name__, type(innermost(event)).__name__}
            count += 1
    print(f"{count} events of {len(kinds)} kinds")
    assert kinds == set(EVENTS)  # a new kind of event needs a run with it in journals.py
    assert count > 200


def test_what_is_not_compared_comes_back_too():
    for _, agent, task in all_agents():
        for event in ended(agent, task).events:
            again, inner = innermost(decode(encode(event))), innermost(event)
            assert getattr(again, "position", 0) == getattr(inner, "position", 0)
            if isinstance(inner, ToolReturned):
                assert again.observation.full_text == inner.observation.full_text
                failed = inner.observation.error
                assert (failed and failed.traceback) == (again.observation.error and again.observation.error.traceback)


def test_the_same_event_is_the_same_bytes_in_one_line_of_ascii():
    event = StepFinished("plan", 1, output=("日本", {"b": 1, "a": {"x", "y", "z"}}, "\u2028\n\x00"))
    data = encode(event)
    assert data == encode(StepFinished("plan", 1, output=("日本", {"b": 1, "a": {"z", "y", "x"}}, "\u2028\n\x00")))
    assert data.isascii()
    assert b"\n" not in data
    assert json.loads(data)["kind"] == "StepFinished"
    assert decode(data) == event


def test_a_dict_keeps_its_order_which_a_model_reads():
    assert list(back({"b": 1, "a": 2})) == ["b", "a"]


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.dates()
    | st.times(timezones=st.just(UTC))
    | st.datetimes(timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=2, seconds=7))]))
    | st.timedeltas()
    | st.complex_numbers(allow_nan=False)
    | st.uuids()
)
hashable = st.recursive(scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=6)
values = st.recursive(
    scalars | hashable,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=3) | st.just(loose.TAG), inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=3)
        | st.sets(hashable, max_size=3)
    ),
    max_leaves=20,
)


def types_of(value):
    if isinstance(value, dict):
        return [(types_of(k), types_of(v)) for k, v in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [types_of(item) for item in value]
    return type(value)


@settings(max_examples=times(4000, 200))
@given(values)
def test_a_value_comes_back_with_its_type(value):
    again = back(value)
    assert again == value
    assert types_of(again) == types_of(value)


def same(value):
    """Compares what is not equal to itself."""
    return repr(value)


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        -math.inf,
        -0.0,
        2**63,
        -(10**400),
        "\ud800 and \udfff",
        {"$": "tuple", "of": [1]},
        {"$": None},
        {1: "a", "1": "b"},
        {(1, 2): {frozenset({3})}},
        datetime(2026, 10, 25, 2, 30, fold=1),  # noqa: DTZ001
        time(2, 30, fold=1),
        Decimal("sNaN"),
        Decimal("1.10"),
        Fraction(1, 3),
        UUID(int=7),
        b"",
        date(1, 1, 1),
        timedelta(days=-1, microseconds=3),
        complex(math.inf, -0.0),
        [],
        (),
        set(),
        {},
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_that_json_has_no_words_for_come_back(value):
    assert same(back(value)) == same(value)
    assert type(back(value)) is type(value)


def test_a_number_of_more_digits_than_python_writes_comes_back():
    assert back(10**6000) == 10**6000


class Text(StrEnum):
    a = "x"


class Pair(NamedTuple):
    a: int
    b: int


class Number(IntEnum):
    one = 1


@pytest.mark.parametrize(
    ("value", "put"),
    [
        (Text.a, "x"),
        (Number.one, 1),
        (Mood.good, "Good"),
        (Weather(city="Oslo", degrees=3), {"city": "Oslo", "degrees": 3}),
        (Point(1, date(2026, 11, 30)), {"x": 1, "when": date(2026, 11, 30)}),
        (OrderedDict(a=1), {"a": 1}),
        (Pair(1, 2), (1, 2)),
        (bytearray(b"x"), b"x"),
        (range(3), "[0, 1, 2]"),
        (ValueError("no"), "ValueError: no"),
        (
            Message("user", "hi"),
            {"role": "user", "content": "hi", "tool_calls": (), "tool_call_id": None, "images": (), "reasoning": ()},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_put_down_in_another_form_is_so_for_good(value, put):
    assert back(value) == put
    assert type(back(value)) is type(put)
    assert encode(RunFinished("completed", back(value))) == encode(RunFinished("completed", value))


@pytest.mark.parametrize("kind", KINDS)
def test_the_data_of_an_observation_comes_back_or_is_what_the_model_has_read(kind):
    value = things.function(kind)
    again = decode(encode(ToolReturned(1, 0, Observation("1", "text", data=value)))).observation.data
    if kind == "table":
        assert "a" in again
        assert isinstance(again, str)
    elif kind in ("plain", "moment", "long", "half"):
        assert same(again) == same(value)


def test_a_value_without_end_or_measure_is_put_down_as_its_text():
    ring: list = []
    ring.append(ring)
    deep: list = []
    for _ in range(500):
        deep = [deep]
    large = list(range(loose.MOST + 1))
    for value in (ring, deep, large):
        data = encode(RunFinished("completed", value))
        assert isinstance(decode(data).final_output, str)
        assert len(data) < 1_000_000


def test_a_value_whose_methods_fail_is_put_down_as_its_text():
    class Broken(dict):
        def items(self):
            raise RuntimeError("no")

    class Hidden:
        def __repr__(self):
            raise RuntimeError("no")

    assert isinstance(back(Broken(a=1)), str)
    assert "Hidden" in back(Hidden())


def test_a_picture_comes_back_to_the_byte():
    image = Image(bytes(range(256)), caption="c")
    event = ToolReturned(1, 0, Observation("1", "", images=(image,)))
    assert decode(encode(event)).observation.images == (image,)


def test_a_field_with_its_default_takes_no_room():
    assert encode(Noted(1, "x")) == b'{"kind":"Noted","event":{"turn":1,"text":"x"}}'
    assert encode(Noted(1, "x", False)) == b'{"kind":"Noted","event":{"turn":1,"text":"x","told":false}}'


@pytest.mark.parametrize("event", [Noted(1, None), Noted("1", "x"), RunFinished("over"), Nested(1, 0, Noted(1, 2))])
def test_an_event_that_could_not_be_read_again_is_refused_when_it_is_written(event):
    with pytest.raises(ValueError, match=r"Expected|Invalid"):
        encode(event)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nul",
        b"[]",
        b'"x"',
        b"{}",
        b'{"kind":"Nothing","event":{}}',
        b'{"kind":["Noted"],"event":{}}',
        b'{"kind":"Noted","event":[]}',
        b'{"kind":"Noted","event":{"turn":1}}',
        b'{"kind":"Noted","event":{"turn":1,"text":2}}',
        b'{"kind":"Nested","event":{"turn":1}}',
        b'{"kind":"RunFinished","event":{"status":"completed","final_output":NaN}}',
        b'{"$":"os.system","of":"ls"}',
        b'{"$":"tuple","of":1}',
        b'{"$":"tuple","of":[],"more":1}',
        b'{"$":"bytes","of":"!"}',
        b'{"$":["x"],"of":1}',
        b'{"$":"decimal","of":"x"}',
        b'{"$":"set","of":[[]]}',
        b'{"$":"fraction","of":"1/0"}',
        b'{"$":"time","of":[]}',
        b'{"$":"dict","of":[[[],1]]}',
        b'{"$":"int","of":7}',
        b"\xff",
        b"[" * 100_000,
        b'{"lc":2,"type":"constructor","id":["os","system"],"kwargs":{}}',
        b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00K\x01.",
    ],
)
def test_what_is_no_event_is_refused_and_makes_nothing(data):
    with pytest.raises(ValueError):  # noqa: PT011  whatever is wrong with it
        decode(data)


@settings(max_examples=times(20_000))
@given(st.binary() | st.text().map(str.encode) | values.map(lambda value: dumps(loose.put(value)).encode()))
def test_any_bytes_are_an_event_or_refused(data):
    try:
        decode(data)
    except ValueError:
        return


@settings(max_examples=times(2000, 100))
@given(values)
def test_what_looks_like_a_tag_in_a_value_is_one_nowhere(value):
    assert loads(dumps(loose.put({"$": value})), loose.take) == {"$": value}
