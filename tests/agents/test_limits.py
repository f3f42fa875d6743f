"""Limits of a run, what the agent itself tells the model, and images."""

from __future__ import annotations

import asyncio
import io
from decimal import Decimal

import msgspec
import pytest

from nbagent import Agent, Image, Limits, Retry, ScriptedLLM, tool
from nbagent.agents.sub_agent import AgentTool
from nbagent.errors import ConfigError, ModelError
from nbagent.events import Noted, ToolReturned
from nbagent.messages import ModelReply, ToolCall, Usage
from nbagent.runtime import limits as limits_module
from nbagent.texts.pack import DEFAULT

PNG = b"\x89PNG\r\n\x1a\nrest"


@tool
def look(place: str = "here") -> str:
    """Look."""
    return f"nothing {place}"


def looking(usage, times=5, **options):
    call = ModelReply("", (ToolCall("", "look", "{}"),), usage, "tool_calls")
    return Agent("a", ScriptedLLM([call] * times + ["Done."]), tools=[look], **options)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_budget_in_tokens_ends_a_run_before_the_next_call(asynchronous):
    agent = looking(Usage(90, 10), limits=Limits(max_tokens=200))
    result = asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")
    assert (result.status, result.final_output, result.usage.llm_calls) == ("limit_reached", None, 2)
    assert result.stop_reason == "the budget is 200 tokens, and 200 are used"
    assert agent.history == ()
    assert "limit reached: the budget is 200 tokens" in result._repr_mimebundle_()["text/plain"]


def test_a_budget_in_money_counts_what_is_spent():
    agent = looking(Usage(90, 10, cost=Decimal("0.004")), limits=Limits(max_cost=Decimal("0.01")))
    result = agent.run("go")
    assert (result.status, result.usage.llm_calls, result.usage.cost) == ("limit_reached", 3, Decimal("0.012"))
    assert result.stop_reason == "the budget is $0.01, and $0.012 is spent"


def test_a_budget_in_money_needs_a_price():
    agent = looking(Usage(90, 10), limits=Limits(max_cost=Decimal(1)))
    with pytest.raises(ConfigError, match="no price is known for 'scripted'; give it in tokens"):
        agent.run("go")
    assert agent.last.usage.llm_calls == 1


def test_tokens_that_nobody_reports_are_estimated_for_the_budget():
    class Silent:
        name, mode = "silent", "live"

        def stream(self, request):
            yield ModelReply("", (ToolCall("1", "look", "{}"),), None, "tool_calls")

        async def astream(self, request):
            for piece in self.stream(request):
                yield piece

    result = Agent("a", Silent(), tools=[look], limits=Limits(max_tokens=100)).run("go")
    assert result.status == "limit_reached"
    assert (result.usage.total_tokens, result.usage.not_reported) == (0, result.usage.llm_calls)
    assert "tokens unknown" in result._repr_mimebundle_()["text/plain"]


