"""A tool's exception tells the model what went wrong and where, and people everything."""

from __future__ import annotations

import functools
import json
import linecache

import pytest

from nbagent.tools.serialise import describe_error
from nbagent.tools.tool import tool


def get_weather(city: str) -> str:
    raise ValueError(f"no such city: {city}")


def nested(x: int) -> str:
    return helper(x)


def helper(x: int) -> str:
    return json.loads("{")


def caught(function, *args):
    try:
        function(*args)
    except BaseException as error:
        return error
    raise AssertionError("it should raise")


def line_of(text: str) -> int:
    with open(__file__, encoding="utf-8") as lines:
        return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize("wrap", [lambda f: f, tool, functools.partial], ids=["function", "tool", "partial"])
def test_the_model_reads_the_error_and_the_line_of_the_tool(wrap):
    text, traceback = describe_error(caught(wrap(get_weather), "Atlantis"), wrap(get_weather))
    number = line_of("raise ValueError(f")
    assert text == (
        "ValueError: no such city: Atlantis\n"
        f'in get_weather, line {number}: raise ValueError(f"no such city: {{city}}")'
    )
    assert traceback.startswith("Traceback (most recent call last)")
    assert __file__ in traceback


def test_the_line_is_the_last_one_in_the_tools_own_file():
    text, traceback = describe_error(caught(nested, 1), nested)
    assert text.splitlines()[1] == f'in helper, line {line_of("return json.loads(")}: return json.loads("{{")'
    assert "decoder.py" in traceback
    assert "/" not in text


def test_a_method_and_a_callable_object_have_their_line():
    class Site:
        def get(self):
            raise KeyError("page")

        def __call__(self):
            return self.get()

    for thing in (Site().get, Site()):
        assert describe_error(caught(thing), thing)[0].startswith("KeyError: 'page'\nin get, line ")


def test_the_lines_of_a_notebook_cell_are_known():
    cell = "def f():\n    return 1 / 0\n"
    linecache.cache["<cell 5>"] = (len(cell), None, cell.splitlines(keepends=True), "<cell 5>")
    names: dict = {}
    exec(compile(cell, "<cell 5>", "exec"), names)
    text, _ = describe_error(caught(names["f"]), names["f"])
    assert text == "ZeroDivisionError: division by zero\nin f, line 2: return 1 / 0"


def test_without_source_the_line_number_stays():
    names: dict = {}
    exec(compile("def f():\n    return 1 / 0\n", "<nowhere>", "exec"), names)
    assert describe_error(caught(names["f"]), names["f"])[0].endswith("\nin f, line 2")


def test_an_error_that_was_not_raised_in_the_tool_has_no_line():
    assert describe_error(TypeError("missing x"), get_weather)[0] == "TypeError: missing x"
    assert describe_error(ValueError("x"), len)[0] == "ValueError: x"


class Wordless(Exception):
    def __str__(self):
        raise RuntimeError("no")


class Thing: ...


def with_note():
    error = ValueError("x")
    error.add_note("try Paris")
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError(), "ValueError"),
        (ValueError("a\nb"), "ValueError: a\nb"),
        (ValueError(f"bad {Thing()}"), f"ValueError: bad <{__name__}.Thing object>"),
        (Wordless(), "Wordless (its text cannot be shown: RuntimeError)"),
        (with_note(), "ValueError: x\ntry Paris"),
        (SystemExit(3), "SystemExit: the tool tried to end Python with code 3; Python goes on"),
        (SystemExit(), "SystemExit: the tool tried to end Python; Python goes on"),
        (SystemExit("bad input"), "SystemExit: bad input"),
        (ExceptionGroup("two", [ValueError("a")]), "ExceptionGroup: two (1 sub-exception)\n- ValueError: a"),
        (ValueError("\ud800"), "ValueError: �"),
    ],
)  # fmt: skip
def test_every_exception_has_words(error, text):
    said, traceback = describe_error(error, get_weather)
    assert said == text
    assert traceback


def test_an_endless_message_is_cut():
    assert len(describe_error(ValueError("x" * 10**6), get_weather)[0]) < 5_000
