"""Context: the text that providers are asked for."""

from __future__ import annotations

import pytest

from nbagent.prompt.context.query import query_text


@pytest.mark.parametrize(
    ("inputs", "message", "text"),
    [
        ({"x": "1", "query": "Q", "task": "T"}, "M", "T"),
        ({"text": "t", "content": "c", "message": "m"}, "M", "m"),
        ({"task_description": "d", "question": "q"}, "M", "d"),
        ({"input": " ", "question": " q "}, "M", " q "),
        ({"input": 3, "question": None}, "M", "M"),
        ({"x": "1"}, "T 1", "T 1"),
        ({"x": "1"}, " \n", "1"),
        ({"x": "1", "y": "2"}, "", '{"x":"1","y":"2"}'),
        ({"y": "é", "x": [1, {"b": 2, "a": None}]}, "", '{"x":[1,{"a":null,"b":2}],"y":"é"}'),
        ({"x": 3}, "", '{"x":3}'),
        ({"x": " "}, "", '{"x":" "}'),
        ({}, "", "{}"),
    ],
)
def test_the_first_text_that_is_not_blank(inputs, message, text):
    assert query_text(inputs, message) == text


def test_what_json_does_not_know_is_its_str_the_same_in_every_process():
    class Thing:
        pass

    assert query_text({"a": {"z", "y", "x"}, "b": object()}, "") == '{"a":["x","y","z"],"b":"<object object>"}'
    itself = {"b": 1}
    itself["a"] = itself
    assert query_text(itself, "") == "a b"
