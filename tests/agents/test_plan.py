"""PlanAgent: plans, does each step with turns and tools of its own, concludes; its run is a journal like any other."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import pytest
from counting import calls_of
from pydantic import BaseModel

from nbagent import Agent, Image, Limits, PlanAgent, Retry, ScriptedLLM, ToolRegistry, tool
from nbagent.errors import ConfigError, DriftError, ModelError, ScriptExhausted
from nbagent.events import (
    ModelFailed,
    ModelReplied,
    Noted,
    PromptAssembled,
    StepFinished,
    StepStarted,
    TextDelta,
    ToolReturned,
    ToolStarted,
)
from nbagent.messages import ModelReply, Source, Usage
from nbagent.runtime.progress import plan_of

call = ScriptedLLM.tool_call
BOTH = pytest.mark.parametrize("asynchronous", [False, True], ids=["run", "arun"])
TWO = '{"steps": ["look", "count"]}'
ran: list = []


@pytest.fixture(autouse=True)
def _nothing_ran():
    ran.clear()


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers.

    Exactly.
    """
    ran.append((a, b))
    return a + b


ADDING = call("add", {"a": 1, "b": 2})


def planner(*script, **options):
    return PlanAgent("p", ScriptedLLM(script), **options)


def run(agent, task="go", *, asynchronous=False, **options):
    return asyncio.run(agent.arun(task, **options)) if asynchronous else agent.run(task, **options)


def replay(agent, events, *, asynchronous=False, **options):
    return asyncio.run(agent.areplay(events, **options)) if asynchronous else agent.replay(events, **options)


def steps_of(result):
    return [(step.number, step.title, step.status, step.result) for step in result.plan]


def asked(agent):
    """What was said last in each request."""
    return [request.messages[-1].content for request in agent.model.requests]


# the plan


@BOTH
@pytest.mark.parametrize("count", [1, 2, 5])
def test_k_steps_take_k_and_two_replies(count, asynchronous):
    titles = [f"step no {n}" for n in range(count)]
    agent = planner('{"steps": ["' + '", "'.join(titles) + '"]}', *[f"result {n}" for n in range(count)], "The answer.")
    result = run(agent, asynchronous=asynchronous)
    agent.model.assert_complete()
    assert (result.status, result.final_output, result.stop_reason) == ("completed", "The answer.", "")
    assert result.usage.llm_calls == count + 2
    assert steps_of(result) == [(n + 1, title, "done", f"result {n}") for n, title in enumerate(titles)]
    assert [(m.role, m.content) for m in agent.history] == [("user", "go"), ("assistant", "The answer.")]


def test_what_the_model_is_told():
    agent = planner(TWO, "a tree", "one", "One tree.", system_prompt="Be brief.")
    agent.run("How many trees?")
    plan, first, second, last = [[m.content for m in request.messages] for request in agent.model.requests]
    assert plan[0] == first[0] == last[0] == "Be brief."
    assert plan[1].startswith("How many trees?\n\nDo not answer this yet.")
    assert '{"steps": [' in plan[1]
    assert first[1].startswith("How many trees?\n\nThis is worked on in steps:\n1. look\n2. count\n\nDo step 1 now")
    assert second == [*first, "a tree", "Do step 2 now, and only that: count\nReply with its result."]
    assert last[:-1] == [*second, "one"]
    assert last[-1].startswith("The steps are over.")
    assert last[-1].endswith("How many trees?")


@BOTH
@pytest.mark.parametrize(
    "said",
    [
        '["look", "count"]',
        '```json\n{"steps": ["look", "count"]}\n```',
        'Here is the plan:\n{"steps": ["look", "count"]}\nShall I?',
        '{"thought": "easy", "steps": ["look", "count"], "n": 2}',
        "['look', 'count']",
        "1. look\n2. count",
        "- look\n- count",
        "Step 1: look\nStep 2: count",
    ],
)
def test_a_plan_in_another_form_takes_no_more_replies(said, asynchronous):
    agent = planner(said, "a tree", "one", "One tree.")
    result = run(agent, asynchronous=asynchronous)
    agent.model.assert_complete()
    assert [step.title for step in result.plan] == ["look", "count"]
    assert not any(e.told for e in result.events if isinstance(e, Noted))


