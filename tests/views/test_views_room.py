"""How a prompt of 200 KB is shown: all of it in the plain text, its ends in HTML that stays small."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page import Page
from views_samples import weather_run

from nbagent.events import PromptAssembled, RunStarted
from nbagent.messages import Image, Message, Prompt, Segment, Source, ToolCall, ToolSchema
from nbagent.redact import forget, know
from nbagent.views.bundle import bundle
from nbagent.views.dry import Dry, Wire, dry_bundle, prompt_bundle
from nbagent.views.html_dry import dry_html
from nbagent.views.room import Room, fitted, label
from nbagent.views.safe import escape


def html(events):
    return bundle(events)["text/html"]


SIZE = 200_000
ODD = "".join(chr(0xE0020 + n % 90) + "\u202e\x1b" for n in range(90))
TEXTS = {
    "words": "word ",
    "lines": "a line of text\n",
    "ampersands": "&",
    "brackets": "<",
    "quotes": "\"'",
    "controls": "\x00\x01",
    "directions": "\u202a\u202b",
    "odd": ODD,
    "wide": "\U0001f469\u200d\U0001f52c",
    "surrogates": "\ud800x",
    "breaks": "\n",
    "returns": "\r\n",
    "blanks": " \t",
}


def text_of(name, size=SIZE):
    return (TEXTS[name] * (size // len(TEXTS[name]) + 1))[:size]


def schema(properties):
    return {"type": "object", "properties": properties}


def pieces_of(text):
    return [text[at : at + 20] for at in range(0, len(text), 20)]


def segments(text):
    sources = ((n, part, Source("input", f"i{n}")) for n, part in enumerate(pieces_of(text)))
    return Prompt(tuple(Segment("user", f"s{n}", part, source) for n, part, source in sources))


def left_out(text):
    web = Source("context", "web")
    return Prompt((TASK, *(Segment("user", f"{n}", t, web, False, f"{n} {t}") for n, t in enumerate(pieces_of(text)))))


def a_history(text):
    said = enumerate(pieces_of(text))
    return Prompt((TASK,), tuple(Message("user" if n % 2 else "assistant", part) for n, part in said))


def calls(text):
    asked = tuple(ToolCall(f"{n}", part, part) for n, part in enumerate(pieces_of(text)))
    return Prompt((TASK,), (Message("assistant", "", asked),))


def parameters(text):
    properties = {f"{n}{part}": {"description": part} for n, part in enumerate(pieces_of(text))}
    return Prompt((TASK,), tools=(ToolSchema("t", "", schema(properties)),))


def a_schema(text):
    return Prompt((TASK,), tools=(ToolSchema(text, text, schema({"x": {"description": text, "enum": [text]}})),))


def images(text):
    return Prompt((TASK,), images=tuple(Image(b"", text[:300], part) for part in pieces_of(text)[:2_000]))


TASK = Segment("user", "task", "What now?", Source("template", "task"))
SHAPES = {
    "a segment": lambda text: Prompt((Segment("user", "task", text, Source("variable", "book: str")),)),
    "a template": lambda text: Prompt((Segment("system", "system prompt", text, Source("template")), TASK)),
    "segments": segments,
    "left out": left_out,
    "a history": a_history,
    "a message": lambda text: Prompt((TASK,), (Message("assistant", text, (ToolCall("1", text, text),)),)),
    "calls": calls,
    "examples": lambda text: Prompt((TASK,), examples=a_history(text).history),
    "a schema": a_schema,
    "parameters": parameters,
    "tools": lambda text: Prompt((), tools=tuple(ToolSchema(f"{n}", t, {}) for n, t in enumerate(pieces_of(text)))),
    "images": images,
}
"""Prompts of one text, in each place where there can be much."""


def together(text):
    each = [shape(text) for shape in SHAPES.values()]
    return Prompt(
        tuple(segment for prompt in each for segment in prompt.segments),
        tuple(message for prompt in each for message in prompt.history),
        tuple(tool for prompt in each for tool in prompt.tools),
        tuple(image for prompt in each for image in prompt.images),
        tuple(message for prompt in each for message in prompt.examples),
    )


def shown_of(prompt, text):
    wires = [Wire(name, json.dumps([text])) for name in ("one", "two", "three")]
    dry = dry_html(Dry("bot", "maker:thinker", "live", "not sent", prompt, wires, "%prompt bot --to FILE"))
    first, _, *rest = weather_run()
    return dry, html([first, PromptAssembled(prompt), *rest])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["words", "ampersands", "odd"])
def test_a_prompt_of_200_kb_stays_small(name, shape):
    check(SHAPES[shape](text_of(name)), text_of(name))


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_of_200_kb_stays_small_whatever_is_in_it(name):
    check(SHAPES["a segment"](text_of(name)), text_of(name))


@pytest.mark.parametrize("name", ["lines", "brackets", "controls"])
def test_all_of_it_together_stays_small(name):
    check(together(text_of(name, SIZE // 4)), text_of(name))


def check(prompt, text):
    for shown in shown_of(prompt, text):
        assert len(shown.encode()) <= 64 * 1024
        assert "left out: <code>%prompt " in shown
        Page(shown)


def test_where_no_command_writes_it_the_object_that_holds_it_is_named():
    prompt = SHAPES["a segment"](text_of("words"))
    assert "left out: its <code>messages</code> hold all of it" in prompt_bundle(prompt)["text/html"]
    run = [RunStarted("a-1", "an agent", "m", "live", 10), PromptAssembled(prompt)]
    assert "left out: <code>prompt.messages</code> of its result" in html(run)


def test_what_fits_is_shown_whole():
    text = "".join(f"line {n} of a middling text\n" for n in range(200))
    for shown in shown_of(Prompt((Segment("user", "task", text, Source("template")),)), text):
        assert "nbagent-cut" not in shown.partition("</style>")[2]
        assert "line 100 of" in shown


def test_a_long_text_shows_its_ends_and_says_how_much_lies_between():
    text = "beginning " + "x" * SIZE + " end"
    shown = Room(1_000, "ask").text(text)
    assert shown.startswith("beginning xxx")
    assert shown.endswith("xxx end")
    kept = shown.count("x") - 0
    assert f'<span class="nbagent-cut">\n… {SIZE - kept:,} characters left out: ask …\n</span>' in shown


def test_a_long_list_shows_its_ends_and_says_how_much_lies_between():
    shown = Room(1_000).list(range(10_000), lambda number, room: f"<p>{number}</p>", "message")
    assert shown.startswith("<p>0</p><p>1</p>")
    assert shown.endswith("<p>9998</p><p>9999</p>")
    assert f"… {10_000 - shown.count('<p>'):,} messages left out …" in shown


def test_only_as_much_of_a_list_is_drawn_as_fits():
    drawn = []
    Room(1_000).list(range(10_000), lambda number, room: drawn.append(number) or "x" * 10, "message")
    assert len(drawn) < 300


def test_one_long_item_leaves_room_for_the_others():
    texts = ["first", "x" * SIZE, "last"]
    shown = Room(1_000).list(texts, lambda text, room: f"<p>{room.text(text)}</p>", "message")
    assert shown.startswith("<p>first</p><p>xxx")
    assert shown.endswith("xxx</p><p>last</p>")


@given(st.text(), st.integers(2, 400))
def test_a_text_takes_no_more_than_its_room(text, size):
    shown = Room(size).text(text * 3)
    said = 160  # the line between
    assert len(shown.encode()) <= size + said
    if len(escape(text * 3).encode()) <= size:
        assert shown == escape(text * 3)


@pytest.fixture
def secret():
    know("t0p-s3cret-0123456789", "it")
    yield "t0p-s3cret-0123456789"
    forget()


def test_no_secret_is_cut_in_two(secret):
    for size in range(340, 440):
        shown = Room(size).text("x " * 95 + secret + " y" * 500)
        assert "t0p" not in shown
        assert "6789" not in shown
    for before in range(90, 130):
        assert "t0p" not in label("x" * before + " " + secret)


def test_no_secret_is_cut_in_two_in_what_was_left_out_or_in_a_request(secret):
    for before in (*range(30, 60), *range(7_960, 8_000)):
        text = "x" * before + " " + secret + " y" * 9_000
        segments = [Segment("user", "", text, Source("context", "web"), False, "why") for _ in range(2)]
        shown = dry_bundle(Dry("bot", "m", "live", "", Prompt(tuple(segments)), (Wire("w", text),)))
        assert not any("t0p" in each for each in shown.values())


def test_it_takes_what_there_is():
    assert fitted(lambda room: "x" * room.size, 10_000) == "x" * 10_000
    assert 3_000 < len(fitted(lambda room: "x" * room.size * 2, 10_000)) <= 10_000


def test_a_name_is_short_and_on_one_line():
    assert label("a\nb") == "a⟦U+000A⟧b"
    assert label("x" * 500) == "x" * 120 + "…"


def test_the_text_of_the_saved_notebook_is_whole():
    lines = "".join(f"line {n} of a long text\n" for n in range(9_000))
    prompt = Prompt((Segment("user", "task", lines, Source("variable", "book: str")),))
    for shown in (dry_bundle(Dry("bot", "m", "live", "", prompt)), bundle([PromptAssembled(prompt)])):
        for format in ("text/plain", "text/markdown"):
            assert all(f"line {n} of" in shown[format] for n in range(9_000))
        assert "line 4500 of" not in shown["text/html"]
