"""Context: which blocks are chosen, in which order, and what becomes of the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.errors import ConfigError
from nbagent.messages import Piece, Segment, Source
from nbagent.prompt.context.answer import Answer
from nbagent.prompt.context.block import ContextBlock, ContextQuery
from nbagent.prompt.context.gathering import gather
from nbagent.prompt.context.rendering import dropped, failures, render, rendered
from nbagent.prompt.context.same import best_first, key
from nbagent.prompt.context.selection import ContextPolicy, select


def answer(label, *blocks):
    made = [block if isinstance(block, ContextBlock) else ContextBlock(*block) for block in blocks]
    return Answer(label, tuple(made))


def scored(label, count, start=1.0):
    return Answer(label, tuple(ContextBlock(f"{label}{n}", score=start - n / 100) for n in range(count)))


def kept(chosen):
    return [one.block.text for one in chosen if one.kept]


def reasons(chosen):
    return {one.block.text: one.reason for one in chosen if not one.kept}


def test_providers_in_order_and_their_blocks_by_score_none_last_equal_ones_as_they_came():
    first = answer(
        "A", ("none1",), ("low", None, None, -1.0), ("tie1", None, None, 0.5), ("none2",), ("tie2", None, None, 0.5)
    )
    chosen = select([first, answer("B", ("best", None, None, 9.0))])
    assert kept(chosen) == ["tie1", "tie2", "low", "none1", "none2", "best"]
    assert [one.number for one in chosen] == [1, 2, 3, 4, 5, 6]
    assert [one.label for one in chosen] == ["A"] * 5 + ["B"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ContextBlock("x", dedupe_key="k"), ContextBlock("y", dedupe_key="k")),
        (ContextBlock("x", "u", "1"), ContextBlock("y", "u", "1")),
        (ContextBlock("x"), ContextBlock("x")),
        (ContextBlock("x", "u"), ContextBlock("x", "v")),
        (ContextBlock("x", None, "1"), ContextBlock("x", None, "2")),
    ],
)
def test_the_same_block_again_is_dropped_and_says_of_which_it_is(one, other):
    chosen = select([answer("MEM", one), answer("RAG", other)])
    assert [(c.kept, c.reason) for c in chosen] == [(True, ""), (False, "the same as block 1 (MEM)")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ContextBlock("x", "u", "1"), ContextBlock("x", "u", "2")),
        (ContextBlock("x", dedupe_key="k"), ContextBlock("x", dedupe_key="l")),
        (ContextBlock("x", "u"), ContextBlock("y", "u")),
        (ContextBlock("k", None), ContextBlock("x", dedupe_key="k")),
    ],
)
def test_what_only_looks_the_same_is_kept(one, other):
    assert all(c.kept for c in select([answer("MEM", one), answer("RAG", other)]))


def test_a_provider_that_repeats_itself_keeps_the_better_one():
    chosen = select([answer("A", ("x", "low", None, 0.1), ("x", "high", None, 0.9))])
    assert [(c.block.uri, c.reason) for c in chosen] == [("high", ""), ("low", "the same as block 1 (A)")]


def test_blank_blocks_are_dropped():
    chosen = select([answer("A", (" \n ",), ("",), ("x",))])
    assert [(c.block.text, c.reason) for c in chosen] == [(" \n ", "empty"), ("", "empty"), ("x", "")]


def test_of_a_provider_that_gives_more_than_asked_the_best_count():
    given = answer("A", ("", None, None, 9.0), *[(str(n), None, None, float(n)) for n in range(5)])
    chosen = select([given], ContextPolicy(top_k=3))
    assert kept(chosen) == ["4", "3", "2"]
    assert reasons(chosen) == {"": "empty", "1": "more than the 3 asked for", "0": "more than the 3 asked for"}


def test_one_provider_with_many_does_not_starve_the_others():
    chosen = select([scored("A", 8), scored("B", 2), scored("C", 4)])
    assert kept(chosen) == ["A0", "A1", "A2", "B0", "B1", "C0", "C1", "C2"]
    assert set(reasons(chosen).values()) == {"over the limit of 8 blocks"}


def test_without_fairness_the_first_take_all():
    chosen = select([scored("A", 8), scored("B", 2)], ContextPolicy(fair=False))
    assert kept(chosen) == [f"A{n}" for n in range(8)]


def test_a_block_found_twice_is_not_lost_over_the_limit():
    mem = answer("MEM", ("a", None, None, 0.9), ("b", None, None, 0.8), ("both", None, None, 0.1))
    chosen = select([mem, answer("RAG", ("both", None, None, 0.9))], ContextPolicy(limit=2))
    assert [(c.label, c.block.text, c.reason) for c in chosen] == [
        ("MEM", "a", ""),
        ("MEM", "b", "over the limit of 2 blocks"),
        ("MEM", "both", ""),
        ("RAG", "both", "the same as block 3 (MEM)"),
    ]


def test_a_provider_whose_best_block_has_a_place_already_is_dealt_one_for_its_next():
    mem, rag = answer("MEM", ("both",), ("a",)), answer("RAG", ("both",), ("b",))
    assert kept(select([mem, rag], ContextPolicy(limit=2))) == ["both", "b"]


def test_the_limit_may_be_none_or_one():
    assert reasons(select([scored("A", 1)], ContextPolicy(limit=0))) == {"A0": "over the limit of 0 blocks"}
    assert reasons(select([scored("A", 2)], ContextPolicy(limit=1))) == {"A1": "over the limit of 1 block"}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"limit": -1}, "ContextPolicy: limit: expected a whole number of at least 0, got int: -1"),
        ({"limit": True}, "got bool: True"),
        ({"top_k": 0}, "ContextPolicy: top_k: expected a whole number of at least 1, got int: 0"),
        ({"fair": "no"}, "ContextPolicy: fair: expected True or False, got str: 'no'"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(made, said):
    with pytest.raises(ConfigError, match=said):
        ContextPolicy(**made)


texts = st.sampled_from(["", " ", "a", "b", "c\nd", "e ", "f"])
words = st.none() | st.sampled_from(["x", "y"])
blocks = st.builds(
    ContextBlock, texts, words, words, st.none() | st.sampled_from([-1.0, 0.0, 0.5, 1.0]), words, st.just({}), words
)
answers = st.lists(st.builds(Answer, st.sampled_from(["A", "B"]), st.lists(blocks, max_size=12).map(tuple)), max_size=4)
policies = st.builds(ContextPolicy, st.integers(0, 10), st.booleans(), st.integers(1, 10))


@given(answers, policies)
def test_every_block_is_in_the_selection_once_kept_ones_within_the_limit_and_distinct(given_answers, policy):
    chosen = select(given_answers, policy)
    assert [(c.label, c.block) for c in chosen] == [(a.label, b) for a in given_answers for b in best_first(a.blocks)]
    assert [c.number for c in chosen] == list(range(1, len(chosen) + 1))
    assert all(c.kept is not bool(c.reason) for c in chosen)
    alive = [c for c in chosen if c.kept]
    assert len(alive) <= policy.limit
    assert len({key(c.block) for c in alive}) == len(alive)
    assert all(c.block.text.strip() for c in alive)
    if any(c.reason.startswith("over") for c in chosen):
        assert len(alive) == policy.limit
    assert [s.text for s in dropped(chosen, "CONTEXT")] == [c.block.text for c in chosen if not c.kept]


@given(answers, policies)
def test_the_pieces_joined_are_the_text_and_the_blocks_know_their_source(given_answers, policy):
    chosen = select(given_answers, policy)
    pieces = render(chosen)
    alive = [c for c in chosen if c.kept]
    lines = ["[Context]"]
    for c in alive:
        known = list(dict.fromkeys(word for word in (c.block.title, c.block.uri) if word))
        lines += [f"({c.label}) {c.block.text.rstrip()}", *([f"  source: {', '.join(known)}"] if known else [])]
    assert "".join(piece.text for piece in pieces) == ("\n".join(lines) if alive else "")
    assert [p.text for p in pieces if p.source.kind == "context"] == [c.block.text.rstrip() for c in alive]
    assert {p.source for p in pieces if p.source.kind != "context"} <= {Source("framework", "label CONTEXT")}


def test_a_rendering_in_full():
    chosen = select(
        [
            answer("MEM", ("memory snippet", None, None, 0.9)),
            answer(
                "DOCS",
                ("Two\nlines.\n", "a.md", "1", 0.8, "Guide\nto it"),
                ("No title.", "b.md"),
                ("No uri.", None, None, None, "T"),
            ),
        ]
    )
    framework = Source("framework", "label CONTEXT")
    assert render(chosen) == (
        Piece("[Context]\n(MEM) ", framework),
        Piece("memory snippet", Source("context", "MEM", "", 0.9)),
        Piece("\n(DOCS) ", framework),
        Piece("Two\nlines.", Source("context", "DOCS", "a.md", 0.8)),
        Piece("\n  source: Guide to it, a.md\n(DOCS) ", framework),
        Piece("No title.", Source("context", "DOCS", "b.md")),
        Piece("\n  source: b.md\n(DOCS) ", framework),
        Piece("No uri.", Source("context", "DOCS")),
        Piece("\n  source: T", framework),
    )
    assert rendered([ContextBlock("x", "u"), ContextBlock(" ")], "RAG") == "[Context]\n(RAG) x\n  source: u"
    assert (render(select([])), rendered([], "RAG")) == ((), "")


def test_what_is_left_out_is_in_the_record():
    answers = [answer("A", ("x", "u", None, 0.5), ("x", "v", None, 0.4)), Answer("B", failure="failed: KeyError: 'x'")]
    assert dropped(select(answers), "CONTEXT") == (
        Segment("user", "CONTEXT", "x", Source("context", "A", "v", 0.4), kept=False, reason="the same as block 1 (A)"),
    )
    assert failures(answers, "CONTEXT") == (
        Segment("user", "CONTEXT", "", Source("context", "B"), kept=False, reason="failed: KeyError: 'x'"),
    )


class DummyProvider:
    """As on the page that describes the peer."""

    context_label = "MEM"
    passive = True
    active = False
    supports_passive = True
    supports_active = True

    def get_blocks(self, query: ContextQuery, *, top_k: int = 8) -> list[ContextBlock]:
        return [ContextBlock(text="memory snippet", score=0.9)]


class ActiveProvider:
    context_label = "RAG"
    passive = False
    active = True
    supports_passive = True
    supports_active = True

    def get_blocks(self, query: ContextQuery, *, top_k: int = 8) -> list[ContextBlock]:
        return [ContextBlock(text=f"hit for: {query.query_text}", score=0.8)]


class Raising:
    def get_blocks(self, query, *, top_k=8):
        raise KeyError("x")


class Counting:
    def __init__(self):
        self.asked = []

    def get_blocks(self, query, *, top_k=8):
        self.asked.append((query.query_text, top_k))
        return ["counted"]


def test_gathering_asks_the_passive_providers_once_and_survives_one_that_raises():
    counting = Counting()
    found = gather(
        [Raising(), DummyProvider(), ActiveProvider(), counting], ContextQuery("DAG"), ContextPolicy(top_k=5)
    )
    assert "".join(p.text for p in found.pieces) == "[Context]\n(MEM) memory snippet\n(Counting) counted"
    assert [(s.source.detail, s.reason) for s in found.left_out] == [("Raising", "failed: KeyError: 'x'")]
    assert counting.asked == [("DAG", 5)]


def test_gathering_refuses_what_is_no_provider():
    with pytest.raises(ConfigError, match="expected a context provider"):
        gather([object()], ContextQuery("DAG"))
