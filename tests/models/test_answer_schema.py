"""The schema of an answer: which models send it, beside what the user sets, and what goes over the line."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel
from servers import APIS, reply

from nbagent import ScriptedLLM, open_model
from nbagent.errors import ConfigError
from nbagent.messages import Message, ModelReply, ToolSchema
from nbagent.models.anthropic import AnthropicModel
from nbagent.models.openai import OpenAIModel
from nbagent.models.providers import Providers, providers
from nbagent.prompt.output import Output
from nbagent.prompt.output_model import model_output
from nbagent.request import Messages, ModelRequest


class Item(BaseModel):
    name: str
    count: int = 1


FIELD = {"chat": "response_format", "responses": "text", "anthropic": "output_config"}
LOOK = ToolSchema("look", "Look.", {"type": "object", "properties": {}})


def request_for(output, *tools, **settings):
    messages = Messages([Message("user", "a")])
    return ModelRequest(messages, tools, settings=settings, output_schema=output.schema if output.native else None)


def model_at(api, url="http://127.0.0.1:9", **options):
    options = {"base_url": url, "key": None, "structured": True} | options
    return AnthropicModel("m", **options) if api == "anthropic" else OpenAIModel("m", api=api, **options)


def written(model, request):
    return json.loads(model.written(request))


def schema_in(api, body):
    field = body[FIELD[api]]
    return field["json_schema"]["schema"] if api == "chat" else field["format"]["schema"]


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("api", APIS)
def test_a_server_gets_the_schema_and_the_tools(api, streaming, server):
    server.play(reply(api, streaming, text='{"name": "a"}'))
    model, request = model_at(api, server.url, streaming=streaming), request_for(model_output(Item), LOOK)
    *_, answer = model.stream(request)
    assert isinstance(answer, ModelReply)
    [sent] = server.requests
    schema = schema_in(api, sent.body)
    assert list(schema["properties"]) == ["name", "count"]
    assert schema["additionalProperties"] is False
    assert len(sent.body["tools"]) == 1
    assert sent.raw.decode() == model.written(request)


@pytest.mark.parametrize("api", APIS)
def test_an_output_that_is_described_in_words_is_not_sent(api):
    output = Output({"mood": "in one word", "score": int})
    assert FIELD[api] not in written(model_at(api), request_for(output))
    assert FIELD[api] not in written(model_at(api, structured=False), request_for(model_output(Item)))
    assert FIELD[api] in written(model_at(api), request_for(Output({"mood": (str, "in one word"), "score": int})))


@pytest.mark.parametrize("how", ["params", "settings"])
@pytest.mark.parametrize(
    ("api", "own"),
    [
        ("chat", {"type": "json_object"}),
        ("responses", {"format": {"type": "json_object"}, "verbosity": "low"}),
        ("responses", {"format": {"type": "text"}}),
        ("anthropic", {"format": None, "effort": "low"}),
    ],
)
def test_what_the_user_says_of_the_format_wins(api, own, how):
    model = model_at(api, params={FIELD[api]: own} if how == "params" else {})
    request = request_for(model_output(Item), **({FIELD[api]: own} if how == "settings" else {}))
    assert written(model, request)[FIELD[api]] == own


@pytest.mark.parametrize(("api", "own"), [("responses", {"verbosity": "low"}), ("anthropic", {"effort": "low"})])
def test_what_the_user_sets_beside_the_format_stays(api, own):
    found = written(model_at(api, params={FIELD[api]: own}), request_for(model_output(Item)))[FIELD[api]]
    assert found == {**own, "format": found["format"]}
    assert found["format"]["type"] == "json_schema"
    assert written(model_at(api, params={FIELD[api]: own}), request_for(Output({"a": "words"})))[FIELD[api]] == own


def test_a_server_that_takes_either_a_schema_or_tools_gets_the_tools():
    for api in ("chat", "responses"):
        model = model_at(api, quirks=frozenset({"schema_or_tools"}))
        assert FIELD[api] in written(model, request_for(model_output(Item)))
        body = written(model, request_for(model_output(Item), LOOK))
        assert FIELD[api] not in body
        assert body["tools"]


def test_a_script_does_not_care():
    *_, answer = ScriptedLLM(['{"name": "a"}']).stream(request_for(model_output(Item)))
    assert isinstance(answer, ModelReply)
    assert answer.content == '{"name": "a"}'


# who takes one


def opened(named, **options):
    return open_model(named, check_key=False, **options)


def test_providers_whose_servers_take_a_schema_get_one(monkeypatch):
    for variable in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    known = ("openai", "anthropic", "deepseek", "gemini", "dashscope", "moonshot", "zhipu", "ollama", "lmstudio",
        "vllm", "llama.cpp", "openrouter", "groq", "mistral", "huggingface")  # fmt: skip
    takers = {"openai", "anthropic", "gemini", "ollama", "lmstudio", "vllm", "llama.cpp"}
    assert {name for name in known if opened(f"{name}:m").structured} == takers
    beside_tools = {name for name in takers if "schema_or_tools" not in providers.get(name).quirks}
    assert beside_tools == {"openai", "anthropic"}


def test_of_a_server_that_is_not_known_nothing_is_assumed(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert not opened("openai:m").structured
    assert not opened(None, base_url="http://127.0.0.1:9/v1").structured
    assert not opened("anthropic:m", base_url="http://127.0.0.1:9").structured
    assert opened("openai:m", base_url="https://api.openai.com/v1/").structured
    assert opened("ollama:m", base_url="http://gpu.local:11434/v1").structured  # the same program elsewhere


def test_a_provider_of_ones_own_may_take_one():
    known = Providers([])
    known.add("mine", {"base_url": "http://127.0.0.1:1/v1", "structured": True})
    known.add("yours", {"base_url": "http://127.0.0.1:1/v1"})
    assert (known.get("mine").structured, known.get("yours").structured) == (True, False)
    with pytest.raises(ConfigError, match="structured is true or false, not 'yes'"):
        known.add("wrong", {"base_url": "http://127.0.0.1:1/v1", "structured": "yes"})
