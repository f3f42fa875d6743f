"""Objects written for another framework, with `dump` and `format` only."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.errors import ConfigError
from nbagent.messages import Field, Piece, Source
from nbagent.prompt.formatters.json_object import JsonFormatter
from nbagent.prompt.formatters.known import KNOWN
from nbagent.prompt.formatters.reading import Reading, Unreadable
from nbagent.prompt.formatters.use import instructions_of, laid_out, name_of, read_answer
from nbagent.texts.pack import Texts

TEMPLATE = Source("template", "task")
CITY = Source("variable", "city: str")
FRAME = Source("framework", "formatter Foreign")


class Foreign:
    def __init__(self, dump=None, format=None):
        self._dump, self._format = dump, format

    def dump(self, data):
        return self._dump(data)

    def format(self, text):
        return self._format(text)


def lines(data):
    return "\n".join(f"{name}={value}" for name, value in data.items())


def field(name, *texts, value=None):
    return Field(name, tuple(Piece(text, source) for text, source in texts), value)


def test_values_that_are_found_keep_their_sources():
    fields = [field("E", ("Say ", TEMPLATE), ("E", CITY)), field("MESSAGE", ("E", CITY)), field("EMPTY")]
    assert laid_out(Foreign(lines), fields) == (
        Piece("E=", FRAME),
        Piece("Say ", TEMPLATE),
        Piece("E", CITY),
        Piece("\nMESSAGE=", FRAME),
        Piece("E", CITY),
        Piece("\nEMPTY=", FRAME),
    )


def test_values_that_were_changed_come_from_the_formatter():
    fields = [field("a", ('"x"', CITY)), field("b", ("plain", TEMPLATE))]
    assert laid_out(Foreign(json.dumps), fields) == (
        Piece('{"a": "\\"x\\"", "b": "', FRAME),
        Piece("plain", TEMPLATE),
        Piece('"}', FRAME),
    )


def test_a_value_is_found_where_no_names_are_written():
    formatter = Foreign(lambda data: " ".join(data.values()))
    assert laid_out(formatter, [field("a", ("cat", CITY)), field("c", ("dog", TEMPLATE))]) == (
        Piece("cat", CITY), Piece(" ", FRAME), Piece("dog", TEMPLATE),
    )  # fmt: skip


def test_it_gets_the_value_where_there_is_one():
    seen = []
    laid_out(
        Foreign(lambda data: seen.append(data) or ""), [field("n", ("[1]", CITY), value=[1]), field("t", ("x", CITY))]
    )
    assert seen == [{"n": [1], "t": "x"}]


@given(
    st.dictionaries(st.text("ab=\n", max_size=3), st.lists(st.text("ab=\n", max_size=4), max_size=3), max_size=4),
    st.sampled_from([lines, json.dumps, str, lambda data: "", lambda data: "".join(reversed(lines(data)))]),
)
def test_the_pieces_joined_are_what_it_wrote(entries, dump):
    fields = [field(name, *((text, CITY) for text in texts)) for name, texts in entries.items()]
    pieces = laid_out(Foreign(dump), fields)
    assert "".join(piece.text for piece in pieces) == dump({each.name: each.text for each in fields})
    assert all(piece.text for piece in pieces)


def test_ours_lays_out_by_itself():
    fields = [field("a", ("x", CITY))]
    assert laid_out(KNOWN["json"], fields) == KNOWN["json"].layout(fields)


def stop(data):
    raise SystemExit("out")


@pytest.mark.parametrize(
    ("dump", "message"),
    [
        (lambda data: None, "the formatter Foreign: expected a str of dump, got NoneType"),
        (lambda data: data["x"], "the formatter Foreign cannot write the prompt: KeyError: 'x'"),
        (stop, "the formatter Foreign cannot write the prompt: SystemExit: out"),
    ],
)
def test_a_dump_that_fails_is_told(dump, message):
    with pytest.raises(ConfigError) as caught:
        laid_out(Foreign(dump), [])
    assert str(caught.value) == message


def test_names():
    named = Foreign()
    named.name = "house style"
    assert (name_of(named), name_of(Foreign()), name_of(KNOWN["json"])) == ("house style", "Foreign", "json")


def test_instructions():
    assert instructions_of(Foreign(), {"a": ""}) == ()
    [piece] = instructions_of(KNOWN["json"], {"a": ""})
    assert piece == Piece(KNOWN["json"].instructions({"a": ""}), Source("format", "json"))
    [piece] = instructions_of(KNOWN["json"], {"a": ""}, Texts("chinese"))
    assert piece.text.startswith("只回复一个 JSON 对象")


def test_a_formatter_of_ones_own_that_is_made_of_ours_says_what_it_likes():
    class Mine(JsonFormatter):
        def instructions(self, output):
            return f"{len(output)} fields, please."

    assert instructions_of(Mine(), {"a": ""}, Texts("chinese")) == (Piece("1 fields, please.", Source("format")),)


def test_answers():
    assert read_answer(Foreign(format=lambda text: {"all": text}), " x\n", ["all"]) == Reading({"all": " x\n"})
    assert read_answer(KNOWN["twins"], "x", ["a", "b"]) == Reading({"a": "x", "b": "x"})


def test_its_answers_are_without_thinking():
    reading = read_answer(Foreign(format=lambda text: {"all": text}), "<think>hm</think>\nx", [])
    assert reading == Reading({"all": "x"}, ("left out the model's thinking",))


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        (json.loads, "JSONDecodeError: Expecting value"),
        (lambda text: [text], "it gave list, not a dict with names as keys"),
        (lambda text: None, "it gave NoneType, not a dict with names as keys"),
        (lambda text: {1: 2}, "it gave dict, not a dict with names as keys"),
    ],
)
def test_what_it_cannot_read(read, wrong):
    with pytest.raises(Unreadable) as caught:
        read_answer(Foreign(format=read), "no json", [])
    expected, problem, came, advice = str(caught.value).split("\n")
    assert expected == "The answer cannot be read. Expected: what the formatter Foreign reads."
    assert problem.startswith(f"What is wrong: {wrong}")
    assert came == "The answer was: no json"
    assert advice == "Answer again, in the form that you were asked for."


def test_what_it_says_shows_no_secret():
    key = "sk-proj-" + "Ab1" * 16

    def leak(text):
        raise ValueError(key)

    with pytest.raises(Unreadable, match="redacted"):
        read_answer(Foreign(format=leak), "x", [])


def test_its_own_unreadable_stays_as_it_is():
    own = Unreadable("write it in verse")

    def verse(text):
        raise own

    with pytest.raises(Unreadable) as caught:
        read_answer(Foreign(format=verse), "x", [])
    assert caught.value is own


def test_an_interrupt_is_no_answer():
    def interrupt(text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_answer(Foreign(format=interrupt), "x", [])
