"""A signature and its docstring become a JSON schema, and JSON becomes the values that the annotations promise."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import functools
import json
import os
import subprocess
import sys
import typing
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from typing_extensions import TypedDict

from nbagent.errors import ToolDefinitionError
from nbagent.tools.arguments import InvalidArguments
from nbagent.tools.tool import tool


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Place:
    city: str
    title: str = "none"


class Trip(BaseModel):
    """A trip."""

    days: int
    title: str = "home"


class Box(TypedDict):
    width: float


def takes(hint: Any, *default: Any):
    """A tool with one parameter `x` of this type."""

    def f(x): ...

    f.__annotations__ = {"x": hint}
    f.__defaults__ = default or None
    return tool(f)


def value_of(hint: Any, text: str) -> Any:
    return takes(hint).bind(f'{{"x": {text}}}')[1]["x"]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007  both spellings count
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Any, {}),
        (Annotated[str, "Which city."], {"type": "string", "description": "Which city."}),
        (Annotated[int, Field(ge=1, description="Few.")], {"type": "integer", "minimum": 1, "description": "Few."}),
        (Annotated[str, "Which."] | None, {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "Which."}),
        (dt.date, {"type": "string", "format": "date"}),
        ("int", {"type": "integer"}),
    ],
)  # fmt: skip
def test_a_type_has_its_schema(hint, schema):
    assert takes(hint).schema.parameters == {
        "type": "object",
        "properties": {"x": schema},
        "required": ["x"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (int, "-0", 0),
        (int, "12345678901234567890123", 12345678901234567890123),
        (float, "1", 1.0),
        (Optional[int], "null", None),  # noqa: UP045
        (dt.date, '"2024-05-01"', dt.date(2024, 5, 1)),
        (dt.datetime, '"2024-05-01T10:00:00"', dt.datetime(2024, 5, 1, 10)),  # noqa: DTZ001
        (Decimal, '"1.10"', Decimal("1.10")),
        (uuid.UUID, f'"{uuid.UUID(int=7)}"', uuid.UUID(int=7)),
        (Path, '"a/b"', Path("a/b")),
        (Unit, '"celsius"', Unit.C),
        (list[Unit], '["celsius", "fahrenheit"]', [Unit.C, Unit.F]),
        (Level, "2", Level.HIGH),
        (Literal[1, "a"], "1", 1),
        (Literal[True, 2], "true", True),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (set[int], "[1, 2, 2]", {1, 2}),
        (Place, '{"city": "Oslo"}', Place("Oslo")),
        (Trip, '{"days": 2}', Trip(days=2)),
        (list[Trip], '[{"days": 2}]', [Trip(days=2)]),
        (Box, '{"width": 2}', {"width": 2.0}),
        (int | str, '"5"', "5"),
        (Any, '[1, {"a": null}]', [1, {"a": None}]),
    ],
)
def test_json_becomes_what_the_annotation_says(hint, text, value):
    got = value_of(hint, text)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("hint", "text", "said"),
    [
        (int, '"5"', 'x: expected a valid integer, got "5"'),
        (int, "1.0", "x: expected a valid integer, got 1.0"),
        (int, "1e3", "x: expected a valid integer, got 1000.0"),
        (int, "true", "x: expected a valid integer, got true"),
        (int, "null", "x: expected a valid integer, got null"),
        (float, '"1.5"', 'x: expected a valid number, got "1.5"'),
        (bool, "1", "x: expected a valid boolean, got 1"),
        (str, "5", "x: expected a valid string, got 5"),
        (Literal[1, 2], "true", "x: expected 1 or 2, got true"),
        (Literal[1, 2], "1.0", "x: expected 1 or 2, got 1.0"),
        (Literal[True], "1", "x: expected true, got 1"),
        (Level, "true", "x: expected 1 or 2, got true"),
        (list[Level] | None, "[1, true]", "x[1]: expected 1 or 2, got true"),
        (Unit, '"kelvin"', "x: expected 'celsius' or 'fahrenheit', got \"kelvin\""),
        (list[int], '[1, "a"]', 'x[1]: expected a valid integer, got "a"'),
        (int | str, "[]", "x: expected a valid integer or a valid string, got []"),
        (Trip, '{"days": "2"}', 'x.days: expected a valid integer, got "2"'),
        (Trip, "{}", "x.days: expected a value, got nothing"),
        (list[Place], '[{"city": "a"}, {"title": "b"}]', "x[1].city: expected a value, got nothing"),
        (Place, '{"city": "a", "town": "b"}', 'x.town: expected no such key, got "b"'),
        (Annotated[int, Field(ge=1)], "0", "x: expected greater than or equal to 1, got 0"),
        (dict[int, str], '{"a": "b"}', 'x.a: expected a valid integer, unable to parse string as an integer, got "a"'),
        (Annotated[str, Field(pattern="a")], '""', "x: expected otherwise: String should match pattern 'a', got \"\""),
    ],
)  # fmt: skip
def test_wrong_json_is_refused_with_path_expected_and_got(hint, text, said):
    with pytest.raises(InvalidArguments) as caught:
        value_of(hint, text)
    assert str(caught.value) == f"invalid arguments: {said}"


def test_several_problems_are_joined_and_sorted_by_path():
    def pay(to: str, amount: int, memo: str = "") -> None: ...

    with pytest.raises(InvalidArguments) as caught:
        tool(pay).bind('{"zip": 1, "amount": "5"}')
    assert str(caught.value) == (
        'invalid arguments: amount: expected a valid integer, got "5"; to: expected a value of type string, '
        "got nothing; zip: expected no such argument (there are: to, amount, memo), got 1"
    )


def test_problems_in_a_list_are_sorted_by_number():
    with pytest.raises(InvalidArguments) as caught:
        value_of(list[int], "[" + "null, " * 30 + "0]")
    said = str(caught.value)
    assert said.index("x[2]") < said.index("x[10]")
    assert said.endswith("; and 10 more")


def test_coercion_happens_only_where_the_tool_asks_for_it():
    assert value_of(Annotated[int, Field(strict=False)], '"5"') == 5
    assert value_of(Annotated[int, BeforeValidator(int)], '"5"') == 5


def test_a_validator_that_fails_in_its_own_way_is_an_invalid_argument_too():
    class Odd(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def check(cls, n: int) -> int:
            if n == 0:
                raise ValueError("must not be 0")
            raise KeyError("oops")

    with pytest.raises(InvalidArguments, match=r"x\.n: expected otherwise: must not be 0, got 0"):
        value_of(Odd, '{"n": 0}')
    with pytest.raises(InvalidArguments, match="cannot be checked: KeyError: 'oops'"):
        value_of(Odd, '{"n": 1}')


def test_optional_without_a_default_is_required_and_nullable():
    made = takes(Optional[int])  # noqa: UP045
    assert made.schema.parameters["required"] == ["x"]
    assert made.bind('{"x": null}') == ((), {"x": None})
    with pytest.raises(InvalidArguments, match="x: expected a value, got nothing"):
        made.bind("{}")


@pytest.mark.parametrize(
    ("default", "shown"),
    [(None, None), (3, 3), (Unit.C, "celsius"), ((1, 2), [1, 2]), ({"a": [1]}, {"a": [1]}), ("title", "title")],
)
def test_a_default_makes_a_parameter_optional_and_is_shown(default, shown):
    parameters = takes(Any, default).schema.parameters
    assert "required" not in parameters
    assert parameters["properties"]["x"] == {"default": shown}


@pytest.mark.parametrize("default", [object(), {1, 2}, float("nan"), b"x"])
def test_a_default_that_json_does_not_have_is_not_shown(default):
    made = takes(Any, default)
    assert made.schema.parameters["properties"]["x"] == {}
    assert made.bind("") == ((), {})


def test_parameters_may_have_any_name():
    def f(schema: int, json: int, copy: int, *, self_: int, _x: int, model_config: int, title: int) -> None: ...

    names = ["schema", "json", "copy", "self_", "_x", "model_config", "title"]
    made = tool(f)
    assert list(made.schema.parameters["properties"]) == made.schema.parameters["required"] == names
    assert made.bind(json.dumps(dict.fromkeys(names, 1))) == ((), dict.fromkeys(names, 1))


def test_titles_of_pydantic_are_gone_and_properties_called_title_stay():
    parameters = takes(Trip).schema.parameters
    assert parameters["properties"] == {"x": {"$ref": "#/$defs/Trip"}}
    assert parameters["$defs"]["Trip"] == {
        "description": "A trip.",
        "properties": {"days": {"type": "integer"}, "title": {"default": "home", "type": "string"}},
        "required": ["days"],
        "type": "object",
        "additionalProperties": False,
    }


def test_var_args_are_left_out():
    def f(x: int, *args: int, **kwargs: int) -> None: ...

    assert list(tool(f).schema.parameters["properties"]) == ["x"]


def test_a_schema_without_parameters_is_an_empty_object():
    assert tool(name="f")(lambda: 1).schema.parameters == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_types_local_to_a_function_are_found_while_it_runs():
    class Local(BaseModel):
        n: int

    def f(x: Local, y: list[Local]) -> None: ...

    values = tool(f).bind('{"x": {"n": 1}, "y": [{"n": 2}]}')[1]
    assert values == {"x": Local(n=1), "y": [Local(n=2)]}


def test_types_local_to_a_function_that_has_ended_are_an_error_that_names_the_parameter():
    def outer():
        class Gone(BaseModel): ...

        def f(x: int, y: Gone) -> None: ...

        return f

    with pytest.raises(ToolDefinitionError, match="tool 'f': parameter 'y': its type 'Gone' cannot be found"):
        tool(outer())


def test_a_local_function_may_call_itself():
    @tool
    def down(n: int) -> int:
        return down(n - 1) if n else 0

    assert down(**down.bind('{"n": 3}')[1]) == 0


class Opaque: ...


@pytest.mark.parametrize("hint", [Opaque, list[Opaque], typing.Callable[[], int], "Nowhere"])
def test_a_type_that_json_cannot_carry_is_an_error_that_names_the_parameter(hint):
    def f(a: int, b): ...

    f.__annotations__["b"] = hint
    with pytest.raises(ToolDefinitionError, match="tool 'f': parameter 'b'"):
        tool(f)


def test_a_missing_annotation_is_an_error_that_says_what_to_write():
    def f(a: int, b): ...

    with pytest.raises(ToolDefinitionError) as caught:
        tool(f)
    assert str(caught.value) == "tool 'f': parameter 'b' has no type; write b: str, or b: Any to accept everything"


def test_a_field_as_a_default_is_refused():
    def f(x: int = Field(3, ge=1)) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"write x: Annotated\[type, Field\(...\)\] = default"):
        tool(f)


GOOGLE = """Get the weather.

    Now, not tomorrow.

    Args:
        city (str): Which city,
            spelled out.
        unit: C or F.

    Returns:
        The weather.
    """
NUMPY = """Get the weather.

    Now, not tomorrow.

    Parameters
    ----------
    city : str
        Which city,
        spelled out.
    unit
        C or F.

    Returns
    -------
    str
    """
REST = """Get the weather.

    Now, not tomorrow.

    :param city: Which city,
        spelled out.
    :param unit: C or F.
    :returns: The weather.
    """


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "reST"])
def test_a_docstring_describes_the_tool_and_its_parameters(doc):
    def weather(city: str, unit: Annotated[str, "Celsius or\n  Fahrenheit."] = "C", other: int = 0) -> str: ...

    weather.__doc__ = doc
    schema = tool(weather).schema
    assert schema.description == "Get the weather.\n\nNow, not tomorrow."
    assert schema.parameters["properties"] == {
        "city": {"type": "string", "description": "Which city, spelled out."},
        "unit": {"type": "string", "description": "Celsius or Fahrenheit.", "default": "C"},
        "other": {"type": "integer", "default": 0},
    }


def test_numpy_style_may_describe_two_parameters_at_once():
    def f(x: int, y: int) -> None:
        """Moves.

        Parameters
        ----------
        x, y : int
            Where to.
        """

    properties = tool(f).schema.parameters["properties"]
    assert properties["x"]["description"] == properties["y"]["description"] == "Where to."


@pytest.mark.parametrize(
    "doc",
    [
        ":param",
        ":param x\n:raises",
        "Args:\n",
        "Args:\n  :",
        "A\n\nParameters\n-----\n",
        "\n\n",
        ":a:\n:b: c",
        "x\n\nArgs:\n\tx",
    ],
)
def test_a_malformed_docstring_is_no_error(doc):
    def f(x: int) -> None: ...

    f.__doc__ = doc
    assert isinstance(tool(f).description, str)


def test_a_partial_has_the_docstring_of_its_function():
    def f(x: int) -> None:
        """Does f."""

    assert tool(functools.partial(f)).description == "Does f."


def run(code: str, seed: str = "0") -> str:
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
    return subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True).stdout


def test_the_docstring_parser_is_loaded_only_for_more_than_one_line():
    code = """
