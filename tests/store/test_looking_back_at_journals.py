"""What a run of any kind has sent, and its moments, are made again of its journal alone."""

from __future__ import annotations

import pytest
from journals import all_agents, ended

from nbagent import ReflectionAgent, ScriptedLLM
from nbagent.request import Messages
from nbagent.runtime.sent import sent_in
from nbagent.views.html_moment import changes_html
from nbagent.views.moments import moments_of
from nbagent.views.trace import Trace

ALL = {name: (agent, task) for name, agent, task in all_agents()}


@pytest.mark.parametrize("name", ALL)
def test_each_turn_has_its_request_and_its_moments_and_a_prefix_has_the_same(name):
    result = ended(*ALL[name])
    sent, moments = sent_in(result.events), moments_of(result.events)
    turns = Trace.of(result.events).all_turns
    assert [one.is_exact for one in sent] == [True] * len(turns)
    assert max(one.turn for one in moments) == len(turns)
    assert [one.number for one in moments] == [*range(1, len(result.events) + 1)]
    half = len(result.events) // 2
    assert moments_of(result.events[:half]) == moments[:half]
    assert [one.messages for one in sent_in(result.events[:half])] == [
        one.messages for one in sent[: len(Trace.of(result.events[:half]).all_turns)]
    ]


def test_a_reflection_that_is_written_anew_again_and_again_is_known_exactly():
    script = ["draft", "bad", "second", "worse", "third", "no", "fourth", "GOOD ENOUGH"]
    result = ReflectionAgent("writer", ScriptedLLM(script), "S", max_turns=4).run("go")
    sent = sent_in(result.events)
    assert [one.is_exact for one in sent] == [True] * 8
    assert [message.content for message in sent[6].messages][:3] == ["S", "go", "third"]


def test_messages_that_were_changed_since_are_not_called_exact():
    name = next(name for name in ALL if name.startswith("chat: go"))
    [*sent] = sent_in(ended(*ALL[name]).events)
    other = type(sent[0])(sent[0].prompt, Messages(sent[0].messages[:-1]), sent[0].fingerprint)
    assert (sent[0].is_exact, other.is_exact) == (True, False)


def test_what_changed_between_two_requests_is_escaped_and_marked():
    from nbagent.messages import Message

    one = [Message("system", "Be <b>brief</b>."), Message("user", "Hi")]
    other = [Message("system", "Be <i>kind</i>."), Message("user", "Hi")]
    html = changes_html(one, other, ("turn 1", "turn 2"))
    assert "1 message the same, 1 gone or changed, 1 new or changed" in html
    assert "<i>kind" not in html
    assert "<del>" in html
    assert "<ins>" in html
    assert "none" in changes_html(one, one, ("turn 1", "turn 2"))
