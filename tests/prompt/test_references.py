from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.errors import CellError
from nbagent.messages import Source
from nbagent.prompt.references import Piece, render


@dataclass
class User:
    name: str = "Ada"
    _secret: str = "s3cret"

    @property
    def broken(self):
        raise ValueError("no database")

    @property
    def hollow(self):
        return self.missing  # pyright: ignore[reportAttributeAccessIssue]


class Hostile:
    def __dir__(self):
        raise RuntimeError("no dir")

    def __getattr__(self, name):
        raise AttributeError(name)

    def __str__(self):
        raise RuntimeError("no text")


NAMESPACE = {
    "city": "Paris",
    "cities": ["Paris", "Rome"],
    "n": 3,
    "user": User(),
    "rows": [{"name": "x", "my key": {"deep": [1, 2, 3]}}],
    "empty": "",
    "loop": "{{city}} {{nope}}",
    "ærø": "island",
    "_private": "p",
    "hostile": Hostile(),
    "f": len,
}


def pieces(text, **options):
    return render(text, NAMESPACE, where="task", to_text=str, **options)


def rendered(text):
    return "".join(piece.text for piece in pieces(text))


def refused(text, **options):
    with pytest.raises(CellError) as caught:
        pieces(text, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{city}}", "Paris"),
        ("{{ city }}", "Paris"),
        ("In {{city}}, {{n}} days", "In Paris, 3 days"),
        ("{{city}}{{city}}", "ParisParis"),
        ("{{user.name}}", "Ada"),
        ("{{cities[0]}} {{cities[-1]}}", "Paris Rome"),
        ("{{rows[0][\"name\"]}}{{rows[0]['name']}}", "xx"),
        ("{{ rows[0]['my key'][\"deep\"][2] }}", "3"),
        ("{{ærø}}", "island"),
        ("{{empty}}", ""),
        ("{{loop}}", "{{city}} {{nope}}"),
        ('{"city": {{n}}}', '{"city": 3}'),
        ("{{{n}}}", "{3}"),
        (r"\{{city}}", "{{city}}"),
        (r"\{{ config }}", "{{ config }}"),
        (r"\{{n + 1}} {{n}}", "{{n + 1}} 3"),
        (r"\{{{city}}}", "{{{city}}}"),
        (r"\{{", "{{"),
    ],
)
def test_what_is_replaced(text, result):
    assert rendered(text) == result


@pytest.mark.parametrize(
    "text",
    [
        "plain", "{city} {n!r:>10} {0} {}", "{client.api_key} {0.__class__}", '{"a": {"b": 1}}', r"\frac{x}{y}",
        r"{{\frac{1}{2}}}", r"\textbf{{\it x}}", "{{}}", "{{ }}", "{{", "}}", "{{city", "city}}", "{ {city} }",
        "{{\ncity\n}}", "{{a b}}", "{{#if x}} {{/if}} {{> partial}}", "{{city} }", "{%- for x in y %}", "f'{x}'",
        '{{"a": 1}}', "{{city\n}}", "\\{city}", "$city ${city}",
    ],
)  # fmt: skip
def test_what_passes_byte_for_byte(text):
    assert pieces(text) == (Piece(text, Source("template", "task")),)


def test_pieces_know_their_source():
    assert pieces("Dear {{user.name}},\n{{ cities[0] }}{{empty}}{{n}}!") == (
        Piece("Dear ", Source("template", "task")),
        Piece("Ada", Source("variable", "user.name: str")),
        Piece(",\n", Source("template", "task")),
        Piece("Paris", Source("variable", "cities[0]: str")),
        Piece("3", Source("variable", "n: int")),
        Piece("!", Source("template", "task")),
    )
    assert pieces("") == ()


@pytest.mark.parametrize(
    "inner", ["n + 1", "f(x)", " a | upper ", "f()", "cities[0:1]", "cities[n]", "user.name()", "1", "'a'", "a, b",
              "x if y else z", "not n", "cities[ 0 ]", "n == 3", '"\\d"'],
)  # fmt: skip
def test_more_than_a_lookup_is_refused(inner):
    message = refused(f"a\n{{{{{inner}}}}}", lines=(4, 5))
    assert message.startswith(f"Cell line 5: `{{{{{inner}}}}}` in task: only names")
    assert r"write `\{{`" in message
    assert rendered(f"\\{{{{{inner}}}}}") == f"{{{{{inner}}}}}"


