"""Models in cells: a name, an address, a budget is all it takes to run the same cell with a real model."""

from __future__ import annotations

import pytest
import servers
from servers import chat_sse, reply, stream_answer

from nbagent.errors import CellError, ConfigError, ModelError
from nbagent.models import keys
from nbagent.models.providers import providers

server = pytest.fixture(servers.running, name="server")
KEY = "sk-test-" + "0123456789abcdef" * 2


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(keys, "_keyring", lambda variable: None)
    monkeypatch.setattr(providers, "default_model", "")


def text(data):
    return data["text/plain"]


def test_the_test_model_says_whether_a_cell_runs_at_all(shell):
    shell.run("def add(a: int, b: int) -> int:\n    'Add.'\n    return a + b")
    [output] = shell.run("%%agent bot\nmodel: test\ntools: [add]\n---\nhello")
    assert "bot · test · completed · 2 turns · 1 tool call" in text(output)
    assert shell.ns["bot"].last.tool_calls[0].observation.text == "0"


def test_one_line_is_enough_for_a_server_of_ones_own(shell, server):
    server.play(reply("chat", True, text="Hi from here."), repeat=True)
    shell.run(f"%%agent bot --base-url {server.url}\nhello")
    assert shell.ns["bot"].last.final_output == "Hi from here."
    shell.run(f"%%agent bot\nmodel: ollama:qwen3\napi_base: {server.url}\n---\nhello again")
    assert server.requests[-1].body["model"] == "qwen3"
    # Header or not, the conversation goes on with the model it has.
    shell.run("%%agent bot\nand again")
    assert [m["content"] for m in server.requests[-1].body["messages"]][-1] == "and again"
    assert "ollama:qwen3 · live" in text(shell.outputs[-1])


def test_the_tokens_the_cost_and_the_model_are_in_the_header(shell, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    usage = {"prompt_tokens": 2000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 1000}}
    server.play(stream_answer(chat_sse("Hi.", usage=usage)))
    [output] = shell.run("%%agent bot\nmodel: openai:gpt-4o\n---\nhello")
    header = text(output).splitlines()[0]
    assert header.startswith("bot · openai:gpt-4o · live · completed · 1 turn · 0 tool calls · 2,100 tokens")
    assert "(1,000 from a cache) · $0.0" in header
    assert KEY not in str(output)


def test_params_max_tokens_and_api_reach_the_server(shell, server):
    server.play(reply("responses", True, text="Hi."))
    shell.run(
        f"%%agent bot --params '{{\"top_p\": 0.5}}'\nmodel: m\nbase_url: {server.url}\napi: responses\nmax_tokens: 50\n"
        "---\nhello"
    )
    [request] = server.requests
    assert request.path == "/responses"
    assert (request.body["top_p"], request.body["max_output_tokens"]) == (0.5, 50)


def test_a_named_key_goes_to_a_named_server(shell, server, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    server.play(reply("chat", True, text="Hi."))
    shell.run(f"%%agent bot --base-url {server.url} --api-key-env MY_KEY\nhello")
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("model: opnai:gpt-5", r"model: opnai:gpt-5: no provider 'opnai'; did you mean 'openai'"),
        ("model: openai:gpt-5", r"model: openai:gpt-5: no key: .*OPENAI_API_KEY is not set"),
        ("model: openai", r"which model of openai\? Write openai:MODEL"),
        ("model: m\nbase_url: nowhere", r"base_url: expected an address such as"),
        ("model: openai:m\nbase_url: https://elsewhere.test/v1", r"is not sent to elsewhere.test"),
        ("model: ollama:m\nparams: {tempreature: 0}", r"did you mean 'temperature'"),
        ("model: llm\nbase_url: http://127.0.0.1:1/v1", r"base_url: the variable 'llm' holds a model already"),
        ("script: [a]\nimages: [nowhere.png]", r"images: nowhere.png: .*cannot be read"),
        ("script: [a]\nimages: [number]", r"images: number: .*got int"),
    ],
)
def test_a_wrong_model_is_an_error_before_anything_happens(shell, source, message):
    shell.run("from nbagent import ScriptedLLM\nllm, number = ScriptedLLM(['a']), 3")
    with pytest.raises(CellError, match=message):
        shell.run(f"%%agent bot\n{source}\n---\nhello")
    assert "bot" not in shell.ns


def test_a_budget_is_a_status_and_a_failed_call_an_error(shell, server):
    call = reply("chat", True, text=None, calls=[("c", "look", "{}")])
    server.play(call, call, servers.error("chat", 401))
    shell.run("def look() -> str:\n    'Look.'\n    return 'x'")
    [output] = shell.run(f"%%agent bot --budget 30\nmodel: m\nbase_url: {server.url}\ntools: [look]\n---\nhello")
    assert "limit reached: the budget is 30 tokens, and 54 are used" in text(output)
    with pytest.raises(ModelError, match=r"the key was refused"):
        shell.run("%%agent bot\nagain")
    assert "failed" in text(shell.outputs[-1])


