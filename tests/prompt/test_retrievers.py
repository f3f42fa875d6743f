"""Retrievers: documents found by their words and by what they are about."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.errors import ConfigError
from nbagent.prompt.context.answer import ask
from nbagent.prompt.context.block import ContextQuery
from nbagent.prompt.context.passages import Document, cut, passages
from nbagent.prompt.context.provider import ContextProvider
from nbagent.prompt.context.retrievers import KeywordRetriever, VectorRetriever

DOCUMENTS = {
    "refunds.md": "Refunds are paid within fourteen days.",
    "office.md": "The office is closed on Sundays.",
    "kettle.md": "A kettle boils water. Kettles are for tea.",
    "graph.md": "A DAG is a directed graph without cycles.",
    "weather.zh": "东京的天气很好，适合散步。",
    "cat.ja": "猫はソファーで寝ています。",
    "coffee.ko": "커피를 마십니다",
    "empty": " \n ",
}


def found(retriever, text, top_k=8):
    return [block.uri for block in retriever.get_blocks(ContextQuery(text), top_k=top_k)]


def letters(text):
    """A vector of how often each letter is there."""
    return [text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"]


class CountingEmbedder:
    def __init__(self):
        self.texts = []

    def embed(self, texts):
        self.texts.append(list(texts))
        return [letters(text) for text in texts]


@pytest.mark.parametrize(
    ("query", "uris"),
    [
        ("When is my refund paid?", ["refunds.md"]),
        ("boiling kettles", ["kettle.md"]),
        ("KETTLE", ["kettle.md"]),
        ("ｋｅｔｔｌｅ", ["kettle.md"]),
        ("what's the office", ["office.md"]),
        ("天气怎么样", ["weather.zh"]),
        ("散步", ["weather.zh"]),
        ("寝", ["cat.ja"]),
        ("ソファー", ["cat.ja"]),
        ("커피", ["coffee.ko"]),
        ("dag 天气", ["graph.md", "weather.zh"]),
        ("zebra quantum", []),
        ("the of is", []),
        ("天空", []),
        ("", []),
        ("?!", []),
    ],
)
def test_documents_are_found_by_their_words_and_no_others(query, uris):
    assert sorted(found(KeywordRetriever(DOCUMENTS), query)) == sorted(uris)


def test_rare_words_and_short_texts_count_for_more_and_scores_fall():
    retriever = KeywordRetriever(
        {"common": "tea tea water", "long": "tea " + "water " * 50, "rare": "tea with saffron"}
    )
    blocks = retriever.get_blocks(ContextQuery("saffron tea"))
    assert [block.uri for block in blocks] == ["rare", "common", "long"]
    scores = [block.score for block in blocks]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


def test_equally_good_ones_stay_in_their_order_and_top_k_is_kept():
    retriever = KeywordRetriever(dict.fromkeys("dbca", "green tea"))
    assert found(retriever, "tea") == list("dbca")
    assert found(retriever, "tea", 2) == list("db")
    assert found(retriever, "tea", 0) == found(retriever, "tea", -1) == []


def test_the_language_says_which_endings_and_fillers_do_not_count():
    documents = {"de": "Die Häuser sind alt.", "en": "die cast houses"}
    assert found(KeywordRetriever(documents, language="german"), "das Haus und die") == ["de"]
    assert found(KeywordRetriever(documents, language=None), "house") == []
    assert sorted(found(KeywordRetriever(documents, language=None), "die")) == ["de", "en"]
    assert found(KeywordRetriever(documents), "house") == ["en"]


def test_a_block_says_where_it_is():
    text = "About tea.\n\n" + "x" * 995 + "\n\nTea again."
    [first, second] = KeywordRetriever({"a": text}).get_blocks(ContextQuery("tea"))
    assert {(b.text, b.uri, b.chunk_id, b.title) for b in (first, second)} == {
        ("About tea.", "a", "1", None),
        ("Tea again.", "a", "3", None),
    }
    [whole] = KeywordRetriever({"a": text}, chunk_size=None).get_blocks(ContextQuery("tea"))
    assert (whole.text, whole.uri, whole.chunk_id) == (text, "a", None)
    [plain] = KeywordRetriever([text], chunk_size=None).get_blocks(ContextQuery("tea"))
    assert (plain.uri, plain.chunk_id, plain.dedupe_key) == (None, None, None)


def test_two_documents_of_one_name_are_not_the_same_block_but_one_document_twice_is():
    def key(text):
        return KeywordRetriever({"README.md": text}).get_blocks(ContextQuery("tea"))[0].dedupe_key

    assert key("green tea") == key("green tea")
    assert key("green tea") != key("black tea")


def test_the_index_is_made_at_the_first_query_and_once():
    embedder = CountingEmbedder()
    retriever = VectorRetriever(["aaa", "bbb"], embedder)
    assert embedder.texts == []
    found(retriever, "a")
    found(retriever, "b")
    assert embedder.texts == [["aaa", "bbb"], ["a"], ["b"]]
    keyword = KeywordRetriever(DOCUMENTS)
    assert "ranking" not in vars(keyword._library)
    found(keyword, "tea")
    ranking = keyword._library.ranking
    found(keyword, "tea")
    assert keyword._library.ranking is ranking


def test_vectors_find_what_is_close_enough():
    documents = {"a": "aaaa", "ab": "ab", "b": "bbbb", "none": "123"}
    assert found(VectorRetriever(documents, letters, similarity_threshold=0.5), "aa") == ["a", "ab"]
    assert found(VectorRetriever(documents, letters, similarity_threshold=0.9), "aa") == ["a"]
    assert found(VectorRetriever(documents, letters, similarity_threshold=0), "aa") == ["a", "ab", "b", "none"]
    assert found(VectorRetriever(documents, letters, similarity_threshold=0), "aa", 1) == ["a"]
    [block, *_] = VectorRetriever(documents, letters).get_blocks(ContextQuery("ab"))
    assert (block.uri, block.chunk_id, block.score) == ("ab", "1", 1.0)


def test_without_documents_nothing_is_found_and_nothing_embedded():
    embedder = CountingEmbedder()
    assert found(KeywordRetriever({}), "tea") == found(KeywordRetriever(["", "?"]), "tea") == []
    assert found(VectorRetriever([], embedder), "tea") == found(VectorRetriever(["x"], embedder), " ") == []
    assert embedder.texts == []


def test_the_settings_are_those_of_every_provider():
    plain = KeywordRetriever([])
    assert isinstance(plain, ContextProvider)
    assert (plain.context_label, plain.passive, plain.active) == ("DOCUMENTS", True, False)
    assert (plain.supports_passive, plain.supports_active) == (True, True)
    other = VectorRetriever([], letters, passive=False, active=True, context_label="RAG")
    assert (other.context_label, other.passive, other.active) == ("RAG", False, True)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: KeywordRetriever("text"),
            "KeywordRetriever: documents: expected a dict of texts, or several texts, got str",
        ),
        (lambda: KeywordRetriever(3), "got int: 3"),
        (lambda: KeywordRetriever({"a": 3}), "KeywordRetriever: documents: expected each one to be a str, got int: 3"),
        (lambda: KeywordRetriever([None]), "got None"),
        (
            lambda: KeywordRetriever([], language="klingon"),
            "KeywordRetriever: language: expected None or one of .*english.*, got str: 'klingon'",
        ),
        (
            lambda: KeywordRetriever([], chunk_size=0),
            "KeywordRetriever: chunk_size: expected a whole number of at least 1, got int: 0",
        ),
        (
            lambda: KeywordRetriever([], passive="no"),
            "KeywordRetriever: passive: expected True or False, got str: 'no'",
        ),
        (lambda: KeywordRetriever([], active=1), "KeywordRetriever: active: expected True or False, got int: 1"),
        (
            lambda: KeywordRetriever([], context_label=" "),
            "KeywordRetriever: context_label: expected a text that is not blank",
        ),
        (lambda: VectorRetriever([], 3), "VectorRetriever: embedder: expected an object with embed.*, got int: 3"),
        (lambda: VectorRetriever([], CountingEmbedder), "got type: "),
        (
            lambda: VectorRetriever([], letters, similarity_threshold=1.5),
            "similarity_threshold: expected a number from -1 to 1, got float: 1.5",
        ),
    ],
)
def test_arguments_that_make_no_sense_are_refused(make, said):
    with pytest.raises(ConfigError, match=said):
        make()


@pytest.mark.parametrize(
    ("embedder", "said"),
    [
        (lambda text: "no", "embedder: expected a vector of numbers, got str: 'no'"),
        (lambda text: None, "embedder: expected a vector of numbers, got None"),
        (lambda text: [float("nan")], "embedder: expected a vector of finite numbers, got list: [nan]"),
        (lambda text: [], "embedder: expected a vector of finite numbers, got list: []"),
        (lambda text: [1.0] * len(text), "embedder: expected vectors of one length, got 5 and 3 numbers"),
    ],
)
def test_an_embedder_that_gives_no_vectors_is_a_failure_that_says_so(embedder, said):
    assert ask(VectorRetriever(["abc"], embedder), ContextQuery("query")).failure == f"failed: ConfigError: {said}"


def test_an_embedder_that_forgets_a_text_is_a_failure_that_says_so():
    class Forgetful:
        def embed(self, texts):
            return [letters(text) for text in texts[1:]]

    failure = ask(VectorRetriever(["a", "b", "c"], Forgetful()), ContextQuery("query")).failure
    assert failure == "failed: ConfigError: embedder: expected a vector for each of 3 texts, got 2"


@given(st.text(alphabet="ab .。\n\t", max_size=200), st.integers(1, 30))
def test_passages_are_stretches_of_the_text_that_leave_out_only_blanks(text, size):
    place = 0
    pieces = cut(text, size)
    for piece in pieces:
        assert 0 < len(piece) <= size
        assert piece.strip()
        begin = text.index(piece, place)
        assert not text[place:begin].strip()
        place = begin + len(piece)
    assert not text[place:].strip()


def test_passages_are_whole_paragraphs_where_they_fit():
    text = "One.\n\nTwo.\n \nThree is longer.\n\n    code:\n        x = 1\n"
    assert cut(text, 26) == ["One.\n\nTwo.", "Three is longer.", "    code:\n        x = 1"]
    assert cut(text, 1000) == [text.rstrip()]
    assert cut("A first one. A second one. A third.", 27) == ["A first one. A second one.", "A third."]
    assert cut("word " * 4, 12) == ["word word", "word word"]
    assert cut("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert cut("第一句话。第二句话。第三句话。", 11) == ["第一句话。第二句话。", "第三句话。"]


def test_passages_are_numbered_within_their_document():
    found_passages = passages([Document("a\n\nb", "x", "X"), Document("c", "y"), Document(" ")], 1)
    assert [(p.text, p.uri, p.title, p.number) for p in found_passages] == [
        ("a", "x", "X", "1"),
        ("b", "x", "X", "2"),
        ("c", "y", None, "1"),
    ]


SAME = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
from nbagent.prompt.context.block import ContextQuery
from nbagent.prompt.context.gathering import gather
from nbagent.prompt.context.memory import VectorMemory
from nbagent.prompt.context.query import query_text
from nbagent.prompt.context.retrievers import KeywordRetriever, VectorRetriever
texts = {f"d{n}": " ".join(f"w{n * k % 17}" for k in range(1, 9)) + " tea" for n in range(40)}
def embedder(text):
    return [text.count(digit) for digit in "0123456789"]
memory = VectorMemory(embedder, query_threshold=0.1)
for name, text in texts.items():
    memory.insert(name, text)
query = ContextQuery(query_text({"b": {"w1", "w2", "w3"}, "a": "tea w5 w11"}, ""))
found = gather([KeywordRetriever(texts), VectorRetriever(texts, embedder), memory], query)
print(query.query_text)
for one in found.chosen:
    print(one)
"""


