"""The live view: what it sends while a run goes on, counted; and what of it is shown."""

from __future__ import annotations

import asyncio
import json
import re

import comm
import pytest
from comm.base_comm import BaseComm, CommManager
from msgspec.structs import replace

from nbagent import Agent, AgentTool, PlanAgent, ReflectionAgent, ScriptedLLM
from nbagent.events import (
    ArgumentsDelta,
    ModelRequested,
    ReasoningDelta,
    RunStarted,
    TextDelta,
    ToolReturned,
    ToolStarted,
    Waiting,
)
from nbagent.messages import Image
from nbagent.notebook.dry import request_of
from nbagent.notebook.live import LiveView
from nbagent.notebook.stop_button import StopButton
from nbagent.views.bundle import bundle


class Wire:
    """Everything that widgets send, in place of a front end."""

    def __init__(self):
        self.messages = []
        self.states = {}
        self.most = 0

    def comm(self, **how):
        wire = self

        class Comm(BaseComm):
            def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
                wire.hear(self.comm_id, msg_type, data or {})

        return Comm(**how)

    def hear(self, comm_id, kind, data):
        self.messages.append((kind, data))
        if kind == "comm_close":
            self.states.pop(comm_id, None)
        else:
            self.states.setdefault(comm_id, {}).update(data.get("state", {}))
        self.most = max(self.most, len(self.states))

    @property
    def bytes(self):
        return sum(len(json.dumps(data)) for _, data in self.messages)

    def html(self):
        """The HTML that is shown, from top to bottom."""
        return [state["value"] for state in self._shown(self._root) if state.get("_model_name") == "HTMLModel"]

    def text(self):
        shown = "\n".join(html for html in self.html() if "<style>" not in html)
        return " ".join(re.sub(r"<[^>]*>", " ", shown).split())

    def _shown(self, model):
        state = self.states[model.removeprefix("IPY_MODEL_")]
        yield state
        for child in state.get("children", ()):
            yield from self._shown(child)

    def look_at(self, view):
        from ipywidgets import VBox

        self.box = VBox(list(view.widgets))
        self._root = self.box.model_id
        return self


@pytest.fixture
def wire(monkeypatch):
    """A front end that takes messages."""
    wire, manager = Wire(), CommManager()
    monkeypatch.setattr(comm, "create_comm", wire.comm)
    monkeypatch.setattr(comm, "get_comm_manager", lambda: manager)
    return wire


class Clock:
    """Goes on by so many seconds with every event."""

    def __init__(self, step):
        self.now = 100.0
        self.step = step

    def __call__(self):
        return self.now


def watched(wire, events, step):
    """A view that has seen these events, `step` seconds one after the other."""
    clock = Clock(step)
    view = LiveView(clock=clock)
    wire.look_at(view)
    began = len(wire.messages)
    for event in events:
        clock.now += step
        view.take(event)
    wire.updates = len(wire.messages) - began
    return view


def look_up(place: str) -> str:
    """Looks it up."""
    return f"{place}: sunny, 24 degrees"


def streamed(agent, task="Go"):
    return list(agent.stream(task))


def long_run(turns):
    script = [ScriptedLLM.tool_call("look_up", {"place": f"P{n}"}) for n in range(turns - 1)]
    return streamed(Agent("bot", model=ScriptedLLM([*script, "Done."]), tools=[look_up], max_turns=turns))


@pytest.mark.parametrize("step", [0.0001, 0.01, 0.05])
def test_ten_thousand_tokens_are_few_messages_and_all_there_in_the_end(wire, step):
    tokens = [f"t{n:05}" for n in range(10_000)]
    events = streamed(Agent("bot", model=ScriptedLLM([ScriptedLLM.pieces(tokens)])))
    assert sum(isinstance(event, TextDelta) for event in events) == 10_000
    watched(wire, events, step)
    assert wire.updates <= 10 * step * len(events) + 60
    assert wire.bytes <= 1_000_000
    assert "".join(tokens) in bundle([event for event in events if not isinstance(event, TextDelta)])["text/html"]


