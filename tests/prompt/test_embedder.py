"""Embedder: the one that is on this machine, and what is made of the vectors of any."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.prompt.context.block import ContextQuery
from nbagent.prompt.context.embedder import Embedder, closeness, units
from nbagent.prompt.context.local import LocalEmbedder
from nbagent.prompt.context.retrievers import VectorRetriever

PROGRAM = """
import json, logging, sys
def guard(event, arguments):
    if event in {"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"}:
        raise SystemExit(f"the network is touched: {event} {arguments}")
    if event == "open" and "w" in str(arguments[1] or "r"):
        raise SystemExit(f"a file is written: {arguments}")
sys.addaudithook(guard)
sys.dont_write_bytecode = True
from nbagent.prompt.context.local import LocalEmbedder
embedder = LocalEmbedder()
assert "wordllama" not in sys.modules
vectors = list(embedder.embed(["green tea", "", "a cup of tea"]))
root = logging.getLogger()
print(json.dumps([vectors, root.level, len(root.handlers)]))
"""


def test_the_local_embedder_needs_no_network_writes_nothing_prints_nothing_and_is_the_same_in_every_process():
    runs = set()
    for seed in ("0", "1", "2"):
        env = {"PYTHONHASHSEED": seed, "PATH": "", "HOME": "/nowhere"}
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, env=env)
        assert (done.returncode, done.stderr) == (0, "")
        runs.add(done.stdout)
    [vectors, level, handlers] = json.loads(runs.pop())
    assert not runs
    assert [len(vector) for vector in vectors] == [256] * 3
    assert (set(vectors[1]), level, handlers) == ({0.0}, 30, 0)


def test_it_finds_what_uses_other_words():
    documents = {
        "refunds": "Refunds are paid within fourteen days.",
        "office": "Our office is closed on Sundays.",
        "cats": "Cats sleep most of the day.",
        "graphs": "A DAG is a directed graph without cycles.",
    }
    retriever = VectorRetriever(documents, LocalEmbedder())

    def found(text):
        return [block.uri for block in retriever.get_blocks(ContextQuery(text))]

    assert found("How long until I get my money back?") == ["refunds"]
    assert found("When is the office open?") == ["office"]
    assert found("kittens napping") == ["cats"]
    assert found("zebra quantum") == []


def test_it_is_an_embedder_and_takes_no_text_too():
    assert isinstance(LocalEmbedder(), Embedder)
    assert list(LocalEmbedder().embed([])) == []


def test_a_text_gets_the_same_vector_alone_and_among_others():
    texts = ["tea", "a much longer text about tea, cups and kettles", ""]
    together = units(LocalEmbedder(), texts)
    assert [units(LocalEmbedder(), [text])[0] for text in texts] == together


vectors = st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3)


@given(vectors, vectors)
def test_closeness_is_the_cosine(one, other):
    first, second = units(lambda text: one if text == "one" else other, ["one", "other"])
    assert -1.000001 <= closeness(first, second) <= 1.000001
    assert closeness(first, second) == pytest.approx(closeness(second, first))
    assert closeness(first, first) == pytest.approx(1 if any(first) else 0)
