"""observe: the prompt as a record, before anything is sent."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from nbagent import Agent, ScriptedLLM, tool
from nbagent.messages import Message, Prompt, Segment, Source, ToolCall, ToolSchema


@tool
def look(place: str) -> str:
    """Look somewhere."""
    return place


def test_a_prompt_unpacks_to_system_user_and_messages():
    agent = Agent("a", ScriptedLLM(["Hi.", "Yes."]), "Be brief.", tools=[look])
    agent.run("First.")
    system, user, messages = prompt = agent.observe("Second.")
    assert (system, user) == ("Be brief.", "Second.")
    assert [(m.role, m.content) for m in messages] == [
        ("system", "Be brief."),
        ("user", "First."),
        ("assistant", "Hi."),
        ("user", "Second."),
    ]
    assert prompt.messages == messages
    assert len(agent.model.requests) == 1
    assert agent.last.final_output == "Hi."


def test_what_is_observed_is_what_is_sent():
    agent = Agent("a", ScriptedLLM(["Hi.", "Yes."]), "Be brief.", tools=[look], max_tokens=9)
    agent.run("First.")
    prompt = agent.observe("Second.")
    result = agent.run("Second.")
    assert result.prompt == prompt
    assert agent.model.requests[-1] == agent.request(prompt)


texts = st.text(max_size=20)
sources = st.builds(Source, st.sampled_from(["template", "variable", "framework"]), texts)
segments = st.builds(Segment, st.sampled_from(["system", "user"]), texts, texts, sources, st.booleans())
calls = st.lists(st.builds(ToolCall, texts, texts, texts), max_size=2).map(tuple)
messages = st.builds(Message, st.sampled_from(["user", "assistant", "tool"]), texts, calls)


@given(st.lists(segments, max_size=8).map(tuple), st.lists(messages, max_size=5).map(tuple))
def test_the_spans_cover_every_character_once_and_re_join(parts, history):
    prompt = Prompt(parts, history, (ToolSchema("look", "Look.", {"type": "object"}),))
    spans = prompt.spans
    before = [span for span in spans if span.source.kind != "history" and span.role == "system"]
    after = [span for span in spans if span.source.kind != "history" and span.role == "user"]
    assert "".join(span.text for span in before) == prompt.system
    assert "".join(span.text for span in after) == prompt.user
    said = "".join(span.text for span in spans if span.source.kind == "history")
    assert said == "".join(m.content + "".join(f"{c.name} {c.arguments}" for c in m.tool_calls) for m in history)
    assert json.loads(spans[-1].text) == ["look", "Look.", {"type": "object"}]
    assert sum(span.characters for span in spans) == sum(len(span.text) for span in spans)
    assert all(0 <= span.tokens <= span.characters for span in spans)