@pytest.mark.parametrize("said", ["{}", "[]", '{"steps": []}', '{"plan": []}', '```json\n{"steps": []}\n```'])
def test_a_plan_without_steps_is_the_question_itself(said):
    agent = planner(said, "one", "One tree.")
    result = agent.run("How many\n  trees?")
    agent.model.assert_complete()
    assert steps_of(result) == [(1, "How many trees?", "done", "one")]


@BOTH
@pytest.mark.parametrize(
    "said", ["I would look first.", '{"steps": [true, null]}', '{"steps": "look"}', '{"todo": []}']
)
def test_what_is_no_plan_is_asked_for_once_again(said, asynchronous):
    agent = planner(said, TWO, "a tree", "one", "One tree.")
    result = run(agent, asynchronous=asynchronous)
    agent.model.assert_complete()
    assert [step.title for step in result.plan] == ["look", "count"]
    [note] = [e for e in result.events if isinstance(e, Noted)]
    assert note.told
    assert "Expected" in note.text
    assert [m.content for m in agent.model.requests[1].messages][-2:] == [said, note.text]
    # What had to be asked again is no part of what the steps see.
    assert len(agent.model.requests[2].messages) == 1


def test_where_there_is_no_plan_at_all_the_question_is_the_only_step():
    agent = planner("I would look.", "Really, I would.", "one", "One tree.")
    result = agent.run("How many trees?")
    agent.model.assert_complete()
    assert steps_of(result) == [(1, "How many trees?", "done", "one")]
    told, remark = [e for e in result.events if isinstance(e, Noted)]
    assert (told.told, remark.told) == (True, False)
    assert "the task is the only step" in remark.text


def test_a_plan_is_not_answered_by_calling_tools():
    agent = planner(ADDING, TWO, "a tree", "one", "One tree.", tools=[add])
    result = agent.run("go")
    assert (result.status, ran) == ("completed", [])
    assert "you have no tools" in result.tool_calls[0].observation.text


def test_a_model_that_never_plans_runs_out_of_turns():
    agent = planner(*[ADDING] * 9, tools=[add], max_turns=7)
    result = agent.run("go")
    assert (result.status, result.plan, result.final_output) == ("out_of_turns", (), None)
    assert (ran, agent.history) == ([], ())


# the steps


@BOTH
def test_steps_use_tools_and_only_steps(asynchronous):
    agent = planner(TWO, ADDING, "three", call("add", {"a": 3, "b": 4}), "seven", "Seven.", tools=[add])
    result = run(agent, asynchronous=asynchronous)
    assert (result.final_output, ran) == ("Seven.", [(1, 2), (3, 4)])
    assert [tuple(t.name for t in request.tools) for request in agent.model.requests] == [
        (), ("add",), ("add",), ("add",), ("add",), (),
    ]  # fmt: skip
    assert "these tools can be used:\nadd: Adds two numbers." in asked(agent)[0]
    assert (result.usage.llm_calls, result.usage.tool_calls) == (6, 2)
    # A later step sees what an earlier one found, and not how.
    second = agent.model.requests[3].messages
    assert [(m.role, m.content) for m in second[1:]] == [
        ("assistant", "three"),
        ("user", "Do step 2 now, and only that: count\nReply with its result."),
    ]


def test_max_turns_is_that_of_each_step():
    script = [TWO, ADDING, "three", call("add", {"a": 3, "b": 4}), "seven", "Seven."]
    agent = planner(*script, tools=[add], max_turns=2)
    result = agent.run("go")
    assert (agent.max_turns, result.status, [step.status for step in result.plan]) == (2, "completed", ["done", "done"])
    assert PlanAgent("p", ScriptedLLM([])).max_turns == 3


@BOTH
def test_a_step_that_runs_out_of_turns_is_failed_and_the_run_goes_on(asynchronous):
    agent = planner(TWO, ADDING, "two", "Two.", tools=[add], max_turns=1)
    result = run(agent, asynchronous=asynchronous)
    assert (result.status, result.final_output) == ("completed", "Two.")
    assert result.stop_reason == "step 1 failed: no answer within max_turns=1"
    first, second = result.plan
    assert (first.status, first.result, first.reason) == ("failed", None, "no answer within max_turns=1")
    assert (second.status, second.result, second.reason) == ("done", "two", "")
    # The model is told, once, and sees the whole plan, which it has not seen yet.
    told = "Step 1 (look) has no result: no answer within max_turns=1."
    assert [text.count(told) for text in asked(agent)] == [0, 0, 1, 0]
    assert "1. look\n2. count" in asked(agent)[1]
    assert "2. count" in asked(agent)[2]
    assert "go" in asked(agent)[2]


