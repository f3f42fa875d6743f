"""The ladder: a JSON object out of an answer, each repair with a note."""

from __future__ import annotations

import json
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.prompt.formatters.json_object import JsonFormatter
from nbagent.prompt.formatters.known import KNOWN
from nbagent.prompt.formatters.literals import MAX_LENGTH
from nbagent.prompt.formatters.objects import MAX_CUT_OFF, PYTHON, objects
from nbagent.prompt.formatters.reading import Unreadable

FENCE = "took the text out of a code fence"
AROUND = "took the JSON object out of the text around it"
COMMAS = "removed trailing commas"
RAW = "escaped raw control characters in strings"
STRING = "closed an open string"
LITERAL = "read it as a Python literal"


def bracket(count):
    return f"closed {count} open bracket{'s' * (count > 1)}"


def read(text, name="json"):
    reading = KNOWN[name].read(text, ())
    return reading.value, reading.repairs


def refused(text, *names, name="json"):
    with pytest.raises(Unreadable) as caught:
        KNOWN[name].read(text, names)
    return str(caught.value)


LADDER = {
    "exact": (' {"a": {"b": {}}, "c": []}\n', {"a": {"b": {}}, "c": []}, ()),
    "an integer": ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}, ()),
    "fence": ('```json\n{"a": 1}\n```', {"a": 1}, (FENCE,)),
    "fence, no tag": ('```\n{"a": 1}\n```\n', {"a": 1}, (FENCE,)),
    "fence, any tag": ('~~~json5\n{"a": 1}\n~~~', {"a": 1}, (FENCE,)),
    "fence, on a line": ('```json {"a": 1}```', {"a": 1}, (FENCE,)),
    "fence, open": ('Here:\n```json\n{"a": 1}\n', {"a": 1}, (FENCE,)),
    "fence, in prose": ('Here {it} is:\n```json\n{"a": 1}\n```\nOr {"b": 2, "c": 3, "d": 4}?', {"a": 1}, (FENCE,)),
    "fence, with prose": ('```\nSo: {"a": 1}\n```', {"a": 1}, (FENCE, AROUND)),
    "fence, longer": ('````md\n```json\n{"a": 1}\n```\n````', {"a": 1}, (FENCE, AROUND)),
    "fences": ('```python\nx = [1]\n```\n```json\n{"a": 1}\n```\n```json\n{"b": 2, "c": 3}\n```', {"a": 1}, (FENCE,)),
    "fence that holds code": ('```python\nx = {"b": 1}\n```\n```json\n{"a": 1}\n```', {"a": 1}, (FENCE,)),
    "fence that is broken": ('```json\n{"b": x}\n```\n```json\n{"a": 1}\n```', {"a": 1}, (FENCE,)),
    "fence in a string": ('{"a": "```json\\n{\\"b\\": 1}\\n```"}', {"a": '```json\n{"b": 1}\n```'}, ()),
    "raw fence in a string": ('So: {"a": "\n```json\n{}\n```\n"}', {"a": "\n```json\n{}\n```\n"}, (AROUND, RAW)),
    "fence around a fence": ('```json\n{"a": "```\\n{}\\n```"}\n```', {"a": "```\n{}\n```"}, (FENCE,)),
    "prose": ('Sure! {"a": "}{"} Bye.', {"a": "}{"}, (AROUND,)),
    "prose with brackets": ('Use {x} or { or [ for {"a": 1} :]', {"a": 1}, (AROUND,)),
    "prose with quotes": ('The "best {"a": 1} I have', {"a": 1}, (AROUND,)),
    "the widest": ('{"a": 1} is less than {"a": 1, "b": 2}', {"a": 1, "b": 2}, (AROUND,)),
    "the widest is broken": ('{"a": 1, "b": x} {"c": 1} {"d": 1}', {"c": 1}, (AROUND,)),
    "a whole one before a wider one that is cut": ('{"a": 1} or {"b": 22, "c": 3', {"a": 1}, (AROUND,)),
    "a fence that opens twice": ('```\n```json\n{"a": 1}\n```', {"a": 1}, (FENCE, AROUND)),
    "two objects": ('{"a": 1}\n{"b": 2}', {"a": 1}, (AROUND,)),
    "a comma behind it": ('{"a": 1},', {"a": 1}, (AROUND,)),
    "trailing commas": ('{"a": [1, 2, ], "b": {"c": ",]",},\n}', {"a": [1, 2], "b": {"c": ",]"}}, (COMMAS,)),
    "several commas": ('{"a": [1,,],, }', {"a": [1]}, (COMMAS,)),
    "raw line end": ('{"a": "x\ny\tz\x00 \\n"}', {"a": "x\ny\tz\x00 \n"}, (RAW,)),
    "raw in a key": ('{"a\nb": 1}', {"a\nb": 1}, (RAW,)),
    "a bracket": ('{"a": [1, {"b": 2', {"a": [1, {"b": 2}]}, (bracket(3),)),
    "one bracket": ('{"a": {"b": 1}', {"a": {"b": 1}}, (bracket(1),)),
    "a bracket behind prose": ('So: {"a": {"b": 1}', {"a": {"b": 1}}, (AROUND, bracket(1))),
    "a string": ('{"a": "it was', {"a": "it was"}, (STRING, bracket(1))),
    "a comma and a bracket": ('{"a": [1,\n', {"a": [1]}, (COMMAS, bracket(2))),
    "a bracket in a fence": ('```json\n{"a": "x\n```\nBye {"b": 1}', {"a": "x"}, (FENCE, STRING, bracket(1))),
    "three steps": ('Here:\n```json\n{"a": "x\ny",\n}\n```\nBye', {"a": "x\ny"}, (FENCE, COMMAS, RAW)),
    "all steps": ('```\n{"a": "x\ny", "b": [1,', {"a": "x\ny", "b": [1]}, (FENCE, COMMAS, RAW, bracket(2))),
    "a text that looks broken": ('{"a": ",}", "b": "{", "c": "\\",]"}', {"a": ",}", "b": "{", "c": '",]'}, ()),
    "line separators": ('{"a": "x\u2028y\x7f",}', {"a": "x\u2028y\x7f"}, (COMMAS,)),
    "a byte order mark": ('\ufeff{"a": 1}', {"a": 1}, (AROUND,)),
    "doubled brackets": ('{{"a": 1}}', {"a": 1}, (AROUND,)),
    "a list in prose": ('See [1] and [x]: {"a": 1}', {"a": 1}, (AROUND,)),
    "a list of objects": ('Not [{"b": 1, "c": [2]}] but {"a": 1}', {"a": 1}, (AROUND,)),
}  # fmt: skip


