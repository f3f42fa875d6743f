"""TestModel: whether a cell runs at all, with arguments that its tools accept."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Network
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import UUID5, AnyUrl, Base64Str, BaseModel, DirectoryPath, Field, Json, StringConstraints
from typing_extensions import TypedDict

from nbagent import Agent, tool
from nbagent.messages import Message, ModelReply, ToolCall, ToolSchema, Usage
from nbagent.models.dummy import TestModel
from nbagent.models.model import Model
from nbagent.models.samples import smallest_arguments
from nbagent.request import Messages, ModelRequest


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def search(query: str, limit: int = 3) -> str:
    """Search."""
    return f"{limit} × {query}"


def request(*messages, tools=()):
    return ModelRequest(Messages(messages), tuple(tool(function).schema for function in tools))


def reply_to(asked):
    *pieces, reply = TestModel().stream(asked)
    assert isinstance(reply, ModelReply)
    assert "".join(pieces) == reply.content
    return reply


GO = Message("user", "go")


def test_it_is_a_model_that_pytest_does_not_collect():
    assert isinstance(TestModel(), Model)
    assert (TestModel().name, TestModel().mode, repr(TestModel())) == ("test", "test", "TestModel()")
    assert not TestModel.__test__


def test_its_first_reply_calls_every_tool_once_and_in_order():
    reply = reply_to(request(GO, tools=[search, add]))
    assert reply.tool_calls == (
        ToolCall("call_1", "search", '{"query": "a"}'),
        ToolCall("call_2", "add", '{"a": 0, "b": 0}'),
    )
    assert (reply.content, reply.finish_reason) == ("", "tool_calls")


def test_its_next_reply_says_what_was_called():
    asked = request(GO, tools=[search, add])
    calls = reply_to(asked).tool_calls
    answers = [Message("tool", "0", tool_call_id=call.id) for call in calls]
    reply = reply_to(ModelRequest(asked.messages + [Message("assistant", "", calls), *answers], asked.tools))
    assert (reply.content, reply.tool_calls, reply.finish_reason) == ("test reply: called search, add", (), "stop")


def test_without_tools_it_only_answers():
    assert reply_to(request(GO)).content == "test reply"


def test_a_new_message_of_the_user_makes_it_call_again_with_other_ids():
    call = ToolCall("call_1", "add", "{}")
    before = [GO, Message("assistant", "", (call,)), Message("tool", "0", tool_call_id="call_1")]
    reply = reply_to(request(*before, Message("assistant", "done"), GO, tools=[add]))
    assert [call.id for call in reply.tool_calls] == ["call_2"]


def test_its_usage_is_estimated_at_four_characters():
    assert reply_to(request(Message("user", "12345678"))).usage == Usage(2, 3, estimated=True)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_agent_runs_to_its_end_and_calls_each_tool_once(asynchronous):
    called = []

    def note(text: str) -> None:
        """Note."""
        called.append(text)

    agent = Agent("a", TestModel(), tools=[add, note, search])
    result = asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")
    assert (result.status, result.final_output) == ("completed", "test reply: called add, note, search")
    assert called == ["a"]


def test_async_gives_what_sync_gives():
    runs = [Agent("a", TestModel(), tools=[add, search]) for _ in range(2)]
    assert runs[0].run("go").events == asyncio.run(runs[1].arun("go")).events


def test_several_agents_may_share_one():
    model = TestModel()
    one, other = Agent("one", model, tools=[add]), Agent("other", model, tools=[search])
    streams = [one.stream("go"), other.stream("go")]
    for _ in zip_longest(*streams):
        pass
    assert [agent.last.final_output for agent in (one, other)] == [
        "test reply: called add",
        "test reply: called search",
    ]


def test_a_second_run_in_the_same_conversation_calls_again():
    agent = Agent("a", TestModel(), tools=[add])
    assert [agent.run("go").final_output for _ in range(2)] == ["test reply: called add"] * 2


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 3
    LARGE = 4


class Node(BaseModel):
    value: int
    children: list[Node]
    next: Optional[Node]  # noqa: UP045  both ways to write it have to work


class Constrained(BaseModel):
    number: int = Field(ge=3, multiple_of=5)
    code: str = Field(min_length=2, pattern=r"^[a-z]{3}$")
    node: Node
    note: str = "left out"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]


@dataclass
class Point:
    x: int
    label: str = ""


class Options(TypedDict):
    deep: bool
    name: NotRequired[str]


class Pair(NamedTuple):
    left: int
    right: str


class Negation(BaseModel):
    kind: Literal["not"]
    inner: Expression


class Conjunction(BaseModel):
    kind: Literal["and"]
    left: Expression
    right: Expression


class Constant(BaseModel):
    kind: Literal["constant"]
    value: bool


Expression = Annotated[Negation | Conjunction | Constant, Field(discriminator="kind")]
for recursive in (Negation, Conjunction):
    recursive.model_rebuild()

SMALLEST = [
    (str, "a"),
    (int, 0),
    (float, 0),
    (bool, False),
    (None, None),
    (Any, "a"),
    (Literal["x", 1], "x"),
    (Literal[2, 1], 2),
    (Colour, "red"),
    (Size, 3),
    (list[int], []),
    (list, []),
    (dict[str, int], {}),
    (dict, {}),
    (tuple[int, str], [0, "a"]),
    (tuple[int, ...], []),
    (tuple[()], []),
    (set[str], []),
    (frozenset[int], []),
    (Optional[int], 0),  # noqa: UP045
    (int | None, 0),
    (str | int, "a"),
    (Node | None, {"value": 0, "children": [], "next": None}),
    (datetime, "2000-01-01T00:00:00Z"),
    (date, "2000-01-01"),
    (time, "00:00:01Z"),
    (timedelta, "PT1S"),
    (Decimal, 0),
    (Fraction, 0),
    (UUID, "00000000-0000-4000-8000-000000000001"),
    (UUID5, "00000000-0000-5000-8000-000000000001"),
    (Path, "a"),
    (DirectoryPath, "."),
    (bytes, "a"),
    (Base64Str, "AA01"),
    (AnyUrl, "https://example.com/1"),
    (IPv4Address, "127.0.0.1"),
    (IPv6Network, "::1/128"),
    (Json[list[int]], "[]"),
    (Node, {"value": 0, "children": [], "next": None}),
    (Constrained, {"number": 5, "code": "aaa", "node": {"value": 0, "children": [], "next": None}}),
    (Point, {"x": 0}),
    (Options, {"deep": False}),
    (Pair, [0, "a"]),
    (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cat", "lives": 0}),
    (Expression, {"kind": "not", "inner": {"kind": "constant", "value": False}}),
    (Annotated[str, "what it is"], "a"),
    (Annotated[str, Field(examples=["Paris"])], "Paris"),
    (Annotated[str, Field(max_length=0)], ""),
    (Annotated[str, StringConstraints(to_upper=True, pattern="^[A-Z]+$")], "A"),
    (Annotated[str, Field(pattern=r"^user_\d+$")], "user_0"),
    (Annotated[str, Field(pattern=r"^(north|south)$")], "north"),
    (Annotated[str, Field(pattern=r"^\d{3}-\d{4}$")], "000-0000"),
    (Annotated[str, Field(pattern=r"^[a-z]+$", min_length=70)], "a" * 70),
    (Annotated[bytes, Field(min_length=3)], "aaa"),
    (Annotated[int, Field(le=-3, multiple_of=2)], -4),
    (Annotated[float, Field(gt=0, lt=1)], 0.5),
    (Annotated[float, Field(ge=0.3, le=0.4)], 0.3),
    (Annotated[float, Field(gt=0, multiple_of=0.1)], 0.1),
    (Annotated[float, Field(ge=1e300)], 1e300),
    (Annotated[Decimal, Field(ge=3, decimal_places=2)], 3),
    (Annotated[list[int], Field(min_length=2)], [0, 0]),
    (Annotated[set[int], Field(min_length=3)], [0, 1, 2]),
    (Annotated[set[str], Field(min_length=2)], ["a", "b"]),
    (Annotated[set[date], Field(min_length=2)], ["2000-01-01", "2000-01-02"]),
    (Annotated[set[Colour], Field(min_length=2)], ["red", "blue"]),
    (Annotated[set[tuple[bool, bool]], Field(min_length=3)], [[False, False], [False, True], [True, False]]),
    (Annotated[dict[str, bool], Field(min_length=2)], {"1": False, "2": False}),
    (Annotated[dict[int, bool], Field(min_length=1)], {"1": False}),
    (Annotated[dict[Colour, int], Field(min_length=2)], {"red": 0, "blue": 0}),
    (Annotated[dict[Annotated[str, Field(pattern="^x")], int], Field(min_length=1)], {"x": 0}),
]


def tool_of(annotation):
    def take(value): ...

    take.__annotations__ = {"value": annotation}
    return tool(take)


def accepted(annotation):
    """The smallest arguments of a tool, which has to accept them, as its schema has to."""
    taken = tool_of(annotation)
    arguments = smallest_arguments(taken.schema.parameters)
    taken.bind(json.dumps(arguments))
    Draft202012Validator(taken.schema.parameters).validate(arguments)
    return arguments["value"]


@pytest.mark.parametrize(("annotation", "smallest"), SMALLEST)
def test_a_tool_accepts_the_smallest_arguments(annotation, smallest):
    found = accepted(annotation)
    assert (found, type(found)) == (smallest, type(smallest))


@given(st.integers(-1000, 1000), st.integers(0, 100), st.integers(1, 40), st.booleans(), st.booleans())
def test_any_bounds_of_an_integer_are_kept(low, width, step, without_low, without_high):
    high = low + width
    assume(without_low or without_high or low // step != high // step or low % step == 0)
    bounds = ({} if without_low else {"ge": low}) | ({} if without_high else {"le": high})
    accepted(Annotated[int, Field(multiple_of=step, **bounds)])


@given(st.integers(-1000, 1000), st.floats(0.001, 10), st.booleans(), st.booleans())
def test_any_bounds_of_a_number_are_kept(low, width, without_low, without_high):
    high = low + width
    accepted(Annotated[float, Field(gt=None if without_low else low, lt=None if without_high else high)])
    accepted(Annotated[float, Field(ge=None if without_low else low, le=None if without_high else high)])


@given(st.integers(0, 100), st.integers(0, 100), st.booleans())
def test_any_length_of_a_text_is_kept(low, width, without_high):
    accepted(Annotated[str, Field(min_length=low, max_length=None if without_high else low + width)])


@given(st.integers(0, 12), st.integers(0, 5), st.sampled_from([int, str, float, tuple[bool, int], date, UUID]))
def test_any_length_of_a_list_or_a_set_is_kept(low, width, item):
    accepted(Annotated[list[item], Field(min_length=low, max_length=low + width)])
    accepted(Annotated[set[item], Field(min_length=low, max_length=low + width)])


@pytest.mark.parametrize(
    ("schema", "smallest"),
    [
        (True, "a"),
        ({"type": ["null", "string"]}, None),
        ({"anyOf": [False, {"type": "null"}]}, None),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}], "minLength": 2}, "aa"),
        ({"allOf": [{"type": "integer", "minimum": 3}, {"multipleOf": 7, "minimum": 2}]}, 7),
        ({"allOf": [{"enum": [1, 2, 3]}, {"enum": [3, 4]}]}, 3),
        (
            {"allOf": [{"required": ["a"]}, {"properties": {"a": {"minimum": 2}}, "required": ["b"]}]},
            {"a": 2, "b": "a"},
        ),
        ({"type": "integer", "multipleOf": 1.5, "minimum": 1}, 3),
        ({"type": "string", "default": None, "examples": [7, "Paris"]}, "Paris"),
        ({"type": "integer", "default": 7}, 7),
        ({"const": {"a": [1]}}, {"a": [1]}),
        ({"type": "string", "format": "date", "pattern": "-05$"}, "2000-01-05"),
        ({"type": "string", "format": "email"}, "a1@example.com"),
        (
            {"type": "array", "prefixItems": [{"enum": [1, 2]}, {"const": 1}], "minItems": 2, "uniqueItems": True},
            [2, 1],
        ),
        ({"minProperties": 2, "properties": {"a": {"type": "null"}}}, {"a": None, "1": "a"}),
        (
            {"minProperties": 1, "patternProperties": {"^x": {"type": "null"}}, "additionalProperties": False},
            {"x": None},
        ),
    ],
)
def test_what_only_other_peoples_schemas_hold(schema, smallest):
    parameters = {"properties": {"value": schema}, "required": ["value"]}
    assert smallest_arguments(parameters) == {"value": smallest}
    Draft202012Validator(parameters).validate({"value": smallest})


@pytest.mark.parametrize(("pattern", "smallest"), [(r"^(?<year>\d{4})$", "0000"), (r"^\p{Lu}+$", "A")])
def test_a_pattern_is_read_as_pydantic_reads_it(pattern, smallest):
    taken = tool_of(Annotated[str, Field(pattern=pattern)])
    arguments = smallest_arguments(taken.schema.parameters)
    assert taken.bind(json.dumps(arguments)) == ((), {"value": smallest})


def test_optional_parameters_are_left_out():
    assert smallest_arguments(tool(search).schema.parameters) == {"query": "a"}
    assert smallest_arguments({}) == {}


def smallest_of(definitions, schema):
    return smallest_arguments({"$defs": definitions, "properties": {"value": schema}, "required": ["value"]}).get(
        "value"
    )


def record(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


def ref(name):
    return {"$ref": f"#/$defs/{name}"}


def test_a_recursive_value_ends_as_soon_as_it_can():
    either = {"anyOf": [*(ref(f"T{n}") for n in range(12)), ref("Leaf")]}
    branches = {f"T{n}": record(a=either, b=either, c=either) for n in range(12)}
    leaf = {"leaf": 0}
    found = smallest_of({**branches, "Leaf": record(leaf={"type": "integer"})}, either)
    assert found == {"a": leaf, "b": leaf, "c": leaf}


def test_a_value_that_always_needs_itself_is_given_up():
    either = {"anyOf": [ref(f"T{n}") for n in range(12)]}
    assert smallest_of({f"T{n}": record(a=either) for n in range(12)}, either) is None


def test_references_that_have_to_fit_at_once():
    both = {"allOf": [ref("Base"), record(other=ref("Number"))]}
    again = {"anyOf": [{"allOf": [{"description": "the same"}, ref("Base")]}, {"type": "null"}]}
    definitions = {"Number": {"type": "integer"}, "Base": record(own=ref("Number"), again=again), "Both": both}
    inner = {"own": 0, "again": None}
    assert smallest_of(definitions, ref("Base")) == inner
    assert smallest_of(definitions, both) == {"own": 0, "again": inner, "other": 0}
    assert smallest_of(definitions, ref("Both")) == {"own": 0, "again": None, "other": 0}


def test_a_reference_to_nothing_is_anything():
    assert smallest_of({}, ref("nowhere")) == "a"


def test_a_pattern_that_nothing_fits_gets_the_best_guess():
    for pattern in (r"^x{3}y{7}z$", "[a(", r"^(a+)+b?c{3}d$"):
        assert smallest_of({}, {"type": "string", "pattern": pattern, "minLength": 2}) == "aa"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 5, "maximum": 3},
        {"type": "array", "items": {"type": "boolean"}, "minItems": 3, "uniqueItems": True},
        {"prefixItems": [{"const": 1}, {"const": 1}, {"type": "integer"}], "minItems": 3, "uniqueItems": True},
        {"type": "string", "minLength": 3, "maxLength": 2},
        False,
    ],
)
def test_a_schema_that_contradicts_itself_gets_no_arguments(schema):
    assert smallest_arguments({"properties": {"value": schema}, "required": ["value"]}) == {}


def test_a_schema_that_contradicts_itself_ends_in_an_observation():
    broken = ToolSchema("add", "", {"properties": {"a": False}, "required": ["a"]})
    assert reply_to(ModelRequest(Messages([GO]), (broken,))).tool_calls == (ToolCall("call_1", "add", "{}"),)