def test_the_last_step_may_fail_and_the_synthesis_hears_of_it():
    agent = planner(TWO, "a tree", ADDING, "I could not count.", tools=[add], max_turns=1)
    result = agent.run("go")
    assert (result.status, [step.status for step in result.plan]) == ("completed", ["done", "failed"])
    assert asked(agent)[-1].startswith("Step 2 (count) has no result: no answer within max_turns=1.")


@BOTH
def test_where_all_steps_fail_there_is_no_answer(asynchronous):
    agent = planner(TWO, ADDING, ADDING, "made up", tools=[add], max_turns=1)
    result = run(agent, asynchronous=asynchronous)
    assert (result.status, result.final_output, agent.model.position) == ("out_of_turns", None, 3)
    assert "step 1 failed" in result.stop_reason
    assert "step 2 failed" in result.stop_reason
    assert [step.status for step in result.plan] == ["failed", "failed"]
    assert agent.history == ()


def test_a_step_whose_reply_is_too_long_is_failed():
    cut = ModelReply("A tree is", finish_reason="length")
    agent = planner(TWO, cut, "one", "One.", max_tokens=5)
    result = agent.run("go")
    assert (result.status, [step.status for step in result.plan]) == ("completed", ["failed", "done"])
    assert "max_tokens=5" in result.plan[0].reason


def test_an_empty_step_is_asked_again_and_has_failed_the_second_time():
    agent = planner(TWO, " ", "a tree", "one", "One.")
    assert agent.run("go").plan[0].result == "a tree"
    assert "empty" in asked(agent)[2]
    agent = planner(TWO, "a tree", "", "", "A tree.")
    result = agent.run("go")
    assert ([step.status for step in result.plan], result.final_output) == (["done", "failed"], "A tree.")
    assert "second time" in result.stop_reason
    with pytest.raises(ModelError, match="second time"):  # what is left of a run without a plan is nothing
        planner("", "").run("go")


def test_call_ids_may_be_the_same_in_two_steps():
    same = [call("add", {"a": 1, "b": n}, call_id="1") for n in (1, 2)]
    result = planner(TWO, same[0], "two", same[1], "three", "Three.", tools=[add]).run("go")
    assert (result.final_output, ran) == ("Three.", [(1, 1), (1, 2)])


# revisions


@BOTH
def test_a_step_that_fails_revises_what_is_left(asynchronous):
    agent = planner(
        '{"steps": ["look", "count", "check"]}', "a tree", ADDING, '["guess"]', "one", "One.",
        tools=[add], max_turns=1, replan=True,
    )  # fmt: skip
    result = run(agent, asynchronous=asynchronous)
    agent.model.assert_complete()
    assert steps_of(result) == [
        (1, "look", "done", "a tree"),
        (2, "count", "failed", None),
        (3, "guess", "done", "one"),
    ]
    revised, first = asked(agent)[3:5]
    told = "Step 2 (count) has no result: no answer within max_turns=1. What was planned next:\n3. check\n"
    assert revised.startswith(told)
    assert '{"steps": [' in revised
    assert "3. guess" in first
    assert result.stop_reason == "step 2 failed: no answer within max_turns=1"


def test_a_plan_is_revised_three_times_at_most():
    script = ['["a", "b"]', "done", ADDING]
    script += ['["c", "d"]', ADDING] * 3 + [ADDING, "Half."]
    agent = planner(*script, tools=[add], max_turns=1, replan=True)
    result = agent.run("go")
    agent.model.assert_complete()
    assert result.final_output == "Half."
    plans = [e for e in result.events if isinstance(e, StepFinished) and e.kind == "plan"]
    assert [e.number for e in plans] == [1, 2, 3, 4]
    assert [step.status for step in result.plan] == ["done", *["failed"] * 5]


def test_a_revision_without_steps_ends_the_work():
    agent = planner('["a", "b", "c"]', "one", ADDING, "[]", "Half.", tools=[add], max_turns=1, replan=True)
    result = agent.run("go")
    assert (result.final_output, [step.status for step in result.plan]) == ("Half.", ["done", "failed"])
    agent = planner('["a", "b"]', ADDING, "[]", tools=[add], max_turns=1, replan=True)
    assert agent.run("go").status == "out_of_turns"