@pytest.mark.parametrize("name", ["json", "lenient json"])
@pytest.mark.parametrize(("text", "value", "repairs"), LADDER.values(), ids=LADDER)
def test_the_ladder(name, text, value, repairs):
    assert read(text, name) == (value, repairs)


REFUSED = {
    "empty": ("", "The answer was empty"),
    "prose": ("It is 42.", "there is no JSON object in it"),
    "an array": ('[{"a": 1}]', "it is an array, not an object"),
    "an array in a fence": ('```json\n[{"a": 1}]\n```', "there is no JSON object in it"),
    "an array without end": ('[{"a": 1}, {"b":', "there is no JSON object in it"),
    "a string": ('"{\\"a\\": 1}"', "it is a string, not an object"),
    "a number": ("42", "it is a number, not an object"),
    "null": ("null", "it is null, not an object"),
    "true": ("true", "it is a boolean, not an object"),
    "NaN": ('{"a": NaN}', "NaN is no number that JSON has"),
    "Infinity": ('{"a": -Infinity}', "-Infinity is no number"),
    "too large": ('{"a": 1e999}', "the number 1e999 is too large"),
    "a key twice": ('{"b": {"a": 1, "a": 2}}', 'the key "a" is there more than once in an object'),
    "no quotes": (
        '{"b": {a: 1}}',
        "Expecting property name enclosed in double quotes: line 1, column 8, before `a: 1}}`",
    ),
    "no quotes and an object in it": ('{b: {"a": 1}}', "Expecting property name"),
    "single quotes and an object in it": ("{'b': {}}", "Expecting property name"),
    "a comment and an object in it": ('{ // one\n"b": {"a": 1}}', "Expecting property name"),
    "a comment": ('{"a": 1 // one\n}', "Expecting ',' delimiter"),
    "a missing comma": ('{"a": 1 "b": 2}', "Expecting ',' delimiter: line 1, column 9"),
    "a missing value": ('{"a": , "b": 2}', "Expecting value"),
    "a quote in a string": ('{"a": "he said "no" twice"}', "Expecting ',' delimiter"),
    "a word cut off": ('{"a": tr', "Expecting value"),
    "a key cut off": ('{"a": 1, "b', "Expecting ':' delimiter"),
    "an escape cut off": ('{"a": "\\', "Unterminated string"),
    "prose behind an open one": ('{"a": {"b": 1}\nBye', "Expecting ',' delimiter"),
    "crossed brackets": ('{"a": [1}', "the bracket `}` closes none that is open"),
    "a line end that is escaped": ('{"a": "x\\\ny"}', "Invalid \\escape"),
    "an ellipsis": ('{"a": [1, ...]}', "Expecting value"),
}


