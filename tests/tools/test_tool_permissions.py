"""Permissions hide the tools that an agent may not call, and refuse a call of one in words."""

from __future__ import annotations

import asyncio

import pytest

from nbagent.agents.context_tools import JoinedTools
from nbagent.errors import ConfigError, ToolDefinitionError
from nbagent.mcp.options import checked_target
from nbagent.mcp.remote import MCPTool
from nbagent.mcp.session import Session
from nbagent.tools.narrowed import NarrowedTools
from nbagent.tools.permissions import ToolPermissions
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.response import ToolResponse
from nbagent.tools.tool import Tool, tool


def made(name, origin="function"):
    one = tool(name=name)(lambda: name)
    one.origin = origin
    return one


class Source:
    context_label, active = "DOCS", True

    def get_blocks(self, query, *, top_k=8):
        return []


READ, WRITE, FORGET = made("read", "mcp:files"), made("write", "mcp:files:8080"), made("forget", "context:forget")
PAY = made("pay")
ALL = [READ, WRITE, FORGET, PAY]


def permitted(**lists):
    return [one.name for one in ALL if ToolPermissions(**lists).permits(one)]


# --- where tools come from ---


def test_a_function_is_a_function_and_another_name_changes_no_origin():
    def plain() -> None: ...

    class Desk:
        @tool
        def tidy(self) -> None: ...

    assert (tool(plain).origin, Tool(Tool(plain)).origin, Desk().tidy.origin) == ("function",) * 3
    assert Tool(READ, name="search").origin == "mcp:files"


def test_a_tool_of_a_server_says_of_which():
    from mcp.types import Tool as Listed

    target = checked_target(None, "http://localhost:3000/mcp", args=(), env=None, cwd=None, headers=None)
    server = Session(target, "files", 1.0, 1.0)  # nothing is asked of it
    listed = Listed(name="read", input_schema={"type": "object"})
    assert MCPTool(server, listed, "other_read").origin == "mcp:files"


def test_tools_that_ask_providers_say_so_under_any_name():
    own = ToolRegistry([made("retrieve_context")])
    assert {one.name: one.origin for one in JoinedTools(own, [Source()], None)} == {
        "retrieve_context": "function",
        "list_context_sources": "context:list_context_sources",
        "nbagent_retrieve_context": "context:retrieve_context",
    }


# --- what is permitted ---


@pytest.mark.parametrize(
    ("lists", "names"),
    [
        ({}, ["read", "write", "forget", "pay"]),
        ({"deny": ["pay", "other"]}, ["read", "write", "forget"]),
        ({"deny_origins": ["mcp"]}, ["forget", "pay"]),
        ({"deny_origins": ["mcp:files"]}, ["write", "forget", "pay"]),
        ({"deny_origins": ["mc", "context:forge", "functions"]}, ["read", "write", "forget", "pay"]),
        ({"allow": ["pay", "read"]}, ["read", "pay"]),
        ({"allow": []}, []),
        ({"allow": ["Pay"]}, []),
        ({"allow_origins": ["function", "context"]}, ["forget", "pay"]),
        ({"allow_origins": []}, []),
        ({"allow": ["pay"], "allow_origins": ["mcp:files"]}, ["read", "pay"]),
        ({"allow": [], "allow_origins": ["function"]}, ["pay"]),
        ({"allow": ["pay", "read"], "deny": ["pay"]}, ["read"]),
        ({"allow": ["pay", "read"], "deny_origins": ["mcp"]}, ["pay"]),
        ({"allow_origins": ["mcp"], "deny": ["write"]}, ["read"]),
        ({"allow_origins": ["mcp"], "deny_origins": ["mcp:files"]}, ["write"]),
    ],
)
def test_deny_wins_and_allow_is_by_name_or_by_origin(lists, names):
    assert permitted(**lists) == names


def test_they_are_values():
    one, same = ToolPermissions(deny={"b", "a"}), ToolPermissions(deny=("b", "a", "b"))
    assert (one, hash(one), repr(one)) == (same, hash(same), repr(same))
    assert "deny=('a', 'b')" in repr(one)
    assert ToolPermissions() != ToolPermissions(allow=())
    with pytest.raises(AttributeError):
        one.deny = ()


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ({"deny": "pay"}, r"deny: expected a list of names, got str: 'pay'; write \['pay'\]"),
        ({"allow": 3}, "allow: expected a list of names, got int: 3"),
        ({"allow": [PAY]}, r"allow: expected names, got Tool: Tool\('pay'\); a name is a text"),
        ({"deny": ["write_*"]}, r"deny: expected names of tools, .*which match exactly; got 'write_\*'"),
        ({"allow_origins": "mcp"}, r"allow_origins: expected a list of names, got str: 'mcp'; write \['mcp'\]"),
        ({"deny_origins": ["mcp:*"]}, r"deny_origins: expected origins, such as .*'mcp'.*; got 'mcp:\*'"),
        ({"deny_origins": ["mcp:"]}, "deny_origins: expected origins"),
        ({"deny_origins": [""]}, "deny_origins: expected origins"),
    ],
)
def test_what_would_permit_something_else_is_refused(lists, said):
    with pytest.raises(ConfigError, match=said):
        ToolPermissions(**lists)


# --- the view ---


def view_of(tools=ALL, **lists):
    registry = ToolRegistry(tools)
    return registry, ToolPermissions(**lists).permitted(registry)