def test_a_plan_is_revised_only_where_that_is_wanted():
    agent = planner(TWO, ADDING, "one", "One.", tools=[add], max_turns=1)
    agent.run("go")
    assert agent.model.position == 4


# the synthesis


@BOTH
def test_a_blank_synthesis_is_asked_for_again(asynchronous):
    agent = planner(TWO, "a tree", "one", "", "One tree.")
    assert run(agent, asynchronous=asynchronous).final_output == "One tree."
    assert "empty" in asked(agent)[-1]


@BOTH
def test_a_synthesis_that_stays_blank_fails_the_run_and_keeps_the_plan(asynchronous):
    agent = planner(TWO, "a tree", "one", "", " ")
    with pytest.raises(ModelError, match="its reply is empty"):
        run(agent, asynchronous=asynchronous)
    assert (agent.last.status, agent.history) == ("failed", ())
    assert [step.status for step in agent.last.plan] == ["done", "done"]


def test_what_was_said_before_is_seen_in_every_stage():
    agent = planner(TWO, "a tree", "one", "One tree.", TWO, "a bush", "two", "Two.")
    agent.run("Trees?")
    agent.run("And bushes?")
    for request in agent.model.requests[4:]:
        assert [m.content for m in request.messages[:2]] == ["Trees?", "One tree."]
    assert [m.content for m in agent.history] == ["Trees?", "One tree.", "And bushes?", "Two."]


class Count(BaseModel):
    kind: str
    number: int


@BOTH
def test_output_fields_are_those_of_the_synthesis(asynchronous):
    agent = planner(
        TWO, ADDING, "a tree", "one", '{"kind": "tree"}', '{"kind": "tree", "number": 1}',
        tools=[add], output={"kind": "what", "number": int},
    )  # fmt: skip
    result = run(agent, "Trees?", asynchronous=asynchronous)
    assert result.final_output == {"kind": "tree", "number": 1}
    assert (result["number"], ran) == (1, [(1, 2)])
    assert "number: missing" in asked(agent)[-1]
    assert agent.history[-1].content == '{"kind": "tree", "number": 1}'
    assert agent.history[0].content == "Trees?"
    # How the answer has to be written is said where it is written.
    assert ["what" in text for text in asked(agent)[:5]] == [False, False, False, False, True]


@BOTH
def test_an_output_schema_works_with_tools_in_the_steps(asynchronous):
    agent = planner(TWO, ADDING, "a tree", "one", '{"kind": "tree", "number": 1}', tools=[add])
    result = run(agent, asynchronous=asynchronous, output_schema=Count)
    assert result.final_output == Count(kind="tree", number=1)
    assert [request.output_schema is not None for request in agent.model.requests] == [False] * 4 + [True]
    assert [step.result for step in result.plan] == ["a tree", "one"]
    assert agent.history[-1].content == '{"kind": "tree", "number": 1}'
    assert replay(planner(tools=[add]), result.events, output_schema=Count, asynchronous=asynchronous) == result


@pytest.mark.parametrize("retries", [0, 1, 2, 4])
def test_an_answer_is_asked_for_again_as_often_as_was_said(retries):
    agent = planner("[]", "one", *["none"] * retries, '{"kind": "tree", "number": 1}')
    assert agent.run("go", output_schema=Count, retries=retries).final_output == Count(kind="tree", number=1)
    agent = planner("[]", "one", *["none"] * (retries + 1), '{"kind": "tree", "number": 1}')
    with pytest.raises(ModelError, match="cannot be read"):
        agent.run("go", output_schema=Count, retries=retries)


def test_templates_and_fields_make_the_question():
    agent = PlanAgent(
        "p", ScriptedLLM([TWO, "a", "b", '{"mood": "good"}']), instructions="You know {topic}.",
        prompt_template="Tell me of {topic}.", output={"mood": "in one word"},
    )  # fmt: skip
    result = agent.run({"topic": "trees"})
    assert result.final_output == {"mood": "good"}
    assert {request.messages[0].content for request in agent.model.requests} == {"You know trees."}
    assert all("Tell me of trees." in text for text in (asked(agent)[0], asked(agent)[1], asked(agent)[3]))
    assert ["in one word" in text for text in asked(agent)] == [False, False, False, True]


