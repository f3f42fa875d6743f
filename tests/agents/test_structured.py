"""Structured answers: a run whose answer is a value of a type: with tools, asked for again, replayed, remembered."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, model_validator
from typing_extensions import TypedDict

from nbagent import Agent, ScriptedLLM, tool
from nbagent.errors import ConfigError, DriftError, ModelError
from nbagent.events import ModelReplied, Noted

call = ScriptedLLM.tool_call
BOTH = pytest.mark.parametrize("asynchronous", [False, True], ids=["run", "arun"])
ran: list = []


@pytest.fixture(autouse=True)
def _nothing_ran():
    ran.clear()


@tool
def look(city: str) -> str:
    """Looks a city up."""
    ran.append(city)
    return f"{city}: 24C"


class Weather(BaseModel):
    city: str
    degrees: int = Field(description="in Celsius")
    windy: bool = False


class Mood(Enum):
    good = "Good"
    bad = "Bad"


@dataclass
class Point:
    x: int
    y: int


class Row(TypedDict):
    a: int


GOOD = '{"city": "Oslo", "degrees": 24}'
OSLO = Weather(city="Oslo", degrees=24)
LOOKING = call("look", {"city": "Oslo"})


def agent_of(*script, **options):
    return Agent("a", ScriptedLLM(script), **{"tools": [look], **options})


def run(agent, task="go", *, asynchronous=False, **options):
    return asyncio.run(agent.arun(task, **options)) if asynchronous else agent.run(task, **options)


def replay(agent, events, *, asynchronous=False, **options):
    return asyncio.run(agent.areplay(events, **options)) if asynchronous else agent.replay(events, **options)


def asked(agent, number):
    return agent.model.requests[number].messages[-1].content


# the answer


@BOTH
def test_tools_are_used_first_and_then_the_answer_is_read(asynchronous):
    agent = agent_of(LOOKING, GOOD, system_prompt="Be brief.")
    result = run(agent, asynchronous=asynchronous, output_schema=Weather)
    assert (result.status, result.final_output, ran) == ("completed", OSLO, ["Oslo"])
    assert (result.usage.llm_calls, result.usage.tool_calls) == (2, 1)
    assert (result["degrees"], json.loads(str(result))["city"]) == (24, "Oslo")
    # The model is told of the fields once, beside its tools.
    for request in agent.model.requests:
        assert [m.role for m in request.messages].count("system") == 1
        assert [schema.name for schema in request.tools] == ["look"]
        assert request.output_schema is not None
    told = asked(agent, 0)
    assert all(word in told for word in ("city", "degrees", "in Celsius", "windy"))


@BOTH
@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (int, '{"value": 3}', 3),
        (bool, '{"value": true}', True),
        (Literal["yes", "no"], '{"value": "no"}', "no"),
        (Mood, '{"value": "Good"}', Mood.good),
        (dict[str, int], '{"value": {"a": 1}}', {"a": 1}),
        (Annotated[int, Field(ge=0)], '{"value": 0}', 0),
        (list[Weather], f'{{"value": [{GOOD}]}}', [OSLO]),
        (Point, '{"x": 1, "y": 2}', Point(1, 2)),
        (Row, '{"a": 1}', {"a": 1}),
    ],
    ids=str,
)
def test_any_type_may_be_the_answer(kind, said, value, asynchronous):
    agent = agent_of(LOOKING, said)
    result = run(agent, asynchronous=asynchronous, output_schema=kind)
    assert result.final_output == value
    assert type(result.final_output) is type(value)
    assert replay(agent_of(), result.events, asynchronous=asynchronous, output_schema=kind).final_output == value


def test_what_is_written_around_an_answer_is_left_out_and_noted():
    agent = agent_of(f"Here you are:\n```json\n{GOOD}\n```")
    result = agent.run("go", output_schema=Weather)
    assert result.final_output == OSLO
    [note] = [e for e in result.events if isinstance(e, Noted)]
    assert not note.told


def test_a_reply_that_calls_a_tool_is_no_answer():
    agent = agent_of(call("look", {"city": "Oslo"}, content='{"city": "Rome", "degrees": 1}'), GOOD)
    assert agent.run("go", output_schema=Weather).final_output == OSLO


def test_the_agent_may_say_what_its_answers_are():
    agent = agent_of(LOOKING, GOOD, GOOD, output=Weather)
    assert (agent.run("go").final_output, agent.last["city"]) == (OSLO, "Oslo")
    assert agent.run("again").final_output == OSLO
    assert [m.content for m in agent.history] == ["go", GOOD, "again", GOOD]


def test_a_run_may_ask_for_something_else():
    agent = agent_of('{"value": 3}', '{"mood": "good"}', "plain", output={"mood": "in one word"})
    assert agent.run("go", output_schema=int).final_output == 3
    assert agent.run("go").final_output == {"mood": "good"}
    assert ["value" in asked(agent, n) for n in range(2)] == [True, False]
    plain = agent_of('{"value": 3}', "plain")
    assert (plain.run("go", output_schema=int).final_output, plain.run("go").final_output) == (3, "plain")
    assert asked(plain, 1) == "go"


# what cannot be read


@BOTH
def test_what_is_wrong_is_told_once_by_default(asynchronous):
    agent = agent_of(LOOKING, '{"degrees": "many"}', GOOD)
    result = run(agent, asynchronous=asynchronous, output_schema=Weather)
    assert (result.final_output, ran) == (OSLO, ["Oslo"])
    told = asked(agent, 2)
    assert "city: missing" in told
    assert "degrees: input should be a valid integer" in told
    assert agent.model.requests[2].messages[-2].content == '{"degrees": "many"}'
    [note] = [e for e in result.events if isinstance(e, Noted)]
    assert (note.told, note.text) == (True, told)

    agent = agent_of("none", "none", GOOD)
    with pytest.raises(ModelError, match="its answer cannot be read") as raised:
        run(agent, asynchronous=asynchronous, output_schema=Weather)
    assert raised.value.kind == "bad_response"
    assert (agent.last.status, agent.model.position, agent.history) == ("failed", 2, ())


@BOTH
@pytest.mark.parametrize("retries", [0, 1, 2, 5])
def test_the_model_is_told_as_often_as_was_said(retries, asynchronous):
    agent = agent_of(*["none"] * retries, GOOD)
    assert run(agent, asynchronous=asynchronous, output_schema=Weather, retries=retries).final_output == OSLO
    agent = agent_of(*["none"] * (retries + 1), GOOD)
    with pytest.raises(ModelError, match="cannot be read"):
        run(agent, asynchronous=asynchronous, output_schema=Weather, retries=retries)
    assert agent.model.position == retries + 1


def test_retries_count_for_declared_fields_too():
    agent = agent_of("none", GOOD, output=Weather)
    with pytest.raises(ModelError, match="cannot be read"):
        agent.run("go", retries=0)
    assert agent_of("none", "no", GOOD, output=Weather).run("go", retries=2).final_output == OSLO


def test_what_a_model_of_pydantic_checks_is_told():
    class Span(BaseModel):
        start: int
        end: int

        @model_validator(mode="after")
        def in_order(self):
            if self.end < self.start:
                raise ValueError("The end must not be before the start")
            return self

    agent = agent_of('{"start": 2, "end": 1}', '{"start": 1, "end": 2}')
    assert agent.run("go", output_schema=Span).final_output == Span(start=1, end=2)
    assert "the end must not be before the start" in asked(agent, 1).lower()


def test_the_last_turn_is_told_apart():
    agent = agent_of(LOOKING, "none", GOOD, max_turns=2)
    result = agent.run("go", output_schema=Weather)
    assert (result.status, result.final_output, agent.model.position) == ("out_of_turns", None, 2)
    assert result.stop_reason == "no answer within max_turns=2, and that of turn 2 cannot be read"
    assert [e.told for e in result.events if isinstance(e, Noted)] == [False]


def test_an_empty_reply_is_no_answer_that_cannot_be_read():
    agent = agent_of("", "none", GOOD)
    assert agent.run("go", output_schema=Weather).final_output == OSLO


NO_TYPES = {
    "instance": OSLO,
    "text": "Weather",
    "dict": {"a": int},
    "list": [int],
    "number": 3,
    "function": lambda: None,
}


@pytest.mark.parametrize("kind", NO_TYPES.values(), ids=NO_TYPES)
def test_what_is_no_type_is_refused_before_anything_is_sent(kind):
    agent = agent_of(GOOD)
    with pytest.raises(ConfigError, match="output_schema: expected a pydantic model or a type such as"):
        agent.run("go", output_schema=kind)
    assert (agent.model.position, agent.last) == (0, None)


@pytest.mark.parametrize("retries", [-1, True, "1", 1.0])
def test_retries_are_a_number(retries):
    with pytest.raises(ConfigError, match="retries: expected a whole number from 0"):
        agent_of(GOOD).run("go", output_schema=Weather, retries=retries)


def test_an_answer_that_is_not_to_be_read_has_no_type():
    with pytest.raises(ConfigError, match="formatters: `text` reads no answer"):
        agent_of(GOOD, formatters=["paragraph", "text"]).run("go", output_schema=Weather)


# what is kept of it


@BOTH
def test_what_is_remembered_is_what_was_said(asynchronous):
    agent = agent_of(LOOKING, f"```json\n{GOOD}\n```", '{"value": 3}', "plain")
    first = run(agent, "one", asynchronous=asynchronous, output_schema=Weather)
    run(agent, "two", asynchronous=asynchronous, output_schema=int)
    run(agent, "three", asynchronous=asynchronous)
    said = ["one", f"```json\n{GOOD}\n```", "two", '{"value": 3}', "three", "plain"]
    assert [m.content for m in agent.history] == said
    assert [m.content for m in first.new_messages] == said[:2]
    assert [m.content for m in agent.model.requests[-1].messages] == said[:5]


@BOTH
@pytest.mark.parametrize("script", [[GOOD], [LOOKING, GOOD], ["none", LOOKING, GOOD], [f"So: {GOOD}"]])
def test_a_journal_whole_or_cut_anywhere_gives_the_same_answer(script, asynchronous):
    whole = agent_of(*script).run("go", output_schema=Weather)
    done = len(ran)
    again = replay(agent_of(), whole.events, asynchronous=asynchronous, output_schema=Weather)
    assert (again.events, again.final_output) == (whole.events, OSLO)
    for cut in range(1, len(whole.events)):
        ran.clear()
        prefix, agent = whole.events[:cut], agent_of(*script)
        again = replay(agent, prefix, asynchronous=asynchronous, unknown="run_again", output_schema=Weather)
        assert again == whole, f"cut after {prefix[-1]}"
        assert len(ran) <= done
        replied = sum(isinstance(e, ModelReplied) for e in prefix)
        assert len(agent.model.requests) == whole.usage.llm_calls - replied


def test_a_replay_that_asks_for_something_else_is_drift():
    whole = agent_of(LOOKING, GOOD).run("go", output_schema=Weather)
    for kind in (None, Point, int):
        with pytest.raises(DriftError):
            agent_of().replay(whole.events, output_schema=kind)


def test_the_type_is_a_part_of_the_request():
    class Other(Weather):
        degrees: int = Field(description="in Fahrenheit")

    prints = {agent_of(GOOD).run("go", output_schema=kind).events[2].fingerprint for kind in (Weather, Other, Weather)}
    assert len(prints) == 2


def test_a_class_that_was_defined_anew_gives_the_same_run():
    def made():
        class Cell(BaseModel):
            value: int

        return Cell

    whole = agent_of('{"value": 3}').run("go", output_schema=made())
    again = agent_of().replay(whole.events, output_schema=made())
    assert (again.status, again.final_output.value) == ("completed", 3)


# what goes to the provider


@pytest.mark.parametrize(
    ("options", "kind", "native"),
    [
        ({}, Weather, True),
        ({}, list[int], True),
        ({}, Literal["a", "b"], True),
        ({"output": Weather}, None, True),
        ({"output": {"degrees": int, "city": (str, "where")}}, None, True),
        ({"formatters": ["paragraph", "lenient_json"]}, Weather, None),
        ({}, dict[str, int], False),
        ({}, Any, False),
        ({"output": {"mood": "in one word"}}, None, False),
        ({}, None, False),
    ],
)
def test_a_schema_goes_along_where_providers_can_hold_a_model_to_it(options, kind, native):
    agent = agent_of(LOOKING, "none", "none", **options)
    if kind is None and not options:
        agent.run("go")
    else:
        with pytest.raises(ModelError):
            agent.run("go", output_schema=kind)
    schemas = [request.output_schema for request in agent.model.requests]
    assert schemas[1:] == schemas[:-1]
    if native is not None:
        assert (schemas[0] is not None) is native
    if native:
        assert schemas[0]["type"] == "object"
        assert schemas[0]["additionalProperties"] is False


def test_an_answer_in_another_form_than_json_has_no_schema():
    for form, said in (("markdown", "# city\n\nOslo"), ("tagged", "<city>Oslo</city>")):
        agent = agent_of(said, formatters=["paragraph", form], output={"city": str})
        assert agent.run("go")["city"].strip() == "Oslo"
        assert agent.model.requests[0].output_schema is None


# streams


@BOTH
def test_the_text_of_a_structured_answer_comes_in_one_piece(asynchronous):
    agent = agent_of(LOOKING, ScriptedLLM.pieces('{"city": "Oslo", ', '"degrees": 24}'))

    async def collect():
        return [piece async for piece in agent.astream_run("go", output_schema=Weather)]

    pieces = asyncio.run(collect()) if asynchronous else list(agent.stream_run("go", output_schema=Weather))
    assert len(pieces) == 1
    assert json.loads(pieces[0]) == {"city": "Oslo", "degrees": 24, "windy": False}
    assert agent.last.final_output == OSLO


def test_a_replay_asks_as_often_as_the_recorded_run():
    agent = agent_of("a", "b", "c", GOOD)
    result = agent.run("go", output_schema=Weather, retries=3)
    assert agent.replay(result.events, output_schema=Weather) == result
