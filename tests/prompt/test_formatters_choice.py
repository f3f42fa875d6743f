from __future__ import annotations

import pytest

from nbagent.errors import ConfigError
from nbagent.prompt.formatters.known import KNOWN, formatter_named, pair_of


class Foreign:
    def dump(self, data):
        return str(data)

    def format(self, text):
        return {"all": text}


class WriteOnly:
    def dump(self, data):
        return str(data)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("paragraph", "paragraph"), ("json", "json"), ("JSON ", "json"), ("lenient json", "lenient json"),
        ("lenient_json", "lenient json"), ("lenient-json", "lenient json"), ("markdown", "markdown"),
        ("tagged", "tagged"), ("twins", "twins"),
    ],
)  # fmt: skip
def test_by_name(name, known):
    assert formatter_named(name) is KNOWN[known]
    assert formatter_named(name).name == known


def test_an_unknown_name_is_told_with_the_nearest():
    with pytest.raises(ConfigError) as caught:
        formatter_named("markdwon")
    assert str(caught.value) == (
        "formatters: no formatter has the name 'markdwon'; there are paragraph, json, lenient json, markdown, "
        "tagged, twins. Did you mean 'markdown'?"
    )


def test_text_is_no_formatter_but_may_be_the_second():
    with pytest.raises(ConfigError, match="'text' can be the second of two"):
        pair_of("text")
    assert pair_of(("json", "text")) == (KNOWN["json"], None)
    assert pair_of(["json", None]) == (KNOWN["json"], None)


def test_pairs():
    foreign = Foreign()
    assert pair_of(None) == (KNOWN["paragraph"], None)
    assert pair_of("markdown") == (KNOWN["markdown"], KNOWN["markdown"])
    assert pair_of(foreign) == (foreign, foreign)
    assert pair_of(["paragraph", "json"]) == (KNOWN["paragraph"], KNOWN["json"])
    assert pair_of((WriteOnly(), foreign))[1] is foreign


@pytest.mark.parametrize(
    ("formatters", "came"),
    [
        (3, "got int, which has no method dump"),
        ([], "got 0 of them"),
        (["json"], "got 1 of them"),
        (["json", "json", "json"], "got 3 of them"),
        ([None, "json"], "got NoneType, which has no method dump"),
        (["json", {}], "got dict, which has no method format"),
        (Foreign, "got the class Foreign: write Foreign()"),
        (WriteOnly(), "got WriteOnly, which has no method format"),
    ],
)
def test_anything_else_is_refused(formatters, came):
    with pytest.raises(ConfigError) as caught:
        pair_of(formatters)
    assert str(caught.value).startswith("formatters: expected a name, an object with dump and format, or a list of two")
    assert came in str(caught.value)