import sys
from nbagent.tools.tool import tool
def one(x: int):
    'Does it.'
def two(x: int):
    '''Does it.

    Args:
        x: what
    '''
tool(one)
print('docstring_parser' in sys.modules)
tool(two)
print('docstring_parser' in sys.modules)
"""
    assert run(code).split() == ["False", "True"]


def test_no_library_of_a_value_is_loaded():
    code = """
import sys
from nbagent.tools.tool import tool
from nbagent.tools.serialise import describe
tool(name='f')(lambda: 1)
describe([object(), {1, 2}, b'x'])
print([m for m in ('numpy', 'pandas', 'matplotlib', 'PIL', 'IPython', 'docstring_parser') if m in sys.modules])
"""
    assert run(code).strip() == "[]"


def test_schemas_and_texts_are_the_same_for_every_hash_seed():
    code = """
import json, enum
from typing import Literal, Optional, Union
from pydantic import BaseModel
from nbagent.tools.tool import tool
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.serialise import describe
class A(BaseModel):
    b: 'Optional[A]' = None
class E(enum.Enum):
    X = 'x'
    Y = 'y'
@tool
def f(a: A, e: E, u: Union[str, int, A], l: Literal['q', 'w'] = 'q'):
    'Does f.'
print(json.dumps(f.schema.parameters))
print(ToolRegistry([f]).unknown('ff'))
print(describe({'s': {'a', 'b', 'c', ('d', 1), 2, None}, 'f': frozenset({frozenset({'x', 'y'}), 'z'})}).text)
"""
    assert run(code, "0") == run(code, "1") == run(code, "2")


class Leg(BaseModel):
    km: Literal[1, 2]


class Route(BaseModel):
    legs: list[Leg]
    back: Route | None = None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    km: int


@dataclasses.dataclass
class Stop:
    name: str


@pytest.mark.parametrize(
    ("hint", "value", "path"),
    [
        (Route, {"legs": [{"km": 1, "memo": "x"}]}, "x.legs[0].memo: expected no such key"),
        (Route, {"legs": [], "back": {"legs": [], "memo": 1}}, "x.back.memo: expected no such key"),
        (Route, {"legs": [{"km": True}]}, "x.legs[0].km: expected 1 or 2, got true"),
        (Stop, {"name": "a", "memo": 1}, "x.memo: expected"),
        (Box, {"width": 1, "memo": 1}, "x.memo: expected no such key"),
        (list[Leg] | None, [{"km": 1, "memo": 1}], "x[0].memo: expected no such key"),
    ],
)
def test_extra_keys_are_refused_at_every_depth_and_the_schema_says_so(hint, value, path):
    made = takes(hint)
    with pytest.raises(InvalidArguments) as caught:
        made.bind(json.dumps({"x": value}))
    assert path in str(caught.value)
    definitions = made.schema.parameters["$defs"].values()
    assert all(each["additionalProperties"] is False for each in definitions)


def test_a_model_that_says_what_to_do_with_extra_keys_is_obeyed():
    made = takes(Open)
    assert made.bind('{"x": {"km": 1, "memo": "x"}}')[1]["x"].memo == "x"
    assert made.schema.parameters["$defs"]["Open"]["additionalProperties"] is True


def test_self_as_a_type_is_refused_with_what_to_write():
    for hint in (typing.Self, list[typing.Self], typing.Self | None):
        with pytest.raises(ToolDefinitionError, match=r"'x' has the type Self.*write the name of the class"):
            takes(hint)


def test_a_validator_that_ends_python_is_a_wrong_argument():
    def leave(value):
        raise SystemExit(3)

    with pytest.raises(InvalidArguments, match="cannot be checked: SystemExit"):
        takes(Annotated[int, BeforeValidator(leave)]).bind('{"x": 1}')