def test_twenty_processes_choose_and_rank_the_same_and_print_nothing_else():
    def run(seed):
        env = {"PYTHONHASHSEED": str(seed), "PATH": ""}
        done = subprocess.run([sys.executable, "-c", SAME], capture_output=True, text=True, timeout=120, env=env)
        return done.returncode, done.stdout, done.stderr

    with ThreadPoolExecutor(4) as pool:
        [(code, printed, errors)] = set(pool.map(run, range(20)))
    assert (code, errors) == (0, "")
    assert len(printed.splitlines()) == 1 + 8 + 8 + 8


WITHOUT = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
from nbagent.prompt.context import local, retrievers
print([name for name in ("bm25s", "Stemmer", "numpy", "wordllama") if name in sys.modules and sys.modules[name]])
try:
    {make}
except ValueError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("missing", "make", "said"),
    [
        (
            ["bm25s", "Stemmer"],
            "retrievers.KeywordRetriever([])",
            'ConfigError KeywordRetriever needs bm25s and Stemmer: pip install "jupyter-nbagent[context]"',
        ),
        (["Stemmer"], "retrievers.KeywordRetriever([], language=None)", ""),
        (
            ["wordllama"],
            "local.LocalEmbedder()",
            'ConfigError LocalEmbedder needs wordllama: pip install "jupyter-nbagent[embeddings]"',
        ),
        (["bm25s", "numpy"], "retrievers.VectorRetriever(['a'], lambda text: [1.0])", ""),
    ],
)
def test_a_library_that_is_missing_is_named_and_none_is_imported_before(missing, make, said):
    program = WITHOUT.format(missing=missing, make=make)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (f"[]\n{said}\n" if said else "[]\n", "")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("\u0928\u0926\u0940", ["river"]),  # Hindi: nadi, river
        ("\u0928\u093e\u0926", []),  # the same letters with another sign
        ("\u0e1b\u0e25\u0e32", ["thai"]),  # Thai: fish, in a sentence without blanks
        ("\u0643\u062a\u0627\u0628", ["arabic"]),  # Arabic: book, which has its vowels in the text
    ],
)
def test_words_of_other_scripts_are_found(query, found):
    documents = {
        "river": "\u0928\u0926\u0940 \u0915\u093e \u092a\u093e\u0928\u0940",
        "city": "\u0926\u093f\u0932\u094d\u0932\u0940 \u092c\u0921\u093c\u093e",
        "thai": "\u0e41\u0e21\u0e27\u0e01\u0e34\u0e19\u0e1b\u0e25\u0e32",
        "arabic": "\u0643\u0650\u062a\u064e\u0627\u0628\u064c",
    }
    assert [block.uri for block in KeywordRetriever(documents).get_blocks(ContextQuery(query))] == found