def test_a_context_provider_is_asked_once_for_a_run():
    class Memory:
        supports_passive, supports_active, context_label = True, False, "MEM"
        asked = 0

        def get_blocks(self, query, *, top_k=8):
            self.asked += 1
            return [{"text": "Trees are green."}]

    memory = Memory()
    agent = planner(TWO, "a", "b", "c", memories=[memory])
    agent.run("Trees?")
    assert memory.asked == 1
    assert ["Trees are green." in text for text in asked(agent)] == [True, True, False, True]


def test_what_is_shown_to_the_model_stays_in_sight():
    png = Image(b"\x89PNG\r\n\x1a\nrest", "image/png")
    agent = planner(TWO, "a", "b", "c")
    agent.run("What is it?", images=[png])
    assert [sum(len(m.images) for m in request.messages) for request in agent.model.requests] == [1, 1, 1, 1]


def test_what_is_recorded_as_a_prompt_is_what_is_sent():
    agent = planner(TWO, ADDING, "a", "b", "", "c", tools=[add], system_prompt="Be brief.", examples=[("1", "2")])
    agent.run("first")
    agent = planner(TWO, ADDING, "a", "b", "", "c", tools=[add], system_prompt="Be brief.", examples=[("1", "2")])
    result = agent.run("second")
    prompts = [e.prompt for e in result.events if isinstance(e, PromptAssembled)][1:]
    sent = [agent.model.requests[n] for n in (0, 1, 3, 4)]
    # Of what the run has said before, it holds how much that is.
    assert [prompt.messages for prompt in prompts] == [
        request.messages[prompt.before :] for request, prompt in zip(sent, prompts, strict=True)
    ]
    assert [prompt.tools for prompt in prompts] == [request.tools for request in sent]


# what an agent takes


def sources(agent, number):
    """What is said last in a request, with where each piece comes from."""
    prompts = [e.prompt for e in agent.last.events if isinstance(e, PromptAssembled)][1:]
    return [(s.text, str(s.source)) for s in prompts[number].segments if s.source != Source("framework", "layout")]


def test_the_steps_of_a_plan_come_from_the_plan_and_not_from_the_framework():
    agent = planner(TWO, call("add", {}), "two", "Done.", tools=[add], max_turns=1)
    agent.run("go")
    assert [(text, source) for text, source in sources(agent, 0) if "plan.plan" not in source] == [
        ("go", "template task"),
        ("\n\nWhile the steps are done, these tools can be used:\n", "framework plan.tools"),
        ("add: Adds two numbers.", "tool add"),
    ]
    told = [(text, source) for text, source in sources(agent, 1) if "plan.begin" not in source]
    assert told == [("go", "template task"), ("1. look\n2. count", "history plan"), ("look", "history plan")]
    told = [(text, source) for text, source in sources(agent, 2) if "plan.begin" not in source]
    assert told == [
        ("go", "template task"), ("2. count", "history plan"),
        ("Step 1 (", "framework plan.failed"), ("look", "history plan"), (") has no result: ", "framework plan.failed"),
        ("no answer within max_turns=1", "framework loop.out_of_turns"), (". ", "framework plan.failed"),
        ("count", "history plan"),
    ]  # fmt: skip


def test_a_step_that_a_person_has_put_into_the_plan_comes_from_the_person():
    agent = planner('["look", "count", "look"]', "one", "two", "three", "four", "Done.")
    agent.propose("go")
    agent.run_plan(["look", "weigh", "look", "look"])
    assert [pair for pair in sources(agent, 1) if pair[1].endswith(" plan")] == [
        ("1. look", "history plan"), ("2. weigh", "input plan"), ("3. look", "history plan"), ("4. look", "input plan"),
        ("look", "history plan"),
    ]  # fmt: skip
    again = planner().replay(agent.last.events)
    assert again == agent.last


def test_where_there_is_no_plan_the_step_comes_from_the_task():
    agent = planner("[]", "done", "Done.")
    agent.run("go  on")
    assert ("go on", "template task") in sources(agent, 1)