@pytest.mark.parametrize(("text", "wrong"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_repaired_is_told(text, wrong):
    message = refused(text, "a", "é")
    assert 'Expected: one JSON object with the keys "a", "é".\n' in message
    assert wrong in message
    assert message.endswith("\nAnswer again with that object and nothing else: no text around it, no code fence.")


def test_the_error_is_about_the_likeliest_object():
    assert "before `wrong" in refused('{"b": short} {"a": 1, "b": wrong} {"c": other}')


def test_an_integer_of_too_many_digits_is_refused():
    assert "digits" in refused('{"a": ' + "1" * 5000 + "}")


LITERALS = {
    "quotes": ("{'a': 'it\\'s \"x\"', 'b': {}}", {"a": 'it\'s "x"', "b": {}}),
    "words": ("{'a': True, 'b': None, 'c': false, \"d\": null}", {"a": True, "b": None, "c": False, "d": None}),
    "tuples": ("{'a': (1, -2.5, [()]),}", {"a": [1, -2.5, [[]]]}),
    "brackets in strings": ("{'a': '}{', \"b\": \"'\"}", {"a": "}{", "b": "'"}),
    "an escape": (r"{'a': '\d\n'}", {"a": "\\d\n"}),
}


@pytest.mark.parametrize(("text", "value"), LITERALS.values(), ids=LITERALS)
def test_python_literals(text, value):
    assert read(text, "lenient json") == (value, (LITERAL,))
    assert read(f"So:\n```python\n{text}\n```", "lenient json") == (value, (FENCE, LITERAL))
    refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "{'a': 1, 'a': 2}", "{1: 2}", "{'a': {1, 2}}", "{'a': b'x'}", "{'a': 1e999}", "{'a': nan}", "{**{'a': 1}}",
        "{'a': print('no')}", "{'a': 1 + 2}", "{'a': -True}", "{'a': ...}", "{'a': 1j}", "{'a'}", "{'a': f'{1}'}",
        "{'a': '\x00'}",
        "{'a': " + "1" * 5000 + "}", "{'a': '" + "x" * MAX_LENGTH + "'}", "{'a': " + "(" * 5000 + ")" * 5000 + "}",
        "{'a': " + "-" * 50_000 + "1}", "{'a': '\ud800'}", "['a']", "{'a': 'x",
    ],
)  # fmt: skip
def test_python_that_is_no_json_is_refused(text):
    assert "Expected: one JSON object" in refused(text, name="lenient json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)
OBJECTS = st.dictionaries(st.text(max_size=8), JSON, max_size=4)


@pytest.mark.parametrize("name", ["json", "lenient json"])
@given(OBJECTS, st.booleans(), st.sampled_from([None, 0, 2]))
def test_sound_json_is_read_as_it_is(name, value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert read(text, name) == (json.loads(text), ())


@given(OBJECTS.filter(bool), st.booleans())
def test_what_is_around_it_changes_nothing(value, fenced):
    text = json.dumps(value, ensure_ascii=False)
    around, repair = ("Here:\n```json\n{}\n```\nBye {{x}}", FENCE) if fenced else ('So "{}" it is {{', AROUND)
    assert read(around.format(text)) == (value, (repair,))


SAMPLE = """Here it is:
```json
{
  "title": "A \\"quoted\\" \\u00e9 {title}, [1]",
  "raw": "two
lines",
  "list": [1, -2.5e3, true, null, {"deep": {"er": []}},],
  "😀": ""
}
```
Hope {this} helps!"""


def keys(value):
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from keys(each)
    elif isinstance(value, list):
        for each in value:
            yield from keys(each)


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "twins"])
def test_an_answer_that_is_cut_anywhere_is_read_or_refused(name):
    read_at = 0
    for start in (0, SAMPLE.index("{")):
        for end in range(start, len(SAMPLE) + 1):
            text = SAMPLE[start:end]
            try:
                value = KNOWN[name].format(text)
            except Unreadable:
                continue
            read_at += 1
            assert all(key in text or key in {"content", "_content"} for key in keys(value))
    assert read_at > 50


