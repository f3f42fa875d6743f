"""A long text keeps its head and its tail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.text import without_addresses
from nbagent.tools.serialise import cut


def test_a_text_that_fits_is_whole():
    assert cut("a" * 100, 100) == ("a" * 100, None)


def test_a_long_text_keeps_two_thirds_head_one_third_tail_and_the_whole():
    text = "a" * 10_000 + "b" * 10_000
    short, whole = cut(text, 1_000)
    assert whole == text
    assert len(short) == 1_000
    assert "\n… 19,032 characters left out …\n" in short
    assert short.count("a") in range(640, 650)
    assert short.rstrip("b") != short


@given(st.text(), st.integers(0, 200))
def test_cutting_is_honest(text, limit):
    short, whole = cut(text, limit)
    if whole is None:
        assert short == text
        return
    head, tail = short.split("\n… ")[0], short.split(" left out …\n")[-1]
    assert whole == text
    assert text.startswith(head)
    assert text.endswith(tail)
    left_out = int(short[len(head) :].split()[1].replace(",", ""))
    assert len(head) + left_out + len(tail) == len(text)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("<Thing object at 0x7f12ab34cd56>", "<Thing object>"),
        ("<bound method A.f of <A object at 0x7f12ab34cd56>>", "<bound method A.f of <A object>>"),
        ("Thing at 0x7F12AB34CD56", "Thing"),
        ("[<A at 0x7f12ab34cd56>, <B at 0x7f12ab34cd57>]", "[<A>, <B>]"),
        ("crash at 0xdeadbeef, see log", "crash at 0xdeadbeef, see log"),
    ],
)
def test_addresses_are_removed_and_prose_is_not(text, clean):
    assert without_addresses(text) == clean
