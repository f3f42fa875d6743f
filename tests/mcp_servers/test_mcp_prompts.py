"""MCP prompts: templates that a server fills."""

from __future__ import annotations

import pytest

from nbagent import Agent
from nbagent.errors import ConfigError
from nbagent.mcp import MCPPrompt
from nbagent.messages import Message, Piece, Source
from nbagent.texts.template import Slot, parse


def test_the_prompts_are_listed_with_their_arguments(server):
    assert server.prompts() == [
        MCPPrompt("review", "Asks for a review.", ("code",), ("style",)),
        MCPPrompt("talk", "Begins a talk.", ("name",)),
        MCPPrompt("braces", "Has braces.", ("name",)),
        MCPPrompt("loud", "Says it loudly.", ("name",)),
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
        ("reviews", {}, "the MCP server 'double' has no prompt 'reviews'; it has: review, talk, braces, loud"),
    ],
)
def test_what_is_wrong_is_said(server, name, arguments, expected):
    with pytest.raises(ConfigError) as error:
        server.prompt(name, **arguments)
    assert expected in str(error.value)


def test_a_prompt_is_a_template_whose_arguments_are_input_fields(server):
    assert server.template("review") == "Review this ({style}): {code}"
    bot = Agent("a", object(), prompt_template=server.template("review"), formatters=["paragraph", "text"])
    assert bot.observe({"code": "{x}", "style": "long"}).user == "MESSAGE TO YOU:\nReview this (long): {x}"
    with pytest.raises(ConfigError, match="no prompt 'reviews'"):
        server.template("reviews")


def test_braces_of_the_server_stay_text_and_an_argument_that_is_lost_is_named(server):
    text = server.template("braces")
    assert parse(text, "t") == (
        Piece('Answer like {"a": {b}} or {name} or {} to ', Source("template", "t")), Slot("name", "{{name}}"),
        Piece("!", Source("template", "t")),
    )  # fmt: skip
    with pytest.raises(ConfigError, match="no plain template: name is not in its text as it was given"):
        server.template("loud")
