"""Hooks: asked before a model or a tool is called, told of what happens; a replay needs none."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from nbagent import Agent, Limits, ScriptedLLM, Tool, ToolResponse, tool
from nbagent.agents.hook import Veto
from nbagent.agents.plan_agent import PlanAgent
from nbagent.agents.reflection_agent import ReflectionAgent
from nbagent.agents.sub_agent import AgentTool
from nbagent.errors import ConfigError, DriftError, GuardrailTripped, ModelError, Vetoed
from nbagent.events import (
    ModelReplied,
    ModelRequested,
    Nested,
    PromptAssembled,
    RequestEdited,
    RunFinished,
    RunStarted,
    Stretch,
    ToolReturned,
    ToolStarted,
)
from nbagent.messages import Message, ToolCall

call = ScriptedLLM.tool_call
ran: list = []
heard: list = []
both = pytest.mark.parametrize("asynchronous", [False, True])
TOOLS = [call("add", {"a": 1, "b": 2}), "Three."]


@pytest.fixture(autouse=True)
def nothing_happened():
    ran.clear()
    heard.clear()


@tool
def add(a: int, b: int) -> int:
    """Add."""
    ran.append((a, b))
    return a + b


@tool(parallel=True)
def double(i: int) -> int:
    """Double."""
    ran.append(i)
    return 2 * i


def run(agent, task="go", asynchronous=False, **options):
    return asyncio.run(agent.arun(task, **options)) if asynchronous else agent.run(task, **options)


def replay(agent, events, asynchronous=False, **options):
    return asyncio.run(agent.areplay(events, **options)) if asynchronous else agent.replay(events, **options)


def agent_of(script, *hooks, **options):
    llm = script if isinstance(script, ScriptedLLM) else ScriptedLLM(script)
    return Agent("a", llm, "Be brief.", tools=[add, double], hooks=hooks, **options)


def keep(messages):
    return messages


def keep_as_tuple(messages):
    return tuple(messages)


def said(request):
    return [message.content for message in request.messages]


class All:
    """Writes down what it is asked and told."""

    def on_event(self, event):
        heard.append(type(event).__name__)

    def before_model(self, messages):
        heard.append(("before_model", [message.content for message in messages]))

    def before_tool(self, name, arguments):
        heard.append(("before_tool", name, arguments))

    def on_run_start(self, text, *, scope=None):
        heard.append(("on_run_start", text, scope))

    def after_model(self, reply):
        heard.append(("after_model", reply.content))

    def after_tool(self, name, arguments, response):
        heard.append(("after_tool", name, arguments, response))

    def on_guardrail_trip(self, stage, message):
        heard.append(("on_guardrail_trip", stage, message))

    def on_interrupt(self, pendings, *, scope=None):
        heard.append(("on_interrupt", [pending.tool_name for pending in pendings], scope))

    def on_error(self, error):
        heard.append(("on_error", repr(error)))

    def on_run_end(self, output, *, scope=None):
        heard.append(("on_run_end", output, scope))


class AllLater(All):
    """The same, each of them async."""


def _later(name):
    async def method(self, *args, **keywords):
        await asyncio.sleep(0)
        return getattr(All, name)(self, *args, **keywords)

    return method


for _name in [name for name in vars(All) if not name.startswith("_")]:
    setattr(AllLater, _name, _later(_name))


# told


@both
@pytest.mark.parametrize("kind", [All, AllLater])
def test_a_hook_is_asked_and_told_in_order(kind, asynchronous):
    run(agent_of(TOOLS, kind()), "go", asynchronous, scope="s")
    assert heard == [
        "RunStarted",
        ("on_run_start", "go", "s"),
        "PromptAssembled",
        ("before_model", ["Be brief.", "go"]),
        "ModelRequested",
        "ModelReplied",
        ("after_model", ""),
        ("before_tool", "add", {"a": 1, "b": 2}),
        "ToolStarted",
        "ToolReturned",
        ("after_tool", "add", {"a": 1, "b": 2}, ToolResponse("3", "success", 3)),
        ("before_model", ["Be brief.", "go", "", "3"]),
        "ModelRequested",
        "ModelReplied",
        ("after_model", "Three."),
        "RunFinished",
        ("on_run_end", "Three.", "s"),
    ]


@both
def test_a_listener_hears_every_event_once_and_before_the_stream_gives_it(asynchronous):
    events = []
    agent = agent_of([[call("double", {"i": i}) for i in range(4)], "Done."], events.append)

    async def streamed():
        return [(event, events[-1]) async for event in agent.astream("go")]

    pairs = asyncio.run(streamed()) if asynchronous else [(event, events[-1]) for event in agent.stream("go")]
    journaled = [(event, newest) for event, newest in pairs if event in agent.last.events]
    assert all(event is newest for event, newest in journaled)
    assert len(events) == len(agent.last.events)
    assert sorted(map(repr, events)) == sorted(map(repr, agent.last.events))


@both
def test_input_fields_are_told_as_lines(asynchronous):
    run(agent_of(["ok"], All()), {"city": "Oslo", "days": 3}, asynchronous)
    assert heard[1] == ("on_run_start", "city: Oslo\ndays: 3", None)


@both
def test_a_failed_run_tells_of_its_error(asynchronous):
    agent = agent_of([ModelError("no")], All())
    with pytest.raises(ModelError):
        run(agent, "go", asynchronous)
    assert heard[-2:] == ["RunFinished", ("on_error", "ModelError('no')")]


@both
def test_a_guardrail_that_trips_is_no_error(asynchronous):
    agent = agent_of(["ok"], All(), input_guardrails=[lambda text: "no"])
    with pytest.raises(GuardrailTripped):
        run(agent, "go", asynchronous)
    assert heard == [
        "RunStarted",
        ("on_run_start", "go", None),
        "Guarded",
        ("on_guardrail_trip", "input", "no"),
        "RunFinished",
    ]


@both
def test_a_run_that_waits_tells_what_for(asynchronous):
    whole = agent_of(TOOLS).run("go")
    cut = next(i for i, e in enumerate(whole.events) if isinstance(e, ToolStarted)) + 1
    paused = replay(agent_of(TOOLS, All()), whole.events[:cut], asynchronous)
    assert (paused.status, heard) == ("interrupted", ["RunFinished", ("on_interrupt", ["add"], None)])


@both
def test_out_of_turns_is_an_end_without_an_output(asynchronous):
    run(agent_of(TOOLS, All(), max_turns=1), "go", asynchronous)
    assert heard[-1] == ("on_run_end", None, None)


@both
def test_a_cancelled_run_is_heard_of(asynchronous):
    @tool
    def stop() -> None:
        """Stop."""
        raise KeyboardInterrupt

    agent = Agent("a", ScriptedLLM([call("stop")]), tools=[stop], hooks=[All()])
    with pytest.raises(asyncio.CancelledError if asynchronous else KeyboardInterrupt):
        run(agent, "go", asynchronous)
    assert (agent.last.status, heard[-1]) == ("cancelled", "RunFinished")


@both
def test_a_closed_stream_is_heard_of(asynchronous):
    agent = agent_of(TOOLS, AllLater(), lambda event: None)

    async def first():
        events = agent.astream("go")
        await anext(events)
        await events.aclose()

    if asynchronous:
        asyncio.run(first())
    else:
        events = agent.stream("go")
        next(events)
        events.close()
    assert (agent.last.status, heard[-1]) == ("cancelled", "RunFinished")


@both
def test_a_task_that_is_cancelled_while_a_hook_waits_is_cancelled(asynchronous):
    class Waits:
        async def on_run_start(self, text, *, scope=None):
            await asyncio.sleep(30)

    agent = agent_of(TOOLS, Waits(), All())

    async def main():
        task = asyncio.ensure_future(agent.arun("go"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert (agent.last.status, heard[-1]) == ("cancelled", "RunFinished")


def test_a_tool_that_was_refused_is_none_that_has_run():
    agent_of([[call("add", {"a": "x"}), call("nothing"), call("add", {"a": 1, "b": 1})], "ok"], All()).run("go")
    assert [one[1:3] for one in heard if one[0] == "after_tool"] == [("add", {"a": 1, "b": 1})]
    assert [one[1:] for one in heard if one[0] == "before_tool"] == [("add", {"a": 1, "b": 1})]


def test_think_and_act_ask_the_hooks_too():
    agent = agent_of([call("add", {"a": 1, "b": 2})], All(), lambda event: None)
    thought = agent.think([{"role": "user", "content": "hi"}])
    agent.act(thought["content"])
    assert ("before_model", ["hi"]) in heard
    assert ("before_tool", "add", {"a": 1, "b": 2}) in heard


# before_model


class Before:
    """Answers `before_model`, each time with what a function makes of the messages."""

    def __init__(self, edit, name="editor"):
        self.edit = edit
        self.name = name

    def before_model(self, messages):
        return self.edit(messages)


class BeforeLater(Before):
    async def before_model(self, messages):
        await asyncio.sleep(0)
        return self.edit(messages)


def mask(messages):
    return [Message(m.role, m.content.replace("1234", "****"), m.tool_calls, m.tool_call_id) for m in messages]


def as_dicts(messages):
    return [{"role": "user", "content": "as a dict"}]


@both
@pytest.mark.parametrize("kind", [Before, BeforeLater])
def test_what_is_sent_can_be_changed_for_one_request(kind, asynchronous):
    more = [[Message("user", "Hurry.")], None]
    agent = agent_of(TOOLS, kind(lambda messages: [*messages, *said] if (said := more.pop(0)) else None))
    result = run(agent, "go", asynchronous)
    assert [said(request) for request in agent.model.requests] == [
        ["Be brief.", "go", "Hurry."],
        ["Be brief.", "go", "", "3"],
    ]
    assert [said(request) for request in agent.requests] == [said(request) for request in agent.model.requests]
    edited, requested = result.events[2:4]
    hurry = Stretch("new", messages=(Message("user", "Hurry."),))
    assert (edited.turn, edited.hook, edited.stretches) == (1, "editor", (Stretch("request", 0, 2), hurry))
    request = agent.model.requests[0]
    assert requested.fingerprint == request.fingerprint() == agent.requests[0].fingerprint()
    assert agent.history[0].content == "go"


@both
def test_messages_may_be_dicts_and_the_next_hook_sees_them(asynchronous):
    seen = []
    agent = agent_of(["ok"], Before(as_dicts, "one"), Before(seen.append, "two"), Before(lambda m: [*m, *m], "three"))
    result = run(agent, "go", asynchronous)
    assert [m.content for m in seen[0]] == ["as a dict"]
    assert said(agent.model.requests[0]) == ["as a dict", "as a dict"]
    assert next(e for e in result.events if isinstance(e, RequestEdited)).hook == "one, three"


@both
def test_changes_in_place_change_nothing(asynchronous):
    class Rude:
        def before_model(self, messages):
            messages.clear()

        def before_tool(self, name, arguments):
            arguments.clear()

        def after_tool(self, name, arguments, response):
            arguments.clear()

    agent = agent_of(TOOLS, Rude(), All())
    whole = agent_of(TOOLS).run("go")
    assert run(agent, "go", asynchronous) == whole
    assert ("before_tool", "add", {"a": 1, "b": 2}) in heard


def test_the_same_messages_are_no_change():
    result = agent_of(TOOLS, Before(keep), Before(keep_as_tuple)).run("go")
    assert result == agent_of(TOOLS).run("go")


@both
def test_a_vetoed_model_call_ends_the_run(asynchronous):
    agent = agent_of(TOOLS, Before(lambda messages: Veto("too late") if len(messages) > 2 else None), All())
    with pytest.raises(Vetoed, match=r"the hook 'editor' does not let the model be called: too late") as caught:
        run(agent, "go", asynchronous)
    assert (caught.value.hook, caught.value.reason) == ("editor", "too late")
    assert (agent.last.status, agent.last.stop_reason) == ("failed", f"Vetoed: {caught.value}")
    assert (len(agent.model.requests), agent.history, ran) == (1, (), [(1, 2)])
    assert heard[-1] == ("on_error", repr(caught.value))


@both
@pytest.mark.parametrize("answer", [3, "text", [], [3], [{"role": "nobody"}], {"role": "user"}, True, False, object()])
def test_nonsense_of_before_model_says_what_was_expected(answer, asynchronous):
    agent = agent_of(TOOLS, Before(lambda messages: answer))
    with pytest.raises(ConfigError, match=r"before_model of the hook 'editor': .*expected"):
        run(agent, "go", asynchronous)
    assert (agent.last.status, list(agent.model.requests)) == ("failed", [])


# before_tool


class BeforeTool:
    """Answers `before_tool` with this, or with what it makes of the arguments."""

    def __init__(self, answer):
        self.answer = answer

    def before_tool(self, name, arguments):
        return self.answer(arguments) if callable(self.answer) else self.answer


class BeforeToolLater(BeforeTool):
    async def before_tool(self, name, arguments):
        await asyncio.sleep(0)
        return BeforeTool.before_tool(self, name, arguments)


@both
@pytest.mark.parametrize("kind", [BeforeTool, BeforeToolLater])
def test_arguments_can_be_changed(kind, asynchronous):
    agent = agent_of(
        TOOLS, kind(lambda arguments: {**arguments, "b": 40}), kind(lambda a: {**a, "a": a["a"] + 1}), All()
    )
    result = run(agent, "go", asynchronous)
    assert ran == [(2, 40)]
    started = next(e for e in result.events if isinstance(e, ToolStarted))
    assert started.call == ToolCall("call_1", "add", '{"a":2,"b":40}')
    assert (result.tool_calls[0].call, result.tool_calls[0].observation.text) == (started.call, "42")
    assert agent.model.requests[1].messages[-2].tool_calls[0].arguments == '{"a": 1, "b": 2}'  # the model's own words
    assert ("after_tool", "add", {"a": 2, "b": 40}, ToolResponse("42", "success", 42)) in heard


def test_the_same_arguments_are_no_change():
    result = agent_of(TOOLS, BeforeTool(keep)).run("go")
    assert result == agent_of(TOOLS).run("go")


@both
def test_changed_arguments_are_checked_as_the_models_own(asynchronous):
    result = run(agent_of(TOOLS, BeforeTool({"a": 1})), "go", asynchronous)
    observation = result.tool_calls[0].observation
    assert (ran, observation.error.kind, result.status) == ([], "invalid_arguments", "completed")
    assert "b" in observation.text


@both
def test_a_vetoed_call_does_not_run_and_the_model_goes_on(asynchronous):
    script = [[call("double", {"i": 1}), call("double", {"i": 2})], "Done."]
    agent = agent_of(script, BeforeToolLater(lambda a: Veto("not this one") if a["i"] == 1 else None), All())
    result = run(agent, "go", asynchronous)
    first, second = result.tool_calls
    assert (first.observation.status, first.observation.error.kind, first.observation.text) == (
        "error",
        "denied",
        "not this one",
    )
    assert (second.observation.text, ran, result.final_output) == ("4", [2], "Done.")
    assert [e.index for e in result.events if isinstance(e, ToolStarted)] == [1]
    assert [e.index for e in result.events if isinstance(e, ToolReturned)] == [0, 1]
    assert not [one for one in heard if one[0] == "after_tool" and one[2] == {"i": 1}]


def test_a_vetoed_call_does_not_count():
    script = [call("add", {"a": 1, "b": 1}), call("add", {"a": 2, "b": 2}), "Done."]
    vetoes = [Veto("no"), None]
    agent = agent_of(script, BeforeTool(lambda arguments: vetoes.pop(0)), limits=Limits(max_tool_calls=1))
    assert (agent.run("go").status, ran) == ("completed", [(2, 2)])


@both
@pytest.mark.parametrize(
    "answer", [3, "text", [], True, {"a": object()}, {"a": float("nan")}, ToolCall("1", "add", "{}")]
)
def test_nonsense_of_before_tool_says_what_was_expected(answer, asynchronous):
    agent = agent_of(TOOLS, BeforeTool(answer))
    with pytest.raises(ConfigError, match="before_tool of the hook 'BeforeTool': expected"):
        run(agent, "go", asynchronous)
    assert (agent.last.status, ran) == ("failed", [])


@pytest.mark.parametrize("reason", ["", " ", None, 3])
def test_a_veto_without_a_reason(reason):
    result = agent_of(TOOLS, BeforeTool(Veto(reason))).run("go")
    assert result.tool_calls[0].observation.text == "a hook does not let it be called"


@both
def test_nothing_has_started_side_by_side_before_all_have_been_asked_about(asynchronous):
    def fail(arguments):
        if arguments["i"] == 2:
            raise ValueError("mine")

    agent = agent_of([[call("double", {"i": i}) for i in range(3)], "Done."], BeforeTool(fail))
    with pytest.raises(ValueError, match="mine"):
        run(agent, "go", asynchronous)
    assert (ran, [e for e in agent.last.events if isinstance(e, ToolStarted)]) == ([], [])


# hooks that raise


@both
@pytest.mark.parametrize("kind", [RunStarted, PromptAssembled, ModelRequested, ModelReplied, ToolStarted, ToolReturned])
@pytest.mark.parametrize("error", [ValueError, ModelError, SystemExit, StopIteration])
def test_a_listener_that_raises_fails_the_run_with_that(kind, error, asynchronous):
    def listener(event):
        if isinstance(event, kind):
            raise error("mine")

    agent = agent_of(TOOLS, listener, All())
    expected = RuntimeError if error is StopIteration else error
    with pytest.raises(expected, match="mine") as caught:
        run(agent, "go", asynchronous)
    assert (type(caught.value), agent.last.status) == (expected, "failed")  # not taken for the model's error
    assert agent.last.usage.llm_calls <= 1
    assert heard[-1] == ("on_error", repr(caught.value))


@both
def test_one_that_raises_side_by_side_ends_all(asynchronous):
    def listener(event):
        if isinstance(event, ToolReturned):
            raise ValueError("mine")

    agent = agent_of([[call("double", {"i": i}) for i in range(8)], "Done."], listener)
    with pytest.raises(ValueError, match="mine"):
        run(agent, "go", asynchronous)
    assert agent.last.status == "failed"


@both
def test_what_is_raised_after_the_end_is_raised_and_the_run_stays(asynchronous):
    class Late:
        def on_run_end(self, output, *, scope=None):
            raise ValueError("late")

    agent = agent_of(["ok"], Late())
    with pytest.raises(ValueError, match="late"):
        run(agent, "go", asynchronous)
    assert (agent.last.status, agent.last.final_output) == ("completed", "ok")


@both
def test_what_is_raised_about_an_error_is_a_note_of_it(asynchronous):
    class Worse:
        def on_error(self, error):
            raise KeyError("worse")

    agent = agent_of([ModelError("bad")], Worse(), All())
    with pytest.raises(ModelError, match="bad") as caught:
        run(agent, "go", asynchronous)
    assert caught.value.__notes__ == ["a hook that was told of it raised KeyError: 'worse'"]
    assert heard[-1] == ("on_error", repr(caught.value))


@both
@pytest.mark.parametrize("hook", [Before, BeforeTool])
def test_ctrl_c_in_a_hook_cancels(hook, asynchronous):
    def stop(given):
        raise KeyboardInterrupt

    agent = agent_of(TOOLS, hook(stop))
    with pytest.raises(asyncio.CancelledError if asynchronous else KeyboardInterrupt):
        run(agent, "go", asynchronous)
    assert agent.last.status == "cancelled"


@both
@pytest.mark.parametrize("kind", [RunStarted, ToolReturned, RunFinished])
def test_ctrl_c_in_a_listener_cancels(kind, asynchronous):
    def listener(event):
        if isinstance(event, kind):
            raise KeyboardInterrupt

    agent = agent_of(TOOLS, listener)
    with pytest.raises(asyncio.CancelledError if asynchronous else KeyboardInterrupt):
        run(agent, "go", asynchronous)
    assert agent.last.status == ("completed" if kind is RunFinished else "cancelled")


# what is a hook


@pytest.mark.parametrize(
    ("hook", "told"),
    [
        (object(), "expected a function of an event, or an object with one of the methods on_event, before_model"),
        (3, "expected a function"),
        ("audit", "expected a function"),
        (All, r"got the class All; write All\(\)"),
        (None, "expected a function"),
        (type("Odd", (), {"before_tools": lambda self, name: None})(), "'before_tools'; did you mean 'before_tool'?"),
        (type("Odd", (), {"on_events": print, "on_event": print})(), "'on_events'; did you mean 'on_event'?"),
        (type("Odd", (), {"onRunStart": print})(), "'onRunStart'; did you mean 'on_run_start'?"),
    ],
)
def test_what_is_no_hook_is_said_at_once(hook, told):
    with pytest.raises(ConfigError, match=told):
        agent_of([], hook)


@pytest.mark.parametrize("hooks", [All(), print, "x", {}])
def test_hooks_are_a_list(hooks):
    with pytest.raises(ConfigError, match="hooks: expected a list of hooks"):
        Agent("a", ScriptedLLM([]), hooks=hooks)


def test_other_methods_are_nobodys_business():
    class Mine:
        on_air = True

        def on_event(self, event):
            heard.append(event)

        def before_lunch(self): ...

        def after(self): ...

    agent_of(["ok"], Mine()).run("go")
    assert len(heard) == 5


def test_hooks_of_one_class_have_names_of_their_own():
    agent = agent_of([], All(), All(), print, Before(mask, "x"))
    assert [hook.name for hook in agent.hooks] == ["All", "All 2", "print", "x"]


def test_plans_and_reflections_have_hooks():
    plan = PlanAgent(
        "p", ScriptedLLM(['["one"]', *TOOLS, "All."]), tools=[add], hooks=[All(), BeforeTool({"a": 5, "b": 5})]
    )
    assert plan.run("go").final_output == "All."
    assert (ran, heard[-1]) == ([(5, 5)], ("on_run_end", "All.", None))
    assert heard.count("StepStarted") == 3
    heard.clear()
    reflection = ReflectionAgent("r", ScriptedLLM(["Draft 1234.", "GOOD ENOUGH"]), hooks=[All(), Before(mask)])
    reflection.run("my 1234")
    assert all("1234" not in text for request in reflection.model.requests for text in said(request))
    assert heard[-1] == ("on_run_end", "Draft 1234.", None)


@both
def test_hooks_are_those_of_one_agent_and_its_listeners_hear_what_happens_inside(asynchronous):
    events = []
    inner = Agent("inner", ScriptedLLM([*TOOLS]), "Add.", tools=[add], hooks=[BeforeTool({"a": 7, "b": 7})])
    outer = Agent(
        "outer",
        ScriptedLLM([call("inner", {"task": "1 + 2"}), "Done."]),
        tools=[AgentTool(inner)],
        hooks=[All(), events.append],
    )
    run(outer, "go", asynchronous)
    assert ran == [(7, 7)]
    asked = [one[:3] for one in heard if one[0] in ("before_tool", "after_tool")]
    assert asked == [("before_tool", "inner", {"task": "1 + 2"}), ("after_tool", "inner", {"task": "1 + 2"})]
    inside = [event.event for event in events if isinstance(event, Nested)]
    assert inside == list(inner.last.events)
    assert events == list(outer.last.events)


@both
def test_a_vetoed_model_call_inside_is_an_observation(asynchronous):
    inner = Agent("inner", ScriptedLLM([]), "Add.", hooks=[Before(lambda messages: Veto("not now"))])
    outer = Agent("outer", ScriptedLLM([call("inner", {"task": "x"}), "Done."]), tools=[AgentTool(inner)])
    result = run(outer, "go", asynchronous)
    assert (
        "Vetoed: the hook 'editor' does not let the model be called: not now" in result.tool_calls[0].observation.text
    )
    assert result.final_output == "Done."


# replay


def edited():
    """Hooks that change everything, and write down what they are asked and told."""
    return (
        Before(lambda messages: heard.append("model") or mask(messages)),
        BeforeTool(lambda arguments: heard.append("tool") or (Veto("no") if "i" in arguments else {"a": 20, "b": 20})),
        heard.append,
    )


CASES = {
    "chat": (
        lambda llm, hooks: agent_of(llm, *hooks),
        [[*TOOLS[:1], call("double", {"i": 1}, call_id="d")], TOOLS[0], "1234"],
    ),
    "together": (
        lambda llm, hooks: Agent("a", llm, tools=[double], hooks=hooks),
        [[call("double", {"i": i}) for i in range(3)], "1234"],
    ),
    "plan": (
        lambda llm, hooks: PlanAgent("p", llm, tools=[add], hooks=hooks),
        ['["one 1234", "two"]', *TOOLS, "second", "All 1234."],
    ),
    "reflection": (
        lambda llm, hooks: ReflectionAgent("r", llm, hooks=hooks),
        ["Draft 1234.", "Mend.", "New.", "GOOD ENOUGH"],
    ),
    "nested": (
        lambda llm, hooks: Agent(
            "o",
            llm,
            tools=[AgentTool(Agent("i", llm, "Add 1234.", tools=[Tool(add, idempotent=True)], hooks=edited()))],
            hooks=hooks[::2],
        ),
        [call("i", {"task": "my 1234"}), *TOOLS, "1234"],
    ),
}


@both
@pytest.mark.parametrize("case", CASES)
def test_a_whole_journal_needs_no_hook(case, asynchronous):
    make, script = CASES[case]
    whole = make(ScriptedLLM(script), edited()).run("my 1234")
    heard.clear()
    ran.clear()
    assert any(isinstance(event, RequestEdited) for event in whole.events) or case == "together"
    for hooks in ((), edited()):
        again = replay(make(ScriptedLLM([]), hooks), whole.events, asynchronous)
        assert (again, again.events) == (whole, whole.events)
    assert (heard, ran) == ([], [])


@both
@pytest.mark.parametrize("case", CASES)
def test_a_journal_cut_after_any_event_asks_and_tells_what_is_new(case, asynchronous):
    make, script = CASES[case]
    whole = make(ScriptedLLM(script), edited()).run("my 1234")
    for cut in range(1, len(whole.events)):
        prefix = whole.events[:cut]
        heard.clear()
        again = replay(make(ScriptedLLM(script), edited()), prefix, asynchronous, unknown="run_again")
        assert again == whole, f"cut after {prefix[-1]}"
        told = [event for event in heard if not isinstance(event, str)]
        inner = [event for event in told if not isinstance(event, Nested)]
        new = [event for event in whole.events[cut:] if not isinstance(event, Nested)]
        assert all(event in told for event in whole.events[cut:])
        if case != "nested":  # there the hooks of both agents write into one list
            assert sorted(map(repr, inner)) == sorted(map(repr, new))
            asked = sum(isinstance(event, ModelRequested) for event in new)
            edits = sum(isinstance(event, RequestEdited) for event in whole.events[:cut][-1:])
            assert heard.count("model") == asked - edits


def test_a_call_that_was_started_runs_with_the_arguments_it_was_started_with():
    whole = agent_of(TOOLS, BeforeTool({"a": 20, "b": 22})).run("go")
    cut = next(i for i, e in enumerate(whole.events) if isinstance(e, ToolStarted)) + 1
    ran.clear()
    again = agent_of(TOOLS, BeforeTool({"a": 0, "b": 0})).replay(whole.events[:cut], unknown="run_again")
    assert (ran, again) == ([(20, 22)], whole)
    assert agent_of(TOOLS).replay(whole.events[:cut]).interrupt.pending.arguments == '{"a":20,"b":22}'


def test_another_request_under_a_recorded_change_is_drift():
    whole = agent_of(TOOLS, Before(mask)).run("my 1234")
    events = [e for e in whole.events if not isinstance(e, RunFinished)]
    place = next(i for i, e in enumerate(events) if isinstance(e, RequestEdited))
    edit = events[place]
    events[place] = RequestEdited(edit.turn, edit.hook, edit.stretches, "another")
    with pytest.raises(DriftError, match="turn 1: the request differs from the one that editor changed"):
        agent_of(TOOLS).replay(events)


def label_first(messages):
    return [Message("system", f"{messages[0].content} {len(messages)} messages."), *messages[1:]]


def insert_between(messages):
    return [one for message in messages for one in (message, Message("user", "Go on."))]


EDITORS = {
    "adds one": lambda messages: [*messages, Message("user", "Hurry.")],
    "changes the first": label_first,
    "changes the first and adds one": lambda messages: [*label_first(messages), Message("user", "Hurry.")],
    "changes all that is old": lambda messages: [
        Message("tool", "(left out)", tool_call_id=m.tool_call_id) if m.role == "tool" and m is not messages[-1] else m
        for m in messages
    ],
    "keeps the newest": lambda messages: [messages[0], *messages[1:][-6:]],
    "adds the same between all": insert_between,
    "makes all the same": lambda messages: [Message("user", "Go on.")] * len(messages),
}


def long_run(turns, editor):
    script = [call("add", {"a": turn, "b": turn}) for turn in range(turns)]
    agent = Agent("a", ScriptedLLM([*script, "Done."]), "Be brief.", tools=[add], max_turns=turns + 1)
    hooked = Agent("a", agent.model, "Be brief.", tools=[add], max_turns=turns + 1, hooks=[Before(editor)])
    return agent, hooked.run("go")


@pytest.mark.parametrize("editor", EDITORS.values(), ids=EDITORS)
def test_a_hook_that_edits_every_request_leaves_the_journal_linear(editor):
    def size(turns):
        events = long_run(turns, editor)[1].events
        assert sum(isinstance(event, RequestEdited) for event in events) >= turns - 2
        return len(msgspec.json.encode(events))

    assert size(200) <= 2.2 * size(100)


@pytest.mark.parametrize("editor", EDITORS.values(), ids=EDITORS)
def test_what_was_sent_is_sent_again_from_its_stretches(editor):
    agent, whole = long_run(8, editor)
    sent = [said(request) for request in agent.model.requests]
    for cut in (len(whole.events), *range(1, len(whole.events), 3)):
        llm = ScriptedLLM(agent.model.script) if cut < len(whole.events) else ScriptedLLM([])
        again = Agent("a", llm, "Be brief.", tools=[add], max_turns=9, hooks=[Before(editor)])
        assert again.replay(whole.events[:cut], unknown="run_again") == whole
        assert [said(request) for request in llm.requests] == sent[len(sent) - len(llm.requests) :]


def test_a_vetoed_run_is_vetoed_again():
    first = agent_of(TOOLS, Before(lambda messages: Veto("no")))
    with pytest.raises(Vetoed):
        first.run("go")
    assert agent_of([]).replay(first.last.events) == first.last


def test_a_run_with_changes_can_be_shown():
    result = agent_of([*TOOLS[:1], "1234"], Before(mask), BeforeTool({"a": 20, "b": 20})).run("my 1234")
    text = result._repr_mimebundle_()["text/plain"]
    assert "the hook editor changed what was sent" in text
    assert "40" in text


def test_what_is_kept_of_a_request_is_what_was_sent_also_of_runs_side_by_side():
    llm = ScriptedLLM(["one", "two"])
    agent = Agent("a", llm, hooks=[BeforeLater(lambda messages: [*messages, Message("user", "Hurry.")])])

    async def main():
        await asyncio.gather(agent.arun("1", scope="x"), agent.arun("2", scope="y"))

    asyncio.run(main())
    assert sorted(said(request)[-1] for request in agent.requests) == ["Hurry.", "Hurry."]


def test_without_hooks_nothing_is_wrapped():
    from nbagent.runtime.drivers import drive

    agent = agent_of(["ok"])
    with agent._running(agent._task("go")) as begun:
        assert begun.hooks is None
        events = drive(begun)
        assert events.__name__ == "_drive"
        assert list(events)[-1].final_output == "ok"
