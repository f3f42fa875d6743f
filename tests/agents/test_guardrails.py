"""Guardrails: what the user says and what the agent answers is checked, stopped or rewritten, and journaled."""

from __future__ import annotations

import asyncio
import copy
import pickle
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from nbagent import Agent, ScriptedLLM, tool
from nbagent.agents.guardrail import CallableGuardrail, Guardrail, Rewrite
from nbagent.agents.plan_agent import PlanAgent
from nbagent.agents.reflection_agent import ReflectionAgent
from nbagent.agents.sub_agent import AgentTool
from nbagent.errors import ConfigError, DriftError, GuardrailTripped
from nbagent.events import Guarded, ModelReplied, ModelRequested, PromptAssembled, RunFinished, RunStarted, ToolReturned
from nbagent.messages import Source

call = ScriptedLLM.tool_call
seen: list = []
both = pytest.mark.parametrize("asynchronous", [False, True])
AUTHOR = {"output": {"mood": "how it sounds"}, "prompt_template": "Read: {task}"}


@pytest.fixture(autouse=True)
def nothing_seen():
    seen.clear()


def run(agent, task="go", asynchronous=False, **options):
    return asyncio.run(agent.arun(task, **options)) if asynchronous else agent.run(task, **options)


def replay(agent, events, asynchronous=False, **options):
    return asyncio.run(agent.areplay(events, **options)) if asynchronous else agent.replay(events, **options)


def guarded(events):
    return [(e.stage, e.name, e.passed, e.message, e.text) for e in events if isinstance(e, Guarded)]


def see(text):
    seen.append(text)


async def see_later(text):
    await asyncio.sleep(0)
    seen.append(text)


def mask(text):
    return Rewrite(text.replace("1234", "****"))


def same(text):
    return Rewrite(text)


async def shout(text):
    await asyncio.sleep(0)
    return Rewrite(text.upper())


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@both
@pytest.mark.parametrize("check", [see, see_later])
def test_the_question_and_the_answer_are_checked_and_let_through(check, asynchronous):
    agent = Agent("a", ScriptedLLM(["Hello."]), input_guardrails=[check], output_guardrails=[check])
    result = run(agent, "hi", asynchronous)
    assert (seen, result.final_output) == (["hi", "Hello."], "Hello.")
    kinds = [type(event) for event in result.events]
    assert kinds == [RunStarted, Guarded, PromptAssembled, ModelRequested, ModelReplied, Guarded, RunFinished]
    assert guarded(result.events) == [
        ("input", check.__name__, True, "", None),
        ("output", check.__name__, True, "", None),
    ]


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda text: False, "it did not pass the check"),
        (lambda text: "no passwords", "no passwords"),
        (Guardrail(lambda text: False, message="not this"), "not this"),
        (Guardrail(lambda text: "said", message="not this"), "said"),
        (CallableGuardrail(lambda text: "password" not in text, message="no passwords"), "no passwords"),
        (SimpleNamespace(check=lambda text: SimpleNamespace(passed=False, message="mine")), "mine"),
        (SimpleNamespace(check=lambda text: SimpleNamespace(passed=False)), "it did not pass the check"),
        (lambda text: "", "it did not pass the check"),
    ],
)
@both
def test_the_first_that_fails_ends_the_run_before_anything_is_sent(check, message, asynchronous):
    llm = ScriptedLLM(["Hello."])
    agent = Agent("a", llm, input_guardrails=[see, check, see])
    with pytest.raises(GuardrailTripped) as caught:
        run(agent, "my password", asynchronous)
    error, result = caught.value, agent.last
    assert (error.stage, error.message, str(error).endswith(message)) == ("input", message, True)
    assert error.guardrail in str(error)
    assert (result.status, result.stop_reason) == ("failed", f"GuardrailTripped: {error}")
    assert (list(llm.requests), agent.history, seen) == ([], (), ["my password"])
    assert [event.passed for event in result.events if isinstance(event, Guarded)] == [True, False]


def test_an_answer_that_does_not_pass_is_not_remembered():
    agent = Agent("a", ScriptedLLM(["a secret", "Hello."]), output_guardrails=[lambda text: "secret" not in text])
    with pytest.raises(GuardrailTripped, match="output guardrail '<lambda>'"):
        agent.run("hi")
    assert (agent.history, agent.last.final_output) == ((), None)
    assert agent.run("hi").final_output == "Hello."
    assert [message.content for message in agent.history] == ["hi", "Hello."]


