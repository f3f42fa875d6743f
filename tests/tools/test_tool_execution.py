"""A tool that is called by hand answers in the words that a model reads in a run."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import date
from types import MappingProxyType

import pytest

from nbagent import Agent, ScriptedLLM
from nbagent.errors import ConfigError, HarnessError
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.response import ToolResponse
from nbagent.tools.tool import Tool, tool

KEY = "sk-ant-api03-" + "A" * 24
"""As a provider's key looks."""


def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


@dataclasses.dataclass
class Place:
    city: str
    since: date


@tool
def visit(place: Place) -> str:
    """Visits."""
    return f"{place.city} since {place.since:%Y}"


@tool
def fail(how: str) -> str:
    """Fails."""
    if how == "group":
        raise ExceptionGroup("two", [ValueError("one"), KeyError("other")])
    if how == "exit":
        raise SystemExit(3)
    raise ValueError(f"no such thing: {how}")


@tool(max_chars=60)
def speak(words: int) -> str:
    """Speaks."""
    return "word " * words


@tool
def table(rows: int) -> dict[str, list[int]]:
    """Gives a table."""
    return {"rows": list(range(rows))}


@tool
def partly(of: int) -> ToolResponse:
    """Does it in part."""
    return ToolResponse.partial(f"1 of {of}", data=[1])


async def fetch(url: str) -> str:
    """Fetches."""
    await asyncio.sleep(0)
    if not url:
        raise ValueError("no url")
    return url.upper()


@tool
def careless(url: str):
    """Forgets to await."""
    return fetch(url)


@tool
def leak(key: str) -> str:
    """Says what it should not."""
    return f"the key is {key}"


SYNC = [pay, visit, fail, speak, table, partly, careless, leak]
CALLS = [
    ("pay", {"amount": 5}), ("pay", {"amount": "5"}), ("pay", {}), ("pay", '{"amount": 5}'), ("pay", "{"),
    ("pay", "[5]"), ("pya", {}), ("", {}), ("fail", {"how": "badly"}), ("fail", {"how": "group"}),
    ("fail", {"how": "exit"}), ("speak", {"words": 50}), ("table", {"rows": 3}), ("partly", {"of": 2}),
    ("careless", {"url": "x"}), ("leak", {"key": KEY}),
]  # fmt: skip


def seen_in_a_run(name, arguments, tools=SYNC):
    script = [ScriptedLLM.tool_call(name, arguments), "done"]
    return Agent("a", ScriptedLLM(script), tools=tools).run("go").tool_calls[0].observation


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_a_tool_called_by_hand_answers_in_the_words_of_a_run(name, arguments):
    observed = seen_in_a_run(name, arguments)
    answers = [
        ToolRegistry(SYNC).execute_tool(name, arguments),
        asyncio.run(ToolRegistry(SYNC).aexecute_tool(name, arguments)),
    ]
    for answer in answers:
        assert (answer.text, answer.status, answer.data) == (observed.text, observed.status, observed.data)


def test_a_secret_is_not_in_the_text():
    answer = ToolRegistry([leak]).execute_tool("leak", {"key": KEY})
    assert KEY not in answer.text
    assert KEY in answer.data


def test_what_it_returned_is_the_data():
    assert ToolRegistry([table]).execute_tool("table", {"rows": 2}) == ToolResponse.ok(
        '{"rows": [0, 1]}', data={"rows": [0, 1]}
    )


def test_without_parameters_there_are_none():
    registry = ToolRegistry([tool(name="hello")(lambda: "hi")])
    assert [registry.execute_tool("hello", none).text for none in (None, {}, "", "{}")] == ["hi"] * 4
    assert registry.execute_tool("hello").text == "hi"


@pytest.mark.parametrize("place", [Place("Oslo", date(2024, 5, 1)), {"city": "Oslo", "since": "2024-05-01"}])
def test_values_are_what_json_has_for_them(place):
    registry = ToolRegistry([visit])
    for params in ({"place": place}, MappingProxyType({"place": place})):
        assert registry.execute_tool("visit", params).text == "Oslo since 2024"


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"amount": object()}, "arguments: expected what JSON has words for; .*object"),
        ({"amount": float("nan")}, "got NaN, which JSON does not have"),
        ([5], "expected a JSON object, got an array"),
        (5, "expected a JSON object, got a number"),
    ],
)
def test_what_is_no_json_object_is_a_wrong_argument(params, said):
    answer = ToolRegistry([pay]).execute_tool("pay", params)
    assert answer.status == "error"
    assert pytest.raises(AssertionError, match=said).matches(AssertionError(answer.text))


def test_an_async_tool_is_awaited():
    registry = ToolRegistry([fetch])
    assert asyncio.run(registry.aexecute_tool("fetch", {"url": "a"})) == ToolResponse.ok("A", data="A")
    failed = asyncio.run(registry.aexecute_tool("fetch", {"url": ""}))
    assert (failed.status, failed.text) == ("error", seen_in_a_run("fetch", {"url": ""}, [fetch]).text)


@pytest.mark.parametrize("params", [{"url": "a"}, {}])
def test_an_async_tool_is_not_called_by_the_plain_way(params):
    with pytest.raises(ConfigError, match=r"'fetch' is async; write `await registry.aexecute_tool\('fetch', …\)`"):
        ToolRegistry([fetch]).execute_tool("fetch", params)


def group_of(error):
    return BaseExceptionGroup("inside", [ValueError("x"), error])


def caused_by(error):
    other = ValueError("x")
    other.__cause__ = error
    return other


@pytest.mark.parametrize("error", [KeyboardInterrupt(), HarnessError("the test is wrong")])
@pytest.mark.parametrize("wrapped", [lambda error: error, group_of, caused_by])
def test_what_ends_a_run_is_raised(error, wrapped):
    @tool
    def stop() -> None:
        raise wrapped(error)

    @tool
    async def astop() -> None:
        raise wrapped(error)

    registry = ToolRegistry([stop, astop])
    with pytest.raises(type(error)):
        registry.execute_tool("stop")
    for name in registry.names:
        with pytest.raises(type(error)):
            asyncio.run(registry.aexecute_tool(name))


def test_a_tool_whose_errors_end_a_run_raises_them():
    strict = Tool(fail, on_error="raise")
    with pytest.raises(ValueError, match="no such thing: x"):
        ToolRegistry([strict]).execute_tool("fail", {"how": "x"})
    assert ToolRegistry([strict]).execute_tool("fail", {}).status == "error"


def test_a_cancelled_call_is_cancelled_and_a_tools_own_cancellation_is_an_error():
    began = []

    @tool
    async def wait(own: bool) -> None:
        began.append(own)
        if own:
            raise asyncio.CancelledError
        await asyncio.sleep(60)

    async def go():
        registry = ToolRegistry([wait])
        assert (await registry.aexecute_tool("wait", {"own": True})).text.startswith("CancelledError")
        task = asyncio.create_task(registry.aexecute_tool("wait", {"own": False}))
        while len(began) < 2:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