def test_images_are_shown_to_the_model(shell, server, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    (tmp_path / "x.png").write_bytes(b"\x89PNG\r\n\x1a\nrest")
    shell.ns["chart"] = plt.subplots()[0]
    server.play(reply("chat", True, text="Nice."))
    [output] = shell.run(
        f"%%agent bot\nmodel: m\nbase_url: {server.url}\nimages: [chart, {tmp_path}/x.png]\n---\nWhat is this?"
    )
    parts = server.requests[0].body["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "image_url"]
    assert parts[2]["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgp")
    assert "image 2: x.png" in text(output)


def test_config_sets_the_default_model_and_more_providers(shell, server):
    server.play(reply("chat", True, text="Hi."), repeat=True)
    shell.run(f"%config NBAgent.providers = {{'mine': {{'base_url': '{server.url}'}}}}")
    shell.run("%config NBAgent.model = 'mine:m'")
    shell.run("%%agent bot\nhello")
    assert shell.ns["bot"].model.name == "mine:m"
    shell.run("%config NBAgent.providers = {'mine': {}}")
    with pytest.raises(ConfigError, match="provider 'mine': base_url is missing"):
        shell.run("%%agent cat\nhello")
    shell.shell.run_line_magic("config", "NBAgent.model = ''")


def test_keys_in_the_output_of_tools_and_in_errors_are_masked(shell, monkeypatch):
    monkeypatch.setenv("SERVICE_TOKEN", "t0p-s3cret-" + "0123456789abcdef")
    shell.run("import os\ndef leak() -> str:\n    'Leak.'\n    print(os.environ['SERVICE_TOKEN'])\n    return 'ok'")
    cell = "%%agent bot\ntools: [leak]\nscript:\n- call: leak\n- done\n---\n{{os.environ['SERVICE_TOKEN']}}"
    [output] = shell.run(cell)
    shown = str(output) + repr(shell.ns["bot"].last.tool_calls)
    assert "t0p-s3cret-0123456789abcdef" not in shown
    assert "‹redacted SERVICE_TOKEN›" in text(output)


@pytest.mark.parametrize("said", ["%%agent bot --skip-without-key\nmodel: openai:gpt-5\n---\nhello",
    "%%agent bot\nmodel: openai:gpt-5\nskip_without_key: yes\n---\nhello"])  # fmt: skip
def test_a_live_cell_of_a_course_skips_itself_without_a_key(shell, said, server, monkeypatch):
    assert shell.text(said) == "skipped: the environment variable OPENAI_API_KEY is not set"
    assert "bot" not in shell.ns
    with pytest.raises(CellError, match="no provider"):
        shell.run(said.replace("openai", "opnai"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.play(reply("chat", True, text="Hi."))
    shell.run(said)
    assert shell.ns["bot"].last.final_output == "Hi."


def test_a_scripted_failure_may_be_one_that_is_tried_again(shell):
    [output] = shell.run("%%agent bot\nscript:\n- error: slow down\n  kind: rate_limited\n- Hi.\n---\nhello")
    assert "attempt 1 failed: rate limited\n    slow down" in text(output)
    assert shell.ns["bot"].last.final_output == "Hi."
    with pytest.raises(CellError, match=r"line 4: `kind` must be one of auth, .*timeout"):
        shell.run("%%agent bot\nscript:\n- error: no\n  kind: late\n---\nhello")


def test_an_option_changes_what_it_names_and_the_rest_of_the_model_stays(shell, server, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    server.play(reply("chat", True, text="Hi."), repeat=True)
    header = f"model: m\nbase_url: {server.url}\napi_key_env: MY_KEY\nparams: {{seed: 7}}"
    shell.run(f"%%agent bot\n{header}\n---\nhello")
    for said, model, seed in (
        ("%%agent bot --params '{\"seed\": 1}'\nhello", "m", 1),
        ("%%agent bot --model m2\nhello", "m2", 1),
        ("%%agent bot\nparams: {seed: 2}\n---\nhello", "m2", 2),
        ("%%agent bot --max-tokens 9\nhello", "m2", 2),
    ):
        shell.run(said)
        request = server.requests[-1]
        assert (request.body["model"], request.body["seed"]) == (model, seed)
        assert request.headers["authorization"] == f"Bearer {KEY}"
    shell.run("%%agent plain\nscript: [a, b]\n---\nhello")
    with pytest.raises(CellError, match="params: the model of 'plain' takes no settings"):
        shell.run("%%agent plain --params '{\"seed\": 1}'\nhello")


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("script: [a]\nparams: {seed: 1}", "params: a script takes no settings of a model"),
        ("script: [a]\nbase_url: http://127.0.0.1:1/v1", "base_url: a script takes no settings"),
        ("model: test\nparams: {seed: 1}", "model test sends nothing"),
        ("model: anthropic:m\napi: responses", "anthropic has one API of its own"),
        ("model: m\nbase_url: http://127.0.0.1:1/v1\nparams: {max_tokens: 5}", "write max_tokens: N in its place"),
        ("model: m\nbase_url: me:hunter2pw@127.0.0.1:9/v1", "base_url: an address takes no user"),
        ("model: m\nbase_url: http://127.0.0.1:9/v1?api_key=hunter2pw", "base_url: an address takes no user"),
        ('model: m\nbase_url: http://127.0.0.1:9/v1\nparams: \'{"a": 1, "a": 2}\'', "a key comes twice"),
        ("model: m\nbase_url: http://127.0.0.1:9/v1\nparams: '{\"top_p\": NaN}'", "NaN is no JSON"),
    ],
)
def test_settings_that_contradict_each_other_are_an_error(shell, header, says, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(CellError, match=says) as raised:
        shell.run(f"%%agent bot\n{header}\n---\nhello")
    assert "hunter2pw" not in str(raised.value)
    assert "bot" not in shell.ns


def test_a_skipped_agent_stays_away_until_it_is_described_anew(shell):
    shell.run("%%agent live\nscript: [old, older]\n---\nhello")
    live = "%%agent live --skip-without-key\nmodel: openai:gpt-5\n---\nhello"
    note = "skipped: the environment variable OPENAI_API_KEY is not set"
    assert shell.text(live) == note
    assert shell.text("%%agent live --skip-without-key\nand then?") == note
    assert shell.text("%agent --skip-without-key live and then?") == note
    with pytest.raises(CellError, match="agent 'live' is not there: skipped"):
        shell.run("%agent live go")
    shell.run("%%agent live\nscript: [new]\n---\nhello")
    assert shell.ns["live"].last.final_output == "new"


@pytest.mark.parametrize("prefix", ["gsk_", "hf_", "sk-proj-", "AIzaSy"])
@pytest.mark.parametrize(
    "cell",
    [
        "%%agent bot\nscript: [a]\n---\nmy key is {}",
        "%%agent bot\nscript: [a]\nsystem: use {}\n---\nhello",
        "%%agent bot\nmodel: m\napi_key_env: {}\n---\nhello",
        "%%agent bot --out {}\nhello",
        "%%agent bot\nmodel: groq:{}\n---\nhello",
        "%agent bot my key is {}",
        "%prompt bot my key is {}",
        "%agent reset {}",
    ],
)
def test_a_key_anywhere_in_a_cell_is_refused_and_in_no_error(shell, prefix, cell):
    secret = prefix + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xYz0aB3d"
    with pytest.raises(CellError, match="rotate it") as raised:
        shell.run(cell.replace("{}", secret))
    assert secret not in repr(raised.value.args) + str(raised.value)
    assert "bot" not in shell.ns


def test_a_key_of_letters_and_digits_alone_is_no_name_of_a_variable(shell):
    secret = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xYz0a"
    with pytest.raises(CellError, match="must be the name of an environment variable") as raised:
        shell.run(f"%%agent bot\nmodel: m\napi_key_env: {secret}\n---\nhello")
    assert secret not in str(raised.value)


def test_a_time_limit_is_not_outwaited(shell, server):
    server.play(servers.Answer(b"{}", 429, {"retry-after": "20"}), repeat=True)
    [output] = shell.run(f"%%agent bot --timeout 2\nmodel: m\nbase_url: {server.url}\n---\nhello")
    assert "limit reached" in text(output)
    assert "would be over before the next attempt" in text(output)


def test_what_python_code_set_and_no_cell_can_say_stays(shell):
    shell.run("%%agent bot\nscript: [a, b, c]\n---\nhello")
    shell.run("from nbagent import Retry\nbot.retry = Retry(attempts=1)")
    shell.run("%%agent bot --max-turns 3\nhello")
    assert shell.ns["bot"].retry.attempts == 1


def test_a_cell_that_may_be_skipped_asks_nobody(shell, monkeypatch):
    from types import SimpleNamespace

    shell.shell.kernel = SimpleNamespace(_allow_stdin=True)
    monkeypatch.setattr("getpass.getpass", lambda prompt: pytest.fail("nobody is asked"))
    assert "skipped" in shell.text("%%agent bot --skip-without-key\nmodel: openai:gpt-5\n---\nhello")
    monkeypatch.setattr("getpass.getpass", lambda prompt: "")
    with pytest.raises(CellError, match="no key"):
        shell.run("%%agent bot\nmodel: openai:gpt-5\n---\nhello")


def test_a_mark_that_somebody_pasted_is_no_key(shell, monkeypatch):
    shell.run("%%agent bot\nscript: [ok]\nsystem: What does ‹redacted key› mean?\n---\nExplain ‹redacted token› to me.")
    assert shell.ns["bot"].last.prompt.user == "Explain ‹redacted token› to me."
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(CellError, match="Cell line 4"):
        shell.run(f"%%agent bot\nscript: [ok]\n---\nWhy is {KEY} not ‹redacted key›?")
