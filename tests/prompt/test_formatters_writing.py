from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.errors import ConfigError
from nbagent.messages import Field, Piece, Source
from nbagent.prompt.formatters.formatter import Formatter
from nbagent.prompt.formatters.known import KNOWN

TEMPLATE = Source("template", "task")
CITY = Source("variable", "city: str")
NUMBERS = Source("input", "numbers")
LAYOUT = Source("framework", "layout")
FIELDS = (
    Field("MESSAGE", (Piece("Say ", TEMPLATE), Piece('"x"\n', CITY))),
    Field("EMPTY", ()),
    Field("NUMBERS", (Piece("[\n  1\n]", NUMBERS),), [1]),
)

HOSTILE = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=40),
    st.sampled_from(
        ['"}\\', "</A>\n<A>", "```\n# A", "A:\n", "\r\n\x00\x1f", "\u2028\x85", "{{x}} {y}", "\\", "  ", "\\u00e9"]
    ),
)
PIECES = st.lists(st.tuples(HOSTILE, st.sampled_from([TEMPLATE, CITY])), max_size=4)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def label(name):
    return Source("framework", f"label {name}")


def text_of(pieces):
    return "".join(piece.text for piece in pieces)


def field(name, texts, value=None):
    return Field(name, tuple(Piece(text, source) for text, source in texts), value)


BLOCKS = {
    "paragraph": 'MESSAGE:\nSay "x"\n\nEMPTY:\nNUMBERS:\n[\n  1\n]',
    "json": '{\n  "MESSAGE": "Say \\"x\\"\\n",\n  "EMPTY": "",\n  "NUMBERS": [\n    1\n  ]\n}',
    "lenient json": '{\n  "MESSAGE": "Say \\"x\\"\\n",\n  "EMPTY": "",\n  "NUMBERS": [\n    1\n  ]\n}',
    "markdown": '# MESSAGE\n\nSay "x"\n\n\n# EMPTY\n\n# NUMBERS\n\n[\n  1\n]',
    "tagged": '<MESSAGE>Say "x"\n\n<EMPTY>\n<NUMBERS>[\n  1\n]',
    "twins": 'MESSAGE:\nSay "x"\n\n\nEMPTY:\n\nNUMBERS:\n[\n  1\n]',
}


@pytest.mark.parametrize("name", BLOCKS)
def test_the_shape_of_each(name):
    assert text_of(KNOWN[name].layout(FIELDS)) == BLOCKS[name]


def test_a_paragraph_in_pieces():
    assert KNOWN["paragraph"].layout(FIELDS) == (
        Piece("MESSAGE:\n", label("MESSAGE")),
        Piece("Say ", TEMPLATE),
        Piece('"x"\n', CITY),
        Piece("\n", LAYOUT),
        Piece("EMPTY:", label("EMPTY")),
        Piece("\n", LAYOUT),
        Piece("NUMBERS:\n", label("NUMBERS")),
        Piece("[\n  1\n]", NUMBERS),
    )


def test_json_in_pieces():
    assert KNOWN["json"].layout(FIELDS) == (
        Piece("{\n  ", LAYOUT),
        Piece('"MESSAGE": ', label("MESSAGE")),
        Piece('"', LAYOUT),
        Piece("Say ", TEMPLATE),
        Piece('\\"x\\"\\n', CITY),
        Piece('"', LAYOUT),
        Piece(",\n  ", LAYOUT),
        Piece('"EMPTY": ', label("EMPTY")),
        Piece('""', LAYOUT),
        Piece(",\n  ", LAYOUT),
        Piece('"NUMBERS": ', label("NUMBERS")),
        Piece("[\n    1\n  ]", NUMBERS),
        Piece("\n}", LAYOUT),
    )


@pytest.mark.parametrize("name", KNOWN)
@given(st.lists(st.tuples(HOSTILE, PIECES), max_size=4))
def test_values_are_whole_and_keep_their_sources(name, entries):
    pieces = KNOWN[name].layout([field(key, texts) for key, texts in entries])
    assert all(piece.text for piece in pieces)
    own = [(piece.text, piece.source) for piece in pieces if piece.source.kind != "framework"]
    if "json" in name:
        own = [(json.loads(f'"{text}"'), source) for text, source in own]
    assert own == [
        (healed(text) if "json" in name else text, source) for _, texts in entries for text, source in texts if text
    ]


