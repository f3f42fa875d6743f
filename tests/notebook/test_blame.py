"""Blame: whatever is wrong with the header of a cell, the error names the line, and what is on it."""

from __future__ import annotations

import pytest

from nbagent import Agent, ScriptedLLM, read_spec, tool
from nbagent.errors import CellError, MissingKey
from nbagent.notebook.blame import blaming, placed


@tool
def look(place: str) -> str:
    """Looks."""
    return place


def untyped(x):
    return x


@pytest.fixture
def notebook(shell, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    shell.ns.update(number=3, look=look, untyped=untyped, thing=object(), helper=Agent("helper", ScriptedLLM(["x"])))
    return shell


# The header is below a comment; its first line is cell line 3. The line of the error, and what it says.
HEADERS = [
    # the model
    ("script: [x]\nmodel: test", "s 3 and 4", "script and model: "),
    ("model: nosuch", 3, "nosuch"),
    ("model: number", 3, "'number' is of type int"),
    ("model: zzz:gpt", 3, "no provider 'zzz'"),
    ("model: openai:gpt-5", 3, "OPENAI_API_KEY"),
    ("model: scripted", 3, "model: agent 'bot' has no script yet"),
    ("model: scripted\nparams: {a: 1}", 4, "params: a script takes no settings"),
    ("model: test\nbase_url: http://x", 4, "base_url: the model test sends nothing"),
    ("quiet: yes\nbase_url: nonsense", 4, "base_url: expected an address"),
    ("script: [x]\nparams: {seed: 1}", 4, "params: a script takes no settings"),
    ("script: [x]\nparams: x", 4, "`params` must be a mapping"),
    ("script: [x]\napi: completions", 4, "`api` must be"),
    ("script: [x]\napi_key_env: a b", 4, "`api_key_env` must be"),
    ("script: number", 3, "script: 'number' is of type int"),
    ("script: nosuch", 3, "script: no variable 'nosuch'"),
    ("script: []", 3, "`script` is empty"),
    ("script:\n  - x\n  - {call: look, arg: {}}", 5, "unknown key of a tool call `arg`"),
    ("script:\n  - {error: x, kind: nosuch}", 4, "`kind` must be one of"),
    ("script:\n  - x\n  - {nothing: x}", 5, "this is not a scripted reply"),
    # the strategy
    ("script: [x]\nstrategy: nonsense", 4, "`strategy` must be"),
    ("script: [x]\nstrategy: react", 4, "tools: the strategy 'react' needs at least one tool"),
    ("script: [x]\nreplan: yes", 4, "replan: only a plan is revised"),
    ("%%reflect\nscript: [x]\nreplan: yes", 4, "replan: only a plan is revised"),
    ("%%plan\nscript: [x]\nstrategy: chat", 4, "strategy: `%%plan` is the strategy 'plan'"),
    ("script: [x]\npropose: yes", 4, "propose: only a plan is proposed"),
    ("%%plan\nscript: [x]\npropose: yes\nrun: yes", "s 4 and 5", "propose and run: "),
    ("%%plan\nscript: [x]\nrun: yes", 4, "run: the plan has its task already"),
    # tools, and who may call them
    ("script: [x]\ntools: [nosuch]", 4, "tools: no variable 'nosuch'"),
    ("script: [x]\ntools: [number]", 4, "tools: number: a tool is"),
    ("script: [x]\ntools: [untyped]", 4, "tools: untyped: "),
    ("script: [x]\ntools: [look, look]", 4, "names `look` twice"),
    ("script: [x]\ntools: [look.nothing]", 4, "tools: 'look.nothing'"),
    ("script: [x]\ntools: [agent:number]", 4, "tools: agent:number: "),
    ("script: [x]\ntools: 3", 4, "`3` is not a name"),
    ("script: [x]\ntools: [look]\nallow: [lok]", 5, "allow: the agent has no tool 'lok'"),
    ("script: [x]\ntools: [look]\ndeny: [lok]", 5, "`deny`: the agent has no tool 'lok'"),
    ("script: [x]\nhooks: [nosuch]", 4, "hooks: no variable 'nosuch'"),
    ("script: [x]\nhooks: [number]", 4, "hooks: number: expected a function of an event"),
    ("script: [x]\ninput_guardrails: [number]", 4, "input_guardrails: number: expected functions"),
    ("script: [x]\noutput_guardrails: [look, number]", 4, "output_guardrails: number: expected functions"),
    # the answer
    ("script: [x]\noutput: nosuch", 4, "output: no variable 'nosuch'"),
    ("script: [x]\noutput: number", 4, "output: expected fields such as"),
    ("script: [x]\noutput: []", 4, "`output` must be a mapping"),
    ("script: [x]\noutput:\n  mood:", 4, "`mood` must be a description"),
    ("script: [x]\noutput: {a: {type: nosuch}}", 4, "`a`: the type must be one such as `int`"),
    ("script: [x]\noutput: {a: {type: nosuch, description: x}}", 4, "got `nosuch`"),
    ("script: [x]\noutput: {a: b}\nformatters: [json, text]", 5, "formatters: `text` reads no answer"),
    ("script: [x]\nformatters: nosuch", 4, "formatters: no formatter has the name 'nosuch'"),
    ("script: [x]\nformatters: [a, b, c]", 4, "`formatters` must be"),
    ("script: [x]\npush: [helper]", 4, "push: 'helper' is the name of an agent"),
    ("script: [x]\npush: [In]", 4, "push: 'In' is a name of IPython"),
    ("script: [x]\noutput: {a: b}\npush: [print]", 5, "`print` is a name of Python"),
    ("script: [x]\nretries: x", 4, "`retries` must be"),
    # the prompt
    ("script: [x]\nsystem: a\ninstructions: b", "s 4 and 5", "system and instructions: "),
    ("script: [x]\nsystem: a\nsystem_prompt: b", 5, "`system_prompt` is the same as `system`"),
    ("script: [x]\nprompt_template: On {topic}.", 4, "{topic} in prompt_template"),
    ('script: [x]\nsystem: "{{nosuch}}"', 4, "`{{nosuch}}` in system"),
    ("script: [x]\ninputs: {task: x}", 6, "the task stands here and under `inputs`, too"),
    ("script: [x]\ninputs: x", 4, "`inputs` must be a mapping"),
    ("script: [x]\nexamples: [a]", 4, "an example is"),
    ("script: [x]\nexamples_in: nowhere", 4, "`examples_in` must be"),
    ("script: [x]\npull: nosuch", 4, "pull: no variable 'nosuch'"),
    ("script: [x]\ncontext: [nosuch]", 4, "context: no variable 'nosuch'"),
    ("script: [x]\ncontext: [number]", 4, "context: number: expected a context provider"),
    ("script: [x]\nlanguage: german", 4, "`language` must be"),
    ("script: [x]\ntexts: {plan.plam: x}", 4, "texts: there is no text 'plan.plam'"),
    ("script: [x]\nlanguage: chinese\ntexts: {plan.step: x}", 5, "texts: plan.step: the place {failed} is missing"),
    ("script: [x]\nimages: nosuch.png", 4, "images: nosuch.png: "),
    ("script: [x]\nimages: number", 4, "images: number: "),
    # numbers and names
    ("script: [x]\nmax_turns: many", 4, "got `many`"),
    ("script: [x]\nmax_tokens: 0", 4, "got `0`"),
    ("script: [x]\nbudget: lots", 4, "got `lots`"),
    ("script: [x]\ntimeout: 0", 4, "got `0`"),
    ("script: [x]\ncompact: x", 4, "got `x`"),
    ("script: [x]\nscope: [a]", 4, "`scope` must be text"),
    ("script: [x]\nquiet: 1", 4, "got `1`"),
    ("script: [x]\nout: bot", 4, "out: 'bot' is the agent's own name"),
    ("%%agent\nscript: [x]\nname: number", 4, "name: 'number' already holds something else"),
    ("%%agent\nscript: [x]\nname: class", 4, "`class` is a name of Python"),
    ("script: [x]\nmax_turn: 3", 4, "unknown key `max_turn`; did you mean `max_turns`?"),
    ("script: [x]\nkey: x", 4, "a cell takes no keys"),
    ("script: [x]\nsystem: a: b", 4, "must stand in quotes"),
    ("script: [x]\nscript: [y]", 4, "stands on cell line 3 already"),
    ("script: [x]\nsystem:", 4, "`system` has no value"),
]


def cell(header, task="Go"):
    magic, _, rest = header.partition("\n") if header.startswith("%%") else ("%%agent bot", "", header)
    return f"{magic}\n# a comment\n{rest}\n---\n{task}"


@pytest.mark.parametrize(("header", "line", "says"), HEADERS, ids=[header for header, _, _ in HEADERS])
def test_an_error_names_the_line_that_is_to_blame(notebook, header, line, says):
    with pytest.raises(CellError) as raised:
        notebook.run(cell(header))
    message = str(raised.value)
    assert message.startswith(f"Cell line{'' if isinstance(line, str) else ' '}{line}: ")
    assert says in message
    assert "\n" not in message
    assert not notebook.outputs
    assert all(value.last is None for value in notebook.ns.values() if isinstance(value, Agent))


@pytest.mark.parametrize("header", ["script: [x]\ninputs: {}", "script: [x]\nhide_unused_fields: yes\ninputs: {a: b}"])
def test_a_run_that_has_nothing_to_say_blames_its_inputs(notebook, header):
    line = 2 + len(header.split("\n"))
    with pytest.raises(CellError, match=rf"^Cell line {line}: inputs: there is nothing to say to the model"):
        notebook.run(cell(header, task=""))
    with pytest.raises(CellError, match=r"^Magic line: inputs: there is nothing to say to the model"):
        notebook.shell.run_line_magic("agent", "--inputs '{}' bot")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--hooks number", "Magic line: hooks: number: expected a function"),
        ("--replan", "Magic line: replan: only a plan"),
        ("--strategy react", "Magic line: tools: the strategy 'react' needs"),
        ("--model test", "Cell line 3 and magic line: script and model: "),
    ],
)
def test_an_option_is_on_the_magic_line(notebook, line, says):
    with pytest.raises(CellError) as raised:
        notebook.run(cell(f"%%agent bot {line}\nscript: [x]"))
    assert str(raised.value).startswith(says)


