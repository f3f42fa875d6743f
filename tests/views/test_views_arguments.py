import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.messages import ToolSchema
from nbagent.views.arguments import laid_out
from nbagent.views.field import fields
from nbagent.views.parameters import signature
from nbagent.views.safe import exact

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def test_short_arguments_stay_on_their_line():
    assert laid_out('{"city":  "Copenhagen"}') == '{"city":  "Copenhagen"}'


def test_long_arguments():
    text = json.dumps({"url": "https://example.com/" + "x" * 60, "ids": [1, 2], "deep": {"a": {}, "b": [[]]}})
    assert laid_out(text) == (
        "{\n"
        f'  "url": "https://example.com/{"x" * 60}",\n'
        '  "ids": [1, 2],\n'
        '  "deep": {\n'
        '    "a": {},\n'
        '    "b": [\n'
        "      []\n"
        "    ]\n"
        "  }\n"
        "}"
    )


def test_nothing_that_a_parser_would_lose_is_lost():
    text = '{"amount": 5, "amount": 1e999, "n": 1.10, "big": 12345678901234567890123, "u": "\\u202e", "x":\n1}'
    assert json.loads(laid_out(text), object_pairs_hook=tuple) == json.loads(text, object_pairs_hook=tuple)
    assert "1e999" in laid_out(text)
    assert '"\\u202e"' in laid_out(text)


def test_what_is_no_object_stays_as_it_is():
    for text in ("[1,\n2]", '{"city": "Par', "", "null", "{" * 100_000, '{"a":' * 5_000 + "1" + "}" * 5_000):
        assert laid_out(text) == text


@given(st.dictionaries(st.text(), JSON), st.sampled_from([None, 1]))
def test_only_white_space_changes(value, indent):
    text = json.dumps(value, indent=indent)
    assert json.loads(laid_out(text)) == value
    assert "".join(laid_out(text).split()) == "".join(text.split())


def test_signatures():
    properties = {
        "city": {"type": "string"},
        "unit": {"enum": ["c", "f"], "default": "c"},
        "days": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"$ref": "#/$defs/Place"},
        "many": {"enum": list(range(20))},
        "odd": True,
    }
    tool = ToolSchema("t", "", {"properties": properties, "required": ["city"]})
    assert signature(tool) == (
        '(city: string, unit: "c" | "f" = "c", days: integer | null = …, tags: array of string = …, '
        "place: Place = …, many: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | … = …, odd: any = …)"
    )
    assert signature(ToolSchema("t", "", {"properties": [1], "required": 5})) == "()"


CHARACTERS = st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.sampled_from(' \n"\\{}[],:')
TEXT = st.text(CHARACTERS, max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(TEXT, VALUES, max_size=5), st.booleans())
def test_fields_hold_all_of_a_call(arguments, ascii_only):
    shown = fields(json.dumps(arguments, ensure_ascii=ascii_only))
    assert shown is not None
    own = [field for field in shown if not is_inner(field.name)]
    for (name, value), field in zip(arguments.items(), own, strict=True):
        assert field.name in (name, exact(json.dumps(name, ensure_ascii=False)))
        if field.is_code:
            assert (field.value, field.lines) == (exact(value), tuple(exact(value).split("\n")))
        elif field.value.isascii():  # no marker
            assert json.loads(field.value) == value
    assert sum(field.is_code for field in shown) == several_lines(arguments)


def is_inner(name):
    """Whether it is the place of a text inside a value: `files[0].text`, and no quoted name."""
    return re.fullmatch(r'("([^"\\]|\\.)*"|[^"\[.]*)', name) is None


def several_lines(value):
    match value:
        case str():
            return "\n" in value
        case list():
            return sum(map(several_lines, value))
        case dict():
            return sum(map(several_lines, value.values()))
        case _:
            return 0


def test_what_came_twice_and_digits_stay():
    shown = fields('{"a": 1.50, "a": 2E3, "b": 12345678901234567890123}')
    assert [(field.name, field.value) for field in shown or ()] == [
        ("a", "1.50"), ("a", "2E3"), ("b", "12345678901234567890123")
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "[1]", '"a"', '{"a": }', "{" * 100_000, '{"a": ' * 100_000])
def test_what_is_no_object_has_no_fields(text):
    assert fields(text) is None
