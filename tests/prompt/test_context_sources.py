"""Context: the active providers, as the model sees them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.errors import ScriptExhausted
from nbagent.prompt.context.block import ContextBlock, ContextQuery
from nbagent.prompt.context.sources import Sources

TURN = ContextQuery("the turn's query", {"a": 1}, node_name="writer")


class Active:
    active = True

    def __init__(self, label, given=()):
        self.context_label = label
        self.given = given
        self.asked = []

    def get_blocks(self, query, *, top_k=8):
        self.asked.append((query, top_k))
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given


class Passive(Active):
    active = False


def test_a_source_has_its_label_as_name_where_no_other_has_it():
    rag, web = Active("RAG"), Active("WEB")
    sources = Sources([rag, Passive("RAG"), web], TURN)
    assert sources.names == {"RAG": rag, "WEB": web}
    assert sources.list() == {
        "sources": [
            {"name": "RAG", "label": "RAG", "type": "Active"},
            {"name": "WEB", "label": "WEB", "type": "Active"},
        ]
    }


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["RAG", "RAG"], ["RAG#1", "RAG#2"]),
        (["RAG#1", "RAG", "RAG"], ["RAG#1", "RAG#2", "RAG#3"]),
        (["RAG", "RAG", "RAG#1"], ["RAG#2", "RAG#3", "RAG#1"]),
        (["RAG", "WEB", "RAG"], ["RAG#1", "WEB", "RAG#2"]),
        (["A#1", "A", "A#1", "A"], ["A#1#1", "A#2", "A#1#2", "A#3"]),
    ],
)
def test_shared_labels_get_numbers_that_are_nobodys_label(labels, names):
    providers = [Active(label, [label]) for label in labels]
    sources = Sources(providers, TURN)
    assert list(sources.names) == names
    assert list(sources.names.values()) == providers
    for name, provider in zip(names, providers, strict=True):
        assert sources.retrieve(name)["blocks"][0]["text"] == provider.context_label
        assert len(provider.asked) == 1


@given(st.lists(st.sampled_from(["A", "A#1", "A#2", "A#1#1", "B"]), max_size=9))
def test_every_source_is_reachable(labels):
    providers = [Active(label) for label in labels]
    names = Sources(providers, TURN).names
    assert list(names.values()) == providers


def test_retrieving_gives_the_best_blocks_in_full_once():
    given_blocks = [
        ContextBlock("low", score=0.1),
        ContextBlock("none"),
        ContextBlock("high", "u", "1", 0.9, "T", {"k": 1}, "d"),
        ContextBlock("high again", score=0.5, dedupe_key="d"),
        ContextBlock(" ", score=2.0),
    ]
    rag = Active("RAG", given_blocks)
    found = Sources([rag], TURN).retrieve("RAG", "my query", 2)
    high = {
        "text": "high",
        "uri": "u",
        "chunk_id": "1",
        "score": 0.9,
        "title": "T",
        "metadata": {"k": 1},
        "dedupe_key": "d",
    }
    assert found == {
        "provider": "RAG",
        "query": "my query",
        "blocks": [high, {**dict.fromkeys(high), "text": "low", "score": 0.1, "metadata": {}}],
        "rendered": "[Context]\n(RAG) high\n  source: T, u\n(RAG) low",
    }
    [(query, top_k)] = rag.asked
    assert (query.query_text, query.inputs, query.node_name, top_k) == ("my query", {"a": 1}, "writer", 2)


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_query_is_the_turns(blank):
    rag = Active("RAG")
    found = Sources([rag], TURN).retrieve("RAG", blank)
    assert found == {"provider": "RAG", "query": "the turn's query", "blocks": [], "rendered": ""}
    assert rag.asked == [(TURN, 8)]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("X", r"Unknown context source: X\. Available: \['RAG#1', 'RAG#2', 'WEB'\]$"),
        ("WEBS", r"Unknown context source: WEBS\. Available: \['RAG#1', 'RAG#2', 'WEB'\] Did you mean 'WEB'\?$"),
        ("RAG", r"^Ambiguous context source: RAG\. Choose one of: \['RAG#1', 'RAG#2'\] \(call list_context_sources"),
    ],
)
def test_a_source_that_is_not_there_is_an_error_with_the_ones_that_are(source, said):
    providers = [Active("WEB"), Active("RAG"), Active("RAG")]
    with pytest.raises(ValueError, match=said):
        Sources(providers, TURN).retrieve(source)
    assert [provider.asked for provider in providers] == [[], [], []]


def test_the_error_of_a_shared_label_in_full():
    with pytest.raises(ValueError, match="Ambiguous") as caught:
        Sources([Active("RAG"), Active("RAG")], TURN).retrieve("RAG")
    assert str(caught.value) == (
        "Ambiguous context source: RAG. Choose one of: ['RAG#1', 'RAG#2'] (call list_context_sources first)."
    )


@pytest.mark.parametrize("top_k", [0, -1, True, 1.5, "8"])
def test_top_k_is_a_whole_number_of_at_least_one(top_k):
    rag = Active("RAG")
    with pytest.raises(ValueError, match="top_k: expected a whole number of at least 1, got"):
        Sources([rag], TURN).retrieve("RAG", top_k=top_k)
    assert rag.asked == []


def test_a_source_that_fails_says_so():
    error = KeyError("x")
    with pytest.raises(ValueError, match=r"^source RAG#2 failed: KeyError: 'x'$") as caught:
        Sources([Active("RAG"), Active("RAG", error)], TURN).retrieve("RAG#2")
    assert caught.value.__cause__ is error
    with pytest.raises(ValueError, match=r"^source RAG failed: TypeError: expected an iterable of blocks, got None$"):
        Sources([Active("RAG", None)], TURN).retrieve("RAG")
    with pytest.raises(ScriptExhausted):
        Sources([Active("RAG", ScriptExhausted("the test is wrong"))], TURN).retrieve("RAG")
