"""Providers and keys: which model a name means, and where a key goes."""

from __future__ import annotations

import copy
import logging
import os
import pickle
import traceback

import pytest
from servers import chat_sse, json_answer, reply, stream_answer

from nbagent import Agent, LLMClient, ScriptedLLM, open_model
from nbagent.errors import ConfigError, ModelError
from nbagent.models import keys
from nbagent.models.anthropic import AnthropicModel
from nbagent.models.openai import OpenAIModel
from nbagent.models.providers import Provider, Providers, providers
from nbagent.redact import forget

KEY = "sk-test-" + "0123456789abcdef" * 2


@pytest.fixture(autouse=True)
def _no_keys_of_mine(monkeypatch):
    for name in list(os.environ):
        if name.endswith(("_KEY", "_TOKEN", "_BASE_URL", "_API_BASE")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(keys, "_keyring", lambda variable: None)
    monkeypatch.setattr(providers, "default_model", "")
    forget()


@pytest.fixture
def openai_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.parametrize(
    ("named", "name", "url", "api"),
    [
        ("openai:gpt-5", "openai:gpt-5", "https://api.openai.com/v1", "chat"),
        ("openai/gpt-5", "openai:gpt-5", "https://api.openai.com/v1", "chat"),
        ("ollama:qwen3:8b", "ollama:qwen3:8b", "http://localhost:11434/v1", "chat"),
        ("openrouter:meta/llama:free", "openrouter:meta/llama:free", "https://openrouter.ai/api/v1", "chat"),
        ("llama.cpp", "llama.cpp:default", "http://localhost:8080/v1", "chat"),
        ("lmstudio:any", "lmstudio:any", "http://localhost:1234/v1", "chat"),
        ("vllm:any", "vllm:any", "http://localhost:8000/v1", "chat"),
        ("deepseek", "deepseek:deepseek-chat", "https://api.deepseek.com", "chat"),
    ],
)
def test_a_name_means_a_model_somewhere(named, name, url, api, monkeypatch):
    for variable in ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    model = open_model(named)
    assert isinstance(model, OpenAIModel)
    assert (model.name, model.base_url, model.api, model.mode) == (name, url, api, "live")


def test_every_provider_of_the_table_opens(monkeypatch):
    for name in providers.names:
        provider = providers.get(name)
        assert provider is not None
        if provider.key_variable:
            with pytest.raises(ConfigError, match=provider.key_variable):
                open_model(f"{name}:m")
            monkeypatch.setenv(provider.key_variable, KEY)
        assert open_model(f"{name}:m").name == f"{name}:m"
    assert {"openai", "anthropic", "deepseek", "gemini", "dashscope", "moonshot", "zhipu", "ollama", "lmstudio", "vllm",
        "llama.cpp", "openrouter", "groq", "mistral", "huggingface"} <= set(providers.names)  # fmt: skip


def test_llm_client_is_another_name_of_open_model(monkeypatch):
    for name in ("DEEPSEEK_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for given, options, same in (
        (("deepseek",), {}, "deepseek"),
        (("deepseek", "deepseek-reasoner"), {"params": {"temperature": 0}}, "deepseek:deepseek-reasoner"),
        (("openai", "gpt-5"), {"api": "responses", "timeout": 5}, "openai:gpt-5"),
    ):
        one, other = LLMClient(*given, **options), open_model(same, **options)
        assert (type(one), one.name, one.opened_as) == (type(other), other.name, other.opened_as)
    for name in ("api_key", "emulate_tools", "profile", "default_temperature"):
        with pytest.raises(ConfigError, match=f"^{name}: "):
            LLMClient("deepseek", **{name: "x"})


def test_anthropic_has_its_own_client(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert isinstance(open_model("anthropic:claude"), AnthropicModel)


def test_a_model_object_is_itself_and_none_is_the_default(monkeypatch):
    llm = ScriptedLLM(["Hi."])
    assert open_model(llm) is llm
    with pytest.raises(ConfigError, match="no model is named"):
        open_model(None)
    monkeypatch.setattr(providers, "default_model", "ollama:qwen3")
    assert open_model(None).name == "ollama:qwen3"


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("opnai:gpt", r"no provider 'opnai'; did you mean 'openai'\? Known: openai, anthropic"),
        ("gpt-5", r"no provider 'gpt-5'; did you mean 'openai:gpt-5'\? Known:"),
        ("claude-x", r"did you mean 'anthropic:claude-x'"),
        ("nobody", r"no provider 'nobody'\. Known:"),
        ("openai", "which model of openai"),
        ("openai:", "which model of openai"),
        ("ollama", "which model of ollama"),
    ],
)
def test_a_wrong_name_is_an_error_that_knows_better(named, says):
    with pytest.raises(ConfigError, match=says):
        open_model(named)


