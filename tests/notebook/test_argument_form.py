"""The form in which somebody changes the arguments of a call."""

from __future__ import annotations

import json

import pytest

from nbagent.notebook.argument_form import ArgumentForm, read_arguments
from nbagent.views.safe import exact


def form(**values):
    return ArgumentForm(json.dumps(values))


def test_a_text_is_written_as_it_is_and_everything_else_as_json():
    made = form(to="Ann", code="a = 1\nb = '\\n'", amount=1.5, tags=["x"], none=None)
    assert [(one.shown, one.text) for one in made.entries] == [
        ("to (text)", "Ann"), ("code (text)", "a = 1\nb = '\\n'"), ("amount (JSON)", "1.5"),
        ("tags (JSON)", '[\n  "x"\n]'), ("none (JSON)", "null"),
    ]  # fmt: skip
    texts = [one.text for one in made.entries]
    assert made.is_as_it_was(made.filled(texts))
    assert made.filled(['5 "x"', "", "true", "{}", " 1 "]) == {
        "to": '5 "x"', "code": "", "amount": True, "tags": {}, "none": 1,
    }  # fmt: skip


SCHEMA = {
    "properties": {
        "to": {"type": "string"}, "amount": {"type": "integer"}, "note": {"type": "string", "default": ""},
        "tags": {"type": "array"}, "any": {}, "n\u202e": {"type": "string"},
    }
}  # fmt: skip


def test_what_the_schema_knows_and_the_call_has_not_may_be_written_or_stay_empty():
    made = ArgumentForm('{"amount": 5, "to": "Ann"}', SCHEMA)
    assert [(one.shown, one.text) for one in made.entries] == [
        ("amount (integer)", "5"), ("to (text)", "Ann"), ("note (text)", ""),
        ("tags (array)", ""), ("any (JSON)", ""),
        ("n⟦U+202E⟧ (text)", ""),
    ]  # fmt: skip
    assert [one.left_out for one in made.entries] == ["", "", 'may stay empty: ""', *["may stay empty"] * 3]
    as_it_was = [one.text for one in made.entries]
    assert made.is_as_it_was(made.filled(as_it_was))
    assert made.filled(["5", "Ann", "now", "[1]", "", ""]) == {"amount": 5, "to": "Ann", "note": "now", "tags": [1]}
    with pytest.raises(ValueError, match="tags: this is not JSON"):
        made.filled(["5", "Ann", "", "one", "", ""])


@pytest.mark.parametrize(
    "schema", [None, {}, {"properties": []}, {"properties": {"to": []}}, {"properties": {"to": {"type": ["x"]}}}]
)
def test_a_schema_of_any_kind_leaves_the_calls_own_arguments(schema):
    assert [one.shown for one in ArgumentForm('{"to": "Ann"}', schema).entries] == ["to (text)"]


def test_what_a_schema_has_as_default_is_seen_whole_and_no_secret():
    key = "sk-proj-0123456789abcdefghijABCDEFGHIJ"
    made = ArgumentForm("{}", {"properties": {"a": {"default": f"\u202e{key}"}, "b": {"default": [1, {"x": None}]}}})
    assert [one.left_out for one in made.entries][1] == 'may stay empty: [1, {"x": null}]'
    assert key not in made.entries[0].left_out
    assert "⟦U+202E⟧" in made.entries[0].left_out


def test_of_a_schema_with_very_many_arguments_a_form_asks_for_some():
    assert len(ArgumentForm("{}", {"properties": {f"a{n}": {} for n in range(500)}}).entries) == 12


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\r", "\t", "\x07", "\u00a0", "\U000e0041", "\ufe0f", "\u3164"])
def test_what_nobody_sees_is_an_escape_that_stays_what_it_is(hidden):
    made = form(**{"to": f"A{hidden}nn", f"n{hidden}": {"deep": hidden}})
    for text in (*[one.text for one in made.entries], *[one.shown for one in made.entries], made.whole):
        assert hidden not in text
        assert exact(text) == text
    assert not any(one.is_text for one in made.entries)
    assert made.filled([one.text for one in made.entries]) == read_arguments(made.whole)
    assert made.is_as_it_was(read_arguments(made.whole))


def test_one_and_true_are_not_the_same():
    made = form(amount=1)
    assert not made.is_as_it_was({"amount": True})
    assert not made.is_as_it_was({"amount": 1.0})


@pytest.mark.parametrize(
    ("text", "match"),
    [("many", "amount: this is not JSON"), ("NaN", "amount: this is not JSON: NaN"), ("", "amount: this is not JSON")],
)
def test_what_is_no_json_names_its_argument(text, match):
    with pytest.raises(ValueError, match=match):
        form(amount=1).filled([text])


@pytest.mark.parametrize("text", ["[1]", "5", '"x"', "null", "{'a': 1}", '{"a": 1, "a": 2}'])
def test_all_arguments_are_one_object(text):
    with pytest.raises(ValueError, match=r"expected all arguments as one JSON object|this is not JSON"):
        read_arguments(text)


def test_a_secret_anywhere_is_seen():
    secret = "sk-" + "a1B2" * 12
    assert form(to={"deep": [f"key {secret}"]}).is_masked
    assert form(**{secret: 1}).is_masked
    assert not form(to="Ann").is_masked
