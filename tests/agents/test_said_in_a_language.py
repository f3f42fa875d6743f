"""What nbagent says to a model of its tools and in its prompt: in the language of the agent, each text overridable."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict

from nbagent import (
    Agent,
    AgentTool,
    ContextBlock,
    ScriptedLLM,
    Texts,
    ToolPermissions,
    Veto,
    tool,
)
from nbagent.events import RunFinished
from nbagent.mcp.arguments import server_interface
from nbagent.messages import ToolSchema
from nbagent.prompt.context.block import ContextQuery
from nbagent.prompt.context.sources import Sources
from nbagent.runtime.result import RunResult, ended
from nbagent.texts.english import ENGLISH
from nbagent.texts.phrase import phrase_of
from nbagent.texts.template import fields_in, parse
from nbagent.tools.arguments import InvalidArguments

call = ScriptedLLM.tool_call


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    x: int = 1


def odd(value: int) -> int:
    if value == 2:
        raise LookupError("no")
    if value % 2 == 0:
        raise ValueError("must be odd")
    return value


@tool
def look(place: str, count: int | bool = 1, odd: Annotated[int, AfterValidator(odd)] = 1, many: tuple[int, ...] = (1,),
         strict: Strict = Strict(), anything: Any = None) -> str:  # fmt: skip  # noqa: B008
    """Looks."""
    return "nothing"


@tool
def take(thing: Any) -> str:
    """Takes."""
    return ""


@tool
def wait() -> str:
    """Waits."""
    return ""


SERVERS = server_interface(ToolSchema("far", "Far.", {
    "type": "object", "properties": {"size": {"enum": ["s", "m"]}}, "additionalProperties": False,
}))  # fmt: skip
CALLS = {
    "invalid": (look, '{"place": 1}'), "wrong": (look, '{"place": 1}'), "nothing": (look, "{}"),
    "value_of": (look, "{}"), "value": (take, "{}"), "or": (look, '{"place": "", "count": "x"}'),
    "more": (look, json.dumps({"place": "", "many": ["x"] * 25})), "no_argument": (look, '{"place": "", "plase": 1}'),
    "no_arguments": (wait, '{"x": 1}'), "no_key": (look, '{"place": "", "strict": {"y": 1}}'),
    "otherwise": (look, '{"place": "", "odd": 4}'), "unchecked": (look, '{"place": "", "odd": 2}'),
    "object": (look, "[]"), "json": (look, "{"), "json_value": (look, '{"place": }'), "json_name": (look, "{1: 2}"),
    "json_comma": (look, '{"place": "" 1}'), "json_colon": (look, '{"place" 1}'), "json_end": (look, "{} x"),
    "json_quote": (look, '{"place": "'), "json_control": (look, '{"place": "\n"}'),
    "json_escape": (look, '{"place": "\\q"}'), "json_digits": (look, '{"place": "\\uZZ"}'),
    "json_problem": (look, f'{{"count": {"1" * 5000}}}'), "json_deep": (look, '{"many": ' + "[" * 100_000),
    "json_twice": (look, '{"place": "", "place": ""}'), "json_large": (look, '{"place": 1e999}'),
    "json_constant": (look, '{"place": NaN}'), "superfluous": (SERVERS, '{"x": 1}'),
    "one_of": (SERVERS, '{"size": "x"}'), "half": (SERVERS, '{"size": "\\ud83d"}'),
    "no_task": (AgentTool(Agent("inner", ScriptedLLM())), '{"task": " "}'),
}  # fmt: skip


class Source:
    passive, active = True, True

    def __init__(self, label="docs"):
        self.context_label = label

    def get_blocks(self, query, top_k=8):
        return [ContextBlock("seen", title="Title")]


class Quiet(Source):
    passive = False


def requests(agent, inputs: Any = "go"):
    agent.run(inputs)
    return json.dumps([str(r.messages) + str(r.tools) for r in agent.model.requests], ensure_ascii=False)


def observed(agent):
    return agent.run("go").tool_calls[0].observation.text


def inner(**options):
    return Agent("inner", ScriptedLLM([call("wait")] * 9), tools=[wait], max_turns=1, **options)


def deep(texts):
    agent = Agent("leaf", ScriptedLLM(["x"]), texts=texts)
    for number in range(9):
        name = agent.name
        agent = Agent(f"a{number}", ScriptedLLM([call(name, {"task": "t"}), "x"]), tools=[agent], texts=texts)
    return str([str(event) for event in agent.run("go").events])


def asked(providers, name, texts):
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - what it says is what is asked about
        Sources(providers, ContextQuery(""), texts).retrieve(name)
    return str(raised.value)


def of_run(*script, **options):
    return lambda texts: observed(Agent("bot", ScriptedLLM([*script, "done"]), texts=texts, **options))


def in_prompt(**options):
    inputs = options.pop("inputs", {"a": "1"})
    return lambda texts: requests(Agent("bot", ScriptedLLM(['{"x": "s", "y": 1}']), texts=texts, **options), inputs)


class Answer(BaseModel):
    x: str = "s"
    y: int | None = None
    z: Any = None


SAYINGS = {
    "tool.unknown": of_run(call("lok"), tools=[wait]),
    "tool.unknown_none": of_run(call("lok")),
    "tool.not_permitted": of_run(call("wait"), tools=[wait, take], permissions=ToolPermissions(deny=["wait"])),
    "tool.not_permitted_none": of_run(call("wait"), tools=[wait], permissions=ToolPermissions(deny=["wait"])),
    "tool.too_deep": deep,
    "tool.vetoed": of_run(call("wait"), tools=[wait], hooks=[type("Hook", (), {"before_tool": lambda *_: Veto("")})()]),
    "tool.agent": lambda texts: str(AgentTool(inner(texts=texts)).schema),
    "tool.agent_told": lambda texts: str(AgentTool(inner(texts=texts, system_prompt="Wait.")).schema),
    "tool.agent_task": lambda texts: str(AgentTool(inner(texts=texts)).schema),
    "tool.agent_ended_because": of_run(call("inner", {"task": "t"}), tools=[inner()]),
    "tool.agent_ended": lambda texts: texts.said(ended(RunResult((RunFinished("cancelled", None),)))),
    "tool.list_context_sources": in_prompt(retrievers=[Quiet()]),
    "tool.retrieve_context": in_prompt(retrievers=[Quiet()]),
    "tool.retrieve_context_source": in_prompt(retrievers=[Quiet()]),
    "tool.retrieve_context_query": in_prompt(retrievers=[Quiet()]),
    "tool.retrieve_context_top_k": in_prompt(retrievers=[Quiet()]),
    "payload.message": in_prompt(prompt_template="Do."),
    "payload.rules": in_prompt(output={"x": str, "y": int}),
    "payload.output": in_prompt(output={"x": str, "y": int}),
    "payload.context": in_prompt(retrievers=[Source()]),
    "payload.input": lambda texts: in_prompt(inputs={texts["payload.context"]: "1"})(texts),
    "context.head": in_prompt(retrievers=[Source()]),
    "context.source": in_prompt(retrievers=[Source()]),
    "context.ambiguous": lambda texts: asked([Quiet(), Quiet()], "docs", texts),
    "context.unknown": lambda texts: asked([Quiet()], "zzz", texts),
    "context.unknown_near": lambda texts: asked([Quiet()], "dcs", texts),
    "context.top_k": of_run(call("retrieve_context", {"source": "docs", "top_k": 0}), retrievers=[Quiet()]),
    "output.any": in_prompt(output=Answer),
    "output.one_of": in_prompt(output={"x": 'Literal["s", "m"]', "y": int}),
    "output.optional": in_prompt(output=Answer),
    "output.default": in_prompt(output=Answer),
}  # fmt: skip
GROUPS = ("tool.", "arguments.", "payload.", "context.", "output.")


def test_there_is_a_case_for_each_text():
    known = {key for key in ENGLISH if key.startswith(GROUPS)}
    assert SAYINGS.keys() | {f"arguments.{key}" for key in CALLS} == known


def overridden(key):
    return Texts(
        overrides={key: "«" + "·".join([f"{{{place}}}" for place in fields_in(parse(ENGLISH[key], key))]) + "»"}
    )


@pytest.mark.parametrize("key", SAYINGS)
def test_what_is_said_of_tools_and_in_the_prompt_is_worded_by_the_agents_texts(key):
    assert "«" in SAYINGS[key](overridden(key))
    assert re.search("[\u4e00-\u9fff]", SAYINGS[key](Texts("chinese")))


@pytest.mark.parametrize("key", CALLS)
def test_what_is_wrong_with_arguments_is_worded_by_the_agents_texts(key):
    tool, arguments = CALLS[key]
    with pytest.raises(InvalidArguments) as raised:
        tool.bind(arguments)
    said = phrase_of(raised.value)
    assert "«" in overridden(f"arguments.{key}").said(said)
    assert str(raised.value) == Texts().said(said)
    assert re.search("[\u4e00-\u9fff]", Texts("chinese").said(said))


def test_a_model_reads_what_is_wrong_in_the_language_of_the_agent():
    assert of_run(call("look", {"place": 1}), tools=[look])(Texts("chinese")) == (
        "参数无效：place：应为 a valid string，得到的是 1"
    )
