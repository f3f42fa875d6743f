"""Drift: what a replay says of a request that is not the recorded one."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from nbagent import Agent, ScriptedLLM, Texts, tool
from nbagent.agents.plan_agent import PlanAgent
from nbagent.agents.reflection_agent import ReflectionAgent
from nbagent.errors import DriftError
from nbagent.events import ModelReplied, ModelRequested, RunFinished, ToolReturned
from nbagent.messages import Message, ModelReply, ToolSchema
from nbagent.request import Messages, ModelRequest, parts_of
from nbagent.runtime.differing import changed_messages
from nbagent.texts.pack import DEFAULT

call = ScriptedLLM.tool_call
TOOLS = [call("add", {"a": 1, "b": 2}), call("add", {"a": 1, "b": 3}), "Done."]
PLAN = ['["one", "two"]', "First.", "Second.", "All."]
BEGIN = "plan.begin"
WORDED = DEFAULT[BEGIN].replace("Reply with its result.", "Reply with the result.")


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def agent_of(script, **options):
    return Agent("a", ScriptedLLM(script), "Be brief.", tools=[add], **options)


def drift(agent, events, **options):
    """What a replay of these events says, in both drivers."""
    said = []
    for again in (agent.replay, lambda *args, **more: asyncio.run(agent.areplay(*args, **more))):
        with pytest.raises(DriftError) as raised:
            again(events, **options)
        said.append(str(raised.value))
    assert said[0] == said[1]
    return said[0]


ANEW = "; run it anew, or restore what has changed"


@pytest.mark.parametrize(
    ("then", "now", "says"),
    [
        (None, 7, "max_tokens: none then, 7 now"),
        (7, None, "max_tokens: 7 then, none now"),
        (7, 70, "max_tokens: 7 then, 70 now"),
    ],
)
def test_another_max_tokens_is_named(then, now, says):
    whole = agent_of(TOOLS, max_tokens=then).run("go")
    said = drift(agent_of([], max_tokens=now), whole.events)
    assert said == f"turn 1: the request differs from the recorded one: {says}{ANEW}"


@pytest.mark.parametrize(
    ("then", "now", "says"), [(None, int, "is new"), (int, None, "is gone"), (int, list[int], "changed")]
)
def test_another_schema_of_the_answer_is_named(then, now, says):
    whole = Agent("a", ScriptedLLM(['{"value": 7}'])).run("go", output_schema=then)
    events = [event for event in whole.events if not isinstance(event, ModelReplied | RunFinished)]
    said = drift(Agent("a", ScriptedLLM([])), events, output_schema=now)
    assert said == f"turn 1: the request differs from the recorded one: the schema of its answer {says}{ANEW}"


def test_all_that_differs_is_named():
    whole = agent_of(TOOLS).run("go")
    said = drift(agent_of([], max_tokens=7), whole.events, output_schema=int)
    assert "max_tokens: none then, 7 now; the schema of its answer is new; run it anew" in said


def test_tools_that_are_new_gone_or_changed_are_named():
    @tool
    def look(place: str) -> str:
        """Look."""
        return place

    @tool
    def think() -> None:
        """Think."""

    @tool(name="add")
    def other(a: int, b: float) -> int:
        """Add two numbers."""
        return a

    whole = Agent("a", ScriptedLLM(["Hi."]), tools=[add, look]).run("go")
    said = drift(Agent("a", ScriptedLLM([]), tools=[other, think]), whole.events)
    assert said.startswith("the tools are not those of the recorded run: add changed (its description: 'Add.' then, ")
    assert "'Add two numbers.' now; its parameters: " in said
    assert '"b": {"type": "integer"}' in said
    assert '"b": {"type": "number"}' in said
    assert said.endswith("); look is gone; think is new; run it anew, or restore them")
    said = drift(Agent("a", ScriptedLLM([]), tools=[look, add]), whole.events)
    assert "their order changed" in said


def test_a_message_that_is_worded_differently_is_shown_with_what_was_sent_then():
    whole = PlanAgent("p", ScriptedLLM(PLAN), "Be brief.").run("go")
    agent = PlanAgent("p", ScriptedLLM([]), "Be brief.", texts=Texts(overrides={BEGIN: WORDED}))
    where = "execute 2, turn 1: the request differs from the recorded one"
    assert drift(agent, whole.events) == (
        f"{where}: message 2 of 4 (user) differs from its character 93 on{ANEW}\n"
        "- Reply with its result.\n"
        "+ Reply with the result."
    )
    with pytest.raises(DriftError) as raised:
        agent.replay(whole.events)
    assert len(raised.value._render_traceback_()) == 3  # a notebook shows it in lines, too


def test_of_a_long_message_the_place_that_differs_is_shown():
    critic = DEFAULT["reflection.critic"]
    whole = ReflectionAgent("r", ScriptedLLM(["Draft.", "GOOD ENOUGH"]), "Be brief. " * 50).run("go")
    texts = Texts(overrides={"reflection.critic": critic.replace("strict", "kind")})
    said = drift(ReflectionAgent("r", ScriptedLLM([]), "Be brief. " * 50, texts=texts), whole.events)
    first, then, now = said.splitlines()
    place = len("Be brief. " * 50) + len("\n\n") + critic.index("strict") + 1
    assert first.startswith("critique 1, turn 1: ")
    assert f"message 1 of 2 (system) differs from its character {place} on" in first
    assert "strict" in then
    assert "kind" in now
    assert max(map(len, (then, now))) <= 104


def test_recorded_events_that_were_changed_are_told_from_a_run_that_changed():
    whole = agent_of(TOOLS).run("go")
    events = [
        replace(e, observation=replace(e.observation, text="999")) if isinstance(e, ToolReturned) and e.turn == 2 else e
        for e in whole.events
    ]
    assert drift(agent_of([]), events) == (
        "turn 3: the request differs from the recorded one: its messages differ in message 5 or 6 of 6 "
        f"(assistant, tool), yet all are as in the recorded events: these have been changed since{ANEW}"
    )


def test_a_fingerprint_that_is_none_is_drift_all_the_same():
    whole = agent_of(TOOLS).run("go")
    events = [replace(e, fingerprint="another") if isinstance(e, ModelRequested) else e for e in whole.events]
    where = "turn 1: the request differs from the recorded one"
    assert drift(agent_of([]), events) == (
        f"{where}: what is recorded of it is no fingerprint: 'another'; run it anew, or restore the events"
    )


def test_the_request_of_another_turn_is_drift():
    whole = agent_of(["Hi."]).run("go")
    events = [replace(e, turn=2) if isinstance(e, ModelRequested) else e for e in whole.events]
    assert "turn 1: the request differs from the recorded one: it is that of another turn" in drift(
        agent_of([]), events
    )


def test_tools_of_a_request_that_are_not_those_of_its_prompt_are_named():
    whole = agent_of(TOOLS).run("go")
    events = [
        replace(e, fingerprint=e.fingerprint[:-12] + "0" * 12) if isinstance(e, ModelRequested) else e
        for e in whole.events
    ]
    assert f"its tools changed{ANEW}" in drift(agent_of([]), events)


def test_what_a_hook_has_changed_is_compared_as_it_was_before():
    class Hurry:
        def before_model(self, messages):
            return [*messages, Message("user", "Hurry.")]

    whole = PlanAgent("p", ScriptedLLM(PLAN), "Be brief.", hooks=[Hurry()]).run("go")
    agent = PlanAgent("p", ScriptedLLM([]), "Be brief.", texts=Texts(overrides={BEGIN: WORDED}))
    said = drift(agent, whole.events).splitlines()
    where = "execute 2, turn 1: the request differs from the one that Hurry changed"
    assert said[0] == f"{where}: message 2 of 4 (user) differs from its character 93 on{ANEW}"
    assert said[1:] == ["- Reply with its result.", "+ Reply with the result."]


# which message it is


def said_of(then, now, known=None):
    messages = {name: Message("assistant", text) for name, text in zip("abcdef", "ABCDEF", strict=True)}
    messages["x"] = Message("assistant", "one\ntwo X\nthree")
    messages["y"] = Message("assistant", "one\ntwo Y\nthree")
    recorded = [ModelReplied(1, ModelReply(messages[name].content)) for name in (then if known is None else known)]
    digest = Messages(messages[name] for name in then).digest
    return changed_messages(recorded, digest, Messages(messages[name] for name in now), Messages())


@pytest.mark.parametrize(
    ("then", "now", "says", "lines"),
    [
        ("axc", "ayc", "message 2 of 3 (assistant) differs from its character 9 on", ("- two X", "+ two Y")),
        ("axcd", "aycf", "message 2 of 4 (assistant) differs from its character 9 on, and 1 more of them", None),
        ("abc", "ac", "message 2 of 3 (assistant) that were recorded is gone", ("- B",)),
        ("ac", "abc", "message 2 of 3 (assistant) is new", ("+ B",)),
        ("ac", "acef", "message 3 of 4 (assistant) is new", ("+ E",)),
    ],
)
def test_a_message_that_differs_is_new_or_is_gone_is_named(then, now, says, lines):
    said, shown = said_of(then, now)
    assert said == says
    assert lines is None or shown == lines


def test_where_nothing_recorded_holds_what_was_sent_the_strange_message_is_named():
    said, shown = said_of("axc", "ayc", known="ac")
    assert (said, shown) == (
        "message 2 of 3 (assistant) is in none of the recorded events",
        ("+ one", "+ two Y", "+ three"),
    )


def test_the_guesses_at_a_long_conversation_come_to_an_end():
    recorded = [ModelReplied(turn, ModelReply(f"then {turn}")) for turn in range(40)]
    now = Messages([Message("assistant", f"now {turn}") for turn in range(40)])
    said, _ = changed_messages(recorded, "0" * 24, now, Messages())
    assert said == "message 1 of 40 (assistant) is in none of the recorded events"


def test_the_parts_of_a_fingerprint_are_those_of_its_request():
    look = ToolSchema("look", "Look.", {"type": "object", "properties": {}})
    messages = Messages([Message("user", "Paris?")])
    settings = {"seed": 7, "stop": "}->abc"}
    full = parts_of(ModelRequest(messages, (look,), 100, None, settings, {"type": "object"}).fingerprint())
    assert (full["messages"], full["max_tokens"]) == (messages.digest, "100")
    assert full["settings"] == '{"seed": 7, "stop": "}->abc"}'
    plain = parts_of(ModelRequest(messages).fingerprint())
    assert [plain[name] for name in ("max_tokens", "settings", "schema")] == ["", "", ""]
    assert {len(full["schema"]), len(full["tools"]), len(plain["tools"])} == {12}
    assert parts_of("another") == {}