def test_the_error_can_be_copied_and_pickled():
    error = GuardrailTripped("no", stage="output", guardrail="mine")
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (str(again), again.message, again.stage, again.guardrail) == (str(error), "no", "output", "mine")


@both
def test_a_rewritten_question_is_what_is_sent_and_remembered(asynchronous):
    llm = ScriptedLLM(["Fine."])
    agent = Agent("a", llm, "Be brief.", input_guardrails=[mask, shout, see])
    result = run(agent, "pin 1234", asynchronous)
    assert seen == ["PIN ****"]
    assert [m.content for m in llm.requests[0].messages] == ["Be brief.", "PIN ****"]
    assert [m.content for m in agent.history] == ["PIN ****", "Fine."]
    assert result.prompt.spans[-1].source == Source("framework", "guardrail shout")
    assert result.prompt.spans[-1].text == "PIN ****"
    assert [text for *_, text in guarded(result.events)] == ["pin ****", "PIN ****", None]


def test_the_same_text_is_not_rewritten():
    result = Agent("a", ScriptedLLM(["Fine."]), input_guardrails=[same]).run("hi")
    assert [text for *_, text in guarded(result.events)] == [None]
    assert result.prompt.spans[-1].source.kind == "template"


def test_a_rewritten_task_goes_through_the_template_with_everything_else_as_before():
    plain = Agent("a", ScriptedLLM([]), instructions="About {topic}.", prompt_template="{task} in {language}")
    given = {"task": "pin 1234", "language": "French", "topic": "pins"}
    before = plain.observe(given)
    llm = ScriptedLLM(['{"output": "ok"}'])
    agent = Agent(
        "a", llm, instructions="About {topic}.", prompt_template="{task} in {language}", input_guardrails=[mask, see]
    )
    result = agent.run(given)
    assert seen == ["pin ****"]  # what the user said, not what the template adds
    assert result.prompt.system == before.system
    assert result.prompt.user == before.user.replace("1234", "****")
    assert {s.source for s in result.prompt.spans if s.text == "pin ****"} == {Source("framework", "guardrail mask")}
    assert Source("input", "language") in {span.source for span in result.prompt.spans}
    assert agent.history[0].content == "pin **** in French"


def test_a_task_in_words_goes_through_the_template_too():
    llm = ScriptedLLM(['{"mood": "good"}'])
    agent = Agent("a", llm, **AUTHOR, input_guardrails=[mask])
    assert agent.run("pin 1234")["mood"] == "good"
    assert "1234" not in llm.requests[0].messages[-1].content
    assert agent.history[0].content == "Read: pin ****"


def test_the_task_field_of_a_run_without_a_template_is_rewritten():
    llm = ScriptedLLM(["ok"])
    agent = Agent("a", llm, input_guardrails=[mask])
    agent.run({"task": "pin 1234", "city": "Oslo"})
    assert "1234" not in llm.requests[0].messages[-1].content
    assert "Oslo" in llm.requests[0].messages[-1].content


@both
def test_input_fields_without_a_task_are_checked_but_cannot_be_rewritten(asynchronous):
    agent = Agent("a", ScriptedLLM(['{"output": "ok"}']), prompt_template="Visit {city}", input_guardrails=[see])
    run(agent, {"city": "Oslo"}, asynchronous)
    assert seen == ["Visit Oslo"]
    agent = Agent("a", ScriptedLLM(["ok"]), prompt_template="Visit {city}", input_guardrails=[shout])
    with pytest.raises(
        ConfigError, match=r"guardrail shout returned Rewrite.*only input fields \(city\).*field `task`"
    ):
        run(agent, {"city": "Oslo"}, asynchronous)
    assert (agent.last.status, list(agent.model.requests)) == ("failed", [])


def test_an_empty_task_is_refused_with_what_to_do():
    agent = Agent("a", ScriptedLLM(["ok"]), input_guardrails=[lambda text: Rewrite(" ")])
    with pytest.raises(ConfigError, match="empty text of the task; return a message"):
        agent.run("hi")


@both
def test_a_rewritten_answer_is_the_answer(asynchronous):
    agent = Agent("a", ScriptedLLM(["pin 1234"]), output_guardrails=[mask, see])
    result = run(agent, "hi", asynchronous)
    assert (result.final_output, seen, agent.history[-1].content) == ("pin ****", ["pin ****"], "pin ****")