def test_what_is_denied_is_hidden_everywhere():
    registry, view = view_of(deny=["pay", "forget"])
    assert view.names == tuple([one.name for one in view]) == ("read", "write")
    assert [schema.name for schema in view.schemas] == ["read", "write"]
    assert (len(view), "pay" in view, "read" in view, 7 in view) == (2, False, True, False)
    assert (view.get("pay"), view.get("read"), view.list_tools()) == (None, READ, [READ, WRITE])
    assert view.get_catalog() == "read\nwrite"
    assert [one["function"]["name"] for one in view.to_openai_schema()] == ["read", "write"]
    with pytest.raises(ToolDefinitionError, match="no tool 'pay' here; there are: read, write"):
        view.to_openai_schema(["pay"])
    assert "pay" not in str(view.unknown("pai"))
    assert repr(view) == "NarrowedTools(['read', 'write'])"
    assert len(registry) == 4


def test_a_call_of_what_is_denied_is_refused_with_what_there_is():
    _, view = view_of(deny=["pay"])
    said = "the tool 'pay' is not permitted here; your tools are: read, write, forget"
    assert str(view.refusal("pay")).partition(";")[0] == said.partition(";")[0]
    assert sorted(str(view.refusal("pay")).partition(": ")[2].split(", ")) == ["forget", "read", "write"]
    assert (view.refusal("read"), view.refusal("nope")) == (None, None)
    assert str(view_of(allow=[])[1].refusal("pay")) == (
        "the tool 'pay' is not permitted here: you have no tools; answer without"
    )


def test_a_call_by_hand_is_refused_too():
    calls = []

    @tool
    def pay() -> None:
        calls.append(1)

    registry, view = view_of([pay, READ], deny=["pay"])
    refused = ToolResponse.error("the tool 'pay' is not permitted here; your tools are: read")
    assert view.execute_tool("pay") == asyncio.run(view.aexecute_tool("pay")) == refused
    assert calls == []
    assert view.execute_tool("read").text == "read"
    assert view.execute_tool("nope").text == 'there is no tool "nope"; your tools are: read'
    assert registry.execute_tool("pay").status == "success"


def test_the_schemas_are_the_same_until_something_changes():
    registry, view = view_of(deny=["pay"])
    before = view.schemas
    assert view.schemas is before
    registry.register(made("pay"), overwrite=True)
    registry.register(made("later"))
    assert [schema.name for schema in view.schemas] == ["read", "write", "forget", "later"]
    assert view.schemas is view.schemas
    registry.remove("read")
    assert [schema.name for schema in view.schemas] == ["write", "forget", "later"]


def test_a_tool_that_comes_later_from_elsewhere_is_hidden():
    registry, view = view_of([PAY], deny_origins=["mcp"])
    registry.register(READ)
    registry.register(made("pay", "mcp:files"), overwrite=True)
    assert (view.names, view.schemas) == ((), ())


def test_the_view_adds_to_the_registry_and_knows_hidden_names():
    registry, view = view_of([PAY, READ], deny=["pay", "secret"])
    assert view.register(WRITE) is WRITE
    assert view.register_all([FORGET, made("secret")]) == ["forget", "secret"]
    assert registry.names == ("pay", "read", "write", "forget", "secret")
    assert view.names == ("read", "write", "forget")
    for add in (view.register, lambda one: view.register_all([made("other"), one])):
        with pytest.raises(ToolDefinitionError, match="there is a tool 'pay' already"):
            add(made("pay"))
    assert "other" not in registry
    assert view.register_all([made("pay")], on_conflict="skip") == []


def test_the_view_removes_only_what_it_shows():
    registry, view = view_of([PAY, READ], deny=["pay"])
    assert view.remove("read") is READ
    with pytest.raises(ToolDefinitionError, match="no tool 'pay' here; there are: none"):
        view.remove("pay")
    assert registry.names == ("pay",)


def test_views_of_views_refuse_what_any_of_them_denies():
    _, once = view_of(deny=["pay"])
    twice = ToolPermissions(deny=["read"]).permitted(once)
    fitting = NarrowedTools(twice, lambda one: one.name == "write", forbids=False)
    assert twice.names == ("write", "forget")
    for name in ("pay", "read"):
        assert str(fitting.refusal(name)) == f"the tool {name!r} is not permitted here; your tools are: write"
    assert fitting.refusal("forget") is None  # it is not denied: there is no such tool for this run
    assert str(fitting.unknown("forget")) == 'there is no tool "forget"; your tools are: write'


def test_what_is_joined_with_context_tools_stays_refused():
    _, own = view_of([PAY, READ], deny=["pay"])
    joined = JoinedTools(own, [Source()], None)
    assert joined.names == ("read", "list_context_sources", "retrieve_context")
    assert str(joined.refusal("pay")).startswith("the tool 'pay' is not permitted here; your tools are: ")
    assert (joined.refusal("read"), joined.refusal("nope")) == (None, None)
    assert ToolPermissions(deny_origins=["context"]).permitted(joined).names == ("read",)


def test_what_is_removed_from_joined_tools_is_removed_from_the_agents_own():
    own = ToolRegistry([PAY, READ])
    joined = JoinedTools(own, [Source()], None)
    assert joined.remove("pay") is PAY
    assert joined.remove("retrieve_context").origin == "context:retrieve_context"
    assert (joined.names, own.names) == (("read", "list_context_sources"), ("read",))
