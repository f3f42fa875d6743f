"""Observations that are more than text: trees and tables."""

import json

import pytest
from page import Page
from views_samples import full_run

from nbagent.events import ToolReturned
from nbagent.messages import Observation, ToolFailure
from nbagent.tools.tables import frame
from nbagent.views.bundle import bundle
from nbagent.views.html_value import value_html
from nbagent.views.value import LIMIT, table_of, tree_of

LONG = {"name": "x" * 150, "sizes": [1, 2.50, True, None], "deep": {"a": {"b": "c"}}}


def test_json_is_a_tree_with_its_text_below():
    text = json.dumps(LONG)
    html = value_html(text)
    assert html.count("<details") == 5
    assert html.startswith('<div class="nbagent-tree"><details open><summary><small>3 members</small></summary>')
    for said in ("<b>sizes</b> <small>4 items</small>", "<code>true</code>", "<code>null</code>"):
        assert said in html
    assert text in Page(f"<div>{html}</div>").text


def test_a_tree_loses_no_digit_and_no_member():
    html = value_html('{"a": 1.50, "a": 12345678901234567890.10, "b": "' + "x" * 120 + '"}')
    assert html.count("<b>a</b>") == 2
    assert "<code>1.50</code>" in html
    assert "<code>12345678901234567890.10</code>" in html


@pytest.mark.parametrize(
    "text", ["", "word", "{", "[1, 2", "{}", '{"a": 1}', "[" * 20_000, "[" + "1," * LIMIT + "1]", "12"]
)
def test_other_text_stays_text(text):
    assert value_html(text) == ""


def test_a_large_tree_is_bounded():
    many = json.dumps([[[n, n]] * 20 for n in range(40)])
    html = value_html(many)
    assert html.count("<div>") < 500
    assert "more, in the text below" in html
    deep = "[" * 60 + '"' + "x" * 200 + '"' + "]" * 60
    assert value_html(deep).count("<details") <= 10
    assert "<details open" not in value_html(many)


def test_equal_objects_are_a_table():
    html = value_html(json.dumps([{"city": "Oslo", "n": 1.5}, {"city": "<b>", "n": None}]))
    assert "<caption><small>2 rows × 2 columns</small></caption>" in html
    assert '<th scope="col">city</th><th scope="col">n</th>' in html
    assert "<td>Oslo</td><td>1.5</td>" in html
    assert "<td>&lt;b&gt;</td><td>null</td>" in html
    for other in ([{"a": 1}], [{"a": 1}, {"b": 1}], [{"a": [1]}, {"a": 2}], [1, 2], [{}, {}]):
        assert table_of(json.dumps(other)) is None


def test_a_long_table_is_its_head_and_its_tail():
    html = value_html(json.dumps([{"n": n} for n in range(100)]))
    assert "… 84 rows, in the text below" in html
    assert [n for n in range(100) if f"<td>{n}</td>" in html] == [*range(12), *range(96, 100)]


def test_a_frame_is_a_table():
    pandas = pytest.importorskip("pandas")
    html = value_html(frame(pandas.DataFrame({"city": ["New York", "Oslo"], "size": [8.5, 0.7]})))
    assert "<caption><small>DataFrame of 2 rows × 2 columns</small></caption>" in html
    assert '<th scope="row">0</th><td>New York</td><td>8.5</td>' in html
    long = value_html(frame(pandas.DataFrame({"n": range(30)})))
    assert "… 20 more rows" in long
    two = pandas.DataFrame({f"column {n}": [n, n] for n in range(60)})
    assert table_of(frame(two)) is None  # its text leaves columns out


def test_what_only_looks_like_a_frame_is_text():
    assert table_of("DataFrame of 2 rows × 9 columns\n  a  b\n0 1 2") is None
    assert tree_of("DataFrame of 2 rows × 1 column\nx") is None


def test_an_error_says_so_in_words_and_is_no_tree():
    text = json.dumps(LONG)
    events = full_run(observation=text)
    at = next(n for n, event in enumerate(events) if isinstance(event, ToolReturned))
    failed = Observation("1", text, "error", error=ToolFailure("exception", text))
    html = bundle([*events[:at], ToolReturned(1, 0, failed), *events[at + 1 :]])["text/html"]
    assert '<div class="nbagent-tree">' in bundle(events)["text/html"]
    assert '<div class="nbagent-tree">' not in html
    assert "error: exception" in html


def test_a_run_shows_them_and_is_the_same_each_time():
    events = full_run(observation=json.dumps(LONG))
    html = bundle(events)["text/html"]
    assert "nbagent-tree" in html
    assert html == bundle(full_run(observation=json.dumps(LONG)))["text/html"]
    Page(html)


def test_a_text_that_looks_like_a_frame_and_is_none_is_a_text():
    for text in (
        "DataFrame of 2 rows × 1 column\n… 20 more rows",
        "DataFrame of 1 row × " + "9" * 5_000 + " columns\na\nb",
        "DataFrame of 2 rows × 1 column\n" + " " * 11_000 + "\n" * 11_000,
    ):
        assert table_of(text) is None
