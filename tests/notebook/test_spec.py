from __future__ import annotations

import json
from decimal import Decimal

import pytest
from pydantic import ValidationError

from nbagent.errors import CellError
from nbagent.notebook.fields import Budget
from nbagent.notebook.header import read_header
from nbagent.notebook.script import ScriptCall, ScriptCalls, ScriptError, ScriptText
from nbagent.notebook.spec import RESERVED, CellSpec, read_spec, written

SECRET = "sk-ant-api03-AbCdEf0123456789"


def spec(text, **options):
    return read_spec(read_header(text, 2), options)[0]


def refused(text, **options):
    with pytest.raises(CellError) as caught:
        spec(text, **options)
    return str(caught.value)


def test_nothing_said_is_the_defaults():
    assert spec("") == CellSpec() == CellSpec(name="agent")
    assert set(CellSpec().model_dump(exclude={"name"}).values()) == {None}


def test_the_model_is_frozen_and_closed():
    with pytest.raises(ValidationError):
        CellSpec().name = "other"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValidationError):
        CellSpec(colour="red")  # pyright: ignore[reportCallIssue]
    for turns in (0, 10_001, True, "3"):
        with pytest.raises(ValidationError):
            CellSpec(max_turns=turns)  # pyright: ignore[reportArgumentType]
    assert hash(CellSpec(tools=("a",), script=(ScriptText("x"),)))


def test_every_field_says_how_it_is_written():
    assert all(written(field) for field in CellSpec.model_fields)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("name: weather", "name", "weather"),
        ("model: openai:gpt-5", "model", "openai:gpt-5"),
        ("llm: scripted", "model", "scripted"),
        ("system: no", "system", "no"),
        ("system: 12:30", "system", "12:30"),
        ("system: 1.10", "system", "1.10"),
        ("system: ''", "system", ""),
        ("system: |\n  You are {{role}}.\n", "system", "You are {{role}}.\n"),
        ("system_prompt: hi", "system", "hi"),
        ("tools: [a, b.c]", "tools", ("a", "b.c")),
        ("tools:\n- a\n- b", "tools", ("a", "b")),
        ("tools: a, b.c", "tools", ("a", "b.c")),
        ("tools: a", "tools", ("a",)),
        ("tools: []", "tools", ()),
        ("tools: ''", "tools", ()),
        ("max_turns: 1", "max_turns", 1),
        ("max_turns: 10000", "max_turns", 10_000),
        ("out: result", "out", "result"),
        ("quiet: yes", "quiet", True),
        ("quiet: no", "quiet", False),
        ("quiet: true", "quiet", True),
        ("quiet: False", "quiet", False),
        ("max_tokens: 2_000", "max_tokens", 2000),
        ("budget: 20_000", "budget", Budget(tokens=20_000)),
        ("budget: 1,500 tokens", "budget", Budget(tokens=1500)),
        ("budget: $0.05", "budget", Budget(cost=Decimal("0.05"))),
        ("budget: 2 USD", "budget", Budget(cost=Decimal(2))),
        ("timeout: 90", "timeout", 90.0),
        ("timeout: 2.5 s", "timeout", 2.5),
        ("params: {seed: 1, stop: [a]}", "params", {"seed": 1, "stop": ["a"]}),
        ("params: '{\"seed\": 1}'", "params", {"seed": 1}),
        ("base_url: http://127.0.0.1:8000/v1", "base_url", "http://127.0.0.1:8000/v1"),
        ("api_base: http://127.0.0.1:8000/v1", "base_url", "http://127.0.0.1:8000/v1"),
        ("api_key_name: MY_KEY", "api_key_env", "MY_KEY"),
        ("api: responses", "api", "responses"),
        ("images: [chart, data/x.png]", "images", ("chart", "data/x.png")),
        ("images: data/x.png", "images", ("data/x.png",)),
        ("script: replies", "script", "replies"),
        ("script: lesson.replies", "script", "lesson.replies"),
    ],
)
def test_values_are_typed_by_their_field(text, field, value):
    assert getattr(spec(text), field) == value


@pytest.mark.parametrize(
    "value", ["-1", "1e9", '"3"', ".nan", "true", "0", "10001", "1.5", "+5", "007", "1_0", "٣", "[1]", "yes"]
)
def test_b06_max_turns(value):
    message = refused(f"quiet: yes\nmax_turns: {value}")
    assert message.startswith("Cell line 3: `max_turns` must be a whole number from 1 to 10,000")
    assert value.strip('"[]') in message or "a list" in message


