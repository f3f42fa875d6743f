"""The JSON of a call is read strictly: sound JSON or a text that tells the model what is wrong with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.tools.arguments import InvalidArguments, parse
from nbagent.tools.tool import tool


@tool
def pay(amount: int) -> None:
    """Pays."""


@tool
def look(where: str = "here") -> None:
    """Looks."""


REFUSED = [
    # reliability.md §3 A
    pytest.param('{"amount": 1000', "invalid JSON at character 15", id="A02 cut off"),
    pytest.param('{"amount": 1000', 'got: {"amount": 1000', id="A02 the raw text comes back"),
    pytest.param("[1,2]", "arguments: expected a JSON object, got an array: [1,2]", id="A06 array"),
    pytest.param('"x"', 'arguments: expected a JSON object, got a string: "x"', id="A06 string"),
    pytest.param("null", "arguments: expected a JSON object, got null: null", id="A06 null"),
    pytest.param("true", "got a boolean: true", id="A06 boolean"),
    pytest.param("5", "got a number: 5", id="A06 number"),
    pytest.param("", "amount: expected a value of type integer, got nothing", id="A06 blank, one required"),
    pytest.param('{"amount":5,"amount":500}', 'expected each key once, got "amount" more than once', id="A07"),
    pytest.param('{"amount":{"a":1,"a":1}}', 'got "a" more than once', id="A07 deeper"),
    pytest.param('{"amount":5,"memo":"x"}', 'memo: expected no such argument (there are: amount), got', id="A08"),
    pytest.param('{"amount":"5"}', 'amount: expected a valid integer, got "5"', id="A08 string"),
    pytest.param('{"amount": NaN}', "got NaN", id="A09 NaN"),
    pytest.param('{"amount": -Infinity}', "got -Infinity", id="A09 Infinity"),
    pytest.param('{"amount": 1e999}', "got 1e999, which is too large", id="A09 overflow"),
    pytest.param("{'amount': True}", "invalid JSON at character 1: expected a name in double quotes", id="A10 Python"),
    pytest.param("{amount: 5}", "invalid JSON at character 1: expected a name in double quotes", id="A10 no quotes"),
    pytest.param('{"amount": 5,}', "invalid JSON at character 13: expected a name in double quotes", id="A10 comma"),
    pytest.param('{"amount": [5,]}', "invalid JSON at character 14: expected a value", id="A10 comma in an array"),
    pytest.param("not json", "invalid JSON at character 0: expected a value", id="prose"),
    pytest.param('{"amount": 5} {}', "invalid JSON at character 14: expected the end of the text", id="two objects"),
    pytest.param('{"amount": "5', "expected a closing quote", id="open string"),
    pytest.param('{"a": "\n"}', "raw control character", id="raw newline"),
    pytest.param('{"a":' + "[" * 100_000, "invalid JSON: nested too deeply", id="deep"),
    pytest.param('{"amount": ' + "1" * 5000 + "}", "invalid JSON", id="an integer without end"),
    pytest.param('{"amount": ' + "[" * 250 + "]" * 250 + "}", "invalid JSON: recursion limit", id="deep for pydantic"),
    pytest.param('{"amount": "\\ud800"}', "invalid JSON: unexpected end of hex escape", id="lone surrogate"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_unsound_arguments_are_refused(text, said):
    with pytest.raises(InvalidArguments) as caught:
        pay.bind(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["", "  \n\t", "{}", " { } "])
def test_blank_arguments_are_an_empty_object(text):
    assert look.bind(text) == ((), {})


@pytest.mark.parametrize(("digits", "amount"), [("-0", 0), ("12345678901234567890123", 12345678901234567890123)])
def test_integers_stay_exact(digits, amount):
    assert pay.bind(f'{{"amount": {digits}}}') == ((), {"amount": amount})


def test_a_long_wrong_text_comes_back_cut():
    with pytest.raises(InvalidArguments) as caught:
        pay.bind("x" * 10_000)
    assert "10,000 characters" in str(caught.value)
    assert len(str(caught.value)) < 1_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@tool
def anything(n: int, names: list[str] | None = None, level: float = 1.0) -> None:
    """Takes several."""


def bind_or_refuse(text: str) -> None:
    try:
        args, kwargs = anything.bind(text)
    except InvalidArguments as error:
        assert str(error)  # noqa: PT017  either outcome is right
    else:
        assert args == ()
        assert type(kwargs["n"]) is int


@given(st.text(st.characters()))
def test_any_text_is_bound_or_refused(text):
    bind_or_refuse(text)


@given(st.text('{}[]":,0123456789.eE-+ntrue\\u/ \n'))
def test_any_text_of_json_characters_is_bound_or_refused(text):
    bind_or_refuse(text)


@given(st.dictionaries(st.sampled_from(["n", "names", "level", "x"]), JSON))
def test_any_json_is_bound_or_refused(value):
    import json

    bind_or_refuse(json.dumps(value))
    bind_or_refuse(json.dumps(value, ensure_ascii=False))


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.booleans() | st.none())))
def test_sound_json_is_read_as_it_is(value):
    import json

    assert parse(json.dumps(value)) == value
