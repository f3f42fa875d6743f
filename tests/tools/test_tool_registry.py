"""A registry finds a tool by its exact name, adds several at once or none, and tells of its tools."""

from __future__ import annotations

from typing import Literal

import pytest

from nbagent.errors import ConfigError, ToolDefinitionError
from nbagent.messages import ToolSchema
from nbagent.tools import catalog
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.tool import Tool, tool


def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


@tool
def search(query: str) -> str:
    """Searches."""
    return query


def test_it_makes_tools_of_callables_and_keeps_their_order():
    registry = ToolRegistry([search, pay])
    assert registry.names == ("search", "pay")
    assert registry.list_tools() == list(registry) == [search, registry.get("pay")]
    assert isinstance(registry.get("pay"), Tool)
    assert (len(registry), "pay" in registry, "Pay" in registry) == (2, True, False)
    assert repr(registry) == "ToolRegistry(['search', 'pay'])"


def test_register_returns_the_tool():
    assert ToolRegistry().register(search) is search


@pytest.mark.parametrize("name", ["Pay", "pay ", " pay", "functions.pay", "delete_everything", ""])
def test_only_the_exact_name_is_found(name):  # reliability.md §3 A04, A05
    registry = ToolRegistry([pay])
    assert registry.get(name) is None
    assert "your tools are: pay" in str(registry.unknown(name))


def test_an_unknown_tool_is_answered_with_the_real_names_closest_first():
    registry = ToolRegistry([search, pay, tool(name="get_weather")(lambda: 1)])
    assert str(registry.unknown("get_wether")) == (
        'there is no tool "get_wether"; your tools are: get_weather, search, pay'
    )


def test_an_unknown_tool_without_tools_says_that_there_are_none():
    assert str(ToolRegistry().unknown("pay")) == 'there is no tool "pay": you have no tools; answer without'


def test_an_endless_name_is_answered_briefly():
    assert len(str(ToolRegistry([pay]).unknown("x" * 1_000_000))) < 200


def test_a_taken_name_is_refused_with_both_sources():
    def other() -> None: ...

    registry = ToolRegistry([pay])
    with pytest.raises(ToolDefinitionError) as caught:
        registry.register(tool(name="pay")(other))
    assert f"function pay in module {__name__}" in str(caught.value)
    assert f"<locals>.other in module {__name__}" in str(caught.value)
    assert "overwrite=True" in str(caught.value)


def test_a_function_may_be_registered_again_only_with_overwrite():
    registry = ToolRegistry([pay])
    with pytest.raises(ToolDefinitionError):
        registry.register(pay)
    registry.register(pay, overwrite=True)
    assert registry.names == ("pay",)


def test_a_failed_registration_changes_nothing():
    registry = ToolRegistry([pay])
    before = registry.schemas
    with pytest.raises(ToolDefinitionError):
        registry.register(pay)
    assert registry.schemas is before


def test_schemas_are_kept_until_something_is_registered():
    registry = ToolRegistry([pay])
    before = registry.schemas
    assert registry.schemas is before
    registry.register(search)
    assert [schema.name for schema in registry.schemas] == ["pay", "search"]


# --- several at once ---


def lookup(key: str) -> str:
    """Looks up."""
    return key


def another_pay(amount: int) -> str:
    """Pays otherwise."""
    return f"paid {amount} otherwise"


OTHER_PAY = Tool(another_pay, name="pay")


def test_from_tools_is_a_registry_of_its_own():
    first = ToolRegistry.from_tools([pay, search])
    second = ToolRegistry.from_tools(first)
    second.remove("pay")
    assert (first.names, second.names) == (("pay", "search"), ("search",))


def test_register_all_gives_the_names_in_order():
    registry = ToolRegistry([pay])
    assert registry.register_all([search, lookup]) == ["search", "lookup"]
    assert registry.names == ("pay", "search", "lookup")
    assert registry.register_all([]) == []


@pytest.mark.parametrize(
    "tools", [[search, OTHER_PAY, lookup], [search, search], [search, 7]], ids=["taken", "twice", "no tool"]
)
def test_register_all_adds_all_or_nothing(tools):
    registry = ToolRegistry([pay])
    before = registry.schemas
    with pytest.raises(ToolDefinitionError):
        registry.register_all(tools)
    assert registry.schemas is before
    assert registry.names == ("pay",)


def test_a_conflict_names_both_and_the_way_out():
    with pytest.raises(ToolDefinitionError, match=r"tool 'pay' already: function pay .*another_pay.*'overwrite'"):
        ToolRegistry([pay]).register_all([OTHER_PAY])


def test_register_all_may_skip_what_is_taken():
    registry = ToolRegistry([pay])
    kept = registry.get("pay")
    assert registry.register_all([search, OTHER_PAY, tool(name="search")(lookup)], on_conflict="skip") == ["search"]
    assert registry.get("pay") is kept
    assert registry.get("search") is search