def test_b06_quoted_says_so():
    assert "without quotes" in refused('max_turns: "3"')


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("\nname: we-ather", 3, "`we-ather`"),
        ("name: class", 2, "name of Python"),
        ("name: print", 2, "name of Python"),
        ("name: reset", 2, "subcommand"),
        ("name: [a]", 2, "a list"),
        ("model: ''", 2, "nothing"),
        ("model:", 2, "has no value"),
        ("system:\ntools: a", 2, "has no value"),
        ("system: {a: b}", 2, "a mapping"),
        ("tools: a b", 2, "`a b` is not a name"),
        ("tools: a,, b", 2, "nothing is not a name"),
        ("tools: [a, a]", 2, "twice"),
        ("tools: [a, [b]]", 2, "a list"),
        ("tools:\n- a\n- {b: c}", 4, "a mapping"),
        ("tools: {a: b}", 2, "a mapping"),
        ("tools: [if]", 2, "not a name"),
        ("out: 2x", 2, "`2x`"),
        ("out: list", 2, "name of Python"),
        ("quiet: maybe", 2, "yes or no"),
        ("quiet: 'yes'", 2, "without quotes"),
        ("script: It's sunny", 2, "list of replies"),
        ("script: 'replies'", 2, "list of replies"),
        ("script: {call: a}", 2, "list of replies"),
        ("system: a\nsystem_prompt: b", 3, "cell line 2"),
        ("model: a\nllm: b", 3, "`model` on cell line 2"),
    ],
)
def test_wrong_values(text, line, says):
    message = refused(text)
    assert message.startswith(f"Cell line {line}:")
    assert says in message


@pytest.mark.parametrize(
    ("key", "near"), [("tols", "tools"), ("Tools", "tools"), ("max-turns", "max_turns"), ("sytem", "system")]
)
def test_unknown_keys_offer_the_nearest(key, near):
    message = refused(f"quiet: yes\n{key}: x")
    assert message.startswith(f"Cell line 3: unknown key `{key}`; did you mean `{near}`?")
    assert message.endswith(f"? `%%agent --help` lists all {len(CellSpec.model_fields)}.")
    assert len(message) < 120


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("zzzzzz", "unknown key `zzzzzz`. `%%agent --help` lists all "),
        ("max_l_calls", "did you mean `max_llm_calls` or `max_tool_calls`? `%%agent --help` lists all "),
        ("guardrails", "did you mean `input_guardrails` or `output_guardrails`? `%%agent --help` lists all "),
        ("output_schema", "did you mean `output`? `%%agent --help` lists all "),
        ("temperature", "did you mean a parameter of the request, `params: {temperature: …}`? `%%agent --help` lists"),
        ("top-p", "did you mean a parameter of the request, `params: {top_p: …}`?"),
    ],
)
def test_an_unknown_key_is_told_in_a_line(key, says):
    assert says in refused(f"{key}: 0.5")
    assert "0.5" not in refused(f"{key}: 0.5")


def test_where_there_are_few_names_they_are_listed():
    assert refused("script: [{call: look, arg: {}}]").endswith(
        "unknown key of a tool call `arg`; did you mean `args`? Known: call, args, raw, id, content."
    )


def test_a_key_of_prose_explains_the_header():
    assert "begin the cell with a line `---`" in refused("Please note: this")


@pytest.mark.parametrize(
    "key",
    ["api_key", "key", "token", "secret", "password", "OPENAI_API_KEY", "apiKey", "apikey", "api-key", "auth_token",
     "client_secret", "db_password", "accessToken", "AWS_SECRET_ACCESS_KEY", "keys"],
)  # fmt: skip
@pytest.mark.parametrize("value", [SECRET, f"'{SECRET}'", f"[{SECRET}]", f"|\n  {SECRET}"])
def test_b09_credentials_are_refused_and_never_shown(key, value):
    message = refused(f"quiet: yes\n{key}: {value}")
    assert message.startswith("Cell line 3:")
    assert SECRET not in message
    assert "rotate" in message
    assert "environment variable" in message


def test_a_secret_in_the_wrong_place_is_not_shown():
    for text in (f"name: {SECRET}", f"tools: {SECRET}", f"max_turns: {SECRET}", f"{SECRET}: x", f"out: '{SECRET}'"):
        assert SECRET not in refused(text)


@pytest.mark.parametrize("key", ["max_retries", "monkey", "task-list"])
def test_not_every_unknown_key_is_a_credential(key):
    assert refused(f"{key}: 1").startswith(f"Cell line 2: unknown key `{key}`")


def test_options_win_and_origins_are_kept():
    header = read_header("model: a\ntools: [x]\nsystem_prompt: s\n", 2)
    found, origins = read_spec(header, {"model": "b", "max_turns": "3", "tools": ""})
    assert found == CellSpec(model="b", tools=(), system="s", max_turns=3)
    assert origins == {
        "model": "option --model",
        "tools": "option --tools",
        "system": "cell line 4",
        "max_turns": "option --max-turns",
    }


def test_a_wrong_header_value_is_an_error_also_under_an_option():
    assert "Cell line 2" in refused("max_turns: x", max_turns="3")


@pytest.mark.parametrize("value", ["-1", "1e9", ".nan", "true", ""])
def test_option_values_are_checked_too(value):
    message = refused("", max_turns=value)
    assert message.startswith("Magic line: `--max-turns` must be a whole number from 1 to 10,000")


def test_every_reserved_word_is_refused_as_a_name():
    assert len(RESERVED) == 28
    for word in RESERVED:
        refused(f"name: {word}")


