"""A registry finds a tool by its exact name, and tells the model the real names otherwise."""

from __future__ import annotations

import pytest

from nbagent.errors import ToolDefinitionError
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
    assert "your tools are: pay" in registry.unknown(name)


def test_an_unknown_tool_is_answered_with_the_real_names_closest_first():
    registry = ToolRegistry([search, pay, tool(name="get_weather")(lambda: 1)])
    assert registry.unknown("get_wether") == ('there is no tool "get_wether"; your tools are: get_weather, search, pay')


def test_an_unknown_tool_without_tools_says_that_there_are_none():
    assert ToolRegistry().unknown("pay") == 'there is no tool "pay": you have no tools; answer without'


def test_an_endless_name_is_answered_briefly():
    assert len(ToolRegistry([pay]).unknown("x" * 1_000_000)) < 200


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
