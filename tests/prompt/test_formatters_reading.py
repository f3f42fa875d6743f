from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.prompt.formatters.known import KNOWN
from nbagent.prompt.formatters.reading import MAX_SHOWN, Reading, Unreadable, excerpt

AROUND = "took the JSON object out of the text around it"


def read(name, text, *names):
    reading = KNOWN[name].read(text, names)
    return reading.value, reading.repairs


def refused(name, text, *names):
    with pytest.raises(Unreadable) as caught:
        KNOWN[name].read(text, names)
    return str(caught.value)


PARAGRAPHS = {
    "a value below its key": ("answer:\n42", {"answer": "42"}),
    "a value beside its key": ("answer: 42\nmood:  fine ", {"answer": "42", "mood": "fine"}),
    "both": ("answer: 42\nand more\n\nmood:\n\nfine\n\n", {"answer": "42\nand more", "mood": "fine"}),
    "no key but the names": (
        "answer: see\nhttp://x.org: yes\nNote: no",
        {"answer": "see\nhttp://x.org: yes\nNote: no"},
    ),
    "text in it stays": ("answer:\n  {a: 1}\n\n\tb  c\\n", {"answer": "  {a: 1}\n\n\tb  c\\n"}),
    "repeated": ("answer: 1\nmood: x\nanswer: 2", {"answer": "1\n2", "mood": "x"}),
    "empty": ("answer:\nmood: x", {"answer": "", "mood": "x"}),
    "falsy": ("answer: 0\nmood: False", {"answer": "0", "mood": "False"}),
    "line ends of windows": ("answer:\r\n42\r\nmood: x\r\n", {"answer": "42", "mood": "x"}),
    "an unusual line end is text": ("answer: a\u2028mood: b", {"answer": "a\u2028mood: b"}),
}


@pytest.mark.parametrize(("text", "value"), PARAGRAPHS.values(), ids=PARAGRAPHS)
def test_paragraphs(text, value):
    assert read("paragraph", text, "answer", "mood") == (value, ())


def test_paragraph_repairs():
    assert read("paragraph", "Sure!\nANSWER: 1", "answer") == (
        {"answer": "1"},
        ("left out the text before the first key", "read `ANSWER` as `answer`"),
    )
    assert read("paragraph", "Answer: 1\nanswer: 2", "answer", "Answer") == ({"Answer": "1", "answer": "2"}, ())
    assert read("paragraph", "http: x\nhttp://y", "http") == ({"http": "x\nhttp://y"}, ())


def test_paragraphs_without_names():
    text = "MESSAGE TO YOU:\nsee http://x\nhttp://y\n12:30 is late\n  x: y\nlast_one: z"
    assert read("paragraph", text) == (
        {"MESSAGE TO YOU": "see http://x\nhttp://y\n12:30 is late\n  x: y", "last_one": "z"}, ()
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "no key", '{"a": 1}', '{\n  "a": "b: c"\n}', ": x", "http://x"])
def test_paragraphs_without_a_key(text):
    assert "no line begins with such a key" in refused("paragraph", text)
    assert "lines that begin with `answer:` `mood:`" in refused("paragraph", text, "answer", "mood")


MARKDOWN = {
    "flat": ("# answer\n42\n\n# mood\n\nfine\n", {"answer": "42", "mood": "fine"}),
    "nested": ("# a\n## b\nx\n### c\ny\n## d\n# e\nz", {"a": {"b": {"_content": "x", "c": "y"}, "d": ""}, "e": "z"}),
    "any first depth": ("### a\nx\n## b\ny", {"a": "x", "b": "y"}),
    "falsy": ("# a\n0\n# b\nFalse\n# c\n", {"a": "0", "b": "False", "c": ""}),
    "in a fence it is code": (
        "# a\n```python\n# b\n```\n# c\n~~~~\n~~~\n# d\n~~~~",
        {"a": "```python\n# b\n```", "c": "~~~~\n~~~\n# d\n~~~~"}),
    "not a fence": ("# a\n```inline```\n# b\nx", {"a": "```inline```", "b": "x"}),
    "not a heading": ("# a\n#b\n#\n####### c\n     # d", {"a": "#b\n#\n####### c\n     # d"}),
    "closed heading": ("# a ##\nx\n# C#\ny", {"a": "x", "C#": "y"}),
    "repeated": ("# a\nx\n# b\n# a\ny\n## c\nz", {"a": {"_content": "x\ny", "c": "z"}, "b": ""}),
    "a section of that name": ("# a\nx\n## _content\ny\n## b", {"a": {"_content": "x\ny", "b": ""}}),
    "line ends of windows": ("# a\r\nx\r\n# b\r\n", {"a": "x", "b": ""}),
    "indented": ("# a\n\n    code\n\n  text", {"a": "    code\n\n  text"}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), MARKDOWN.values(), ids=MARKDOWN)
def test_markdown(text, value):
    assert read("markdown", text) == (value, ())


def test_markdown_repairs():
    assert read("markdown", "Sure:\n# Answer\n1\n## Answer\n2", "answer") == (
        {"answer": {"_content": "1", "Answer": "2"}},
        ("left out the text before the first heading", "read `Answer` as `answer`"),
    )
    assert read("markdown", "```markdown\n# a\n1\n```\n") == ({"a": "1"}, ("took the text out of a code fence",))
    assert read("markdown", 'So: {"a": {},}', "a") == (
        {"a": {}},
        ("read it as JSON, as it has no heading", AROUND, "removed trailing commas"),
    )  # fmt: skip


