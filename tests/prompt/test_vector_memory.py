"""VectorMemory: entries found by what they are about."""

from __future__ import annotations

import pytest

from nbagent.errors import ConfigError
from nbagent.prompt.context.block import ContextBlock, ContextQuery
from nbagent.prompt.context.memory import VectorMemory


class Embedding:
    """Texts as the counts of their letters a and b; counts its calls."""

    def __init__(self):
        self.texts = []

    def __call__(self, text):
        self.texts.append(text)
        return [text.count("a"), text.count("b")]


def found(memory, text, top_k=8):
    return [block.text for block in memory.get_blocks(ContextQuery(text), top_k=top_k)]


def test_an_entry_is_embedded_once_with_its_key_and_found_with_its_score():
    embedding = Embedding()
    memory = VectorMemory(embedding)
    memory.insert("a", "aaa")
    assert memory.get_blocks(ContextQuery("a")) == [ContextBlock("aaa", score=1.0, metadata={"key": "a"})]
    assert found(memory, "a") == ["aaa"]
    assert embedding.texts == ["a: aaa", "a", "a"]


def test_an_empty_memory_and_a_blank_query_embed_nothing():
    embedding = Embedding()
    memory = VectorMemory(embedding)
    assert found(memory, "a") == []
    memory.insert("a", "a")
    assert found(memory, " ") == []
    assert embedding.texts == ["a: a"]


def test_the_closest_come_first_and_the_threshold_keeps_out_the_rest():
    memory = VectorMemory(Embedding(), query_threshold=0.8)
    for key, value in {"1": "b", "2": "ab", "3": "aaab", "4": "aa", "5": "aaaa", "6": "nothing"}.items():
        memory.insert(key, value)
    assert found(memory, "a") == ["aa", "aaaa", "aaab"]
    scores = [block.score for block in memory.get_blocks(ContextQuery("a"))]
    assert scores == [1.0, 1.0, 0.9487]


def test_top_k_is_the_lower_of_what_is_asked_and_what_is_set():
    memory = VectorMemory(Embedding(), top_k=2)
    for key in "123":
        memory.insert(key, "a" * int(key))
    assert found(memory, "a") == found(memory, "a", 2) == ["a", "aa"]
    assert (found(memory, "a", 1), found(memory, "a", 0), found(memory, "a", -1)) == (["a"], [], [])


def test_the_oldest_goes_first_and_the_same_key_replaces_and_is_new_again():
    memory = VectorMemory(Embedding(), memory_size=2)
    memory.insert("1", "a")
    memory.insert("2", "aa")
    memory.insert("1", "aaa")
    assert (len(memory), found(memory, "a")) == (2, ["aa", "aaa"])
    memory.insert("3", "aaaa")
    assert found(memory, "a") == ["aaa", "aaaa"]
    memory.reset()
    assert (len(memory), found(memory, "a")) == (0, [])


def test_an_entry_whose_embedding_fails_leaves_the_memory_as_it_was():
    def embedding(text):
        if "bad" in text:
            raise OSError("no embedding")
        return [1.0]

    memory = VectorMemory(embedding)
    memory.insert("1", "good")
    with pytest.raises(OSError, match="no embedding"):
        memory.insert("1", "bad")
    assert found(memory, "x") == ["good"]


def test_a_blank_value_is_nothing_to_remember():
    embedding = Embedding()
    memory = VectorMemory(embedding)
    memory.insert("1", "a")
    memory.insert("1", " \n")
    assert (len(memory), found(memory, "a"), embedding.texts) == (1, ["a"], ["1: a", "a"])


def test_an_object_that_embeds_many_is_as_good_as_a_function():
    class Many:
        def embed(self, texts):
            return [[float(len(text))] for text in texts]

    memory = VectorMemory(Many())
    memory.insert("k", "v")
    assert found(memory, "x") == ["v"]


def test_the_settings():
    memory = VectorMemory(Embedding(), passive=False, active=True)
    assert (memory.context_label, memory.passive, memory.active) == ("SEMANTIC_KNOWLEDGE", False, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"embedding_function": None}, "VectorMemory: embedding_function: expected .*, got None"),
        ({"top_k": 0}, "VectorMemory: top_k: expected a whole number of at least 1, got int: 0"),
        ({"query_threshold": "high"}, "VectorMemory: query_threshold: expected a number from -1 to 1"),
        ({"query_threshold": float("nan")}, "VectorMemory: query_threshold: expected a number from -1 to 1"),
        ({"memory_size": 1.5}, "VectorMemory: memory_size: expected a whole number"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, said):
    with pytest.raises(ConfigError, match=said):
        VectorMemory(**{"embedding_function": Embedding(), **options})


@pytest.mark.parametrize(("key", "value"), [(3, "v"), (None, "v"), ("k", b"v"), ("k", None)])
def test_an_entry_is_two_texts(key, value):
    with pytest.raises(ConfigError, match=r"VectorMemory: (key|value): expected a str, got"):
        VectorMemory(Embedding()).insert(key, value)