def test_register_all_may_overwrite_what_is_taken():
    registry = ToolRegistry([pay, search])
    assert registry.register_all([lookup, pay, OTHER_PAY], on_conflict="overwrite") == ["lookup", "pay"]
    assert registry.get("pay") is OTHER_PAY
    assert registry.names == ("pay", "search", "lookup")


def test_an_unknown_way_out_of_conflicts_is_refused():
    with pytest.raises(ToolDefinitionError, match="expected one of 'error', 'skip', 'overwrite', got 'replace'"):
        ToolRegistry().register_all([pay], on_conflict="replace")


@pytest.mark.parametrize("add", [ToolRegistry.from_tools, ToolRegistry().register_all])
@pytest.mark.parametrize("lone", [pay, search, "pay"])
def test_a_lone_tool_is_no_list(add, lone):
    with pytest.raises(ToolDefinitionError, match=r"expected a list of functions, got .*; write \["):
        add(lone)


def test_a_tool_is_removed():
    registry = ToolRegistry([pay, search])
    before = registry.schemas
    assert registry.remove("search") is search
    assert registry.names == ("pay",)
    assert registry.schemas == before[:1]


@pytest.mark.parametrize(("tools", "there"), [([pay, search], "pay, search"), ([], "none")])
def test_what_is_not_there_cannot_be_removed(tools, there):
    with pytest.raises(ToolDefinitionError, match=f"there is no tool 'Pay' here; there are: {there}$"):
        ToolRegistry(tools).remove("Pay")


def test_a_plain_registry_refuses_nothing():
    assert (ToolRegistry([pay]).refusal("pay"), ToolRegistry().refusal("pay")) == (None, None)


# --- told of ---


@tool
def weather(city: str, unit: Literal["c", "f"] = "c", days: int = 1, near: list[str] | None = None) -> str:
    """Looks the weather up.

    It is always sunny.

    Args:
        city: Which city,
            by its name.
        days: How many days.
    """
    return f"{city}: sunny for {days} {unit} {near}"


def test_the_catalog_has_a_line_for_each():
    registry = ToolRegistry([weather, pay, tool(name="silent")(lambda: 1)])
    assert registry.get_catalog() == "weather: Looks the weather up.\npay: Pays.\nsilent"
    assert ToolRegistry().get_catalog() == ""


def test_descriptions_have_the_parameters():
    assert ToolRegistry([weather, pay]).get_tools_description() == (
        'weather(city: string, unit: {"enum": ["c", "f"], "type": "string"} = "c", days: integer = 1, '
        'near: {"anyOf": [{"items": {"type": "string"}, "type": "array"}, {"type": "null"}]} = null): '
        "Looks the weather up. It is always sunny.\n"
        "  city: Which city, by its name.\n"
        "  days: How many days.\n"
        "pay(amount: integer): Pays."
    )


def test_a_server_may_describe_its_parameters_badly():
    odd = ToolSchema(
        "odd",
        "",
        {"type": "object", "properties": {"a": True, "b": {"title": "B", "description": 7, "type": "string"}}},
    )
    assert catalog.descriptions([odd, ToolSchema("bare", "", {"type": "object"})]) == (
        "odd(a: {} = …, b: string = …)\nbare()"
    )


def test_the_schema_is_openais():
    assert ToolRegistry([pay]).to_openai_schema() == [
        {
            "type": "function",
            "function": {
                "name": "pay",
                "description": "Pays.",
                "parameters": {
                    "type": "object",
                    "properties": {"amount": {"type": "integer"}},
                    "required": ["amount"],
                    "additionalProperties": False,
                },
            },
        }
    ]


def test_who_changes_the_schema_changes_no_tool():
    registry = ToolRegistry([pay])
    registry.to_openai_schema()[0]["function"]["parameters"]["properties"].clear()
    assert "amount" in registry.schemas[0].parameters["properties"]


def test_names_choose_and_order():
    registry = ToolRegistry([pay, search, lookup])
    chosen = registry.to_openai_schema(["lookup", "pay", "lookup"])
    assert [one["function"]["name"] for one in chosen] == ["lookup", "pay"]
    assert registry.get_tools_description(["search", "pay"]) == (
        "search(query: string): Searches.\npay(amount: integer): Pays."
    )
    assert registry.to_openai_schema([]) == []


@pytest.mark.parametrize("view", [ToolRegistry.to_openai_schema, ToolRegistry.get_tools_description])
def test_unknown_and_lone_names_are_errors(view):
    registry = ToolRegistry([pay, search])
    with pytest.raises(ToolDefinitionError, match="no tool 'nope' here; there are: pay, search"):
        view(registry, ["pay", "nope"])
    with pytest.raises(ConfigError, match=r"names: expected a list of names, got str: 'pay'; write \['pay'\]"):
        view(registry, "pay")
    with pytest.raises(ConfigError, match="names: expected names, got Tool"):
        view(registry, [search])