def test_the_text_of_a_spec_is_read_with_the_same_errors():
    with pytest.raises(CellError, match=r"^Cell lines 2 and 3: system and instructions: both give"):
        read_spec("%%agent a\nsystem: x\ninstructions: y\n---\n")
    with pytest.raises(CellError, match=r"^Cell line 2: replan: only a plan"):
        read_spec("%%reflect a\nreplan: yes\n---\n")


ORIGINS = {"tools": "cell line 3", "script": "cell line 9", "model": "cell line 4", "quiet": "option --quiet"}


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ("tools: x", "Cell line 3: "),
        ("script and model: x", "Cell lines 4 and 9: "),
        ("model and quiet: x", "Cell line 4 and magic line: "),
        ("model, script and tools: x", "Cell lines 3 and 4 and 9: "),
        ("hooks: x", ""),  # the cell says nothing of it
        ("hooks: the tools are wrong", "Cell line 3: "),
        ("hooks: x; look at the tools", ""),
        ("the model is wrong", ""),
        ("agent 'a' has no model: write model: x", ""),
        ("hooks: a b: tools: c", "Cell line 3: "),
        ("Cell line 7: tools: x", ""),
        ("Magic line: tools: x", ""),
        ("", ""),
    ],
)
def test_what_an_error_is_about(message, where):
    assert placed(message, ORIGINS) == where + message


def test_an_error_of_a_kind_of_its_own_stays_one():
    with pytest.raises(MissingKey, match=r"^tools: x$"), blaming(ORIGINS):
        raise MissingKey("tools: x")
    with pytest.raises(ZeroDivisionError), blaming(ORIGINS):
        raise ZeroDivisionError("tools: x")