ENTRIES = [
    ("- hello", ScriptText("hello")),
    ("- It's sunny and 24C in Copenhagen today.", ScriptText("It's sunny and 24C in Copenhagen today.")),
    ("- 24", ScriptText("24")),
    ("- no", ScriptText("no")),
    ("- ''", ScriptText("")),
    ("- |\n  two\n  lines", ScriptText("two\nlines")),
    ("- call: f", ScriptCalls((ScriptCall("f"),))),
    (
        "- call: f\n  args: {city: Ærø, n: 1.10, s: \"24\", no: no}\n  id: c9\n  content: wait",
        ScriptCalls((ScriptCall("f", '{"city": "Ærø", "n": 1.1, "s": "24", "no": "no"}', "c9"),), "wait"),
    ),
    ("- {call: f, raw: '{\"city\": '}", ScriptCalls((ScriptCall("f", '{"city": '),))),
    ("- {call: functions.pay, args: {}}", ScriptCalls((ScriptCall("functions.pay", "{}"),))),
    ("- {call: f, args: {api_key: x}}", ScriptCalls((ScriptCall("f", '{"api_key": "x"}'),))),
    (
        "- calls: [{call: f, args: {a: 1}}, {call: g, id: z}]\n  content: both",
        ScriptCalls((ScriptCall("f", '{"a": 1}'), ScriptCall("g", "{}", "z")), "both"),
    ),
    ("- - call: f\n  - call: g", ScriptCalls((ScriptCall("f"), ScriptCall("g")))),
    ("- error: too busy", ScriptError("too busy")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "entry"), ENTRIES)
def test_script_entries(text, entry):
    assert spec(f"script:\n{text}").script == (entry,)


def test_arguments_are_json():
    found = spec("script:\n- {call: f, args: {a: [1, {b: null}], c: 1e-1, d: NaN, e: true, f: 12:30}}").script
    assert found
    assert isinstance(found[0], ScriptCalls)
    assert json.loads(found[0].calls[0].arguments) == {
        "a": [1, {"b": None}], "c": 0.1, "d": "NaN", "e": True, "f": "12:30"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("- ok\n- Sunny: 24C", 4, "contains `: ` needs quotes"),
        ("- ok\n-", 4, "not a scripted reply"),
        ("- []", 3, "not a scripted reply"),
        ("- calls: []", 3, "not a scripted reply"),
        ("- {calls: [{call: f}], error: x}", 3, "not a scripted reply"),
        ("- {error: x, content: y}", 3, "not a scripted reply"),
        ("- {error: [x]}", 3, "not a scripted reply"),
        ("- call: f\n  arg: {}", 4, "did you mean `args`?"),
        ("- call: f\n  args: 5", 4, "`args` must be a mapping"),
        ("- call: f\n  args: [1]", 4, "`args` must be a mapping"),
        ("- call: f\n  raw: x\n  args: {}", 5, "without `raw`"),
        ("- call: ''", 3, "expected a tool call"),
        ("- call: [f]", 3, "must be text"),
        ("- call: f\n  id: [x]", 4, "must be text"),
        ("- - call: f\n  - text", 4, "expected a tool call"),
        ("- - call: f\n    content: x", 4, "unknown key of a tool call `content`"),
        ("- call: f\n  args:\n    a: 1\n    b: 1e999", 6, "too large"),
    ],
)
def test_wrong_script_entries(text, line, says):
    message = refused(f"script:\n{text}")
    assert message.startswith(f"Cell line {line}:")
    assert says in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max_tokens: many", "must be a whole number from 1"),
        ("budget: much", "must be tokens or money"),
        ("budget: $0", "must be tokens or money"),
        ("budget: -5", "must be tokens or money"),
        ("timeout: 0", "must be seconds"),
        ("timeout: soon", "must be seconds"),
        ("params: seed", "must be a mapping"),
        ("params: [1]", "must be a mapping"),
        ("params: '[1]'", "must be a mapping"),
        ("api: soap", "must be `chat` or `responses`"),
        ("api_key_env: MY KEY", "must be one word"),
        ("api_key_env: my-key", "must be the name of an environment variable"),
        ("images: {a: b}", "must be paths"),
        ("images: ''", "must be paths"),
        ("base_url: a b", "must be one word"),
    ],
)
def test_what_is_said_of_models_is_checked(text, says):
    message = refused(f"quiet: yes\n{text}")
    assert message.startswith("Cell line 3: ")
    assert says in message


@pytest.mark.parametrize(
    "text",
    [
        f"api_key_env: {SECRET}",
        f"model: {SECRET}",
        f"params: {{api_key: {SECRET}}}",
        f"params: {{extra_headers: {{a: [x, '{SECRET}']}}}}",
        f'params: \'{{"k": "{SECRET}"}}\'',
        f"base_url: http://x/?key={SECRET}",
        f"images: {SECRET}",
    ],
)
def test_a_key_in_any_place_of_a_model_is_refused_and_not_shown(text):
    message = refused(text)
    assert SECRET not in message
    assert "rotate" in message
