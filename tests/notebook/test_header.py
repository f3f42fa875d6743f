from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.agents.spec_words import MOST_CHARACTERS
from nbagent.errors import CellError
from nbagent.notebook.header import Items, Scalar, Table, as_json, read_header


def test_nodes_know_their_lines_and_have_no_types():
    header = read_header("a: no\nb:\n  - 1.10\n  - 'x'\nc:\n  d: 12:30\n", 2)
    assert header == {
        "a": Scalar("no", False, 2),
        "b": Items((Scalar("1.10", False, 4), Scalar("x", True, 5)), 3),
        "c": Table({"d": Scalar("12:30", False, 7)}, 6),
    }


def test_a_gap_keeps_the_lines_below_it_right():
    header = read_header("a: 1\nb: 2\n", 2, gaps={2, 4})
    assert [node.line for node in header.values()] == [3, 5]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_nothing_is_an_empty_header(text):
    assert read_header(text, 2) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("|\n  a\n   b\n\n", "a\n b\n"),
        ("|-\n  a\n  b\n", "a\nb"),
        (">\n  a\n  b\n", "a b\n"),
        ("|\n  \tcode with a tab\n", "\tcode with a tab\n"),
        (r'"\ud83d\ude00"', "😀"),
        ("'it''s'", "it's"),
    ],
)
def test_quotes_and_blocks_keep_yamls_meaning(text, value):
    assert read_header(f"a: {text}")["a"] == Scalar(value, True, 2)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: &x 1", 2, "anchors"),
        ("a: 1\nb: *x", 3, "aliases"),
        ("*x : 1", 2, "aliases"),
        ("a: !t 1", 2, "tags"),
        ("a: !!python/object/apply:os.system ['true']", 2, "tags"),
        ('!!python/object/apply:os.system ["true"]', 2, "tags"),
        ("a: !e!t 1", 2, "tags"),
        ("a: 1\nb: 2\na: 3", 4, "cell line 2 already"),
        ("a:\n  b: {c: 1, d: 2,\n    c: 3}", 4, "cell line 3 already"),
        ("a: 1\n...\nb: 2", 3, "one YAML document"),
        ("--- a", 2, "one YAML document"),
        ("%YAML 1.1\n", 3, "one YAML document"),
        ("just text", 2, "begin the cell with a line `---`"),
        ("- a\n- b", 2, "begin the cell with a line `---`"),
        ("Do this:\n- a\nthanks", 4, "begin the cell with a line `---`"),
        ("a: {{city}}", 2, "needs quotes"),
        ("? [a]\n: b", 2, "a key must be text"),
        ("a:\n\tb: 1", 3, "tab"),
        ("a: b\tc", 2, "tab"),
        ("a: 1\nb: 'x\nc: 2", 3, "never closed"),
        ("a: b: c", 2, "`: ` must stand in quotes"),
        ("a: @x", 2, "put it in quotes"),
        ("a: **bold**", 2, "put it in quotes"),
        ("a: | x", 2, "begins on the next line"),
        ("a: > 5", 2, "begins on the next line"),
        ("a: - b", 2, "begins on the line below"),
        ("a: [b c\nd: 1", 3, "comma"),
        ("a:\n  b: 1\n c: 2", 4, "indentation"),
        (r'a: "\q"', 2, "backslash"),
        (r'a: "\UFFFFFFFF"', 2, "no character"),
        (r'a: "\ud800"', 2, "half a character"),
        ("a: 1\nb: \x1b[31m", 3, "U+001B"),
        ("a: x\u2028 y\nb: @", 3, "put it in quotes"),
    ],
)
def test_refusals_name_the_cell_line(text, line, says):
    with pytest.raises(CellError, match="ell line") as caught:
        read_header(text, 2)
    message = str(caught.value)
    assert f"ell line {line}:" in message
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghi")),
        "a: " + "[" * 60_000,
        "a: " + "{a: " * 51 + "}" * 51,
        "a: " + "x" * MOST_CHARACTERS,
    ],
)
def test_bombs_are_refused_at_once(text):
    start = time.process_time()
    with pytest.raises(CellError):
        read_header(text)
    assert time.process_time() - start < 1


def test_fifty_levels_are_allowed():
    node = read_header("a: " + "[" * 49 + "]" * 49)["a"]
    assert isinstance(node, Items)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("24", 24),
        ("-7", -7),
        ("1.10", 1.1),
        ("1e-1", 0.1),
        ("12345678901234567890123", 12345678901234567890123),
        ("true", True),
        ("false", False),
        ("null", None),
        ('"24"', "24"),
        ("'true'", "true"),
        ("no", "no"),
        ("True", "True"),
        ("~", "~"),
        ("NaN", "NaN"),
        (".nan", ".nan"),
        ("Infinity", "Infinity"),
        ("0x10", "0x10"),
        ("012", "012"),
        ("+1", "+1"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("[1, a, {b: 2}]", [1, "a", {"b": 2}]),
        ("{}", {}),
    ],
)
def test_as_json(written, value):
    found = as_json(read_header(f"a: {written}")["a"])
    assert found == value
    assert type(found) is type(value)
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 5_000])
def test_a_number_that_json_cannot_hold_is_refused(number):
    with pytest.raises(CellError, match=r"Cell line 3: the number .* too large"):
        as_json(read_header(f"a:\n  - {number}")["a"])


@given(st.text() | st.text(alphabet="ab:-?[]{},&*!|>'\"%@#\\ \n\t.U", max_size=60))
def test_any_text_is_a_header_or_a_cell_error(text):
    try:
        header = read_header(text)
    except CellError:
        return
    for node in header.values():
        assert 2 <= node.line <= 2 + text.count("\n")


@given(st.dictionaries(st.text(min_size=1, max_size=80), st.text() | st.lists(st.text()), max_size=5))
def test_json_is_read_as_itself(value):
    assert as_json(Table(read_header(json.dumps(value)), 2)) == value