def test_a_rewritten_answer_with_fields_is_read_again():
    reply = '{"mood": "1234"}'
    agent = Agent("a", ScriptedLLM([reply]), **AUTHOR, output_guardrails=[see, mask], push_keys={"mood": "it"})
    result = agent.run("hi")
    assert seen == [reply]
    assert (result.final_output, agent.attributes) == ({"mood": "****"}, {"mood": "****"})
    assert agent.history[-1].content == '{"mood": "****"}'


def test_a_rewritten_answer_that_cannot_be_read_is_an_error():
    agent = Agent("a", ScriptedLLM(['{"mood": "x"}']), **AUTHOR, output_guardrails=[lambda text: Rewrite("no")])
    with pytest.raises(ConfigError, match="guardrail <lambda> has made something of the answer that cannot be read"):
        agent.run("hi")


def test_only_a_completed_run_has_an_answer_to_check():
    agent = Agent("a", ScriptedLLM([call("add", {"a": 1, "b": 2})]), tools=[add], max_turns=1, output_guardrails=[see])
    assert (agent.run("hi").status, seen) == ("out_of_turns", [])


@pytest.mark.parametrize("answer", [1, 0, [], b"x", Rewrite(3), object(), SimpleNamespace(passed="yes")])
@both
def test_nonsense_is_an_error_that_says_what_was_expected(answer, asynchronous):
    agent = Agent("a", ScriptedLLM(["ok"]), input_guardrails=[Guardrail(lambda text: answer, name="odd")])
    with pytest.raises(ConfigError, match=r"guardrail 'odd': expected None or True.*Rewrite\(text\).*; got "):
        run(agent, "hi", asynchronous)
    assert agent.last.status == "failed"


@both
def test_what_a_guardrail_raises_fails_the_run_with_that(asynchronous):
    def broken(text):
        raise KeyError("gone")

    agent = Agent("a", ScriptedLLM(["ok"]), input_guardrails=[broken])
    with pytest.raises(KeyError, match="gone"):
        run(agent, "hi", asynchronous)
    assert (agent.last.status, agent.history) == ("failed", ())


@both
@pytest.mark.parametrize("error", [StopIteration, StopAsyncIteration, asyncio.CancelledError])
def test_what_would_mislead_a_generator_or_a_task_is_told_as_what_it_is(error, asynchronous):
    def broken(text):
        raise error("x")

    agent = Agent("a", ScriptedLLM(["ok"]), input_guardrails=[broken])
    with pytest.raises(RuntimeError, match=f"the guardrail 'broken' raised {error.__name__}"):
        run(agent, "hi", asynchronous)
    assert agent.last.status == "failed"


def test_ctrl_c_in_a_guardrail_cancels():
    def stop(text):
        raise KeyboardInterrupt

    agent = Agent("a", ScriptedLLM(["ok"]), input_guardrails=[stop])
    with pytest.raises(KeyboardInterrupt):
        agent.run("hi")
    assert agent.last.status == "cancelled"
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(agent.arun("hi"))
    assert agent.last.status == "cancelled"


@pytest.mark.parametrize("option", ["input_guardrails", "output_guardrails"])
@pytest.mark.parametrize("given", ["see", see, [3], [Guardrail], ["see"], {"a": see}, [None]])
def test_what_is_no_guardrail_is_said_at_once(option, given):
    with pytest.raises(ConfigError, match=f"{option}: expected"):
        Agent("a", ScriptedLLM([]), **{option: given})


@pytest.mark.parametrize(("arguments", "words"), [((3,), {}), ((Guardrail,), {}), ((see,), {"message": 3})])
def test_a_guardrail_is_made_of_a_function(arguments, words):
    with pytest.raises(ConfigError, match="Guardrail: "):
        Guardrail(*arguments, **words)


def test_names():
    @dataclass
    class Mine:
        def check(self, text):
            return None

    made = [Guardrail(see), Guardrail(see, name="x"), Mine(), SimpleNamespace(name="given", check=see)]
    agent = Agent("a", ScriptedLLM(["ok"]), input_guardrails=made)
    assert [name for _, name, *_ in guarded(agent.run("hi").events)] == ["see", "x", "Mine", "given"]
    assert "see" in repr(made[0])


def test_an_empty_list_is_no_guardrail():
    assert not guarded(Agent("a", ScriptedLLM(["ok"]), input_guardrails=[], output_guardrails=None).run("x").events)


# plans, reflections, agents inside agents


def planner(script, **options):
    return PlanAgent("p", script if isinstance(script, ScriptedLLM) else ScriptedLLM(script), tools=[add], **options)


def reflector(script, **options):
    return ReflectionAgent("r", script if isinstance(script, ScriptedLLM) else ScriptedLLM(script), **options)


