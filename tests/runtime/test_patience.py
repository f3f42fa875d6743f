"""Failed model calls: which are tried again, how long is waited, and what is said of it."""

from __future__ import annotations

import asyncio

import pytest

from nbagent import Agent, Retry, ScriptedLLM, tool
from nbagent.errors import TRANSIENT, ModelError
from nbagent.events import ModelFailed, TextDelta, Waiting
from nbagent.runtime import drivers

AT_ONCE = Retry(shortest=0, longest=0)


def failing(*kinds, then="Hi.", retry=AT_ONCE, retry_after=None):
    errors = [ModelError(f"no {kind}", kind=kind, retry_after=retry_after) for kind in kinds]
    return Agent("a", ScriptedLLM([*errors, then]), retry=retry)


def events_of(agent, asynchronous):
    async def collect():
        return [event async for event in agent.astream("go")]

    return asyncio.run(collect()) if asynchronous else list(agent.stream("go"))


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("kind", sorted(TRANSIENT))
def test_what_may_pass_is_tried_again(kind, asynchronous):
    agent = failing(kind, kind, kind)
    events = events_of(agent, asynchronous)
    failed = [event for event in events if isinstance(event, ModelFailed)]
    assert [(one.turn, one.attempt, one.kind) for one in failed] == [(1, 1, kind), (1, 2, kind), (1, 3, kind)]
    assert agent.last.final_output == "Hi."
    assert agent.last.usage.llm_calls == 1
    assert f"attempt 3 failed: {kind.replace('_', ' ')}" in agent.last._repr_mimebundle_()["text/plain"]


def test_four_attempts_are_all():
    agent = failing(*["server"] * 4)
    with pytest.raises(ModelError, match="no server"):
        agent.run("go")
    assert len([event for event in agent.last.events if isinstance(event, ModelFailed)]) == 3


NOT_TRANSIENT = ["auth", "permission", "not_found", "bad_request", "context_overflow", "incomplete", "bad_response"]


@pytest.mark.parametrize("kind", [*NOT_TRANSIENT, "refused", "filtered", "error"])
def test_what_will_not_pass_is_not_tried_again(kind):
    agent = failing(kind)
    with pytest.raises(ModelError) as raised:
        agent.run("go")
    assert raised.value.kind == kind
    assert not any(isinstance(event, ModelFailed) for event in agent.last.events)


def test_waits_are_random_within_growing_bounds_and_never_long():
    retry, error = Retry(), ModelError("no", kind="server")
    for attempt, most in ((1, 1), (2, 2), (3, 4)):
        waits = [retry.wait(error, attempt) for _ in range(200)]
        assert all(0.5 <= wait <= most for wait in waits)
        assert len(set(waits)) > 100
    assert retry.wait(error, 4) is None
    many = Retry(attempts=99)
    assert max(many.wait(error, 20) for _ in range(100)) <= 8


def test_what_the_server_asks_to_wait_is_waited_up_to_a_limit():
    retry = Retry()
    assert 7 <= retry.wait(ModelError("no", kind="rate_limited", retry_after=7), 1) <= 8
    assert retry.wait(ModelError("no", kind="rate_limited", retry_after=30), 3) == 30
    assert retry.wait(ModelError("no", kind="rate_limited", retry_after=121), 1) is None
    # all of it: three waits at most, of at most thirty seconds; and of those that nobody asked for, seven in all
    assert sum(max(retry.wait(ModelError("no", kind="server"), n) for _ in range(99)) for n in (1, 2, 3)) <= 7


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_wait_is_counted_down(asynchronous, monkeypatch):
    slept = []
    now = [0.0]

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    async def asleep(seconds):
        sleep(seconds)

    monkeypatch.setattr(drivers, "monotonic", lambda: now[0])
    monkeypatch.setattr(drivers, "sleep", sleep)
    monkeypatch.setattr(drivers.asyncio, "sleep", asleep)
    agent = failing("rate_limited", retry_after=3.5, retry=Retry(shortest=0, longest=0))
    events = events_of(agent, asynchronous)
    waiting = [event for event in events if isinstance(event, Waiting)]
    assert [(one.attempt, one.seconds, one.kind) for one in waiting] == [
        (2, left, "rate_limited") for left in (3.5, 2.5, 1.5, 0.5)
    ]
    assert [s for s in slept if s] == [1, 1, 1, 0.5]
    assert not any(isinstance(event, Waiting) for event in agent.last.events)


def test_what_had_streamed_of_a_failed_attempt_does_not_count():
    class Breaks(ScriptedLLM):
        def stream(self, request):
            yield "Half an "
            if not self.requests:
                self._requests.append(request)
                raise ModelError("gone", kind="network")
            yield from super().stream(request)

    agent = Agent("a", Breaks(["Whole."]), retry=AT_ONCE)
    events = list(agent.stream("go"))
    place = next(i for i, event in enumerate(events) if isinstance(event, ModelFailed))
    assert [event.text for event in events[:place] if isinstance(event, TextDelta)] == ["Half an "]
    assert agent.last.final_output == "Whole."


@pytest.mark.parametrize("asynchronous", [False, True])
def test_failed_attempts_replay_and_a_run_that_was_cut_among_them_goes_on(asynchronous):
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    script = [ModelError("no", kind="server"), ScriptedLLM.tool_call("look"), ModelError("no", kind="network"), "Hi."]

    def agent(position=0):
        llm = ScriptedLLM(script)
        llm.position = position
        return Agent("a", llm, tools=[look], retry=AT_ONCE)

    def replayed(events):
        made = agent()
        return asyncio.run(made.areplay(events)) if asynchronous else made.replay(events)

    whole = agent().run("go")
    assert sum(isinstance(event, ModelFailed) for event in whole.events) == 2
    assert replayed(whole.events).events == whole.events
    failed = next(i for i, event in enumerate(whole.events) if isinstance(event, ModelFailed))
    cut = replayed(whole.events[: failed + 1])
    assert cut.final_output == "Hi."


def test_attempts_may_be_one():
    agent = failing("server", retry=Retry(attempts=1))
    with pytest.raises(ModelError):
        agent.run("go")