def test_markdown_without_headings():
    assert read("markdown", " just text\n") == ({"content": " just text\n"}, ())
    assert "Expected: Markdown with the headings `# answer`, `# mood`." in refused("markdown", "text", "answer", "mood")


TAGGED = {
    "up to the next": ("<a>1\n<b>2\n", {"a": "1", "b": "2"}),
    "closed": ("<a>1</a>\n<b>\n2\n</b>", {"a": "1", "b": "2"}),
    "on one line": ("<a>1</a><b>2</b>", {"a": "1", "b": "2"}),
    "unknown tags are text": ("<a><i>1</i> <br> </x>\n<b>0", {"a": "<i>1</i> <br> </x>", "b": "0"}),
    "a stray closing tag": ("<a>1</b>2<b>3", {"a": "12", "b": "3"}),
    "repeated": ("<a>1<b>2<a>3", {"a": "1\n3", "b": "2"}),
    "empty": ("<a></a><b>", {"a": "", "b": ""}),
    "one is missing": ("<a>1", {"a": "1"}),
}


@pytest.mark.parametrize(("text", "value"), TAGGED.values(), ids=TAGGED)
def test_tagged(text, value):
    assert read("tagged", text, "a", "b") == (value, ())


def test_tagged_repairs():
    assert read("tagged", "So: <A>1</a> Done.", "a", "b.c") == (
        {"a": "1"}, ("left out the text outside the tags", "read `A` as `a`")
    )  # fmt: skip
    assert read("tagged", '```json\n{"a": 1}\n```', "a") == (
        {"a": 1}, ("read it as JSON, as it has no tag", "took the text out of a code fence")
    )  # fmt: skip
    assert "there is no such tag in it" in refused("tagged", "<c>1", "a", "b")
    assert "Expected: a text with the tags <a> <b>." in refused("tagged", "bxc", "a", "b")


def test_tagged_without_names_takes_tags_at_the_beginning_of_a_line():
    assert read("tagged", "<MESSAGE TO YOU>1 <x>2</x>\n<b>3</b>\n") == ({"MESSAGE TO YOU": "1 <x>2</x>", "b": "3"}, ())
    assert "such as `<answer>`" in refused("tagged", "1 <x>2</x>")


def test_twins_copies_the_text_as_it_is():
    assert read("twins", ' {"a": 1}\n', "a", "b") == ({"a": ' {"a": 1}\n', "b": ' {"a": 1}\n'}, ())
    assert read("twins", "x") == ({}, ())


@pytest.mark.parametrize("name", ["paragraph", "tagged", "markdown"])
@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.text('xyz {}"\\:,.é', max_size=12), min_size=1, max_size=4
    )
)
def test_what_was_written_is_read_again(name, data):
    data = {key: f"-{value.strip()}" for key, value in data.items()}
    assert read(name, KNOWN[name].dump(data), *data) == (data, ())
    assert KNOWN[name].format(KNOWN[name].dump(data)) == data


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("json", '{"a": 1}', {"a": 1}),
        ("lenient json", "{'a': 1}", {"a": 1}),
        ("paragraph", "a: 1", {"a": "1"}),
        ("markdown", "# a\n1", {"a": "1"}),
        ("tagged", "<a>1", {"a": "1"}),
        ("twins", "1", {"a": "1"}),
    ],
)
@pytest.mark.parametrize("thinking", ["<think>\n{x} # y\n</think>\n\n", " <thinking>a: 2</thinking><THINK></THINK>"])
def test_thinking_is_left_out(name, text, value, thinking):
    reading = KNOWN[name].read(thinking + text, ["a"])
    assert reading.value == value
    assert reading.repairs[0] == "left out the model's thinking"
    assert "left out the model's thinking" not in KNOWN[name].read(text, ["a"]).repairs


def test_thinking_counts_only_in_front_and_closed():
    for text in ("x <think>y</think>", "<think>y", "<think>y</thinking>"):
        assert read("twins", text, "a") == ({"a": text}, ())


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "twins"])
def test_an_error_is_a_few_lines_for_the_model(name):
    message = refused(name, "nothing. " * 1000, "answer")
    assert len(message.split("\n")) == 4
    assert len(message) < MAX_SHOWN + 400
    assert "answer" in message
    assert "The answer was: nothing. noth" in message
    assert "The answer was empty." in refused(name, " \n", "answer")


def test_an_error_shows_no_secret():
    key = "sk-proj-" + "Ab1" * 16
    assert key not in refused("json", f"the key is {key}")
    for before in range(150, 220):  # where it is cut
        assert "Ab1Ab1Ab1" not in refused("json", "." * before + " " + key + " " + "." * 200)


def test_an_excerpt_has_both_ends():
    text = "a" * 500 + "z" * 500
    assert len(excerpt(text)) == MAX_SHOWN
    assert excerpt(text).startswith("a" * 200)
    assert excerpt(text).endswith(" … " + "z" * 80)
    assert excerpt("a" * MAX_SHOWN) == "a" * MAX_SHOWN


def test_nothing_is_printed(capsys):
    for name in KNOWN:
        for text in ("", "{", '{"a": NaN}', "x", "<a", "# "):
            with suppress(Unreadable):
                KNOWN[name].format(text)
    assert capsys.readouterr() == ("", "")


def test_a_reading_is_frozen():
    with pytest.raises(AttributeError):
        Reading({}).value = {}
