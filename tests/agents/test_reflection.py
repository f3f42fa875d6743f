"""ReflectionAgent: drafts, has its answer criticised, writes it anew; the critique passes or the rounds are over."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from pydantic import BaseModel

from nbagent import Agent, Image, Limits, ReflectionAgent, Retry, ScriptedLLM, ToolRegistry, tool
from nbagent.errors import ConfigError, DriftError, ModelError, ScriptExhausted
from nbagent.events import (
    ModelReplied,
    Noted,
    PromptAssembled,
    StepStarted,
    TextDelta,
    ToolReturned,
    ToolStarted,
)
from nbagent.messages import ModelReply
from nbagent.runtime.progress import Round, rounds_of

call = ScriptedLLM.tool_call
BOTH = pytest.mark.parametrize("asynchronous", [False, True], ids=["run", "arun"])
PASS = "GOOD ENOUGH"
ran: list = []


@pytest.fixture(autouse=True)
def _nothing_ran():
    ran.clear()


@tool
def check(fact: str) -> str:
    """Checks a fact."""
    ran.append(fact)
    return f"{fact}: true"


CHECKING = call("check", {"fact": "365 days"})


def writer(*script, **options):
    return ReflectionAgent("w", ScriptedLLM(script), **options)


def run(agent, task="go", *, asynchronous=False, **options):
    return asyncio.run(agent.arun(task, **options)) if asynchronous else agent.run(task, **options)


def replay(agent, events, *, asynchronous=False, **options):
    return asyncio.run(agent.areplay(events, **options)) if asynchronous else agent.replay(events, **options)


def said(request):
    return [message.content for message in request.messages]


# the rounds


@BOTH
def test_a_draft_that_passes_at_once_takes_two_replies(asynchronous):
    agent = writer("The draft.", PASS, "never asked for")
    result = run(agent, asynchronous=asynchronous)
    assert (result.status, result.final_output, result.stop_reason) == ("completed", "The draft.", "passed in round 1")
    assert (agent.model.position, result.usage.llm_calls) == (2, 2)
    assert result.rounds == (Round(1, "The draft.", PASS, None, True, "passed"),)
    assert [(m.role, m.content) for m in agent.history] == [("user", "go"), ("assistant", "The draft.")]


@BOTH
@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
def test_the_worst_case_takes_one_reply_and_two_for_each_round(rounds, asynchronous):
    script = ["draft", *[text for n in range(1, rounds + 1) for text in (f"mend {n}", f"version {n}")]]
    agent = writer(*script, PASS, max_turns=rounds)
    result = run(agent, asynchronous=asynchronous)
    # The last refinement is not criticised.
    assert (agent.model.position, result.usage.llm_calls) == (1 + 2 * rounds, 1 + 2 * rounds)
    assert (result.status, result.final_output) == ("completed", f"version {rounds}")
    assert result.stop_reason == f"not passed after {'1 round' if rounds == 1 else f'{rounds} rounds'}"
    written = ["draft", *[f"version {n}" for n in range(1, rounds + 1)]]
    assert result.rounds == tuple(
        Round(n, written[n - 1], f"mend {n}", written[n], False, "done") for n in range(1, rounds + 1)
    )
    assert agent.history[-1].content == f"version {rounds}"


def test_three_rounds_are_the_default():
    assert writer().max_turns == 3


@pytest.mark.parametrize(
    ("critique", "passes"),
    [
        (PASS, True),
        ("good enough.", True),
        ("**GOOD ENOUGH**", True),
        ("  \nGOOD  ENOUGH!\n", True),
        ("Verdict: GOOD ENOUGH", True),
        ("GOOD\nENOUGH", True),
        ("NOT GOOD ENOUGH", False),
        ("This is not yet GOOD ENOUGH because X", False),
        ("GOOD ENOUGHLY", False),
        ("GOOD ENOUGH?", False),
        ("GOOD ENOUGH\nbut say how long", False),
    ],
)
def test_only_a_verdict_passes(critique, passes):
    agent = writer("draft", critique, "better", max_turns=1)
    result = agent.run("go")
    assert (result.rounds[0].passed, result.final_output) == (passes, "draft" if passes else "better")


@pytest.mark.parametrize(
    ("critique", "passes"),
    [("已达最佳", True), ("已达最佳。", True), ("答案已达最佳了", True), ("尚未已达最佳", False), (PASS, False)],
)
def test_the_signal_is_that_of_the_language(critique, passes):
    agent = writer("draft", critique, "better", max_turns=1, texts="chinese")
    assert agent.run("go").rounds[0].passed is passes
    assert "已达最佳" in said(agent.model.requests[1])[-1]


def test_the_signal_may_be_another():
    agent = writer("draft", PASS, "better", "perfect", texts={"reflection.signal": "PERFECT"})
    result = agent.run("go")
    assert ([one.passed for one in result.rounds], result.final_output) == ([False, True], "better")
    assert "reply with exactly PERFECT and nothing else" in said(agent.model.requests[1])[-1]


def test_what_the_author_and_the_critic_are_told():
    agent = writer("draft", "Add the days.", "better", PASS, system_prompt="Be brief.")
    agent.run("How long is an orbit?")
    draft, critique, refine, again = map(said, agent.model.requests)
    assert draft == ["Be brief.", "How long is an orbit?"]
    assert critique[0].startswith("Be brief.\n\nYou are a strict reviewer.")
    assert critique[1].startswith("Review this answer.\n\nThe task:\nHow long is an orbit?\n\nThe answer:\ndraft\n\n")
    assert refine[:3] == ["Be brief.", "How long is an orbit?", "draft"]
    assert refine[3].startswith("A reviewer says of your answer:\nAdd the days.\n\n")
    assert "The answer:\nbetter\n\n" in again[1]


def test_no_request_grows_with_the_rounds():
    script = ["draft", *[text for n in range(20) for text in (f"mend {n}", f"version {n}")]]
    agent = writer(*script, system_prompt="Be brief.", max_turns=20)
    agent.run("go")
    assert [len(request.messages) for request in agent.model.requests] == [2, *[2, 4] * 20]


def test_what_was_said_before_is_seen_by_the_author():
    agent = writer("One.", PASS, "draft", "mend", "Two.", PASS, examples=[("1", "2")])
    agent.run("first")
    agent.run("second")
    assert [m.content for m in agent.history] == ["first", "One.", "second", "Two."]
    draft, critique, refine, _ = map(said, agent.model.requests[2:])
    assert draft == ["1", "2", "first", "One.", "second"]
    assert refine[:6] == ["1", "2", "first", "One.", "second", "draft"]
    # A reviewer judges the answer to this task alone.
    assert len(critique) == 2


def test_pictures_are_seen_by_author_and_critic():
    agent = writer("draft", "mend", "better", PASS)
    agent.run("What is it?", images=[Image(b"\x89PNG\r\n\x1a\nrest", "image/png")])
    assert [sum(len(m.images) for m in request.messages) for request in agent.model.requests] == [1, 1, 1, 1]


def test_what_is_recorded_as_a_prompt_is_what_is_sent():
    agent = writer("", "draft", CHECKING, "mend", "better", PASS, tools=[check], system_prompt="Be brief.")
    result = agent.run("go")
    prompts = [e.prompt for e in result.events if isinstance(e, PromptAssembled)]
    sent = [agent.model.requests[n] for n in (0, 2, 4, 5)]
    # Of what the run has said before, it holds how much that is.
    assert [prompt.messages for prompt in prompts] == [
        request.messages[prompt.before :] for request, prompt in zip(sent, prompts, strict=True)
    ]
    assert [prompt.tools for prompt in prompts] == [request.tools for request in sent]


# tools


@BOTH
def test_only_the_critic_has_tools(asynchronous):
    agent = writer("draft", CHECKING, "Say so.", "better", CHECKING, PASS, tools=[check])
    result = run(agent, asynchronous=asynchronous)
    assert (result.final_output, ran) == ("better", ["365 days", "365 days"])
    assert [len(request.tools) for request in agent.model.requests] == [0, 1, 1, 0, 1, 1]
    assert [one.critique for one in result.rounds] == ["Say so.", PASS]
    assert (result.usage.llm_calls, result.usage.tool_calls) == (6, 2)


def test_an_author_that_calls_a_tool_has_none():
    agent = writer(CHECKING, "draft", PASS, tools=[check])
    result = agent.run("go")
    assert (result.final_output, ran) == ("draft", [])
    assert "you have no tools" in result.tool_calls[0].observation.text


@BOTH
def test_a_critic_that_runs_out_of_turns_leaves_the_answer_as_it_is(asynchronous):
    checks = [call("check", {"fact": f"{n}"}) for n in range(9)]
    agent = writer("draft", *checks, "never", tools=[check])
    result = run(agent, asynchronous=asynchronous)
    assert (result.status, result.final_output) == ("completed", "draft")
    assert result.stop_reason.startswith("no critique in round 1: no answer within 5 replies")
    assert result.rounds == (Round(1, "draft", status="failed", reason="no answer within 5 replies"),)
    assert 1 < len(ran) < 9


def test_a_registry_is_a_keyword():
    registry = ToolRegistry([check])
    assert writer(tool_registry=registry).own_tools is registry
    with pytest.raises(ConfigError, match="system prompt: expected a text, got ToolRegistry"):
        ReflectionAgent("w", ScriptedLLM([]), registry)
    with pytest.raises(ConfigError, match="compactor"):
        writer(compactor=object())
    with pytest.raises(TypeError, match="no option 'rounds'"):
        writer(rounds=3)


@pytest.mark.parametrize("turns", [0, -1, True, "3"])
def test_max_turns_is_a_number_from_one(turns):
    with pytest.raises(ConfigError, match="max_turns: expected a whole number from 1"):
        writer(max_turns=turns)


# replies that say nothing, or not enough


@BOTH
def test_an_empty_reply_is_asked_for_again_in_every_stage(asynchronous):
    agent = writer("", "draft", " ", "mend", "\n", "better", "", PASS)
    result = run(agent, asynchronous=asynchronous)
    assert (result.final_output, result.rounds[-1].passed) == ("better", True)
    assert sum(isinstance(e, Noted) for e in result.events) == 4


@BOTH
def test_a_draft_that_is_empty_twice_fails_the_run(asynchronous):
    agent = writer("", "")
    with pytest.raises(ModelError, match="second time"):
        run(agent, asynchronous=asynchronous)
    assert (agent.last.status, agent.history) == ("failed", ())


@BOTH
@pytest.mark.parametrize(
    ("script", "why"),
    [(["draft", "", ""], "no critique in round 1"), (["draft", "mend", "", ""], "not refined in round 1")],
)
def test_a_stage_that_is_empty_twice_leaves_the_answer_as_it_is(script, why, asynchronous):
    result = run(writer(*script), asynchronous=asynchronous)
    assert (result.status, result.final_output) == ("completed", "draft")
    assert result.stop_reason.startswith(why)
    assert "second time" in result.stop_reason


def test_a_draft_that_does_not_come_is_no_answer():
    agent = writer(*[CHECKING] * 9, tools=[check])
    result = agent.run("go")
    assert (result.status, result.final_output, result.rounds, agent.history) == ("out_of_turns", None, (), ())


@BOTH
@pytest.mark.parametrize("bad", [[CHECKING] * 3, [ModelReply("bet", finish_reason="length")]])
def test_a_refinement_that_does_not_come_leaves_the_answer_before_it(bad, asynchronous):
    agent = writer("draft", "mend", *bad, "never", tools=[check], max_tokens=3)
    result = run(agent, asynchronous=asynchronous)
    assert (result.status, result.final_output) == ("completed", "draft")
    assert result.stop_reason.startswith("not refined in round 1: ")
    reason = result.stop_reason.removeprefix("not refined in round 1: ")
    assert result.rounds == (Round(1, "draft", "mend", status="failed", reason=reason),)
    assert (ran, agent.history[-1].content) == ([], "draft")


# output fields


class Answer(BaseModel):
    days: int


FIRST, SECOND = '{"days": 364}', '{"days": 365}'


@BOTH
def test_the_critic_reads_what_the_author_wrote_and_the_user_gets_fields(asynchronous):
    agent = writer(f"```json\n{FIRST}\n```", "It is 365.", SECOND, PASS, output={"days": int})
    result = run(agent, asynchronous=asynchronous)
    assert result.final_output == {"days": 365}
    assert [one.draft for one in result.rounds] == [f"```json\n{FIRST}\n```", SECOND]
    assert f"The answer:\n```json\n{FIRST}\n```\n" in said(agent.model.requests[1])[-1]
    assert [m.content for m in agent.history] == ["go", SECOND]
    # The critic may say what it likes.
    assert "The answer cannot be" not in "".join(text for request in agent.model.requests for text in said(request))


@BOTH
def test_an_answer_that_cannot_be_read_is_asked_for_again(asynchronous):
    agent = writer("none", FIRST, "It is 365.", '{"days": "many"}', SECOND, PASS, tools=[check])
    result = run(agent, asynchronous=asynchronous, output_schema=Answer)
    assert result.final_output == Answer(days=365)
    assert "days" in said(agent.model.requests[4])[-1]
    assert [request.output_schema is not None for request in agent.model.requests] == [
        True, True, False, True, True, False,
    ]  # fmt: skip
    assert replay(writer(tools=[check]), result.events, output_schema=Answer, asynchronous=asynchronous) == result


def test_the_draft_is_the_answer_that_is_remembered_where_the_critique_passes():
    agent = writer(FIRST, PASS)
    result = agent.run("go", output_schema=Answer)
    assert (result.final_output, agent.history[-1].content) == (Answer(days=364), FIRST)


@pytest.mark.parametrize("retries", [0, 1, 2, 4])
def test_an_answer_is_asked_for_again_as_often_as_was_said(retries):
    agent = writer(*["none"] * retries, FIRST, PASS)
    assert agent.run("go", output_schema=Answer, retries=retries).final_output == Answer(days=364)
    agent = writer(*["none"] * (retries + 1), FIRST, PASS)
    with pytest.raises(ModelError, match="cannot be read"):
        agent.run("go", output_schema=Answer, retries=retries)


# how a run ends early


@BOTH
@pytest.mark.parametrize(("calls", "critique"), [(1, None), (2, "mend")])
def test_a_limit_ends_the_run_and_keeps_what_was_written(calls, critique, asynchronous):
    agent = writer("draft", "mend", "better", limits=Limits(max_llm_calls=calls))
    result = run(agent, asynchronous=asynchronous)
    assert (result.status, agent.history) == ("limit_reached", ())
    assert result.rounds == (Round(1, "draft", critique, status="limit_reached", reason=result.stop_reason),)


@BOTH
def test_a_model_that_fails_fails_the_run_and_keeps_what_was_written(asynchronous):
    agent = writer("draft", "mend", ModelError("broken"))
    with pytest.raises(ModelError, match="broken"):
        run(agent, asynchronous=asynchronous)
    assert (agent.last.status, agent.last.rounds) == (
        "failed",
        (Round(1, "draft", "mend", status="failed", reason="ModelError: broken"),),
    )
    assert replay(writer(), agent.last.events, asynchronous=asynchronous) == agent.last


def test_a_script_that_is_too_short_is_an_error_of_the_test():
    with pytest.raises(ScriptExhausted):
        writer("draft", "mend").run("go")


@BOTH
def test_a_run_that_is_stopped_leaves_everything_as_it_was(asynchronous):
    agent = writer("draft", CHECKING, "mend", "better", PASS, tools=[check])

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
    assert (agent.last.status, agent.last.rounds) == (
        "cancelled",
        (Round(1, "draft", status="cancelled", reason="the stream was closed"),),
    )
    assert (agent.history, agent.model.position) == ((), 0)
    assert run(agent, asynchronous=asynchronous).final_output == "better"


# replay

SCRIPTS = {
    "passes": (["draft", PASS], {}),
    "refined": (["draft", "mend", "better", PASS], {}),
    "never passes": (["draft", "mend", "two", "mend", "three"], {"max_turns": 2}),
    "tools": (["draft", [CHECKING, call("nothing")], CHECKING, "mend", "better", CHECKING, PASS], {"tools": [check]}),
    "critic out of turns": (["draft", *[call("check", {"fact": f"{n}"}) for n in range(5)]], {"tools": [check]}),
    "not refined": (["draft", "mend", *[CHECKING] * 3], {"tools": [check]}),
    "empty replies": (["", "draft", "", "mend", "", "better", PASS], {}),
    "fields": (["no", FIRST, "mend", "no", SECOND, PASS], {"output": {"days": int}}),
    "tried again": (["draft", ModelError("busy", kind="overloaded"), PASS], {"retry": Retry(4, 0, 0)}),
}


@BOTH
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_whole_journal_gives_the_same_run_with_no_call_at_all(name, asynchronous):
    script, options = SCRIPTS[name]
    result = writer(*script, **options).run("go")
    ran.clear()
    fresh = writer(**options)  # a script with no reply: any model call would raise
    again = replay(fresh, result.events, asynchronous=asynchronous)
    assert again.events == result.events
    assert (again.rounds, again.usage) == (result.rounds, result.usage)
    assert (ran, fresh.model.requests, fresh.history, fresh.last) == ([], (), (), None)


@BOTH
@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "tried again"])
def test_a_journal_cut_after_any_event_goes_on_to_the_same_end(name, asynchronous):
    script, options = SCRIPTS[name]
    whole = writer(*script, **options).run("go")
    done, replies = len(ran), sum(isinstance(e, ModelReplied) for e in whole.events)
    for cut in range(1, len(whole.events)):
        ran.clear()
        prefix, agent = whole.events[:cut], writer(*script, **options)
        counted = Counter(type(e) for e in prefix)
        returned = sum(isinstance(e, ToolReturned) and e.observation.error is None for e in prefix)
        again = replay(agent, prefix, asynchronous=asynchronous, unknown="run_again")
        assert again == whole, f"cut after {prefix[-1]}"
        # Nothing that has returned runs again, and only the replies that are missing are asked for.
        assert len(ran) == done - returned
        assert len(agent.model.requests) == replies - counted[ModelReplied]
        assert (agent.model.position, agent.last) == (0, None)


def test_a_call_of_the_critic_that_has_no_result_is_a_question():
    script, options = SCRIPTS["tools"]
    whole = writer(*script, **options).run("go")
    cut = next(i for i, e in enumerate(whole.events) if isinstance(e, ToolStarted)) + 1
    ran.clear()
    paused = writer(*script, **options).replay(whole.events[:cut])
    assert (paused.status, ran, [one.status for one in paused.rounds]) == ("interrupted", [], ["interrupted"])
    # Of what is cut off in the middle nobody knows yet.
    assert rounds_of(whole.events[:cut]) == (Round(1, "draft"),)
    assert [p.tool_name for p in paused.interrupt.pendings] == ["check"]
    assert writer(*script, **options).replay(paused.events[:-1], unknown="run_again") == whole


def test_another_critique_is_drift():
    from msgspec.structs import replace

    result = writer("draft", "mend", "better", PASS).run("go")
    replies = [e for e in result.events if isinstance(e, ModelReplied)]
    forged = [replace(e, reply=ModelReply(PASS)) if e is replies[1] else e for e in result.events]
    with pytest.raises(DriftError):
        writer().replay(forged)
    with pytest.raises(DriftError):
        Agent("w", ScriptedLLM([])).replay(result.events)


# streams


@BOTH
def test_the_answer_comes_in_one_piece_at_the_end(asynchronous):
    better = ScriptedLLM.pieces("Better, ", "and longer, ", "and done.")
    agent = writer("draft", "mend", better, PASS)

    async def collect():
        return [piece async for piece in agent.astream_run("go")]

    pieces = asyncio.run(collect()) if asynchronous else list(agent.stream_run("go"))
    assert pieces == ["Better, and longer, and done."]


@BOTH
def test_a_stream_shows_the_text_of_every_stage(asynchronous):
    agent = writer("The draft. ", "Mend it. ", "The answer. ", PASS)

    async def collect():
        return [event async for event in agent.astream("go")]

    events = asyncio.run(collect()) if asynchronous else list(agent.stream("go"))
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == f"The draft. Mend it. The answer. {PASS}"
    assert [e for e in events if not isinstance(e, TextDelta)] == list(agent.last.events)
    assert [(e.kind, e.number) for e in events if isinstance(e, StepStarted)] == [
        ("draft", 0), ("critique", 1), ("refine", 1), ("critique", 2),
    ]  # fmt: skip