def test_a_registry_is_a_keyword():
    registry = ToolRegistry([add])
    agent = planner(TWO, ADDING, "a", "b", "c", tool_registry=registry)
    agent.run("go")
    assert (agent.own_tools, ran) == (registry, [(1, 2)])
    # agentmaker takes one in the place of the system prompt, and never uses it.
    with pytest.raises(ConfigError, match="system prompt: expected a text, got ToolRegistry"):
        PlanAgent("p", ScriptedLLM([]), registry)
    with pytest.raises(ConfigError, match="not both"):
        planner(tools=[add], tool_registry=registry)


@pytest.mark.parametrize("turns", [0, -1, True, "3", 2.0])
def test_max_turns_is_a_number_from_one(turns):
    with pytest.raises(ConfigError, match="max_turns: expected a whole number from 1"):
        planner(max_turns=turns)


def test_an_unknown_option_is_refused():
    with pytest.raises(ConfigError, match="compactor: write compact=True"):
        planner(compactor=object())
    with pytest.raises(TypeError, match="no option 'tool'"):
        planner(tool=[add])


# how a run ends early


def used(reply):
    return ModelReply(reply, usage=Usage(60, 40))


@BOTH
@pytest.mark.parametrize(
    ("limits", "script", "says"),
    [
        (Limits(max_llm_calls=2), [TWO, "a tree", "one", "One."], "2 model calls"),
        (Limits(max_tool_calls=1), [TWO, ADDING, "a tree", ADDING, "one", "One."], "1 tool call"),
        (Limits(max_tokens=200), [used(TWO), used("a tree"), used("one"), used("One.")], "200 tokens"),
    ],
)
def test_a_limit_ends_the_run_and_keeps_what_there_is_of_the_plan(limits, script, says, asynchronous):
    agent = planner(*script, tools=[add], limits=limits)
    result = run(agent, asynchronous=asynchronous)
    assert (result.status, result.final_output, agent.history) == ("limit_reached", None, ())
    assert says in result.stop_reason
    assert steps_of(result) == [(1, "look", "done", "a tree"), (2, "count", "limit_reached", None)]
    assert result.plan[1].reason == result.stop_reason
    assert replay(planner(tools=[add], limits=limits), result.events, asynchronous=asynchronous) == result


@BOTH
def test_a_deadline_ends_the_run_and_keeps_the_plan(asynchronous):
    def late(request):
        time.sleep(request.seconds_left)
        return TWO

    agent = planner(late, "a tree", limits=Limits(deadline=0.5))
    result = run(agent, asynchronous=asynchronous)
    assert (result.status, agent.model.position) == ("limit_reached", 1)
    assert [(step.title, step.status) for step in result.plan] == [("look", "limit_reached"), ("count", "pending")]


@BOTH
@pytest.mark.parametrize("error", [ModelError("broken"), RuntimeError("broken")])
def test_a_model_that_fails_in_a_step_fails_the_run_and_keeps_the_plan(error, asynchronous):
    agent = planner('["look", "count", "check"]', "a tree", error, "one", "One.")
    with pytest.raises(ModelError, match="broken"):
        run(agent, asynchronous=asynchronous)
    assert (agent.last.status, agent.history) == ("failed", ())
    assert steps_of(agent.last) == [
        (1, "look", "done", "a tree"), (2, "count", "failed", None), (3, "check", "pending", None),
    ]  # fmt: skip
    assert agent.last.plan[1].reason == agent.last.stop_reason != ""
    assert replay(planner(), agent.last.events, asynchronous=asynchronous) == agent.last


def test_a_script_that_is_too_short_is_an_error_of_the_test():
    agent = planner(TWO, "a tree")
    with pytest.raises(ScriptExhausted):
        agent.run("go")
    assert agent.last.status == "failed"


@BOTH
def test_a_run_that_is_stopped_in_a_step_leaves_everything_as_it_was(asynchronous):
    script = [TWO, "a tree", ADDING, "one", "One."]
    agent = planner(*script, tools=[add])

    async def begin():
        events = agent.astream("go")
        async for event in events:
            if isinstance(event, ToolStarted):
                break
        await events.aclose()

    if asynchronous:
        asyncio.run(begin())
    else:
        events = agent.stream("go")
        next(event for event in events if isinstance(event, ToolStarted))
        events.close()
    assert (agent.last.status, agent.last.stop_reason) == ("cancelled", "the stream was closed")
    assert steps_of(agent.last) == [(1, "look", "done", "a tree"), (2, "count", "cancelled", None)]
    assert agent.last.plan[1].reason == "the stream was closed"
    assert (agent.history, agent.model.position) == ((), 0)
    assert run(agent, asynchronous=asynchronous).final_output == "One."


