"""Context: what a provider is, and how whatever it gives is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import PurePosixPath

import pytest

from nbagent.errors import ConfigError, ScriptExhausted
from nbagent.prompt.context.answer import Answer, ask
from nbagent.prompt.context.block import ContextBlock, ContextQuery
from nbagent.prompt.context.info import read_provider
from nbagent.prompt.context.reading import read_block

QUERY = ContextQuery("tea")
BLOCK = "expected a block (a ContextBlock, an object or a dict with a text, or a str)"


@dataclass(frozen=True, slots=True)
class TheirBlock:
    """As masfactory's."""

    text: str
    uri: str | None = None
    chunk_id: str | None = None
    score: float | None = None
    title: str | None = None
    metadata: dict = field(default_factory=dict)
    dedupe_key: str | None = None


class Giving:
    def __init__(self, given):
        self.given = given
        self.asked = []

    def get_blocks(self, query, *, top_k=8):
        self.asked.append((query.query_text, top_k))
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given


def test_a_provider_that_says_nothing_is_passive_and_named_after_its_class():
    info = read_provider(Giving([]))
    assert (info.label, info.type, info.passive, info.active) == ("Giving", "Giving", True, False)


@pytest.mark.parametrize(
    ("said", "label", "passive", "active"),
    [
        ({"context_label": "MEM"}, "MEM", True, False),
        ({"context_label": "  "}, "Giving", True, False),
        ({"context_label": None}, "Giving", True, False),
        ({"context_label": " A\n(B) "}, "A (B)", True, False),
        ({"passive": False, "active": True}, "Giving", False, True),
        ({"passive": True, "active": True}, "Giving", True, True),
        ({"active": True, "supports_active": False}, "Giving", True, False),
        ({"supports_passive": False}, "Giving", False, False),
    ],
)
def test_what_a_provider_says_of_itself(said, label, passive, active):
    provider = Giving([])
    vars(provider).update(said)
    info = read_provider(provider)
    assert (info.label, info.passive, info.active) == (label, passive, active)


def test_what_is_no_provider_is_refused_with_what_came():
    with pytest.raises(ConfigError, match=r"expected a context provider, with get_blocks\(.*\), got int: 3"):
        read_provider(3)
    with pytest.raises(ConfigError, match=r"got the class Giving; write Giving\(\)"):
        read_provider(Giving)


def test_a_property_that_raises_is_told():
    class Odd(Giving):
        @property
        def passive(self):
            raise KeyError("x")

    with pytest.raises(ConfigError, match=r"the context provider Odd cannot be read: KeyError: 'x'"):
        read_provider(Odd([]))


@pytest.mark.parametrize(
    "given",
    [
        ContextBlock("t", "u", "1", 0.5, "T", {"k": 1}, "d"),
        TheirBlock("t", "u", "1", 0.5, "T", {"k": 1}, "d"),
        {"text": "t", "uri": "u", "chunk_id": "1", "score": 0.5, "title": "T", "metadata": {"k": 1}, "dedupe_key": "d"},
        TheirBlock("t", PurePosixPath("u"), 1, Decimal("0.5"), "T", {"k": 1}, "d"),
    ],
)
def test_a_block_may_be_ours_theirs_or_a_dict(given):
    assert read_block(given) == ContextBlock("t", "u", "1", 0.5, "T", {"k": 1}, "d")


def test_a_block_may_be_a_text_and_a_dict_may_hold_no_more():
    assert read_block("t") == read_block({"text": "t", "other": 1}) == ContextBlock("t")


@pytest.mark.parametrize("score", [None, float("nan"), float("inf"), -float("inf"), "nan"])
def test_a_score_that_is_no_finite_number_is_none(score):
    assert read_block({"text": "t", "score": score}).score is None


def test_empty_fields_are_none_and_lone_surrogates_do_not_come_in():
    block = read_block({"text": "a\ud800b 🍵", "uri": "", "title": "", "chunk_id": 0})
    assert block == ContextBlock("a\ufffdb 🍵", chunk_id="0")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (KeyError("x"), "failed: KeyError: 'x'"),
        (ValueError(), "failed: ValueError"),
        (SystemExit(2), "failed: SystemExit: 2"),
        (RuntimeError("two\n lines"), "failed: RuntimeError: two lines"),
        (ValueError("<Thing at 0x7f12abcd00>"), "failed: ValueError: <Thing>"),
        (None, "failed: TypeError: expected an iterable of blocks, got None"),
        (3, "failed: TypeError: expected an iterable of blocks, got int: 3"),
        ("text", "failed: TypeError: expected an iterable of blocks, got str: 'text'"),
        ({"text": "t"}, "failed: TypeError: expected an iterable of blocks, got dict: {'text': 't'}"),
        (["t", 3], f"failed: TypeError: {BLOCK}, got int: 3"),
        ([{"uri": "u"}], f"failed: TypeError: {BLOCK}, got dict: {{'uri': 'u'}}"),
        ([{"text": 3}], "failed: TypeError: expected a str as the text of a block, got int: 3"),
        (
            [{"text": "t", "score": "high"}],
            "failed: TypeError: expected a number or None as the score of a block, got str: 'high'",
        ),
    ],
)
def test_a_provider_that_fails_is_an_answer_that_says_why(given, reason):
    assert ask(Giving(given), QUERY) == Answer("Giving", (), reason)


def test_addresses_of_what_came_are_left_out():
    assert "0x" not in ask(Giving([object()]), QUERY).failure
    assert "got object: <object object>" in ask(Giving([object()]), QUERY).failure


def test_a_block_that_fails_half_way_is_a_failure_too():
    def blocks():
        yield ContextBlock("t")
        raise KeyError("x")

    assert ask(Giving(blocks()), QUERY) == Answer("Giving", (), "failed: KeyError: 'x'")


def test_an_async_provider_is_told_what_is_wrong():
    class Later:
        async def get_blocks(self, query, *, top_k=8):
            return []

    assert ask(Later(), QUERY).failure.endswith("got a coroutine; get_blocks has to be a plain `def`")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ScriptExhausted("the test is wrong")])
def test_what_is_not_the_providers_fault_goes_through(error):
    with pytest.raises(type(error)):
        ask(Giving(error), QUERY)


def test_a_provider_is_asked_once_with_the_query_and_top_k():
    provider = Giving(text for text in ("a", "b"))
    assert ask(provider, QUERY, 3) == Answer("Giving", (ContextBlock("a"), ContextBlock("b")))
    assert provider.asked == [("tea", 3)]


def test_a_long_failure_is_cut_and_one_without_words_has_none():
    class Mute(Exception):
        def __str__(self):
            raise ValueError("no")

    assert len(ask(Giving(ValueError("x" * 999)), QUERY).failure) == len("failed: ") + 300
    assert ask(Giving(Mute()), QUERY).failure == "failed: Mute"
