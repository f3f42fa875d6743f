"""MCP prompts: templates that a server fills."""

from __future__ import annotations

import pytest

from nbagent.errors import ConfigError
from nbagent.mcp import MCPPrompt
from nbagent.messages import Message


def test_the_prompts_are_listed_with_their_arguments(server):
    assert server.prompts() == [
        MCPPrompt("review", "Asks for a review.", ("code",), ("style",)),
        MCPPrompt("talk", "Begins a talk.", ("name",)),
    ]
    assert server.prompts()[0].arguments == ("code", "style")


def test_a_prompt_is_its_text(server):
    assert server.prompt("review", code="x = 1") == "Review this (short): x = 1"
    assert server.prompt("review", code="x = 1", style="long") == "Review this (long): x = 1"


def test_what_is_no_text_becomes_json(server):
    assert server.prompt("review", code={"x": [1, None]}) == 'Review this (short): {"x": [1, null]}'


def test_half_a_character_does_not_end_the_connection(server):
    assert server.prompt("review", code="a\ud83d").startswith("Review this (short): a")


def test_several_messages_keep_their_roles(server):
    assert server.prompt_messages("talk", name="Ada") == (Message("user", "I am Ada."), Message("assistant", "Hello."))
    assert server.prompt("talk", name="Ada") == "I am Ada.\n\nHello."


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("review", {}, "prompt 'review' of the MCP server 'double': code is missing; it takes: code, style (optional)"),
        ("talk", {"name": "x", "nmae": "y"}, "it has no nmae; it takes: name"),
        ("reviews", {}, "the MCP server 'double' has no prompt 'reviews'; it has: review, talk"),
    ],
)
def test_what_is_wrong_is_said(server, name, arguments, expected):
    with pytest.raises(ConfigError) as error:
        server.prompt(name, **arguments)
    assert expected in str(error.value)