PLAN = ['["one", "two"]', call("add", {"a": 1, "b": 2}), "first", "second", "pin 1234, all in all"]
REFLECTION = ["draft 1234", "Shorter.", "pin 1234", "GOOD ENOUGH"]


@both
@pytest.mark.parametrize(("make", "script"), [(planner, PLAN), (reflector, REFLECTION)])
def test_every_strategy_is_guarded(make, script, asynchronous):
    agent = make(script, input_guardrails=[mask], output_guardrails=[see, mask])
    result = run(agent, "my 1234", asynchronous)
    assert (len(seen), "1234" in seen[0]) == (1, True)
    assert "****" in result.final_output
    assert "1234" not in result.final_output
    assert [m.content for m in agent.history] == ["my ****", result.final_output]
    assert "my 1234" not in str([message.content for message in agent.model.requests[0].messages])
    tripped = make(script, output_guardrails=[lambda text: "1234" not in text])
    with pytest.raises(GuardrailTripped):
        run(tripped, "go", asynchronous)
    assert (tripped.last.status, tripped.history) == ("failed", ())


@both
def test_one_inside_another_is_guarded_by_its_own(asynchronous):
    inner = Agent(
        "inner", ScriptedLLM([]), "Help.", input_guardrails=[lambda text: "no pins" if "1234" in text else None]
    )
    llm = ScriptedLLM([call("inner", {"task": "my 1234"}), "It refused."])
    agent = Agent("outer", llm, tools=[AgentTool(inner)])
    result = run(agent, "go", asynchronous)
    observation = next(e.observation for e in result.events if isinstance(e, ToolReturned))
    assert observation.status == "error"
    assert observation.error.kind == "exception"
    assert "GuardrailTripped: the input guardrail '<lambda>' has stopped the run: no pins" in observation.text
    assert result.final_output == "It refused."


# replay


def case(name, position=0):
    guards = {"input_guardrails": [see, mask, shout], "output_guardrails": [see_later, shout]}
    llm = ScriptedLLM(SCRIPTS[name])
    llm.position = position
    if name == "plan":
        return planner(llm, **guards)
    if name == "reflection":
        return reflector(llm, **guards)
    more = AUTHOR if name == "fields" else {}
    if name == "fields":
        guards["output_guardrails"] = [see_later, lambda text: Rewrite(text.replace("x", "y"))]
    return Agent("a", llm, tools=[add], **more, **guards)


SCRIPTS = {
    "plain": ["pin 1234"],
    "tools": [call("add", {"a": 1, "b": 2}), "three 1234"],
    "fields": ['{"mood": "x"}'],
    "plan": PLAN,
    "reflection": REFLECTION,
}


@both
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_whole_journal_asks_no_guardrail(name, asynchronous):
    whole = case(name).run("my 1234")
    seen.clear()
    again = replay(case(name, len(SCRIPTS[name])), whole.events, asynchronous)
    assert (again, again.events, seen) == (whole, whole.events, [])
    assert again.new_messages == whole.new_messages


@both
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_journal_cut_after_any_event_asks_those_that_are_missing(name, asynchronous):
    whole = case(name).run("my 1234")
    asked = list(seen)
    for cut in range(1, len(whole.events)):
        prefix = whole.events[:cut]
        seen.clear()
        done = sum(isinstance(e, Guarded) and e.name in ("see", "see_later") for e in prefix)
        assert replay(case(name), prefix, asynchronous, unknown="run_again") == whole, f"cut after {prefix[-1]}"
        assert seen == asked[done:]


@both
def test_a_run_that_was_stopped_is_stopped_again(asynchronous):
    def agent():
        return Agent("a", ScriptedLLM(["secret"]), output_guardrails=[see, lambda text: "no secrets"])

    first = agent()
    with pytest.raises(GuardrailTripped):
        first.run("hi")
    whole = first.last
    seen.clear()
    assert replay(agent(), whole.events, asynchronous) == whole
    with pytest.raises(GuardrailTripped, match="no secrets"):
        replay(agent(), whole.events[:-1], asynchronous)
    assert seen == []


def test_other_guardrails_than_recorded_are_drift():
    whole = Agent("a", ScriptedLLM(["ok"]), input_guardrails=[see]).run("hi")
    with pytest.raises(DriftError, match=r"input guardrail 'see' here, this one asks the input guardrail 'see_later'"):
        Agent("a", ScriptedLLM([]), input_guardrails=[see_later]).replay(whole.events)
    with pytest.raises(
        DriftError, match=r"the input guardrail 'see' here, this one asks none; run it anew, or restore"
    ):
        Agent("a", ScriptedLLM([])).replay(whole.events)


