"""Output model: a type as the form of an answer: what is told of it, what comes back, and which schemas are strict."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Generic, Literal, NotRequired, TypeVar

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, model_validator
from typing_extensions import TypedDict

from nbagent.errors import ConfigError
from nbagent.models.wires.chat import strict
from nbagent.prompt.answer import reader
from nbagent.prompt.blueprint import blueprint, with_output
from nbagent.prompt.formatters.known import KNOWN
from nbagent.prompt.output import InvalidAnswer, Output
from nbagent.prompt.output_model import model_output

T = TypeVar("T")


class Mood(Enum):
    good = "Good"
    bad = "Bad"


class Item(BaseModel):
    name: str
    count: int = 1


class Trip(BaseModel):
    start: int = Field(ge=0, description="the first day")
    end: int
    mood: Mood = Mood.good
    items: list[Item] = Field(default_factory=list)
    from_: str = Field(alias="from", description="the city")
    via: str | None = Field(default=None, validation_alias=AliasChoices("via", "over"))
    more: Any = None

    @model_validator(mode="after")
    def in_order(self):
        if self.end < self.start:
            raise ValueError("The end must not be before the start")
        return self


@dataclass
class Point:
    x: int
    tags: list[str] = field(default_factory=list)


class Row(TypedDict):
    a: int
    b: NotRequired[str]


class Numbers(RootModel[list[int]]):
    pass


class Node(BaseModel):
    name: str
    kids: list[Node] = []


@dataclass
class Box(Generic[T]):
    held: T


class Exact(BaseModel):
    model_config = ConfigDict(strict=True)
    day: dt.date
    mood: Mood


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int


class Empty(BaseModel):
    pass


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


TRIP = {"start": 1, "end": 2, "from": "Rome"}

# what is told


def test_the_fields_of_a_model_are_told_by_the_names_of_their_json():
    told = model_output(Trip).told()
    assert list(told) == ["start", "end", "mood", "items", "from", "via", "more"]
    assert told["start"] == '{"minimum": 0, "type": "integer"}: the first day'
    assert (told["end"], told["from"]) == ("int", "str: the city")
    assert told["mood"] == '{"enum": ["Good", "Bad"], "title": "Mood", "type": "string"}, optional, default "Good"'
    assert (told["via"], told["more"]) == ("str | None, optional", "any value, optional")
    assert '"items": {"$ref": "#/$defs/Item"}' in told["items"]
    assert '"$defs": {"Item": ' in told["items"]  # a field stands by itself
    assert "Mood" not in told["items"]
    assert told["items"].endswith(", optional")


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Point, {"x": "int", "tags": "list[str], optional"}),
        (Row, {"a": "int", "b": "str, optional"}),
        (Box[int], {"held": "int"}),
        (list[int], {"value": "list[int]"}),
        (Literal["a", "b"], {"value": "one of 'a', 'b'"}),
        (int, {"value": "int"}),
        (Any, {"value": "any value"}),
        (dict[str, int], {"value": "dict[str, int]"}),
        (Numbers, {"value": '{"items": {"type": "integer"}, "title": "Numbers", "type": "array"}'}),
    ],
)
def test_a_type_with_fields_is_these_and_any_other_is_one_field(kind, told):
    assert model_output(kind).told() == told
    assert len(model_output(kind)) == len(told)


def test_a_type_that_holds_itself_is_told():
    told = model_output(Node).told()
    assert told["name"] == "str"
    assert told["kids"].count('"Node"') == 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (Item(name="x"), "an instance of Item: write Item, the class itself"),
        (Point(1), "an instance of Point: write Point, the class itself"),
        (None, "got None"),
        ("int", "got 'int'"),
        (5, "got 5"),
        ({"a": int}, "got {'a': <class 'int'>}"),
        ([int], "got "),
        (Mood.good, "Mood.good"),
        (len, "got <built-in function len>"),
        (test_a_type_that_holds_itself_is_told, "got <function"),
        (Callable, "got .*Callable"),
        (object(), "got <object object>"),
        (type("Odd", (), {}), "got Odd: Unable to generate"),
        (list["Nowhere"], "got list"),  # noqa: F821
        (Empty, "got Empty, which has no fields"),
    ],
)
def test_what_is_no_type_that_can_be_described_is_refused_at_once(given, says):
    with pytest.raises(ConfigError, match=says) as raised:
        model_output(given)
    assert str(raised.value).startswith("output_schema: expected a pydantic model or a type such as list[int], got ")
    assert " at 0x" not in str(raised.value)


# what comes back


@pytest.mark.parametrize(
    ("kind", "answer", "value"),
    [
        (Trip, {**TRIP, "over": "Pisa", "unasked": 1}, Trip(**TRIP, via="Pisa")),
        (Trip, {**TRIP, "mood": "Bad", "items": [{"name": "a"}]}, Trip(**TRIP, mood=Mood.bad, items=[Item(name="a")])),
        (Point, {"x": "1"}, Point(1)),
        (Row, {"a": 1}, {"a": 1}),
        (Box[int], {"held": 3}, Box(3)),
        (Exact, {"day": "2024-02-29", "mood": "Good"}, Exact(day=dt.date(2024, 2, 29), mood=Mood.good)),
        (list[int], {"value": [1, 2]}, [1, 2]),
        (Mood, {"value": "Bad"}, Mood.bad),
        (Numbers, {"value": [1]}, Numbers([1])),
        (Cat | Dog, {"value": {"kind": "dog"}}, Dog(kind="dog")),
        (int, {"value": "3", "more": 1}, 3),
    ],
)
def test_an_answer_is_an_instance_of_the_type(kind, answer, value):
    found = model_output(kind).checked(answer)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "answer", "wrong"),
    [
        (
            Trip,
            {"start": -1, "end": "soon", "mood": "good", "items": [{}]},
            (
                "start: input should be greater than or equal to 0",
                "end: input should be a valid integer",
                "mood: input should be 'Good' or 'Bad'",
                "items.0.name: field required",
                "from: missing",
            ),
        ),
        (Trip, {**TRIP, "end": 0}, ("the answer as a whole: value error, The end must not be before the start",)),
        (Closed, {"a": 1, "b": 2}, ("b: extra inputs are not permitted",)),
        (list[int], {"value": [1, "b"]}, ("value.1: input should be a valid integer",)),
        (list[int], {}, ("value: missing",)),
        (Mood, {"value": "good"}, ("value: input should be 'Good' or 'Bad'",)),
    ],
)
def test_every_problem_is_named_for_the_model(kind, answer, wrong):
    output = model_output(kind)
    with pytest.raises(InvalidAnswer) as raised:
        output.checked(answer)
    told = str(raised.value)
    assert told.startswith(f"The answer cannot be used. Expected the fields {', '.join(output.described)}.\n")
    assert all(part in told for part in wrong)
    assert told.count("; ") == len(wrong) - 1


def test_what_a_reader_of_texts_gives_is_read():
    output = model_output(Point)
    assert output.checked({"x": "1", "tags": '["a", "1"]'}) == Point(1, ["a", "1"])
    with pytest.raises(InvalidAnswer, match=r"tags\.0: input should be a valid string"):
        output.checked({"x": "1", "tags": "[1]"})
    read = reader(KNOWN["tagged"], output)
    assert read('<x>1\n<tags>["a"]').value == Point(1, ["a"])
    assert model_output(list[int]).checked({"value": "[1]"}) == [1]


def test_values_that_are_no_json_are_checked_as_they_are():
    day = dt.date(2024, 1, 1)
    assert model_output(Exact).checked({"day": day, "mood": Mood.bad}) == Exact(day=day, mood=Mood.bad)


def test_an_answer_is_read_and_repaired_before_it_is_checked():
    reading = reader(KNOWN["json"], model_output(Item))('Sure:\n```json\n{"name": "a",}\n```')
    assert reading.value == Item(name="a")
    assert reading.repairs


# the schema


def test_the_schema_of_fields_is_an_object_with_all_of_them():
    schema = Output({"mood": "in one word", "n": (int, "how many"), "c": Mood, "i": list[Item]}).schema
    assert schema["required"] == list(schema["properties"]) == ["mood", "n", "c", "i"]
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert schema["properties"]["mood"] == {"description": "in one word"}
    assert schema["properties"]["n"] == {"type": "integer", "description": "how many"}
    assert schema["properties"]["c"] == {"$ref": "#/$defs/Mood"}
    assert schema["properties"]["i"] == {"type": "array", "items": {"$ref": "#/$defs/Item"}}
    assert set(schema["$defs"]) == {"Mood", "Item"}


def test_the_schema_of_a_type_is_its_own_without_defaults():
    output = model_output(Trip)
    schema = output.schema
    assert schema is output.schema
    assert list(schema["properties"]) == list(output.described)
    assert schema["required"] == ["start", "end", "from"]
    assert "default" not in str(schema)
    assert model_output(Node).schema["properties"].keys() == {"name", "kids"}
    assert model_output(Node).schema["type"] == "object"
    boxed = model_output(list[int]).schema
    assert boxed == {
        "type": "object", "properties": {"value": {"type": "array", "items": {"type": "integer"}}},
        "required": ["value"], "additionalProperties": False,
    }  # fmt: skip


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class NoA(BaseModel):
    model_config = ConfigDict(regex_engine="python-re")
    text: str = Field(pattern="^(?!a)")


class Nullable(BaseModel):
    one: Literal["a"] | None = None


NATIVE = [
    *({"n": int}, {"n": "int", "c": Mood, "i": (list[Item], "things")}, {"a": "str | None", "d": dt.date}),
    *({"n": Annotated[int, Field(ge=0, lt=9)]}, {"t": Annotated[str, Field(pattern="^a+$")]}, {"i": Item | None}),
    *(Item, Nullable, Point, Row, Exact, Closed, Numbers, list[Item], Mood, Literal["a"], Cat | Dog, Decimal),
]
NOT_NATIVE = [
    *({}, {"mood": "in one word"}, {"n": int, "mood": "in one word"}, {"x": "list"}, {"x": "dict[str, int]"}),
    *({"what is it?": int}, {"n" * 65: int}),  # no keys that Anthropic takes
    *(Trip, Node, Loose, Any, dict, tuple[int, str], set[int], bytes, Literal["a", 1], list[Any], list[Loose]),
    Annotated[str, Field(min_length=1)],
    NoA,
    Annotated[Cat | Dog, Field(discriminator="kind")],
]


def output_of(declared):
    return Output(declared) if isinstance(declared, dict) else model_output(declared)


@pytest.mark.parametrize("declared", NATIVE)
def test_what_all_strict_outputs_take_is_native_and_the_sdks_make_it_strict(declared):
    from anthropic import transform_schema

    output = output_of(declared)
    before = repr(output.schema)
    assert output.native
    for made in (strict(output.schema), transform_schema(output.schema)):
        found = list(objects(made))
        assert found
        assert all(one["additionalProperties"] is False and one["properties"] for one in found)
    assert all(one["required"] == list(one["properties"]) for one in objects(strict(output.schema)))
    assert repr(output.schema) == before


@pytest.mark.parametrize("declared", NOT_NATIVE)
def test_what_not_all_strict_outputs_take_is_not_native(declared):
    assert not output_of(declared).native


def objects(schema):
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


# the blueprint


def plan(**options):
    return blueprint(**options, to_text=str)


def test_a_blueprint_takes_another_output():
    made = with_output(plan(instructions="Be brief.", pull_keys=["a"]), model_output(Item))
    assert (made.writer, made.reader) == (None, KNOWN["json"])
    assert (made.system, made.pulled) == (plan(instructions="Be brief.").system, {"a": ""})
    assert list(made.output.described) == ["name", "count"]
    assert made.answer_schema == model_output(Item).schema
    kept = with_output(plan(output={"mood": "in one word"}, formatters=["markdown", "lenient json"]), model_output(int))
    assert (kept.writer, kept.reader) == (KNOWN["markdown"], KNOWN["lenient json"])
    assert list(kept.output.described) == ["value"]


def test_a_blueprint_whose_answers_stay_text_takes_no_output():
    with pytest.raises(ConfigError, match="formatters: `text` reads no answer, and output fields need one"):
        with_output(plan(formatters=["paragraph", "text"]), model_output(Item))


def test_what_is_pushed_has_to_be_in_the_output():
    pushing = plan(push_keys={"name": "who", "mood": "how"})
    with pytest.raises(ConfigError, match=r"push_keys: expected fields of the output \(name, count\), got mood"):
        with_output(pushing, model_output(Item))
    assert with_output(plan(push_keys=["name"]), model_output(Item)).pushed == {"name": ""}


def test_only_an_answer_in_json_is_held_to_a_schema():
    assert with_output(plan(formatters="markdown"), model_output(Item)).answer_schema is None
    assert with_output(plan(), model_output(Node)).answer_schema is None
    assert plan(output={"mood": "in one word"}).answer_schema is None
    assert plan().answer_schema is None
    assert plan(output={"n": int}).answer_schema is not None
