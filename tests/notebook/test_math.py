"""`math: yes`: said by a cell or by Python, kept in the journal, seen in the answer."""

from nbagent import Agent, ScriptedLLM
from nbagent.notebook.build import build
from nbagent.notebook.cell import parse_cell
from nbagent.store.codec import decode, encode
from nbagent.views.bundle import bundle


def test_a_cell_says_that_formulas_are_typeset():
    namespace = {}
    agent = build(parse_cell("bot", "math: yes\nscript: ['$$x$$']\n---\ngo"), namespace=namespace, bind=namespace)
    assert agent.math
    assert build(parse_cell("bot --max-turns 3", "go"), namespace=namespace, bind=namespace).math
    assert not build(parse_cell("bot", "script: [a]\n---\ngo"), namespace=namespace, bind=namespace).math


def test_the_journal_carries_it():
    events = Agent("bot", ScriptedLLM(["$$x$$"]), math=True).run("go").events
    assert [decode(encode(event)) for event in events] == list(events)
    assert "mathjax_process" in bundle(events)["text/html"]
    assert b"math" not in encode(Agent("bot", ScriptedLLM(["x"])).run("go").events[0])
