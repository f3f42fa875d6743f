"""MCP tools: a server's tools are tools of an agent, with the server's own schema."""

from __future__ import annotations

import asyncio
import json

import pytest
from mcp_double import PNG

from nbagent import Agent, ScriptedLLM, ToolRegistry
from nbagent.errors import ConfigError
from nbagent.messages import Image
from nbagent.tools.arguments import InvalidArguments

NAMES = [
    "add", "fail", "meet", "slow", "picture", "page", "structured", "only_structured", "links",
    "odd_name_with_dots", "odd_name_with_dots_2", "die", "pid", "variables", "pay",
]  # fmt: skip
call = ScriptedLLM.tool_call


def observation(tools, name, arguments=None, run=None):
    """What an agent sees of one call."""
    agent = Agent("a", ScriptedLLM([call(name, arguments or {}), "done"]), tools=[tools[name]])
    result = agent.run("go") if run is None else run(agent)
    assert result.final_output == "done"
    return result.tool_calls[0].observation


def test_the_tools_are_there_in_the_servers_order_with_valid_names(server):
    assert [tool.name for tool in server.tools()] == NAMES


def test_the_schema_is_the_servers_own(tools):
    schema = tools["add"].schema
    assert schema.description == "Adds two numbers."
    assert schema.parameters == {
        "type": "object",
        "properties": {"a": {"title": "A", "type": "integer"}, "b": {"default": 1, "title": "B", "type": "integer"}},
        "required": ["a"],
        "title": "addArguments",
    }


def test_names_and_patterns_choose_tools_in_the_servers_order(server):
    assert [tool.name for tool in server.tools("s*", "add")] == ["add", "slow", "structured"]
    assert [tool.name for tool in server.tools("odd name/with.dots")] == ["odd_name_with_dots"]


def test_a_name_that_fits_no_tool_is_an_error_that_says_which_there_are(server):
    with pytest.raises(ConfigError, match=r"'double' has no tool 'sub\*'; it has: add, fail, meet"):
        server.tools("add", "sub*")


def test_a_prefix_keeps_two_servers_apart(server):
    registry = ToolRegistry([*server.tools("add"), *server.tools("add", prefix="other_")])
    assert registry.names == ("add", "other_add")
    with pytest.raises(ConfigError, match="add of the MCP server 'double'"):
        ToolRegistry([*server.tools("add"), *server.tools("add")])


def test_hints_say_what_may_run_again_and_what_may_run_beside_others(tools):
    assert [name for name in NAMES if tools[name].idempotent] == ["add", "meet"]
    assert [name for name in NAMES if tools[name].parallel] == ["meet"]


RUNS = {
    "plain code": lambda agent: agent.run("go"),
    "async": lambda agent: asyncio.run(agent.arun("go")),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_an_agent_calls_a_tool(tools, run):
    seen = observation(tools, "add", {"a": 2}, run)
    assert (seen.text, seen.status) == ("3", "success")


def test_an_agent_calls_a_tool_in_plain_code_where_a_loop_is_running(server):
    async def cell():
        return observation({tool.name: tool for tool in server.tools("add")}, "add", {"a": 2, "b": 3})

    assert asyncio.run(cell()).text == "5"


def test_a_tool_can_be_awaited_by_hand(tools):
    assert asyncio.run(tools["add"](a=2, b=2)).text == "4"


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_calls_of_one_reply_run_side_by_side(tools, run, tmp_path):
    calls = [call("meet", {"folder": str(tmp_path), "number": number, "of": 5}) for number in range(5)]
    agent = Agent("a", ScriptedLLM([calls, "done"]), tools=[tools["meet"]])
    assert [each.observation.text for each in run(agent).tool_calls] == [f"met {number}" for number in range(5)]


def test_an_error_of_the_tool_is_an_observation_with_the_servers_text(tools):
    seen = observation(tools, "fail", {"why": "it rains"})
    assert seen.status == "error"
    assert "no such thing: it rains" in seen.text


def test_a_picture_shows(tools):
    seen = observation(tools, "picture")
    assert seen.images == (Image(PNG, "image/png", "image"),)
    assert seen.text == f"image: image/png, {len(PNG)} bytes\na dot"


def test_a_page_that_is_called_a_picture_does_not_show(tools):
    seen = observation(tools, "page")
    assert seen.images == ()
    assert seen.text == "image: text/html, 25 bytes"


def test_structured_content_is_text_for_the_model_and_data_for_the_program(tools):
    seen = observation(tools, "structured", {"city": "Rome"})
    assert json.loads(seen.text) == {"Rome": 21} == seen.data
    assert observation(tools, "only_structured").text == '{"n": 1}'


def test_links_and_resources_are_text(tools):
    assert observation(tools, "links").text == "See:\nlink to first note://1: The first.\nnote://2:\nInside."


def test_wrong_arguments_do_not_reach_the_server(tools):
    with pytest.raises(InvalidArguments) as error:
        tools["add"].bind('{"b": "two"}')
    assert str(error.value) == (
        "invalid arguments: a: expected a value of type integer, got nothing; "
        'b: expected a value of type integer, got "two"'
    )
    seen = observation(tools, "add", {"b": "two"})
    assert (seen.status, seen.error.kind) == ("error", "invalid_arguments")


def test_arguments_are_passed_as_they_are(tools):
    assert tools["structured"].bind('{"city": "Rom"}') == ((), {"city": "Rom"})


def test_odd_names_lead_to_their_tools(tools):
    assert observation(tools, "odd_name_with_dots").text == "odd"
    assert observation(tools, "odd_name_with_dots_2").text == "odder"
