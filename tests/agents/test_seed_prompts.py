"""The examples of masfactory's page "Observe, Think, Act", with only the names of the imports changed."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

A = """
from nbagent import Agent

agent = Agent(
    name="writer",
    model=object(),  # 这里只演示 observe()，不需要可用的 model
    instructions="你是一个简洁的写作者。",
    prompt_template="主题：{topic}",
)

system_prompt, user_prompt, messages = agent.observe({"topic": "MASFactory 是什么？"})

print(system_prompt)
print("----")
print(user_prompt)
print("----")
print([m["role"] for m in messages])
"""

B = """
from nbagent import Agent
from nbagent import ContextBlock, ContextQuery

class DummyProvider:
    context_label = "MEM"
    passive = True
    active = False
    supports_passive = True
    supports_active = True

    def get_blocks(self, query: ContextQuery, *, top_k: int = 8) -> list[ContextBlock]:
        return [ContextBlock(text="memory snippet", score=0.9)]

agent = Agent(
    name="writer",
    model=object(),
    instructions="你是一个简洁的写作者。",
    prompt_template="主题：{topic}",
    memories=[DummyProvider()],
)

_, user_prompt, _ = agent.observe({"topic": "解释 DAG"})
print(user_prompt)
"""

C = """
from nbagent import Agent
from nbagent import ContextBlock, ContextQuery

class ActiveProvider:
    context_label = "RAG"
    passive = False
    active = True
    supports_passive = True
    supports_active = True

    def get_blocks(self, query: ContextQuery, *, top_k: int = 8) -> list[ContextBlock]:
        return [ContextBlock(text=f"hit for: {query.query_text}", score=0.8)]

agent = Agent(
    name="writer",
    model=object(),
    instructions="你是一个简洁的写作者。",
    prompt_template="{query}",
    retrievers=[ActiveProvider()],
)

agent.observe({"query": "MASFactory context blocks"})
print([t.__name__ for t in agent.tools])
"""


def run(code, capsys):
    names: dict = {}
    exec(code, names)
    return names, capsys.readouterr().out


def test_a_only_a_template(capsys):
    names, printed = run(A, capsys)
    system, user, roles, *_ = printed.split("----\n")
    assert (system, roles) == ("你是一个简洁的写作者。\n", "['system', 'user']\n")
    assert user.startswith("MESSAGE TO YOU:\n主题：MASFactory 是什么？\nRESPONSE FORMAT REQUIREMENTS:\n")
    assert "REQUIRED OUTPUT FIELDS" not in user
    assert "CONTEXT" not in user
    assert "writer" not in user
    assert names["messages"][0].content == names["system_prompt"]
    assert names["messages"][-1]["content"] == names["user_prompt"]


def test_b_a_passive_provider(capsys):
    names, printed = run(B, capsys)
    assert printed.endswith("\nCONTEXT:\n[Context]\n(MEM) memory snippet\n")
    assert names["user_prompt"].startswith("MESSAGE TO YOU:\n主题：解释 DAG\n")
    prompt = names["agent"].observe({"topic": "解释 DAG"})
    [found] = [segment for segment in prompt.segments if segment.source.kind == "context"]
    assert (found.text, found.source.detail, found.source.score) == ("memory snippet", "MEM", 0.9)
    assert not prompt.tools


def test_c_an_active_provider(capsys):
    names, printed = run(C, capsys)
    assert printed == "['list_context_sources', 'retrieve_context']\n"
    agent = names["agent"]
    prompt = agent.observe({"query": "MASFactory context blocks"})
    assert "CONTEXT" not in prompt.user
    assert [m.role for m in prompt.messages] == ["system", "user"]
    assert [tool.name for tool in prompt.tools] == ["list_context_sources", "retrieve_context"]
    listed, asked = agent.tools
    assert listed() == {"sources": [{"name": "RAG", "label": "RAG", "type": "ActiveProvider"}]}
    assert asked("RAG", "abc") == {
        "provider": "RAG",
        "query": "abc",
        "blocks": [
            {
                "text": "hit for: abc",
                "uri": None,
                "chunk_id": None,
                "score": 0.8,
                "title": None,
                "metadata": {},
                "dedupe_key": None,
            }
        ],
        "rendered": "[Context]\n(RAG) hit for: abc",
    }
    assert asked("RAG", "", 3)["query"] == "MASFactory context blocks"
    with pytest.raises(ValueError, match=r"Unknown context source: NOPE. Available: \['RAG'\]"):
        asked("NOPE", "x")


def test_c_through_the_stages():
    names: dict = {}
    exec(C, names)
    agent = names["agent"]
    [message] = agent.act([{"id": "1", "name": "retrieve_context", "arguments": {"source": "RAG", "query": "abc"}}])
    assert (message["role"], message["tool_call_id"]) == ("tool", "1")
    assert "hit for: abc" in message["content"]
    [wrong] = agent.act([{"id": "2", "name": "retrieve_context", "arguments": {"source": "NOPE"}}])
    assert "Unknown context source: NOPE" in wrong.content


@pytest.mark.parametrize("code", [A, B, C])
def test_each_example_is_the_same_with_every_hash_seed(code):
    fields = {f"field_{i}": i for i in range(8)}
    more = textwrap.dedent(f"""
        agent.observe({{"topic": "t", "query": "q", **{fields!r}}}).user
        print(agent.observe({{"topic": "t", "query": "q", **{fields!r}}}).user)
    """)
    printed = {
        subprocess.run(
            [sys.executable, "-c", code + more],
            capture_output=True, text=True, check=True, timeout=60, encoding="utf-8",
            env={"PYTHONHASHSEED": str(seed), "PATH": "", "PYTHONIOENCODING": "utf-8"},
        ).stdout
        for seed in range(4)
    }  # fmt: skip
    assert len(printed) == 1
    [text] = printed
    places = [text.rindex(f"\nfield_{i}:\n{i}\n") for i in range(8)]
    assert places == sorted(places)