def test_a_tool_that_the_user_stops_cancels_the_run():
    @tool
    def stop() -> None:
        """Stop."""
        raise KeyboardInterrupt

    agent = planner(TWO, "a tree", call("stop"), "one", "One.", tools=[stop])
    with pytest.raises(KeyboardInterrupt):
        agent.run("go")
    assert (agent.last.status, [step.status for step in agent.last.plan]) == ("cancelled", ["done", "cancelled"])


# replay

MANY = {"tools": [add], "max_turns": 2, "replan": True}
SCRIPTS = {
    "plain": ([TWO, "a tree", "one", "One."], {}),
    "tools": ([TWO, ADDING, "a tree", [ADDING, call("nothing"), call("add", {"a": 5, "b": 6})], "one", "One."], MANY),
    "no plan": (["No.", "Never.", ADDING, "one", "One."], MANY),
    "a plan in prose": (['Well:\n["look", "count"]', "a tree", "one", "One."], {}),
    "empty replies": ([TWO, "", "a tree", "one", " ", "One."], {}),
    "a step fails": ([TWO, ADDING, call("add", {"a": 2, "b": 2}), "one", "One."], {"tools": [add], "max_turns": 2}),
    "revised": ([TWO, ADDING, ADDING, '["guess"]', ADDING, "one", "One."], MANY),
    "all fail": ([TWO, ADDING, ADDING], {"tools": [add], "max_turns": 1}),
    "fields": (["[]", "one", "one", '{"number": 1}'], {"output": {"number": int}}),
    "tried again": ([ModelError("busy", kind="overloaded"), TWO, "a tree", "one", "One."], {"retry": Retry(4, 0, 0)}),
}


@BOTH
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_whole_journal_gives_the_same_run_with_no_call_at_all(name, asynchronous):
    script, options = SCRIPTS[name]
    result = planner(*script, **options).run("go")
    ran.clear()
    fresh = planner(**options)  # a script with no reply: any model call would raise
    again = replay(fresh, result.events, asynchronous=asynchronous)
    assert again.events == result.events
    assert (again.plan, again.usage) == (result.plan, result.usage)
    assert (ran, fresh.model.requests, fresh.history, fresh.last) == ([], (), (), None)


@BOTH
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_journal_cut_after_any_event_goes_on_to_the_same_end(name, asynchronous):
    script, options = SCRIPTS[name]
    whole = planner(*script, **options).run("go")
    done, of = len(ran), Counter(type(e) for e in whole.events)
    replies, failures = of[ModelReplied], of[ModelFailed]
    for cut in range(1, len(whole.events)):
        ran.clear()
        prefix, agent = whole.events[:cut], planner(*script, **options)
        counted = Counter(type(e) for e in prefix)
        returned = sum(isinstance(e, ToolReturned) and e.observation.error is None for e in prefix)
        again = replay(agent, prefix, asynchronous=asynchronous, unknown="run_again")
        assert again == whole, f"cut after {prefix[-1]}"
        # Nothing that has returned runs again, and only the replies that are missing are asked for.
        assert len(ran) == done - returned
        assert len(agent.model.requests) == replies + failures - counted[ModelReplied] - counted[ModelFailed]
        assert sum(isinstance(e, ModelReplied) for e in again.events) == replies
        assert (agent.model.position, agent.last) == (0, None)


def test_a_call_in_a_step_that_has_no_result_is_a_question():
    script, options = SCRIPTS["tools"]
    whole = planner(*script, **options).run("go")
    cut = next(i for i, e in enumerate(whole.events) if isinstance(e, ToolStarted)) + 1
    ran.clear()
    paused = planner(*script, **options).replay(whole.events[:cut])
    assert (paused.status, ran) == ("interrupted", [])
    assert [(p.tool_name, p.arguments) for p in paused.interrupt.pendings] == [("add", '{"a": 1, "b": 2}')]
    assert [step.status for step in paused.plan] == ["interrupted", "pending"]
    assert [step.status for step in plan_of(paused.events[:-1])] == ["running", "pending"]
    assert planner(*script, **options).replay(paused.events[:-1], unknown="run_again") == whole


