"""Template: a bare {identifier} is a field, everything else is text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.errors import ConfigError
from nbagent.messages import Field, Piece, Source
from nbagent.prompt.references import render_template
from nbagent.texts.template import Slot, escaped, fill, parse, shown


def field(name, text):
    return Field(name, (Piece(text, Source("input", name)),))


def filled(text, **fields):
    pieces = fill(parse(text, "t"), {name: field(name, value) for name, value in fields.items()}, "t")
    return "".join(piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{a}", "X"),
        ("{a}{a}, ${a}", "XX, $X"),
        ("{{a}}", "{a}"),
        ("{{{a}}}", "{X}"),
        ("{{{{a}}}}", "{{a}}"),
        ('{"k": {a}}', '{"k": X}'),
        ('{"k": {{a}}}', '{"k": {a}}'),
        ("{ a } {a.b} {a!r} {a:>5} {0} {} {a b} {a-b}", "{ a } {a.b} {a!r} {a:>5} {0} {} {a b} {a-b}"),
        ('{"a": 1, "b": {"c": []}}', '{"a": 1, "b": {"c": []}}'),
        ("\\frac{1}{2} f(x) = {x^2}", "\\frac{1}{2} f(x) = {x^2}"),
        ("def f():\n    return {**{}, 'a': [1]}", "def f():\n    return {**{}, 'a': [1]}"),
    ],
)
def test_what_is_a_place_and_what_is_text(text, result):
    assert filled(text, a="X") == result


def test_values_are_never_read_again():
    assert filled("{a};{b}", a="{b} {{b}} {zz} {{{{a}}}}", b="B") == "{b} {{b}} {zz} {{{{a}}}};B"


@pytest.mark.parametrize("text", ["{topc}", "Write {topc} and {topic}"])
def test_an_unknown_field_is_an_error_that_names_the_near_ones(text):
    with pytest.raises(ConfigError, match=r"\{topc\} in t: no input field.*did you mean \{topic\}.*write \{\{topc\}\}"):
        filled(text, topic="x", words="y")
    with pytest.raises(ConfigError, match="there are: topic, words"):
        filled("{zzzzzz}", topic="x", words="y")
    with pytest.raises(ConfigError, match="there are no input fields"):
        filled("{zzzzzz}")


names = st.from_regex("[a-z_][a-z0-9_]{0,4}", fullmatch=True)
literal = st.text(st.characters(blacklist_characters="{}"), min_size=1, max_size=6)
others = st.sampled_from(["{ a }", "{}", "{1}", '{"k": 1}', "{a.b}", "{", "}", "{a", "b}", "{ {a b} }"])
parts = st.lists(
    st.one_of(
        literal.map(lambda t: (t, t)),
        others.map(lambda t: (t, t)),
        names.map(lambda n: (f"{{{n}}}", f"<{{{n}}}>")),
        names.map(lambda n: (f"{{{{{n}}}}}", f"{{{n}}}")),
    )
)


@given(parts)
def test_any_mixture_of_text_places_and_escapes(mixture):
    text, result = (" ".join(one) for one in ([a for a, _ in mixture], [b for _, b in mixture]))
    fields = {part.name: field(part.name, f"<{{{part.name}}}>") for part in parse(text, "t") if isinstance(part, Slot)}
    pieces = fill(parse(text, "t"), fields, "t")
    assert "".join(piece.text for piece in pieces) == result
    assert all(piece.text for piece in pieces)


@given(st.text(st.sampled_from("{}ab1 \n"), max_size=20))
def test_a_text_that_is_escaped_comes_out_as_it_is(text):
    assert filled(escaped(text)) == text


def test_pieces_know_where_they_come_from():
    pieces = fill(parse("On {topic}: ", "instructions"), {"topic": field("topic", "DAGs")}, "instructions")
    assert pieces == (
        Piece("On ", Source("template", "instructions")),
        Piece("DAGs", Source("input", "topic")),
        Piece(": ", Source("template", "instructions")),
    )


def in_cell(text, **names):
    return render_template(text, names, where="instructions", to_text=str)


def test_in_a_cell_double_braces_are_the_notebooks():
    template = in_cell(r"Hi {{name}}, {topic} \{{name}} \{topic} {'a': 1}", name="{topic}")
    assert shown(template) == "Hi {topic}, {topic} {{name}} {topic} {'a': 1}"
    pieces = fill(template, {"topic": field("topic", "T")}, "instructions")
    assert "".join(piece.text for piece in pieces) == "Hi {topic}, T {{name}} {topic} {'a': 1}"
    assert [str(piece.source) for piece in pieces] == [
        "template instructions", "variable name: str", "template instructions", "input topic", "template instructions",
    ]  # fmt: skip


def test_in_a_cell_an_unknown_field_names_the_escape_that_is_used_there():
    with pytest.raises(ConfigError, match=r"\{topic\} in instructions: .*write \\\{topic\}"):
        fill(in_cell("{topic}"), {}, "instructions")