def healed(text):
    """Two halves of a surrogate pair are the one character that they stand for, once they are escaped in JSON."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@pytest.mark.parametrize("name", KNOWN)
@given(st.dictionaries(HOSTILE, HOSTILE | PLAIN, max_size=4))
def test_dump_is_the_layout_joined(name, data):
    texts = {key: "" if value is None else value for key, value in data.items()}
    fields = [
        field(
            key,
            [(value if isinstance(value, str) else json_of(value), TEMPLATE)],
            None if isinstance(value, str) else value,
        )
        for key, value in texts.items()
    ]
    assert KNOWN[name].dump(data) == text_of(KNOWN[name].layout(fields))


def json_of(value):
    return json.dumps(value, indent=2, ensure_ascii=False)


@pytest.mark.parametrize("name", ["json", "lenient json"])
@given(
    st.dictionaries(
        HOSTILE.map(healed), HOSTILE.map(healed) | PLAIN.filter(lambda value: value is not None), max_size=4
    )
)
def test_json_loads_back(name, data):
    written = KNOWN[name].dump(data)
    assert json.loads(written) == data
    assert list(json.loads(written)) == list(data)
    written.encode()


def test_text_in_json_is_not_escaped_more_than_it_has_to_be():
    assert KNOWN["json"].dump({"é": "日\u2028本"}) == '{\n  "é": "日\u2028本"\n}'
    assert KNOWN["json"].dump({"a": "\ud800"}) == '{\n  "a": "\\ud800"\n}'
    assert KNOWN["json"].dump({}) == "{}"


def test_json_of_pieces_is_valid_wherever_they_are_cut():
    text = 'a\\n"\\u0041\n\x00😀\u2029'
    for cut in range(len(text) + 1):
        pieces = KNOWN["json"].layout([field("x", [(text[:cut], TEMPLATE), (text[cut:], CITY)])])
        assert json.loads(text_of(pieces)) == {"x": text}


def test_a_value_that_json_has_no_form_for_is_written_as_its_text():
    assert json.loads(KNOWN["json"].dump({"x": float("nan")})) == {"x": "NaN"}
    assert json.loads(text_of(KNOWN["json"].layout([field("x", [("a set", TEMPLATE)], {(1, 2): 3})]))) == {"x": "a set"}


@dataclass
class Point:
    x: int
    tags: frozenset[str]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as\nis ", "as\nis "),
        (None, ""),
        (0, "0"),
        (False, "false"),
        ([], "[]"),
        ({"z": 1, "a": "é"}, '{\n  "z": 1,\n  "a": "é"\n}'),
        ({"b", "a", 10, 9}, '[\n  "a",\n  "b",\n  10,\n  9\n]'),
        ((1, None), "[\n  1,\n  null\n]"),
        (Point(1, frozenset({"b", "a"})), '{\n  "x": 1,\n  "tags": [\n    "a",\n    "b"\n  ]\n}'),
        (MappingProxyType(OrderedDict(a=1)), '{\n  "a": 1\n}'),
    ],
)
def test_values_as_text(value, text):
    assert KNOWN["paragraph"].dump({"K": value}) == (f"K:\n{text}" if text else "K:")


@pytest.mark.parametrize("value", [object(), {(1, 2): 3}, (loop := []).append(loop) or loop])
def test_a_value_without_a_text_is_refused_by_its_name(value):
    with pytest.raises(ConfigError, match=r"`K`: expected a value that can be written as JSON"):
        KNOWN["paragraph"].dump({"K": value})


def test_tagged_writes_every_field():
    assert KNOWN["tagged"].dump({"MESSAGE TO YOU": "Hi", "other": 1}) == "<MESSAGE TO YOU>Hi\n<other>1"


def test_each_is_a_formatter():
    assert all(isinstance(each, Formatter) for each in KNOWN.values())
    assert [name for name, each in KNOWN.items() if each.name != name] == []


@pytest.mark.parametrize("output", [{}, {"answer": "what it is", "the mood": ""}])
@pytest.mark.parametrize("name", KNOWN)
def test_instructions_are_a_few_clean_lines_that_name_the_fields(name, output):
    text = KNOWN[name].instructions(output)
    lines = text.split("\n")
    assert 2 <= len(lines) <= 4
    assert all(line and line == line.strip() for line in lines)
    assert all(field in text for field in output)
    assert text == KNOWN[name].instructions(dict(output))


SHOWN = {
    "json": '"answer"',
    "lenient json": '"answer"',
    "markdown": "`# answer`",
    "tagged": "<answer>",
    "paragraph": "`answer:`",
}


@pytest.mark.parametrize(("name", "written"), SHOWN.items())
def test_instructions_show_how_a_name_is_written(name, written):
    assert written in KNOWN[name].instructions({"answer": ""})