def test_another_plan_is_drift():
    from msgspec.structs import replace

    result = planner(TWO, "a tree", "one", "One.").run("go")
    forged = [
        replace(e, title="other") if isinstance(e, StepStarted) and e.kind == "execute" else e for e in result.events
    ]
    with pytest.raises(DriftError, match="other"):
        planner().replay(forged)
    with pytest.raises(DriftError):
        Agent("p", ScriptedLLM([])).replay(result.events)


# streams


def text_of(agent, how):
    """What `stream_run` yields."""
    if how == "stream_run":
        return list(agent.stream_run("go"))

    async def collect():
        return [piece async for piece in agent.astream_run("go")]

    return asyncio.run(collect())


@pytest.mark.parametrize("how", ["stream_run", "astream_run"])
def test_only_the_synthesis_is_the_text_of_the_answer(how):
    last = ScriptedLLM.pieces("One tree. ", "And a half. ", "That is all.")
    agent = planner(TWO, call("add", {"a": 1, "b": 2}, content="I add."), "a tree", "one", last, tools=[add])
    pieces = text_of(agent, how)
    assert len(pieces) > 1
    assert "".join(pieces) == agent.last.final_output == "One tree. And a half. That is all."
    agent = planner(TWO, "a tree", "one", '{"number": 1}', output={"number": int})
    assert len(text_of(agent, how)) == 1
    agent = planner(TWO, ADDING, ADDING, tools=[add], max_turns=1)
    assert (text_of(agent, how), agent.last.status) == ([], "out_of_turns")


@BOTH
def test_a_stream_shows_the_text_of_every_stage(asynchronous):
    agent = planner(TWO, "a tree", "one", ScriptedLLM.pieces("One ", "tree."))

    async def collect():
        return [event async for event in agent.astream("go")]

    events = asyncio.run(collect()) if asynchronous else list(agent.stream("go"))
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == f"{TWO}a treeoneOne tree."
    assert [e for e in events if not isinstance(e, TextDelta)] == list(agent.last.events)
    began = [(e.kind, e.number, e.title) for e in events if isinstance(e, StepStarted)]
    assert began == [("plan", 1, ""), ("execute", 1, "look"), ("execute", 2, "count"), ("synthesize", 0, "")]


# cost


def long_plan(steps):
    plan = '{"steps": [' + ", ".join(f'"step {n}"' for n in range(steps)) + "]}"
    script = [entry for n in range(steps) for entry in (call("add", {"a": n, "b": n}), f"result {n}")]
    return planner(plan, *script, "Done.", tools=[add])


def hashed(agent):
    """How many messages a run works through for its fingerprints."""
    return calls_of(lambda: agent.run("go"), "_canonical")


def test_each_message_is_hashed_once_or_twice_however_long_the_plan():
    ten, twenty, forty = (hashed(long_plan(steps)) for steps in (10, 20, 40))
    assert 0 < forty - twenty <= 2 * (twenty - ten)
    assert forty <= 8 * 40


def test_every_step_adds_as_many_events():
    ten, twenty, forty = (len(long_plan(steps).run("go").events) for steps in (10, 20, 40))
    assert forty - twenty == 2 * (twenty - ten) == 20 * 9


def test_every_step_adds_as_many_messages_to_the_journal():
    def held(steps):
        prompts = [e.prompt for e in long_plan(steps).run("go").events if isinstance(e, PromptAssembled)]
        return sum(len(prompt.messages) for prompt in prompts)

    ten, twenty, forty = map(held, (10, 20, 40))
    assert forty - twenty == 2 * (twenty - ten)


def test_until_a_step_has_a_result_each_step_is_told_the_question_and_the_plan():
    agent = planner(TWO, ADDING, '["guess"]', "one", "One.", tools=[add], max_turns=1, replan=True)
    agent.run("What is it?")
    revised, first = asked(agent)[2:4]
    assert "Step 1 (look) has no result" in revised
    assert "2. count" in revised
    assert first.startswith("What is it?")
    assert "2. guess" in first
    assert "Step 1 (look) has no result" in first


def test_what_is_observed_is_the_first_request():
    agent = planner(TWO, "one", "two", "done", tools=[add], system_prompt="Be brief.")
    seen = agent.observe("go")
    agent.run("go")
    assert agent.requests[0].messages == seen.messages or tuple(agent.requests[0].messages) == seen.messages
    assert (agent.requests[0].tools, seen.tools) == ((), ())