def test_any_server_needs_its_address_only(monkeypatch):
    model = open_model(base_url="http://127.0.0.1:8000/v1")
    assert (model.name, model.base_url) == ("127.0.0.1:default", "http://127.0.0.1:8000/v1")
    assert open_model("qwen3", base_url="http://127.0.0.1:8000/v1/").name == "127.0.0.1:qwen3"
    for wrong in ("127.0.0.1:8000", "ftp://x", "http://", "https://me:secret@host/v1"):
        with pytest.raises(ConfigError, match="base_url") as raised:
            open_model("m", base_url=wrong)
        assert "secret" not in str(raised.value)


def test_the_sdks_own_variables_are_honoured(monkeypatch, openai_key):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert open_model("openai:m").base_url == "http://127.0.0.1:9/v1"
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert open_model("anthropic:m").base_url == "http://127.0.0.1:9"


def test_a_variable_that_the_sdk_ignores_gets_a_hint(monkeypatch, openai_key):
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")
    with pytest.warns(UserWarning, match="OPENAI_API_BASE is out of use and ignored; set OPENAI_BASE_URL"):
        assert open_model("openai:m").base_url == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("named", "params", "says"),
    [
        ("anthropic:m", {"temperature": 0}, "anthropic SDK takes no 'temperature'; to send it all the same"),
        ("anthropic:m", {"top_p": 0.5}, "takes no 'top_p'"),
        ("anthropic:m", {"top_k": 5}, "takes no 'top_k'"),
        ("openai:m", {"temprature": 0}, "did you mean 'temperature'"),
        ("openai:m", {"messages": []}, "'messages' is set by nbagent itself"),
    ],
)
def test_a_parameter_that_the_sdk_does_not_take_is_our_error(named, params, says, monkeypatch, openai_key):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(ConfigError, match=says):
        open_model(named, params=params)


