"""MCP arguments and names: checked against any JSON schema, and made valid, without a server."""

from __future__ import annotations

import pytest

from nbagent.errors import ToolDefinitionError
from nbagent.mcp.arguments import server_interface
from nbagent.mcp.naming import valid_names
from nbagent.messages import ToolSchema
from nbagent.tools.arguments import InvalidArguments


def interface(**schema):
    return server_interface(ToolSchema("t", "", {"type": "object", **schema}))


def problem(text, **schema):
    with pytest.raises(InvalidArguments) as error:
        interface(**schema).bind(text)
    return str(error.value).removeprefix("invalid arguments: ")


CITY = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@pytest.mark.parametrize(
    ("text", "schema", "expected"),
    [
        ("{}", {"required": ["a"]}, "a: expected a value, got nothing"),
        (
            '{"c": [{"name": "x"}, {}]}',
            {"properties": {"c": {"type": "array", "items": CITY}}},
            "c[1].name: expected a value of type string, got nothing",
        ),
        (
            '{"c": {"name": 1}}',
            {"properties": {"c": {"$ref": "#/$defs/C"}}, "$defs": {"C": CITY}},
            "c.name: expected a value of type string, got 1",
        ),
        (
            '{"b": 1}',
            {"properties": {"a": {}}, "additionalProperties": False},
            "b: expected no such argument (there are: a)",
        ),
        (
            '{"n": true}',
            {"properties": {"n": {"type": ["integer", "null"]}}},
            "n: expected a value of type integer or null, got true",
        ),
        ('{"n": "z"}', {"properties": {"n": {"enum": ["x", "y"]}}}, 'n: expected one of ["x", "y"], got "z"'),
        ('{"n": 0}', {"properties": {"n": {"minimum": 1}}}, "n: 0 is less than the minimum of 1"),
    ],
)  # fmt: skip
def test_each_wrong_place_is_named(text, schema, expected):
    assert problem(text, **schema) == expected


def test_many_problems_are_cut_short():
    schema = {"properties": {f"p{number:02}": {"type": "string"} for number in range(30)}}
    text = "{" + ", ".join(f'"p{number:02}": {number}' for number in range(30)) + "}"
    assert problem(text, **schema).count("expected") == 20
    assert problem(text, **schema).endswith("; and 10 more")


def test_no_arguments_are_an_empty_object():
    assert interface().bind(" ") == ((), {})


def test_what_is_no_json_is_refused():
    with pytest.raises(InvalidArguments, match="invalid JSON at character 6"):
        interface().bind('{"a": }')


def test_half_a_character_is_refused():
    assert problem('{"a": "\\ud83d"}') == "half a character, an escape such as \\ud83d alone"
    assert interface().bind('{"a": "\\ud83d\\ude00"}') == ((), {"a": "😀"})


def test_a_reference_is_never_fetched():
    assert "cannot be checked" in problem('{"a": 1}', properties={"a": {"$ref": "https://example.invalid/schema"}})


def test_a_schema_that_is_none_is_an_error_that_says_what_to_do():
    with pytest.raises(ToolDefinitionError, match=r"tool 't': the server's input schema is no JSON schema.*leave"):
        interface(properties={"a": {"type": "text"}})


def test_names_are_made_valid_and_unique():
    assert valid_names(["a b", "a/b", "a.b", "é", ""]) == ["a_b", "a_b_2", "a_b_3", "_", "__2"]
    long = valid_names(["x" * 80, "x" * 70], "p-")
    assert [len(name) for name in long] == [64, 64]
    assert long[0] != long[1]
