"""MCP resources: a context provider."""

from __future__ import annotations

import pytest

from nbagent import Agent
from nbagent.mcp import MCPCallFailed
from nbagent.prompt.context.block import ContextBlock, ContextQuery
from nbagent.prompt.context.provider import ContextProvider

ZEBRA = ContextBlock("Zebras have stripes.", "note://zebra", title="zebra", metadata={"mime_type": "text/plain"})
APPLE = ContextBlock("Apples are *red*.", "note://apple", title="The apple", metadata={"mime_type": "text/markdown"})


def search(text, uri):
    return ContextBlock(f"Found for {text}.", uri, title="search", metadata={"mime_type": "text/plain"})


def test_it_is_a_context_provider(server):
    provider = server.resources()
    assert isinstance(provider, ContextProvider)
    assert (provider.context_label, provider.passive, provider.active) == ("double", True, False)
    assert (provider.supports_passive, provider.supports_active) == (True, True)
    other = server.resources(passive=False, active=True, context_label="notes")
    assert (other.context_label, other.passive, other.active) == ("notes", False, True)


def test_all_texts_in_the_servers_order_after_what_a_search_finds(server):
    blocks = server.resources().get_blocks(ContextQuery("red & blue"))
    assert blocks == [search("red & blue", "search://red%20%26%20blue"), ZEBRA, APPLE]


def test_a_search_that_finds_nothing_is_no_error(server):
    assert server.resources().get_blocks(ContextQuery("nothing")) == [ZEBRA, APPLE]
    assert server.resources().get_blocks(ContextQuery("  ")) == [ZEBRA, APPLE]


def test_at_most_top_k(server):
    assert server.resources().get_blocks(ContextQuery(""), top_k=1) == [ZEBRA]
    assert server.resources().get_blocks(ContextQuery(""), top_k=0) == []


def test_given_uris_in_the_given_order(server):
    provider = server.resources("note://apple", "search://{query}", "user://7", "note://zebra")
    blocks = provider.get_blocks(ContextQuery("x"))
    user = ContextBlock("User 7.", "user://7", metadata={"mime_type": "text/plain"})
    assert blocks == [APPLE, search("x", "search://x"), user, ZEBRA]


def test_what_is_no_text_is_left_out(server):
    assert server.resources("note://dot", "note://bytes").get_blocks(ContextQuery("")) == []


def test_a_given_uri_that_cannot_be_read_is_an_error(server):
    with pytest.raises(MCPCallFailed, match=r"'double': note://none failed: .*note://none"):
        server.resources("note://none").get_blocks(ContextQuery(""))


def test_what_is_available(server):
    assert server.resources().available() == ["search://{query}", "note://zebra", "note://apple", "note://bytes"]
    assert (
        repr(server.resources("note://apple")) == "MCPResources('double', 'note://apple', passive=True, active=False)"
    )


def test_what_can_be_read_is_given_and_what_cannot_is_named(server):
    resources = server.resources("note://none", "note://apple")
    prompt = Agent("a", object(), retrievers=[resources]).observe("hi")
    assert "Apples are *red*." in prompt.user
    [left] = [segment for segment in prompt.segments if not segment.kept]
    assert left.source.uri == "note://none"
    assert left.reason.startswith("failed: ")