def test_what_streams_is_shown_to_its_end_though_it_is_not_all_of_it(wire):
    events = [RunStarted("bot-1", "bot", "m", "live", 5), ModelRequested(1, "")]
    events += [TextDelta(1, f"{n:07} ") for n in range(2_000)]
    view = watched(wire, events, 0.05)
    view.flush()
    assert "0001999" in wire.text()
    assert "… 8,000 characters before this …" in wire.text()
    assert "0000999" not in wire.text()


def test_a_thousand_turns_take_few_widgets_and_bytes_that_grow_with_them(wire, monkeypatch):
    watched(wire, long_run(100), 0.06)
    hundred, wire.messages[:] = wire.bytes, []
    wire.states.clear()
    wire.most = 0
    watched(wire, long_run(1_000), 0.06)
    assert wire.most <= 200
    assert wire.bytes <= min(12 * hundred, 12_000_000)


def looks(n: int) -> str:
    """Looks."""
    return f"{n} " + "word " * 4_000


def test_a_run_of_many_turns_inside_another_is_sent_in_part(wire):
    inner = ScriptedLLM([*[ScriptedLLM.tool_call("looks", {"n": n}) for n in range(149)], "found"])
    helper = Agent("helper", model=inner, tools=[looks], max_turns=150)
    script = [ScriptedLLM.tool_call("helper", {"task": "look"}), "Done."]
    events = streamed(Agent("bot", model=ScriptedLLM(script), tools=[AgentTool(helper)]))
    watched(wire, events[:-6], 1.0).flush()
    assert max(len(html) for html in wire.html()) < 800_000
    assert "149 " in wire.text()


def test_only_what_has_changed_is_sent(wire):
    events = long_run(12)
    view = watched(wire, events[:-12], 1.0)
    before = len(wire.messages)
    view.flush()
    assert len(wire.messages) == before
    sent = []
    for event in events[-12:]:
        view.take(event)
        view.flush()
        sent += [data["state"]["value"] for _, data in wire.messages[before:] if "value" in data.get("state", {})]
        before = len(wire.messages)
    assert not any("Turn 3<" in html or "Prompt<" in html for html in sent)


def test_turns_that_are_over_are_folded_and_all_of_them_are_there(wire):
    watched(wire, long_run(600)[:-2], 1.0).flush()
    text = wire.text()
    for said in ("Turns 1 to 250", "Turns 251 to 500", "Turns 501 to 525", "Turns 551 to 575", "Turn 576", "Turn 600"):
        assert said in text
    places = [text.index(f"Turn {n} ") for n in range(1, 601)]
    assert places == sorted(places)


def test_a_view_shows_the_sections_of_the_output_that_stays(wire):
    draft, better = "It rains.", "It rains today."
    agent = ReflectionAgent("poet", model=ScriptedLLM([draft, "Say when.", better, "GOOD ENOUGH"]))
    events = streamed(agent, "Weather?")
    watched(wire, events, 1.0)
    static = bundle([event for event in events if not isinstance(event, TextDelta)])["text/html"]
    live = "".join(wire.html())
    static = re.sub(r"<b>Pictures</b>.*?(?=<b>Draft</b>)", "", static, flags=re.DOTALL)  # they come in the end
    shown = re.findall(r"<summary>.*?</summary>|<pre.*?</pre>", static, re.DOTALL)
    assert [one for one in shown if one not in live and "<b>Draft" not in one] == []


def test_what_happens_now_is_said(wire):
    call = ScriptedLLM.tool_call("look_up", {"place": "Rome"})
    events = streamed(Agent("bot", model=ScriptedLLM([call, "Sunny."]), tools=[look_up]))
    at = next(place for place, event in enumerate(events) if isinstance(event, ToolStarted))
    view = watched(wire, events[: at + 1], 1.0)
    assert "running: look_up" in wire.text()
    view.print((0,), "asking <b>Rome</b> …\n")
    view.print((1,), "another call")
    view.flush()
    assert "look_up runs … prints asking &lt;b&gt;Rome&lt;/b&gt; …" in wire.text()
    for event in events[at + 1 :]:
        view.take(event)
    view.flush()
    assert "asking" not in wire.text()
    assert "completed" in wire.text()


