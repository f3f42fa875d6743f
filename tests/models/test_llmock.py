"""A second opinion: llmock plays faults, watches every attempt, and says what it thinks of the client."""

from __future__ import annotations

import asyncio

import pytest

from nbagent import Agent, Retry, tool
from nbagent.errors import ModelError
from nbagent.models.anthropic import AnthropicModel
from nbagent.models.openai import OpenAIModel

FAULTS = {
    "nothing": (lambda mock: mock.reply("Sunny."), {"completed"}),
    "rate limit": (lambda mock: mock.rate_limit(times=2, retry_after=0.4), {"completed"}),
    "503 twice": (lambda mock: mock.fail(503, times=2), {"completed"}),
    "500 once": (lambda mock: mock.fail(500, times=1), {"completed"}),
    "outage": (lambda mock: mock.outage(), {"overloaded"}),
    "400": (lambda mock: mock.fail(400, times=None), {"bad_request"}),
    "401": (lambda mock: mock.fail(401, times=None), {"auth"}),
    "404": (lambda mock: mock.fail(404, times=None), {"not_found"}),
    "context overflow": (lambda mock: mock.context_overflow(times=None), {"context_overflow"}),
    "disconnect": (lambda mock: mock.disconnect(after_chunks=2), {"completed"}),
    "truncate": (lambda mock: mock.truncate(after_chunks=2), {"completed"}),
    # A long reply, or the server is done before the client can stop reading, and takes the next attempt for a new call.
    "corrupt": (lambda mock: mock.reply("word " * 20_000).corrupt(after_chunks=2), {"completed"}),
    "stall": (lambda mock: mock.stall(seconds=5), {"completed"}),
    "malformed arguments": (lambda mock: mock.break_tool_call("malformed_arguments"), {"completed"}),
    "unknown tool": (lambda mock: mock.break_tool_call("unknown_tool"), {"completed"}),
    "cut in a call": (
        lambda mock: mock.call_tool("get_weather", {"city": "Paris"}).disconnect(after_chunks=2),
        {"completed"},
    ),
}


@tool
def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"sunny in {city}"


def model_at(api, url):
    options = {"key": None, "timeout": 1.5}
    if api == "anthropic":
        return AnthropicModel("claude-sonnet-4", base_url=f"{url}/anthropic", **options)
    return OpenAIModel("gpt-4o", base_url=f"{url}/v1", api=api, **options)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
def test_the_verdict_is_spotless(llmock, api, fault, asynchronous):
    play, expected = FAULTS[fault]
    play(llmock)
    agent = Agent("a", model_at(api, llmock.url), tools=[get_weather], retry=Retry(shortest=0.05, longest=0.5))
    try:
        ended = (asyncio.run(agent.arun("How is it in Paris?")) if asynchronous else agent.run("Paris?")).status
    except ModelError as error:
        ended = error.kind
    assert ended in expected
    llmock.assert_resilient(strict=True)
