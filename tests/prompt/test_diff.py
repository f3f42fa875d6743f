"""Diff: applied to the one prompt it gives the other."""

from __future__ import annotations

import pytest
from counting import calls_of
from hypothesis import given
from hypothesis import strategies as st

from nbagent import Agent, ScriptedLLM
from nbagent.errors import ConfigError
from nbagent.messages import Image, Message, Prompt, Segment, Source, ToolCall, ToolSchema
from nbagent.prompt.diff import PromptDiff

texts = st.sampled_from(["", "a", "b", "line\nline", "{x}"])
sources = st.builds(
    Source, st.sampled_from(["template", "variable", "context"]), texts, texts, st.none() | st.floats(0, 1)
)
segments = st.builds(Segment, st.sampled_from(["system", "user"]), texts, texts, sources, st.booleans(), texts)
calls = st.lists(st.builds(ToolCall, texts, texts, texts), max_size=2).map(tuple)
messages = st.builds(Message, st.sampled_from(["user", "assistant", "tool"]), texts, calls)
tools = st.builds(ToolSchema, texts, texts, st.dictionaries(texts, st.integers(0, 2) | st.lists(st.integers(0, 2))))
images = st.builds(Image, st.sampled_from([b"1", b"2"]))


def several(items):
    return st.lists(items, max_size=6).map(tuple)


prompts = st.builds(
    Prompt, several(segments), several(messages), several(tools), several(images), several(messages), st.none() | texts
)


@given(prompts, prompts)
def test_a_diff_applied_to_the_one_gives_the_other(one, other):
    diff = PromptDiff.of(one, other)
    assert diff.apply(one) == other
    assert bool(diff) == (one != other)
    kept = [item for change in diff.changes if change.kind != "added" for item in change.items]
    assert len(kept) == sum(map(len, (one.segments, one.examples, one.history, one.tools, one.images))) + (
        one.question is not None
    )


@given(prompts, prompts, prompts)
def test_a_diff_is_refused_by_any_other_prompt(one, other, third):
    diff = PromptDiff.of(one, other)
    if third == one:
        return
    with pytest.raises(ConfigError, match="made from another prompt"):
        diff.apply(third)


def test_it_says_what_changed():
    agent = Agent("a", ScriptedLLM(["ok"]), instructions="Speak {lang}.")
    one, other = (agent.observe({"lang": lang, "task": "Hi."}) for lang in ("Danish", "French"))
    changed = [c for c in PromptDiff.of(one, other).changes if c.kind != "kept"]
    assert [(c.kind, [s.text for s in c.items]) for c in changed] == [("removed", ["Danish"]), ("added", ["French"])]


def test_tools_that_are_equal_are_kept_whatever_the_order_of_their_keys():
    pairs = [("x", 1), ("y", 2)]
    one, other = (Prompt((), (), (ToolSchema("a", "", dict(some)),)) for some in (pairs, pairs[::-1]))
    assert not PromptDiff.of(one, other)


def test_a_conversation_that_went_on_costs_the_same_for_each_message():
    def calls(size):
        history = tuple(Message(role, "again") for _ in range(size) for role in ("user", "assistant"))
        one, other = Prompt((), history), Prompt((), (*history, Message("user", "more")))
        assert PromptDiff.of(one, other).apply(one) == other
        return calls_of(lambda: PromptDiff.of(one, other))

    assert calls(4_000) <= 5 * calls(1_000)
