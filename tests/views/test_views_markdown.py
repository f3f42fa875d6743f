import pytest
from hostile import TEXTS
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from views_samples import PLACES, full_run, weather_run

from nbagent.views.bundle import bundle
from nbagent.views.markdown import fence, span
from nbagent.views.safe import inline, visible

PARSER = MarkdownIt("commonmark")
ALLOWED = {"paragraph_open", "paragraph_close", "inline", "fence"}
ALLOWED_INLINE = {"text", "code_inline", "strong_open", "strong_close"}


def shape(text):
    """What a Markdown reader makes of it, without the code."""
    tokens = PARSER.parse(text)
    assert {token.type for token in tokens} <= ALLOWED
    inner = [child for token in tokens for child in token.children or []]
    assert {child.type for child in inner} <= ALLOWED_INLINE
    return "".join(child.content for child in inner if child.type == "text")


def test_a_short_run():
    shown = bundle(weather_run())["text/markdown"]
    assert shown.startswith("`weather` · `scripted` · completed · 2 turns · 1 tool call · 68 tokens (estimated)")
    assert 'call `get_weather` `{"city": "Copenhagen"}`\n\nobservation: `sunny, 24C`\n\n**Turn 2**' in shown
    assert shown.endswith("**Answer**\n\n```\nIt's sunny and 24C in Copenhagen today.\n```")


@pytest.mark.parametrize("place", PLACES)
def test_nothing_breaks_out_of_the_code(place):
    for text in TEXTS:
        said = shape(bundle(full_run(**{place: text}))["text/markdown"])
        assert not any(line in said for line in visible(text).split("\n") if len(line) > 4)


@given(st.sampled_from(sorted(PLACES)), st.text(alphabet="`~ \n#<>*_[]()|-=ab\\&"))
def test_no_text_breaks_out_of_the_code(place, text):
    shape(bundle(full_run(**{place: text}))["text/markdown"])


@given(st.text(alphabet="`~ab\n "))
def test_a_fence_holds_its_text(text):
    (token,) = PARSER.parse(fence(text))
    assert token.type == "fence"
    assert token.content == (visible(text) + "\n")


@given(st.text(alphabet="`a \n\\", min_size=1))
def test_a_span_holds_its_text(text):
    (child,) = PARSER.parse("x " + span(text))[1].children[1:] or [None]
    if inline(text).strip():
        assert child.type == "code_inline"
        assert child.content == inline(text)