@given(st.text("{}[]\"',:\\`~ \n\x01a1#<>/", max_size=30))
def test_any_text_is_read_or_refused(text):
    for formatter in KNOWN.values():
        for names in ((), ("a",)):
            try:
                value = formatter.read(text, names).value
            except Unreadable:
                continue
            assert all(isinstance(key, str) for key in value)


UNIT = [
    "{", "}", "[", '"', "\\", "`", "'", ",", "\n", " ", '{"', '{"a":', '{"a":[', '["', '[{"', "{}", '{"a":1}', "{'a':",
    '{""}', "{a:", "{ ", "[ {", '```\n{"\n', '```\n{"\n```\n', '``` {"', '{"a":"\n', ", ", ",\n", '{"a":1,', '"\\', "-",
    "<think>", "<thinking></thinking>", "# a\n", "# # ", "# a ", "a:\n", "a: ", "<a>", "</a>", "<a></a>", "~~~", "(",
    '{"a": "```\n',
]  # fmt: skip


@pytest.mark.parametrize("unit", UNIT)
def test_hostile_answers_are_quick(unit):
    """The text that is looked at, and the lines of Python that run, grow with the answer and not with its square."""
    small, large = unit * 200, unit * 800
    for formatter in KNOWN.values():
        assert lines_run(formatter, large) < 6 * lines_run(formatter, small) + 1000
    huge = unit * (100_000 // len(unit))
    attempt(KNOWN["lenient json"], huge)
    for found in (objects(huge), objects(huge, PYTHON)):
        assert sum(len(each.text) for each in found) <= (MAX_CUT_OFF + 1) * len(huge)


def attempt(formatter, text):
    with suppress(Unreadable):
        formatter.read(text, ["a"])


def lines_run(formatter, text):
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        attempt(formatter, text)
    finally:
        sys.settrace(before)
    return count


def test_deep_nesting_is_refused():
    for text in ('{"a":' * 100_000 + "1" + "}" * 100_000, '{"a":' + "[" * 100_000, '{"a":' * 100_000):
        assert "nested too deeply" in refused(text)
        refused(text, name="lenient json")


# What the formatters of masfactory were seen to do wrong.


def test_no_url_becomes_a_key():
    assert read("see http://x", "markdown") == ({"content": "see http://x"}, ())
    assert KNOWN["paragraph"].read("a: see\nhttp://x", ["a"]).value == {"a": "see\nhttp://x"}


def test_text_without_a_key_is_no_empty_answer():
    refused("nothing here", name="paragraph")
    refused('{"a": 1}', name="paragraph")


def test_empty_dicts_stay():
    assert read('{"answer": {}}') == ({"answer": {}}, ())


def test_failure_is_an_error_and_nothing_is_printed(capsys):
    refused('{"a": oops}')
    assert capsys.readouterr() == ("", "")


def test_lenient_reads_raw_line_ends_and_open_braces():
    assert read('{"a": "x\ny"}', "lenient json") == ({"a": "x\ny"}, (RAW,))
    assert read('{"a": 1', "lenient json") == ({"a": 1}, (bracket(1),))


def test_falsy_values_are_written_and_read():
    for name, value in (("markdown", "0"), ("paragraph", "0"), ("tagged", "0"), ("json", 0)):
        assert KNOWN[name].format(KNOWN[name].dump({"a": 0, "b": ""})) == {"a": value, "b": ""}


def test_text_for_a_prompt_is_not_escaped():
    assert "日本" in KNOWN["json"].dump({"a": "日本"})


def test_a_tagged_answer_without_tags_is_refused():
    refused("raw text", "a", "b", name="tagged")


@pytest.mark.parametrize(
    "text",
    [
        'Let me draft {"answer": "draft"} hmm no.</think>\n{"answer": "x"}',
        'Of this form:\n```json\n{"answer": "draft"}\n```\nMy final answer:\n```json\n{"answer": "x"}\n```',
        'You gave me {"city": "Paris", "country": "France"}. So: {"answer": "x"}',
        'With f(x) = {x: x > 0 and so on, it is\n```json\n{"answer": "x"}\n```',
        '{"answer": "x"} and not {"other": "a much longer object"}',
    ],
)
def test_the_object_with_the_wanted_keys_is_taken_and_of_several_the_last(text):
    assert JsonFormatter().read(text, ("answer",)).value == {"answer": "x"}


def test_what_begins_like_an_answer_is_not_cut_at_a_tag_in_it():
    assert JsonFormatter().read('{"answer": "close it with </think>"}', ("answer",)).value == {
        "answer": "close it with </think>"
    }