@pytest.mark.parametrize(
    ("inner", "says"),
    [
        ("citty", "no variable `citty` in the notebook (the nearest: `city`); define it"),
        (" config ", r"write `\{{` to send it as it is"),
        ("private", r"define it first"),
        ("from", "no variable `from`"),
        ("user.nam", "`user` (User) has no attribute `nam` (the nearest: `name`)"),
        ("user.name.x", "`user.name` (str) has no attribute `x`"),
        ("cities[2]", "`cities` (list) has no item [2]"),
        ('rows[0]["nam"]', '`rows[0]` (dict) has no item ["nam"] (the nearest: `name`)'),
        ("rows[0][1]", "`rows[0]` (dict) has no item [1]"),
        ("n[0]", "raised TypeError"),
        ("cities['a']", "raised TypeError"),
        ("user.broken", "raised ValueError: no database"),
        ("user.hollow", "raised AttributeError"),
        ("hostile.x", "`hostile` (Hostile) has no attribute `x`"),
        ("hostile", "cannot be made text, RuntimeError: no text"),
        ("_private", "private"),
        ("__builtins__", "private"),
        ("user._secret", "private"),
        ("user.__class__", "private"),
        ("f.__globals__['x']", "private"),
    ],
)
def test_lookups_that_fail(inner, says):
    message = refused(f"{{{{city}}}}\n\n{{{{{inner}}}}}", lines=(3, 4, 6))
    assert message.startswith(f"Cell line 6: `{{{{{inner}}}}}` in task: ")
    assert says in message
    assert "_private" not in message.replace(inner, "")
    assert "s3cret" not in message


def test_without_lines_only_the_text_is_named():
    assert refused("{{nope}}").startswith("`{{nope}}` in task: no variable")


def test_everything_is_looked_up_before_a_value_is_made_text():
    made = []
    with pytest.raises(CellError, match="nope"):
        render("{{city}} {{nope}}", NAMESPACE, where="task", to_text=lambda value: made.append(value) or "")
    assert made == []


def test_a_reference_is_looked_up_once_and_its_value_is_made_text_once():
    class Counter:
        reads = 0

        @property
        def value(self):
            self.reads += 1
            return "{{city}}"

    counter = Counter()
    found = render("{{c.value}}", {"c": counter}, where="task", to_text=lambda value: value)
    assert [piece.text for piece in found] == ["{{city}}"]
    assert counter.reads == 1


def test_any_mapping_is_a_namespace():
    space = ChainMap({"a": SimpleNamespace(b=[1])}, {"c": 2})
    found = render("{{a.b[0]}}{{c}}", space, where="system", to_text=repr)
    assert "".join(piece.text for piece in found) == "12"


def test_ctrl_c_passes():
    class Slow:
        @property
        def value(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        render("{{s.value}}", {"s": Slow()}, where="task", to_text=str)


TEXT = st.text() | st.text(alphabet="{}\\ncity.[]\"'0_+() \n", max_size=60)
INNER = st.text(alphabet="ncity.[]\"'01_+-()\\# \t\x00\ud800", max_size=12)


@given(TEXT, st.lists(INNER))
def test_any_text_is_rendered_or_refused(text, inners):
    for each in [text, *(f"a {{{{{inner}}}}} b" for inner in inners)]:
        try:
            found = pieces(each)
        except CellError:
            continue
        assert all(piece.text for piece in found)
        assert all(a.source != b.source or a.source.kind == "variable" for a, b in pairwise(found))


@given(TEXT.filter(lambda text: text and "{{" not in text))
def test_text_without_two_braces_is_unchanged(text):
    assert pieces(text) == (Piece(text, Source("template", "task")),)


@given(st.text(), st.text(st.characters(exclude_characters="{}\\")))
def test_a_value_is_never_read_again(value, around):
    found = render(f"{around}{{{{v}}}}{around}", {"v": value}, where="task", to_text=str)
    assert "".join(piece.text for piece in found) == f"{around}{value}{around}"


@given(st.text(st.characters(exclude_characters="{}")))
def test_an_escape_keeps_what_follows(text):
    assert rendered(f"\\{{{{{text}}}}}") == f"{{{{{text}}}}}"


LARGE = [
    "{{" * 50_000,
    "{{" + "(" * 50_000 + "}}",
    "{{" + "-" * 50_000 + "1}}",
    "{{a" + ".b" * 20_000 + "}}",
    "{{" + "a " * 50_000,
    "{{f" + "(1" * 100 + "}}",
]


@pytest.mark.parametrize("text", LARGE, ids=lambda text: text[:5])
def test_large_texts_end(text):
    try:
        found = pieces(text)
    except CellError as error:
        found = (Piece(str(error)[:1_000], Source("framework")),)
    assert found