def test_a_time_limit_ends_a_run(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(limits_module, "monotonic", lambda: now[0])

    @tool
    def slow() -> str:
        """Takes its time."""
        now[0] += 4
        return "ok"

    agent = Agent("a", ScriptedLLM([ScriptedLLM.tool_call("slow")] * 9), tools=[slow], limits=Limits(deadline=10))
    result = agent.run("go")
    assert (result.status, len(result.tool_calls)) == ("limit_reached", 3)
    assert result.stop_reason == "the time limit of 10 seconds is over"
    assert [request.seconds_left for request in agent.model.requests] == [10, 6, 2]


def test_a_model_that_uses_up_the_time_reaches_the_limit(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(limits_module, "monotonic", lambda: now[0])

    def late(request):
        now[0] += 11
        raise ModelError("late", kind="timeout")

    agent = Agent("a", ScriptedLLM([late] * 4), limits=Limits(deadline=10), retry=Retry(shortest=0, longest=0))
    assert agent.run("go").status == "limit_reached"


def test_the_same_run_has_no_limit_in_a_replay():
    agent = looking(Usage(90, 10), limits=Limits(max_tokens=200))
    result = agent.run("go")
    assert agent.replay(result.events).events == result.events


class Silent(ScriptedLLM):
    """Says nothing of its tokens."""

    def stream(self, request):
        for piece in super().stream(request):
            yield msgspec.structs.replace(piece, usage=None) if isinstance(piece, ModelReply) else piece

    async def astream(self, request):
        for piece in self.stream(request):
            yield piece


def delegating(scripts, limits, model=ScriptedLLM):
    """Agents inside each other, the outermost with limits. `scripts`: theirs, from the outermost on."""
    agent = None
    for number, script in reversed(list(enumerate(scripts))):
        tools = [look] if agent is None else [look, AgentTool(agent)]
        options = {"limits": limits} if number == 0 else {}
        agent = Agent(f"a{number}", model(script), tools=tools, retry=Retry(shortest=0, longest=0), **options)
    return agent


def ask(number):
    return ScriptedLLM.tool_call(f"a{number}", {"task": "Look."})


SCRIPTS_INSIDE = (
    [ask(1), ask(1), "Done."],
    [ScriptedLLM.tool_call("look"), ask(2), "One.", "Two."],
    [ModelError("busy", kind="overloaded"), ScriptedLLM.tool_call("look"), "Three."],
)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("model", [ScriptedLLM, Silent])
@pytest.mark.parametrize(
    "limits",
    [*[Limits(max_llm_calls=n) for n in range(6, 11)]]
    + [Limits(max_tool_calls=n) for n in range(3, 7)]
    + [Limits(max_tokens=n) for n in (300, 400, 500, 600, 700, 780, 800)],
    ids=lambda limits: " ".join(f"{n} {v}" for n, v in msgspec.structs.asdict(limits).items() if v is not None),
)
def test_a_run_that_is_gone_on_with_counts_what_agents_inside_have_used(limits, model, asynchronous):
    whole = delegating(SCRIPTS_INSIDE, limits, model).run("go")
    ended = [i for i, e in enumerate(whole.events) if isinstance(e, ToolReturned) and e.turn == 1]
    for cut in range(ended[0] + 1, len(whole.events)) if ended else ():
        agent = delegating(SCRIPTS_INSIDE, limits, model)
        prefix = whole.events[:cut]
        again = asyncio.run(agent.areplay(prefix)) if asynchronous else agent.replay(prefix, unknown="run_again")
        assert (again.status, again.stop_reason) == (whole.status, whole.stop_reason), prefix[-1]
        if limits.max_tool_calls is None:
            assert again.usage == whole.usage
        else:  # where a run inside has ended by it, the model is asked once more
            assert again.usage.tool_calls == whole.usage.tool_calls


def test_what_was_used_inside_is_no_limit_for_what_is_recorded():
    whole = delegating(SCRIPTS_INSIDE, None).run("go")
    less = delegating(([], [], []), Limits(max_llm_calls=1, max_tool_calls=1, max_tokens=1))
    assert less.replay(whole.events) == whole


def test_max_tokens_is_in_every_request_and_in_its_fingerprint():
    agent = looking(None, 1, max_tokens=77)
    result = agent.run("go")
    assert [request.max_tokens for request in agent.model.requests] == [77, 77]
    other = looking(None, 1, max_tokens=78).run("go")
    assert result.events[2] != other.events[2]


# what the agent itself tells the model


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_same_call_with_the_same_result_three_times_asks_to_conclude(asynchronous):
    agent = looking(None, 4)
    result = asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")
    [note] = [event for event in result.events if isinstance(event, Noted)]
    assert note.turn == 3
    assert note.text.startswith("look was called 3 times, always with the same result.")
    asked = agent.model.requests[3].messages
    assert (asked[-1].role, asked[-1].content) == ("user", note.text)
    plain = result._repr_mimebundle_()["text/plain"]
    assert f"the agent told the model\n    {note.text}" in plain
    assert note.text.split(".")[0] in result._repr_mimebundle_()["text/html"]
    assert agent.replay(result.events).events == result.events


def test_other_arguments_or_another_result_are_no_loop():
    places = [ScriptedLLM.tool_call("look", {"place": f"{i}"}) for i in range(5)]
    result = Agent("a", ScriptedLLM([*places, "Done."]), tools=[look]).run("go")
    assert not any(isinstance(event, Noted) for event in result.events)
    count = iter(range(9))

    @tool
    def roll() -> int:
        """Roll."""
        return next(count)

    result = Agent("a", ScriptedLLM([ScriptedLLM.tool_call("roll")] * 5 + ["Done."]), tools=[roll]).run("go")
    assert not any(isinstance(event, Noted) for event in result.events)


def test_what_is_said_about_an_empty_reply_is_an_event():
    result = Agent("a", ScriptedLLM(["", "Hi."])).run("go")
    assert [event.text for event in result.events if isinstance(event, Noted)] == [DEFAULT["loop.empty_reply"]]
    assert DEFAULT["loop.empty_reply"] in result._repr_mimebundle_()["text/plain"]


# images


def test_images_are_in_the_request_the_prompt_the_history_and_the_views(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    pil = pytest.importorskip("PIL.Image")
    figure, axes = plt.subplots()
    axes.set_title("Prices")
    (tmp_path / "x.png").write_bytes(PNG)
    agent = Agent("a", ScriptedLLM(["Nice.", "Yes."]))
    shown = [figure, tmp_path / "x.png", str(tmp_path / "x.png"), PNG, Image(PNG), pil.new("RGB", (2, 2))]
    result = agent.run("What is this?", images=shown)
    [message] = agent.model.requests[0].messages
    assert [image.caption for image in message.images] == ["Prices", "x.png", "x.png", "image", "", "image"]
    assert result.prompt.images == message.images == agent.history[0].images
    plain = result._repr_mimebundle_()["text/plain"]
    assert "image 1: Prices" in plain
    assert "image 2: x.png" in plain
    assert "image 1" in result._repr_mimebundle_()["text/html"]
    assert agent.replay(result.events) == result
    agent.run("Sure?")
    assert agent.model.requests[1].messages[0].images == message.images


@pytest.mark.parametrize(
    ("wrong", "says"), [("nowhere.png", "'nowhere.png' cannot be read"), (3, "got int"), (b"GIF", "got bytes")]
)
def test_what_is_no_image_is_an_error_before_anything_runs(wrong, says):
    agent = Agent("a", ScriptedLLM(["Hi."]))
    with pytest.raises(ConfigError, match=says):
        agent.run("go", images=[wrong])
    assert (agent.last, agent.model.requests) == (None, ())


def test_a_file_that_is_no_picture_is_refused(tmp_path):
    (tmp_path / "x.txt").write_text("hello")
    with pytest.raises(ConfigError, match="neither a PNG nor a JPEG"):
        Agent("a", ScriptedLLM(["Hi."])).run("go", images=[tmp_path / "x.txt"])


def test_another_image_is_another_request():
    buffer = io.BytesIO(PNG)
    first, second = (
        Agent("a", ScriptedLLM(["Hi."])).run("go", images=[image]) for image in (buffer.getvalue(), PNG + b"2")
    )
    assert first.events[2] != second.events[2]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_reply_that_reaches_max_tokens_is_a_limit_and_runs_none_of_its_calls(asynchronous):
    call = ToolCall("1", "look", '{"pla')
    agent = Agent("a", ScriptedLLM([ModelReply("Let me", (call,), None, "length")]), tools=[look], max_tokens=7)
    result = asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")
    assert (result.status, result.usage.tool_calls, agent.history) == ("limit_reached", 0, ())
    assert result.stop_reason == "the reply of turn 1 reached max_tokens=7; none of its 1 tool calls was run"
    assert agent.replay(result.events).events == result.events
    # The limit of the model itself is nobody's wish: an error.
    with pytest.raises(ModelError, match="is longer than the model may write") as raised:
        Agent("a", ScriptedLLM([ModelReply("Let me", (), None, "length")])).run("go")
    assert raised.value.kind == "incomplete"


def test_an_error_that_is_not_tried_again_is_not_hidden_by_a_limit():
    agent = Agent("a", ScriptedLLM([ModelError("bad key", kind="auth")]), limits=Limits(max_llm_calls=1))
    with pytest.raises(ModelError, match="bad key"):
        agent.run("go")
    assert agent.last.status == "failed"


def test_each_attempt_counts_as_a_model_call():
    busy = ModelError("busy", kind="overloaded")
    agent = Agent(
        "a", ScriptedLLM([busy] * 3 + ["ok"]), limits=Limits(max_llm_calls=2), retry=Retry(shortest=0, longest=0)
    )
    assert agent.run("go").stop_reason == "the limit is 2 model calls, and all are used"
    assert agent.model.position == 2