def test_reasoning_arguments_and_waits_are_shown_while_they_come(wire):
    begun = [RunStarted("bot-1", "bot", "m", "live", 5), ModelRequested(1, "")]
    view = watched(wire, [*begun, ReasoningDelta(1, "Hm, "), ReasoningDelta(1, "Rome?")], 1.0)
    assert "Turn 1 the model replies · 9 characters reasoning Hm, Rome?" in wire.text()
    view.take(ArgumentsDelta(1, 0, "look_up", '{"place": '))
    view.take(ArgumentsDelta(1, 0, "", '"<Rome>'))
    view.flush()
    assert 'call look_up {"place": "&lt;Rome&gt;' in wire.text().replace("&#34;", '"')
    view.take(Waiting(1, 2, 3.0, "rate_limited", "slow down"))
    view.flush()
    assert "attempt 2 in 3 seconds" in wire.text()
    assert "running: turn 1, waits" in wire.text()


def test_a_picture_is_shown_where_it_came_and_nothing_runs_in_it(wire):
    call = ScriptedLLM.tool_call("look_up", {"place": "Rome"})
    events = streamed(Agent("bot", model=ScriptedLLM([call, "Sunny."]), tools=[look_up]))
    at = next(place for place, event in enumerate(events) if isinstance(event, ToolReturned))
    small, large = b"<script>", b"<script>" * 40_000
    images = (Image(small, "image/png", "<b>"), Image(large), Image(small, "image/svg+xml"))
    events[at] = replace(events[at], observation=replace(events[at].observation, images=images))
    watched(wire, events, 1.0).flush()
    live = "".join(wire.html())
    assert live.count('<img class="nbagent-figure" alt="figure 1" src="data:image/png;base64,') == 1
    assert live.count("<img") == 1
    assert "&lt;b&gt;" in live
    assert "figure 3" in live
    assert "<img" not in bundle([event for event in events if not isinstance(event, TextDelta)])["text/html"]


def test_a_click_that_comes_when_the_run_is_over_stops_nothing(wire):
    async def late():
        stopped = []
        button = StopButton(lambda: stopped.append(1))
        button._clicked(None)
        await asyncio.sleep(0)
        button.end()
        other = StopButton(lambda: stopped.append(2))
        other.end()
        other._clicked(None)
        await asyncio.sleep(0.01)
        return stopped

    assert asyncio.run(late()) == [1]


def test_the_request_of_a_plan_is_the_one_that_makes_it():
    agent = PlanAgent("solver", model=ScriptedLLM(['["Look"]', "found", "The end."]))
    prompt = agent.run("Do it").prompt
    assert "Do not answer this yet" in request_of(agent, prompt).html


def test_when_a_run_is_over_nothing_is_sent_for_what_a_thread_still_prints(wire):
    call = ScriptedLLM.tool_call("look_up", {"place": "Rome"})
    events = streamed(Agent("bot", model=ScriptedLLM([call, "Sunny."]), tools=[look_up]))
    at = next(place for place, event in enumerate(events) if isinstance(event, ToolStarted))
    view = watched(wire, events[: at + 1], 1.0)
    view.end()
    before = len(wire.messages)
    view.print((0,), "too late")
    view.refresh()
    assert len(wire.messages) == before


def test_a_run_that_is_gone_on_with_is_shown_from_its_beginning(wire):
    events = long_run(3)
    view = watched(wire, events, 1.0)
    for event in events[:6]:
        view.take(event)
    view.flush()
    assert "Done." not in wire.text()
    assert wire.text().count("Turn 1 ") == 1


def test_of_a_run_that_may_take_few_turns_a_bar_says_how_far_it_is(wire):
    watched(wire, long_run(4)[:-3], 1.0).flush()
    assert '<progress value="4" max="4" aria-label="turn 4 of at most 4 turns">' in "".join(wire.html())