MORE = {
    "added": ((), (see,), "asked no guardrail here, this one asks the {} guardrail 'see'"),
    "added behind": ((see,), (see, mask), "asked no guardrail here, this one asks the {} guardrail 'mask'"),
    "added before": ((see,), (mask, see), "{} guardrail 'see' here, this one asks the {} guardrail 'mask'"),
    "gone": ((see,), (), "asked the {} guardrail 'see' here, this one asks none"),
    "the last gone": ((see, mask), (see,), "asked the {} guardrail 'mask' here, this one asks none"),
    "the first gone": ((see, mask), (mask,), "{} guardrail 'see' here, this one asks the {} guardrail 'mask'"),
    "in another order": ((see, mask), (mask, see), "{} guardrail 'see' here, this one asks the {} guardrail 'mask'"),
}


@both
@pytest.mark.parametrize("make", [Agent, PlanAgent, ReflectionAgent])
@pytest.mark.parametrize("stage", ["input", "output"])
@pytest.mark.parametrize("case", MORE)
def test_guardrails_that_are_not_the_recorded_ones_are_drift_and_named(case, stage, make, asynchronous):
    then, now, says = MORE[case]
    script = {Agent: ["ok"], PlanAgent: ["[]", "ok", "ok"], ReflectionAgent: ["ok", "GOOD ENOUGH"]}[make]
    whole = make("a", ScriptedLLM(script), **{f"{stage}_guardrails": then}).run("hi")
    assert replay(make("a", ScriptedLLM([]), **{f"{stage}_guardrails": then}), whole.events, asynchronous) == whole
    seen.clear()
    with pytest.raises(DriftError) as raised:
        replay(make("a", ScriptedLLM([]), **{f"{stage}_guardrails": now}), whole.events, asynchronous)
    assert says.replace("{}", stage) in str(raised.value)
    never_checked = stage == "output" and says.startswith("asked no guardrail")
    assert ("which has never checked its answer" in str(raised.value)) == never_checked
    assert seen == []


def test_a_guardrail_that_a_recorded_run_did_not_come_to_is_no_drift():
    def broken(text):
        raise ValueError("no")

    for options, error in [({"input_guardrails": [broken]}, ValueError), ({"output_guardrails": [broken]}, ValueError)]:
        failed = Agent("a", ScriptedLLM(["ok"]), **options)
        with pytest.raises(error):
            failed.run("hi")
        assert Agent("a", ScriptedLLM([]), **options).replay(failed.last.events) == failed.last
    call_only = Agent("a", ScriptedLLM([call("nothing")]), max_turns=1).run("hi")
    assert call_only.status == "out_of_turns"
    assert Agent("a", ScriptedLLM([]), max_turns=1, output_guardrails=[see]).replay(call_only.events) == call_only
    # One that was added before the run came to its answer checks it when it goes on.
    whole = Agent("a", ScriptedLLM(["ok"])).run("hi")
    goes_on = Agent("a", ScriptedLLM([]), output_guardrails=[see]).replay(whole.events[:-1])
    assert (guarded(goes_on.events), goes_on.final_output) == ([("output", "see", True, "", None)], "ok")


def test_a_guardrail_may_use_the_agents_own_script():
    def agent(llm):
        def judge(text):
            return Agent("judge", llm).run(text).final_output == "yes"

        return Agent("a", llm, input_guardrails=[judge], output_guardrails=[judge])

    script = ["yes", "Hello.", "yes"]
    whole = agent(ScriptedLLM(script)).run("hi")
    assert whole.final_output == "Hello."
    for cut in range(1, len(whole.events)):
        assert agent(ScriptedLLM(script)).replay(whole.events[:cut]) == whole


@both
def test_the_text_of_a_checked_answer_streams_when_it_has_passed(asynchronous):
    agent = Agent("a", ScriptedLLM(["pin 1234"]), output_guardrails=[mask])

    async def pieces():
        return [piece async for piece in agent.astream_run("hi")]

    assert (asyncio.run(pieces()) if asynchronous else list(agent.stream_run("hi"))) == ["pin ****"]


def test_the_results_of_a_guarded_run_can_be_shown():
    agent = Agent("a", ScriptedLLM(["pin 1234"]), input_guardrails=[mask], output_guardrails=[mask])
    assert "pin ****" in agent.run("my 1234")._repr_mimebundle_()["text/plain"]
