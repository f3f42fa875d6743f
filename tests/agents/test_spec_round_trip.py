"""What `str(spec)` and `to_yaml()` write of any spec is read as the same one; what cannot be read so is named."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbagent import (
    Agent,
    AgentSpec,
    ApprovalPolicy,
    Compact,
    Limits,
    PlanAgent,
    ReflectionAgent,
    ScriptedLLM,
    Texts,
    ToolPermissions,
    build_agent,
    read_spec,
)
from nbagent.agents.spec_words import DEEPEST, MOST_CHARACTERS, RESERVED
from nbagent.errors import CellError, ConfigError, ModelError
from nbagent.models.opening import open_model
from nbagent.models.providers import providers
from nbagent.notebook.spec import ALIASES, CellSpec
from nbagent.prompt.blueprint import template
from nbagent.redact import redact

call = ScriptedLLM.tool_call
KEY = "sk-" + "a1B2" * 8
SECRETS = [KEY, f"use {KEY} please", "AKIA" + "ABCD1234" * 2, "ghp_" + "a1B2" * 9, "postgres://ada:geheim123@db.test/x"]
LIKE_KEYS = ["sk-x", "hf_x", "gsk_", "AIza", "pk-1", "the sk-x"]
KEYS_OF_A_CELL = [*CellSpec.model_fields, *ALIASES]
HARD = [
    "{topic}", "{{topic}}", "{{{topic}}}", "{", "}", "{{", "}}", "\\", "\\{", "\\{{x}}", "---", "\n---\n", "\n", "\n\n",
    " ", "\t", "\r\n", "\x85", "\u2028", "\x00", "\ufeff", "🌳", "中文", "'", '"', "#", " # ", ": ", "- ", "|", ">",
    "%%agent a", "!x", "&a", "*a", "?", "null", "true", "1e3", "-0", "0x1", "12:30", "yes", "~", "[", "${x}", "`",
    "\n# NBVAL_SKIP", "...", "a", "\ud800", "\udc00\ud800", "-----", "===", "<<", "=", "k" * 200, "w " * 100,
]  # fmt: skip
HEADERS = st.sampled_from(KEYS_OF_A_CELL).map(lambda key: f"{key}: x\n---\nGo")
PARTS = st.sampled_from([*HARD, *LIKE_KEYS]) | st.text(max_size=4) | HEADERS
TEXTS = st.lists(PARTS, min_size=1, max_size=4).map("".join) | st.sampled_from([*SECRETS, *LIKE_KEYS])
FILLED = TEXTS.filter(lambda text: bool(text.strip()))
NAMES = st.sampled_from(
    [*sorted(RESERVED), *KEYS_OF_A_CELL, "a", "größe", "_x", "yes", "null", "if", "print", "a b", "", "hf_x", KEY]
)
PATHS = NAMES | st.sampled_from(["box.add", "a.if", "a."])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
CALLS = st.builds(
    lambda name, args, said, id: call(name, args, content=said, call_id=id),
    NAMES, st.dictionaries(TEXTS, JSON, max_size=2) | TEXTS, TEXTS, st.none() | TEXTS,
)  # fmt: skip
ENTRIES = TEXTS | CALLS | st.builds(lambda text: ModelError(text, kind="overloaded"), TEXTS)
RULES = st.sampled_from([
    "add", "all", "read_*", "mcp", "mcp:files", "agent:*", "pay(amount > 100)", "pay(to in ('a, b', '中'))",
    'add(x == "{{y}}: #")', "*(x != '---')", "add(x == 'sk-x')", f"add(x == '{KEY}')",
])  # fmt: skip
MODELS = {
    "model": NAMES | TEXTS | st.sampled_from(["openai:gpt-5", "test", "deepseek", "openai/gpt-oss-20b"]),
    "base_url": TEXTS | st.sampled_from(["http://127.0.0.1:8000/v1", "http://a:b@x.test/v1", "http://x.test/?k=1"]),
    "api": st.sampled_from(["chat", "responses"]),
    "api_key_env": NAMES | TEXTS | st.sampled_from(["OPENAI_API_KEY", "abcdefghij0123456789"]),
    "params": st.dictionaries(TEXTS, JSON, max_size=3),
}
FIELDS = {
    "system_prompt": TEXTS,
    "instructions": TEXTS,
    "prompt_template": TEXTS,
    "examples": st.lists(st.tuples(TEXTS | JSON, TEXTS), max_size=2),
    "examples_in": st.sampled_from(["messages", "prompt"]),
    "output": st.dictionaries(TEXTS, TEXTS | st.tuples(st.sampled_from(["int", "list[str]", "zzz"]), TEXTS), max_size=3)
    | PATHS,
    "formatters": NAMES | st.lists(NAMES, min_size=1, max_size=2).map(tuple),
    "hide_unused_fields": st.booleans(),
    "math": st.booleans(),
    "pull_keys": st.dictionaries(NAMES, TEXTS | st.just(""), max_size=2),
    "push_keys": st.dictionaries(NAMES, st.just(""), max_size=2),
    "retrievers": st.lists(PATHS, max_size=2),
    "tools": st.lists(PATHS | PATHS.map("agent:{}".format), max_size=2),
    "max_turns": st.integers(-1, 10_001),
    "max_tokens": st.integers(-1, 10**10),
    "retries": st.integers(-1, 10**10),
    "limits": st.builds(
        Limits,
        max_tokens=st.none() | st.integers(1, 10**16),
        deadline=st.none() | st.floats(1e-9, 1e8),
        max_llm_calls=st.none() | st.integers(1, 10**10),
    ).filter(lambda limits: limits != Limits()),
    "texts": st.builds(
        Texts, st.sampled_from(["english", "chinese"]),
        st.dictionaries(st.just("reflection.signal"), FILLED.filter(lambda text: not re.search(r"\{\w+\}", text))),
    ).filter(lambda texts: texts != Texts()),
    "scope": NAMES | TEXTS,
    "description": TEXTS,
    "store": NAMES | TEXTS,
    "compact": st.booleans() | st.integers(-1, 10**10),
    "input_guardrails": st.lists(PATHS, max_size=2),
    "output_guardrails": st.lists(PATHS, max_size=2),
    "hooks": st.lists(PATHS, max_size=2),
    "permissions": st.builds(
        ToolPermissions, allow=st.none() | st.lists(st.sampled_from(["add", "sk-x", "a-b", "1"]), max_size=2),
        deny=st.lists(st.sampled_from(["add", "hf_x", "0"]), max_size=2),
    ).filter(lambda permissions: permissions != ToolPermissions()),
    "approvals": st.builds(ApprovalPolicy, approve=st.lists(RULES, max_size=2), auto=st.lists(RULES, max_size=2),
                           deny=st.lists(RULES, max_size=2)).filter(bool),
}  # fmt: skip
OF_A_SCRIPT = {"script": st.lists(ENTRIES, max_size=3) | PATHS}
"""Fields that the tests of models leave out."""
OBJECTS = {
    "attributes", "memories", "context_policy", "tool_registry", "retry", "session_store", "tool_retriever", "replan",
    "decide",
}  # fmt: skip
SAME = {
    "instructions": lambda value: template("instructions", value),
    "prompt_template": lambda value: template("prompt_template", value),
    "examples": json.dumps,
    "script": lambda value: value if isinstance(value, str) else [str(one) for one in value],
    "permissions": str,
    "formatters": lambda value: [value] if isinstance(value, str) else list(value),
    "compact": lambda value: Compact(None if value is True else value) if value else value,
}
"""What two values of a field have to have in common, where that is less than everything."""


def specs(fields):
    """Specs with some of these fields, under any name."""
    return st.fixed_dictionaries(
        {"name": NAMES | TEXTS, "strategy": st.sampled_from(["chat", "react", "plan", "reflection"])}, optional=fields
    ).map(made)


def made(fields):
    try:
        return AgentSpec(**fields)
    except ConfigError:
        return None  # it is no valid one


def same(field, one, other):
    common = SAME.get(field, lambda value: value)
    return one == other or (None not in (one, other) and common(one) == common(other))


def named(text):
    """The fields that the comments of a cell name."""
    return re.findall(r"^# (\w+): .*, given in Python$", text.partition("\n---\n")[0], re.MULTILINE)


def check(spec):
    """That a spec is read as it was, but for the fields that are named in its place."""
    text = str(spec)
    without = named(text)
    assert text.count("# ") >= len(without)
    again, usual = read_spec(text), AgentSpec("agent")
    for field in AgentSpec.model_fields:
        expected = usual if field in without else spec
        assert same(field, getattr(again, field), getattr(expected, field)), (field, text)
    assert redact(text) == text
    if without:
        with pytest.raises(ConfigError, match=f"^{without[0]}: .* cannot be written as YAML; give it in Python") as no:
            spec.to_yaml()
        assert redact(str(no.value)) == str(no.value)
    else:
        assert str(read_spec(spec.to_yaml())) == str(again)
    assert str(again) == re.sub("^(# .*\n)*", "", text) or without


THOROUGH = settings(max_examples=50, report_multiple_bugs=False, deadline=None)


def test_every_field_is_tried():
    assert FIELDS.keys() | MODELS.keys() | OF_A_SCRIPT.keys() | OBJECTS | {"name", "strategy"} == (
        AgentSpec.model_fields.keys()
    )


@pytest.mark.parametrize("field", [*FIELDS, *MODELS, *OF_A_SCRIPT])
@given(st.data())
@THOROUGH
def test_any_value_of_a_field_is_read_as_it_was_or_is_named(field, data):
    value = data.draw({**FIELDS, **MODELS, **OF_A_SCRIPT}[field])
    check(AgentSpec("a", **{field: value}))


@given(specs({**FIELDS, **MODELS}))
@example(AgentSpec("a", model="openai:gpt-5", api="chat", params={"stop": ["1e3", "yes", "---"], "seed": 1}, retries=0))
@THOROUGH
def test_any_spec_of_a_model_is_read_as_it_was_or_what_cannot_be_is_named(spec):
    if spec is not None:
        check(spec)


@given(specs({**FIELDS, **OF_A_SCRIPT}))
@THOROUGH
def test_any_spec_of_a_script_is_read_as_it_was_or_what_cannot_be_is_named(spec):
    if spec is not None:
        check(spec)


# all that a cell says

CELL = {
    "model": "openai:gpt-5", "strategy": "plan", "base_url": "http://127.0.0.1:8000/v1", "api": "chat",
    "api_key_env": "MY_KEY", "params": {"seed": 1, "stop": ["1e3", "yes", "{{x}}"]}, "tools": ["add", "agent:worker"],
    "allow": ["add"], "deny": ["worker", "read_*"], "approve": ["add(a > 1)"], "auto": ["all"], "description": "Adds.",
    "script": ["Hi.", {"call": "add"}],
    "system": "Be brief.", "instructions": "Of {topic}.", "prompt_template": "On {topic}.", "hide_unused_fields": True,
    "examples": [["a", "b"]], "examples_in": "prompt", "pull": ["city"], "push": ["mood"], "output": {"mood": "a word"},
    "retries": 3, "math": True, "formatters": ["paragraph", "json"], "context": ["docs"], "max_turns": 4,
    "replan": True, "language": "chinese", "texts": {"reflection.signal": "FINE"}, "scope": "team", "compact": 500,
    "input_guardrails": ["f"], "output_guardrails": ["g"], "hooks": ["h"], "max_llm_calls": 5, "max_tool_calls": 0,
    "max_tokens": 100, "budget": "$0.05", "timeout": 2.5, "store": "runs",
}  # fmt: skip
OF_A_RUN = {
    "name", "images", "inputs", "out", "quiet", "skip_without_key", "dry", "propose", "run", "decisions", "on_approval",
}  # fmt: skip
"""What a cell says of its run, and a spec does not."""


def test_there_is_a_value_of_every_key():
    assert CELL.keys() | OF_A_RUN == CellSpec.model_fields.keys()


@pytest.mark.parametrize("key", CELL)
def test_no_key_of_a_cell_is_lost(key):
    more = {"replan": {"strategy": "plan"}}.get(key, {})
    cell = "".join(f"{name}: {json.dumps(value)}\n" for name, value in {**more, key: CELL[key]}.items())
    spec = read_spec(f"%%agent a\n{cell}---\n")
    assert spec != read_spec(f"%%agent a\n{''.join(cell.splitlines(keepends=True)[:-1])}---\n")
    for text in (str(spec), spec.to_yaml()):
        assert "given in Python" not in text
        again = read_spec(text)
        assert all(same(field, getattr(again, field), getattr(spec, field)) for field in AgentSpec.model_fields)


MODEL = {"model": "openai:gpt-5", "base_url": "http://127.0.0.1:8000/v1", "api": "responses", "api_key_env": "MY_KEY"}


@pytest.fixture
def _keys(monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setattr(providers, "default_model", "openai:gpt-5")


@pytest.mark.usefixtures("_keys")
def test_what_is_said_of_a_model_is_how_it_is_opened():
    spec = AgentSpec("a", **MODEL, params={"top_p": 0.5}, retries=0)
    text = "".join(f"{key}: {value}\n" for key, value in MODEL.items()) + "params:\n  top_p: 0.5\nretries: 0\n"
    assert (str(spec), spec.to_yaml()) == (f"%%agent a\n{text}---\n", f"name: a\n{text}")
    for one in (spec, read_spec(str(spec)), read_spec(spec.to_yaml())):
        agent = build_agent(one)
        assert (agent.model.base_url, agent.model.params, agent.retries) == (MODEL["base_url"], {"top_p": 0.5}, 0)
        # A model that is there already is written the same way.
        assert str(AgentSpec("a", model=agent.model, retries=0)) == str(spec)
    assert KEY not in f"{spec!r}{spec}"
    local = AgentSpec("a", base_url="http://127.0.0.1:8000/v1")
    assert build_agent(read_spec(str(local))).model.name == "127.0.0.1:default"
    assert str(AgentSpec("a", model=build_agent(local).model)) == str(local)


@pytest.mark.usefixtures("_keys")
@pytest.mark.parametrize("options", [{"timeout": 3}, {"streaming": False}])
def test_a_model_with_settings_that_no_cell_has_is_named(options):
    model = open_model("openai:gpt-5", api_key_env="MY_KEY", params={"seed": 1}, **options)
    assert named(str(AgentSpec("a", model=model))) == ["model"]
    model = open_model("openai:gpt-5", api_key_env="MY_KEY", params={"seed": 1})
    assert not named(str(AgentSpec("a", model=model)))
    model.params["seed"] = 2
    assert named(str(AgentSpec("a", model=model))) == ["model"]


@pytest.mark.parametrize("field", ["base_url", "api", "api_key_env", "params"])
@pytest.mark.parametrize("model", [{"model": ScriptedLLM(["a"])}, {"script": ["a"]}])
def test_settings_are_of_a_model_that_is_named(field, model):
    value = {"seed": 1} if field == "params" else "chat"
    with pytest.raises(ConfigError, match=f"{field}: only a model that is named is opened with settings"):
        AgentSpec("a", **model, **{field: value})
    with pytest.raises(ConfigError, match=f"{field}: only a model that is named is opened with settings"):
        build_agent(AgentSpec("a", model="llm", **{field: value}), {"llm": ScriptedLLM(["a"])})


@pytest.mark.parametrize("given", [{"api": "both"}, {"params": ["seed"]}, {"base_url": 3}, {"retries": "2"}])
def test_what_no_model_takes_is_refused_at_once(given):
    [field] = given
    with pytest.raises(ConfigError, match=f"AgentSpec: {field}: "):
        AgentSpec("a", **given)
    with pytest.raises(ConfigError, match="retries: expected a whole number from 0, got -1"):
        build_agent(AgentSpec("a", script=["x"], retries=-1))


# how often an answer that cannot be read is asked for again


@pytest.mark.parametrize("kind", [Agent, PlanAgent, ReflectionAgent])
def test_an_agent_says_how_often_a_run_asks_again(kind):
    def asked(agent, **options):
        before = agent.model.position
        with pytest.raises(ModelError, match="cannot be read"):
            agent.run("go", **options)
        return agent.model.position - before

    usual = Agent("a", ScriptedLLM(["no"] * 20), output={"n": int})
    assert (usual.retries, asked(usual)) == (1, 2)
    agent = kind("a", ScriptedLLM(["no"] * 20), output={"n": int}, retries=3)
    often = asked(agent)
    assert agent.last.events[0].retries == agent.fork().retries == 3
    assert often - asked(agent, retries=0) >= 3


# what is refused


@pytest.mark.parametrize("name", sorted(RESERVED - {"help"}))
def test_a_name_that_a_cell_refuses_is_named(name):
    with pytest.raises(CellError, match=r"is a subcommand of `%agent`|is a name of Python"):
        read_spec(f"%%agent {name}\n---\n")
    spec = AgentSpec(name, max_turns=3)
    assert re.match(rf"%%agent\n# name: the name '{name}' \(.*\), given in Python\n", str(spec))
    assert read_spec(str(spec)) == AgentSpec("agent", max_turns=3)
    with pytest.raises(ConfigError, match=rf"name: the name '{name}' \(.*\) cannot be written as YAML"):
        spec.to_yaml()


@pytest.mark.parametrize("field", ["system_prompt", "instructions", "description", "scope", "model", "base_url"])
@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_is_ever_written(field, secret):
    spec = AgentSpec(secret, **{field: secret})
    assert named(str(spec)) == ["name", field]
    with pytest.raises(ConfigError, match="name: ") as no:
        spec.to_yaml()
    for text in (str(spec), str(no.value)):
        assert secret not in text
        assert redact(text) == text
    assert read_spec(str(spec)) == AgentSpec("agent")


@pytest.mark.parametrize("text", LIKE_KEYS)
def test_what_a_cell_takes_for_a_key_is_named(text):
    spec = AgentSpec("a", scope=text, description=text, system_prompt=text, script=[text])
    refused = [] if text.startswith("the") else ["description"]
    assert set(named(str(spec))) == {*refused, *(["scope", "script"] if refused else ["scope"])}
    assert read_spec(str(spec)).system_prompt == text
    spec = AgentSpec(f"{text}!", model=f" {text}")
    assert named(str(spec)) == ["name", "model"]
    assert text not in str(spec)


def test_the_name_of_a_script_that_yaml_reads_as_something_else_is_named():
    for name in ("yes", "No", "ON", "off", "true", "FALSE", "null"):
        assert named(str(AgentSpec("a", script=name))) == ["script"]
        assert read_spec(str(AgentSpec("a", script=name))) == AgentSpec("a")
    assert read_spec(str(AgentSpec("a", script="replies"))).script == "replies"


def test_the_params_of_a_model_hold_no_secret_either():
    for params in (
        {"extra_headers": {"Authorization": f"Bearer {KEY}"}},
        {"a": [{"b": KEY}]},
        {KEY: 1},
        {"extra_headers": {"Authorization": "geheim"}},
        {"a": [{"api_key": "geheim"}]},
        {"token": "geheim"},
        {"extra_headers": {"X": "Authorization: Basic YWRhOmdlaGVpbTEyMw=="}},
    ):
        spec = AgentSpec("a", model="test", params=params)
        assert named(str(spec)) == ["params"]
        assert KEY not in str(spec)
        assert "geheim" not in str(spec)
    plain = {"prompt_cache_key": "team", "stop_token_ids": [1], "metadata": {"tokens": "3"}, "password": None}
    assert read_spec(str(AgentSpec("a", params=plain))).params == plain
    assert named(str(AgentSpec("a", base_url="http://ada:geheim@x.test"))) == ["base_url"]
    assert named(str(AgentSpec("a", api_key_env="abcdefghij0123456789"))) == ["api_key_env"]


def test_what_is_too_long_or_too_deep_for_a_cell_is_named():
    long = "word " * (MOST_CHARACTERS // 5)
    spec = AgentSpec("a", system_prompt=long, description="Short.", max_turns=3)
    assert named(str(spec)) == ["system_prompt"]
    assert read_spec(str(spec)) == AgentSpec("a", description="Short.", max_turns=3)
    with pytest.raises(
        ConfigError, match="system_prompt: a value with which the cell has more than 100,000 characters"
    ):
        spec.to_yaml()
    check(AgentSpec("a", system_prompt=long[: MOST_CHARACTERS - 1_000]))
    deep = "x"
    for _ in range(DEEPEST - 2):
        deep = [deep]
    check(AgentSpec("a", model="test", params={"a": deep}))
    assert not named(str(AgentSpec("a", params={"a": deep[0]})))
    assert named(str(AgentSpec("a", params={"a": deep}))) == ["params"]
    loop = []
    loop.append(loop)
    assert named(str(AgentSpec("a", params={"a": loop}))) == ["params"]


def test_a_comment_is_one_line_whatever_the_value_says():
    class Odd:
        name, mode = "x\n---\nmodel: y", "live"

        def stream(self, request): ...

        def astream(self, request): ...

    spec = AgentSpec("a\n---\nb", model=Odd(), scope="x\ny", max_turns=2)
    assert named(str(spec)) == ["name", "model", "scope"]
    assert read_spec(str(spec)) == AgentSpec("agent", max_turns=2)


def test_texts_that_look_like_numbers_stay_texts():
    words = ["1e3", "-0", "1E+2", "3", "true", "null", "yes", "12:30"]
    spec = AgentSpec("a", examples=[("q", {"k": words})], script=[call("f", {word: word for word in words})])
    again = read_spec(str(spec))
    assert again.examples[0][1] == {"k": words}
    assert again.script[0].tool_calls[0].arguments == spec.script[0].tool_calls[0].arguments


def test_two_of_a_kind_are_refused_at_once():
    with pytest.raises(ConfigError, match=r"system_prompt and instructions: .*keep one of them"):
        AgentSpec("a", system_prompt="a", instructions="b")
    with pytest.raises(ConfigError, match="tools and tool_registry: give one of them, not both"):
        AgentSpec("a", tools=["add"], tool_registry=["add"])
