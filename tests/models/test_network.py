"""The network under a model: nothing drips through a deadline, nobody waits behind the end, headers stay home."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest
from servers import APIS, BUILDERS, Answer, Close, Cut, Pause, Raw, reply, stream_answer

from nbagent import Agent, Limits, Price, Retry, open_model
from nbagent.errors import ConfigError, ModelError
from nbagent.models import keys, network
from nbagent.models.anthropic import AnthropicModel
from nbagent.models.openai import OpenAIModel
from nbagent.models.providers import providers

KEY = "sk-test-" + "0123456789abcdef" * 2
ONCE = Retry(attempts=1)


@pytest.fixture(autouse=True)
def _no_keys_of_mine(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(keys, "_keyring", lambda variable: None)


def model_at(api, server, **options):
    options = {"base_url": server.url, "key": None, **options}
    return AnthropicModel("m", **options) if api == "anthropic" else OpenAIModel("m", api=api, **options)


def ended(agent, asynchronous):
    try:
        return (asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")).status
    except ModelError as error:
        return error.kind


def drip(data, times=60):
    return [part for _ in range(times) for part in (data, Pause(0.1))]


DRIPS = {
    "the body of an error": lambda: Answer(drip(b" "), 500, {"content-type": "text/plain"}, chunked=True),
    "headers": lambda: Answer(drip(Raw(b"X-A: b\r\n")), head=b"HTTP/1.1 200 OK\r\n"),
    "signs of life": lambda: stream_answer(drip(b": still here\n\n")),
}


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("what", DRIPS)
def test_no_drip_gets_through_a_deadline(what, asynchronous, server):
    server.play(DRIPS[what]())
    assert ended(Agent("a", model_at("chat", server, timeout=0.5), retry=ONCE), asynchronous) == "timeout"
    assert server.hangup.wait(10), "the client left while it dripped"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_time_limit_of_the_run_is_kept_inside_a_call_and_before_a_wait(asynchronous, server):
    server.play(stream_answer(drip(b": still here\n\n")))
    agent = Agent("a", model_at("chat", server), limits=Limits(deadline=0.5))
    assert ended(agent, asynchronous) == "limit_reached"
    assert server.hangup.wait(10), "the client left while it dripped"
    server.play(Answer(b"{}", 429, {"retry-after": "20"}), repeat=True)
    agent = Agent("a", model_at("chat", server), limits=Limits(deadline=2))
    assert ended(agent, asynchronous) == "limit_reached"
    assert "would be over before the next attempt" in agent.last.stop_reason


@pytest.mark.parametrize("status", [200, 500])
def test_no_answer_is_endless(status, server, monkeypatch):
    monkeypatch.setattr(network, "MAX_BYTES", 100_000)
    server.play(Answer([b"x" * 50_000] * 10, status, {"content-type": "text/plain"}, chunked=True))
    assert ended(Agent("a", model_at("chat", server), retry=ONCE), False) == "bad_response"


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    "tail", [[Pause(20), Close()], [Cut()], [b"data: garbage\n\n", Close()], [b"data: \xe2\x82", Close()]]
)
@pytest.mark.parametrize("api", APIS)
def test_a_whole_reply_does_not_wait_for_the_end_of_the_connection(api, tail, asynchronous, server):
    server.play(stream_answer([BUILDERS[api, True](text="Hi."), *tail]))
    agent = Agent("a", model_at(api, server), retry=ONCE)
    assert ended(agent, asynchronous) == "completed"
    assert agent.last.final_output == "Hi."
    if isinstance(tail[0], Pause):
        assert server.hangup.wait(10), "the client did not wait"


def test_what_the_sdk_finds_in_its_own_variables_goes_to_no_other_host(server, monkeypatch):
    for maker in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{maker}_CUSTOM_HEADERS", "Authorization: Bearer corp-token-12345\nX-Api-Key: other-12345")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-private1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-private1")
    monkeypatch.setenv("MY_KEY", KEY)
    server.play(reply("chat", True), reply("chat", True), reply("anthropic", True))
    Agent("a", open_model("m", base_url=server.url)).run("go")
    Agent("a", open_model("m", base_url=server.url, api_key_env="MY_KEY")).run("go")
    Agent("a", AnthropicModel("m", base_url=server.url, key=keys.find("MY_KEY"))).run("go")
    first, second, third = (request.headers for request in server.requests)
    for headers in (first, second, third):
        assert "private1" not in str(headers)
        assert "corp-token" not in str(headers)
        assert "other-12345" not in str(headers)
    assert "authorization" not in first
    assert second["authorization"] == third["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("named", "url"),
    [
        ("openai:m", "http://api.openai.com/v1"),
        ("openai:m", "https://api.openai.com:444/v1"),
        ("openai:m", "https://api.openai.com.evil.test/v1"),
        ("anthropic:m", "http://api.anthropic.com"),
    ],
)
def test_a_key_is_not_sent_in_clear_or_to_another_port(named, url, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(ConfigError, match=r"is not sent to"):
        open_model(named, base_url=url)


@pytest.mark.parametrize("host", ["192.168.1.5:8000", "10.0.0.3", "localhost:1", "workstation:8000", "gpu.local"])
def test_a_server_of_ones_own_network_needs_no_key(host):
    assert open_model("openai:qwen", base_url=f"http://{host}/v1").name == "openai:qwen"


@pytest.mark.parametrize("named", ["openai/gpt-oss-20b", "mistral", "qwen3", "meta-llama/Llama-3"])
def test_a_server_of_ones_own_names_its_models_as_it_likes(named):
    assert open_model(named, base_url="http://127.0.0.1:8000/v1").model == named


@pytest.mark.parametrize(
    "url", ["http://[::1/v1", "http://127.0.0.1:PORT/v1", "me:secret@host", "http://x/?key=secret"]
)
def test_an_address_that_is_none_is_said_at_once_and_shows_no_secret(url):
    with pytest.raises(ConfigError, match="base_url") as raised:
        open_model("m", base_url=url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "params",
    [{"max_tokens": 5}, {"max_completion_tokens": 5}, {"extra_body": {"model": "other"}}, {"extra_body": {"n": 2}}],
)
def test_params_do_not_say_again_what_nbagent_says(params):
    with pytest.raises(ConfigError, match="set by nbagent itself"):
        open_model("m", base_url="http://127.0.0.1:1/v1", params=params)


def test_a_broken_package_breaks_its_own_provider_only(monkeypatch):
    from nbagent.models import providers as module

    class Point:
        name = "broken"

        @staticmethod
        def load():
            raise ImportError("no module foo")

    class Other(Point):
        name = "fine"

        @staticmethod
        def load():
            return {"base_url": "http://127.0.0.1:1/v1"}

    monkeypatch.setattr(module, "entry_points", lambda group: [Point, Other])
    known = module.Providers([])
    assert known.names == ("fine",)
    with pytest.raises(ConfigError, match="'broken' of an installed package cannot be loaded: ImportError"):
        known.get("broken")


def test_too_many_tokens_a_minute_is_a_rate_and_an_empty_balance_a_permission(server):
    server.play(
        Answer(b'{"message": "Too many tokens, please wait"}', 429, {"content-type": "application/json"}),
        Answer(b'{"error": {"message": "Insufficient Balance", "code": "invalid_request_error"}}', 402),
    )
    assert ended(Agent("a", model_at("chat", server), retry=ONCE), False) == "rate_limited"
    assert ended(Agent("a", model_at("chat", server), retry=ONCE), False) == "permission"


def test_configured_providers_come_and_go():
    before = providers.get("openai")
    providers.configure(
        {"openai": {"base_url": "http://127.0.0.1:2/v1"}, "mine": {"base_url": "http://127.0.0.1:1/v1"}}
    )
    try:
        assert providers.get("openai").base_url == "http://127.0.0.1:2/v1"
    finally:
        providers.configure({})
    assert (providers.get("openai"), providers.get("mine")) == (before, None)
    for wrong in ({"bad": 3}, {"bad": {"base_url": "http://x", "quirks": "max_tokens"}}):
        with pytest.raises(ConfigError, match="provider 'bad'"):
            providers.configure(wrong)


def test_a_budget_in_money_without_a_price_sends_nothing(server):
    agent = Agent("a", model_at("chat", server), limits=Limits(max_cost=Decimal(1)))
    with pytest.raises(ConfigError, match="no price is known for 'openai:m'"):
        agent.run("go")
    assert server.requests == []
    server.play(reply("chat", True, text="Hi."))
    priced = model_at("chat", server, price=Price(Decimal(3), Decimal(15)))
    result = Agent("a", priced, limits=Limits(max_cost=Decimal(1))).run("go")
    assert result.usage.cost == Decimal("0.000165")