@pytest.mark.parametrize(
    ("named", "api", "says"),
    [
        ("openai:m", "anthropic", "expected chat or responses, got 'anthropic'"),
        ("openai:m", "soap", "expected chat or responses, got 'soap'"),
        ("anthropic:m", "chat", "anthropic has one API of its own"),
    ],
)
def test_an_api_that_a_provider_does_not_have_is_refused(named, api, says, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(ConfigError, match=says):
        open_model(named, api=api)


def test_parameters_are_sent(server):
    server.play(reply("chat", True), reply("anthropic", True))
    Agent("a", open_model("m", base_url=server.url, params={"seed": 7, "extra_body": {"my_own": 1}})).run("go")
    assert server.requests[0].body["seed"] == 7
    assert server.requests[0].body["my_own"] == 1
    model = AnthropicModel("m", base_url=server.url, key=None, params={"extra_body": {"temperature": 0}})
    Agent("a", model).run("go")
    assert server.requests[1].body["temperature"] == 0


def test_providers_are_added_by_a_table_and_by_entry_points(monkeypatch):
    from nbagent.models import providers as module

    class Point:
        name = "theirs"

        @staticmethod
        def load():
            return {"base_url": "https://theirs.test/v1", "key_variable": "THEIR_KEY"}

    monkeypatch.setattr(module, "entry_points", lambda group: [Point] if group == "nbagent.models" else [])
    known = Providers([Provider("a", "http://127.0.0.1/v1")])
    known.add("mine", {"base_url": "http://127.0.0.1:1/v1", "api": "anthropic"})
    assert known.names == ("a", "mine", "theirs")
    for described, says in (
        ({}, "base_url is missing"),
        ({"base_url": "http://x", "keys": ""}, "unknown key 'keys'"),
        ({"base_url": "http://x", "api": "soap"}, "api is one of"),
    ):
        with pytest.raises(ConfigError, match=says):
            known.add("wrong", described)


# keys


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (" ", "empty"),
        (f" {KEY}", "white space"),
        (f"{KEY}\n", "white space"),
        (f'"{KEY}"', "quotes"),
        ("OPENAI_API_KEY", "name of a variable"),
        ("$OPENAI_API_KEY", "name of a variable"),
        ("your-api-key-here", "placeholder"),
        ("sk-…", "placeholder"),
        ("abc", "too short"),
        ("schlüssel-mit-umlaut", "no key has"),
    ],
)
def test_what_is_no_key_is_said_before_the_first_request_and_not_shown(value, says, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(ConfigError, match=f"OPENAI_API_KEY holds no key: .*{says}") as raised:
        open_model("openai:m")
    assert KEY not in str(raised.value)


def test_a_missing_key_is_said_at_once():
    with pytest.raises(ConfigError, match="the environment variable OPENAI_API_KEY is not set"):
        open_model("openai:m")


def test_a_person_is_asked_where_there_is_one(monkeypatch, server):
    asked = []
    monkeypatch.setattr(keys.settings, "ask", lambda prompt: asked.append(prompt) or KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.play(reply("chat", True), repeat=True)
    agent = Agent("a", open_model("openai:m"))
    agent.run("go")
    agent.run("again")
    assert asked == ["OPENAI_API_KEY (not shown, not saved): "]
    assert server.requests[1].headers["authorization"] == f"Bearer {KEY}"


def test_a_dotenv_file_is_read_where_that_is_asked_for(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="is not set"):
        open_model("openai:m")
    monkeypatch.setattr(keys.settings, "dotenv", True)
    assert open_model("openai:m").name == "openai:m"
    assert "OPENAI_API_KEY" not in os.environ


def test_a_key_goes_only_where_it_belongs(monkeypatch, server, openai_key):
    with pytest.raises(ConfigError, match=r"OPENAI_API_KEY is not sent to evil.test: name the variable of its key"):
        open_model("openai:m", base_url="https://evil.test/v1")
    server.play(reply("chat", True), repeat=True)
    Agent("a", open_model("openai:m", base_url=server.url)).run("go")  # this machine: without a key
    assert "authorization" not in server.requests[0].headers
    monkeypatch.setenv("MY_KEY", KEY[::-1])
    Agent("a", open_model("openai:m", base_url=server.url, api_key_env="MY_KEY")).run("go")
    assert server.requests[1].headers["authorization"] == f"Bearer {KEY[::-1]}"
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    Agent("a", open_model("openai:m")).run("go")
    assert server.requests[2].headers["authorization"] == f"Bearer {KEY}"


def an_echo_of_the_key():
    body = f'{{"error": {{"message": "Incorrect API key provided: {KEY}", "type": "invalid_request_error"}}}}'
    return json_answer(body.encode(), status=401)


@pytest.mark.parametrize("named", ["openai:m", "anthropic:m"])
def test_no_key_is_kept_in_anything(named, monkeypatch, server, caplog):
    """H01, H04, H05: the server even echoes the key."""
    caplog.set_level(logging.DEBUG)
    variable = f"{named.partition(':')[0].upper()}_API_KEY"
    monkeypatch.setenv(variable, KEY)
    monkeypatch.setenv(variable.replace("API_KEY", "BASE_URL"), server.url)
    server.play(an_echo_of_the_key())
    model = open_model(named)
    agent = Agent("a", model)
    with pytest.raises(ModelError) as raised:
        agent.run("go")
    assert raised.value.kind == "auth"
    assert KEY in str(server.requests[0].headers)  # it was sent
    error = raised.value
    seen = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    result = agent.last
    seen += repr(error.__context__) + repr(agent) + repr(model) + repr(vars(model)) + repr(vars(agent)) + repr(result)
    seen += "".join(map(str, result._repr_mimebundle_().values())) + repr(result.events) + caplog.text
    seen += repr(vars(model._client())) + "".join(error._render_traceback_())
    assert KEY not in seen
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        for one in (model, agent, model._key):
            if one is agent and copied is copy.copy:
                continue  # shares the model, copies nothing
            with pytest.raises(TypeError):
                copied(one)


def test_a_key_that_a_model_says_is_never_shown_not_even_in_pieces(monkeypatch, server):
    """H02: split over two chunks at every offset."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    model = open_model("openai:m")
    text = f"The key is {KEY}, really."
    for size in range(1, len(text)):
        server.play(stream_answer(chat_sse(text, size=size)))
        agent = Agent("a", model)
        shown = "".join(event.text for event in agent.stream("go") if type(event).__name__ == "TextDelta")
        assert shown == agent.last.final_output == "The key is ‹redacted OPENAI_API_KEY›, really."


def test_the_keyring_and_colabs_secrets_are_asked_too(monkeypatch):
    import sys
    import types

    monkeypatch.undo()
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    kept = {("nbagent", "OPENAI_API_KEY"): KEY}
    ring = types.SimpleNamespace(get_password=lambda service, name: kept.get((service, name)))
    errors = types.SimpleNamespace(KeyringError=type("KeyringError", (Exception,), {}))
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    assert keys.find("OPENAI_API_KEY").reveal() == KEY
    assert keys.find("ANTHROPIC_API_KEY") is None

    def get(name):
        if name != "ANTHROPIC_API_KEY":
            raise RuntimeError("no such secret")
        return KEY

    colab = types.SimpleNamespace(userdata=types.SimpleNamespace(get=get))
    monkeypatch.setitem(sys.modules, "google.colab", colab)
    assert keys.find("ANTHROPIC_API_KEY").reveal() == KEY
    assert keys.find("GROQ_API_KEY") is None
