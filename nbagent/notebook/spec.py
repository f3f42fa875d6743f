"""Spec: what a cell says about its agent, each value typed by its field and not by how it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from nbagent.agents.spec_words import RESERVED
from nbagent.errors import CellError
from nbagent.notebook.credentials import refuse_secret, unknown
from nbagent.notebook.decisions import CellDecisions, OnApproval, read_decisions, read_on_approval
from nbagent.notebook.fields import (
    MOST_TURNS,
    Budget,
    read_api,
    read_budget,
    read_compact,
    read_count,
    read_environment,
    read_images,
    read_language,
    read_model,
    read_names,
    read_params,
    read_seconds,
    read_store,
    read_strategy,
    read_switch,
    read_text,
    read_texts,
    read_tools,
    read_turns,
    read_variable,
    read_whole,
    read_word,
    read_words,
)
from nbagent.notebook.header import Node, Scalar
from nbagent.notebook.prompt_fields import (
    read_examples,
    read_formatters,
    read_inputs,
    read_keys,
    read_lines,
    read_output,
    read_place,
)
from nbagent.notebook.rules import CellRule, read_rules
from nbagent.notebook.script import ScriptEntry, read_script

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DECIDING = frozenset({"pending", "approve", "reject", "answer", "stop", "revoke", "discard"})
"""Subcommands of `%agent` about runs that wait for a decision. Their options stand behind the name."""

COMPARING = frozenset({"compare"})
"""Subcommands of `%agent` about runs beside each other: several names follow."""
STORED = frozenset({"runs", "resume"})
"""Subcommands of `%agent` about runs on disk; no agent's name follows them, and their options stand at the end."""


@dataclass(frozen=True, slots=True)
class Written:
    """How a field is written in a cell."""

    read: Callable[[Node, str], Any]
    """From a node to the value; the second argument says where it stands, for errors."""
    placeholder: str | None
    """What the help shows for the option's value; None where the option is a flag."""
    short: str | None = None
    alias: str | None = None


def _read_name(node: Node, where: str) -> str:
    text = read_variable(node, where)
    if text in RESERVED:
        raise CellError(f"{where} must be a name of your own, and `{text}` is a subcommand of `%agent`.")
    return text


class CellSpec(BaseModel):
    """What a cell says about its agent. None means that it does not say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Written(_read_name, "NAME")] = Field(
        default="agent", description="the agent, and the notebook variable that holds it (default: agent)"
    )
    model: Annotated[str | None, Written(read_model, "MODEL", short="-m", alias="llm")] = Field(
        default=None, description="provider:model, test, or a notebook variable that holds a model"
    )
    strategy: Annotated[str | None, Written(read_strategy, "NAME")] = Field(
        default=None, description="chat (default), react (thinks before it acts), plan or reflection"
    )
    base_url: Annotated[str | None, Written(read_word, "URL", alias="api_base")] = Field(
        default=None, description="where the model's server is: http://127.0.0.1:8000/v1"
    )
    api: Annotated[str | None, Written(read_api, "NAME")] = Field(
        default=None, description="OpenAI's API: chat or responses"
    )
    api_key_env: Annotated[str | None, Written(read_environment, "NAME", alias="api_key_name")] = Field(
        default=None, description="the environment variable that holds the key"
    )
    params: Annotated[dict[str, Any] | None, Written(read_params, "JSON")] = Field(
        default=None, description="more parameters of the request: '{\"seed\": 1}'"
    )
    tools: Annotated[tuple[str, ...] | None, Written(read_tools, "NAMES")] = Field(
        default=None, description="what the agent may call: functions of the notebook, agents: search,agent:translator"
    )
    allow: Annotated[tuple[str, ...] | None, Written(read_words, "NAMES")] = Field(
        default=None, description="of its tools, the only ones that may be called"
    )
    deny: Annotated[tuple[CellRule, ...] | None, Written(read_rules, "RULES")] = Field(
        default=None, description="tools and calls that never run: delete_*,pay(amount > 1000)"
    )
    approve: Annotated[tuple[CellRule, ...] | None, Written(read_rules, "RULES")] = Field(
        default=None, description="calls that wait for a person: search,pay(amount > 100),mcp:*,all"
    )
    auto: Annotated[tuple[CellRule, ...] | None, Written(read_rules, "RULES")] = Field(
        default=None, description="calls that run without asking, whatever the tool says of itself"
    )
    description: Annotated[str | None, Written(read_text, "TEXT")] = Field(
        default=None, description="what it is good at, for agents that may call it"
    )
    script: Annotated[tuple[ScriptEntry, ...] | str | None, Written(read_script, "NAME")] = Field(
        default=None, description="replies written by hand, or the notebook variable that holds them"
    )
    system: Annotated[str | None, Written(read_text, "TEXT", alias="system_prompt")] = Field(
        default=None, description="the system prompt"
    )
    instructions: Annotated[str | None, Written(read_lines, "TEXT")] = Field(
        default=None, description="the system prompt as a template: {topic} inserts an input field"
    )
    prompt_template: Annotated[str | None, Written(read_lines, "TEXT")] = Field(
        default=None, description="a template of the user's message: Write about {topic}."
    )
    inputs: Annotated[dict[str, Any] | None, Written(read_inputs, "JSON")] = Field(
        default=None, description='the input fields of this run: \'{"topic": "DAGs"}\''
    )
    hide_unused_fields: Annotated[bool | None, Written(read_switch, None)] = Field(
        default=None, strict=True, description="leave out input fields that no template takes"
    )
    examples: Annotated[tuple[Any, ...] | None, Written(read_examples, "JSON")] = Field(
        default=None, description="pairs of a question and its answer, sent before the history"
    )
    examples_in: Annotated[str | None, Written(read_place, "PLACE")] = Field(
        default=None, description="where examples go: messages or prompt (the system prompt)"
    )
    pull: Annotated[dict[str, Any] | None, Written(read_keys, "NAMES", alias="pull_keys")] = Field(
        default=None, description="notebook variables that are input fields: city,units"
    )
    push: Annotated[dict[str, Any] | None, Written(read_keys, "NAMES", alias="push_keys")] = Field(
        default=None, description="output fields that are written to notebook variables"
    )
    output: Annotated[dict[str, Any] | str | None, Written(read_output, "JSON")] = Field(
        default=None, description="the fields of the answer, a description or a type each, or a pydantic model"
    )
    retries: Annotated[int | None, Written(read_whole, "N")] = Field(
        default=None, description="how often an answer that cannot be read is asked for again (default: 1)"
    )
    formatters: Annotated[str | tuple[str, ...] | None, Written(read_formatters, "NAMES")] = Field(
        default=None, description="how the message is written and the answer read: paragraph,json"
    )
    context: Annotated[tuple[str, ...] | None, Written(read_names, "NAMES")] = Field(
        default=None, description="notebook variables that hold memories and retrievers"
    )
    max_turns: Annotated[int | None, Written(read_turns, "N")] = Field(
        default=None, ge=1, le=MOST_TURNS, strict=True, description=f"model calls a run may make, 1 to {MOST_TURNS:,}"
    )
    replan: Annotated[bool | None, Written(read_switch, None)] = Field(
        default=None, strict=True, description="a step that fails revises what is left of the plan"
    )
    language: Annotated[str | None, Written(read_language, "NAME")] = Field(
        default=None, description="of what nbagent itself says to the model: english or chinese"
    )
    texts: Annotated[dict[str, str] | None, Written(read_texts, "JSON")] = Field(
        default=None, description="single ones of these texts, by their key"
    )
    math: Annotated[bool | None, Written(read_switch, None)] = Field(
        default=None, strict=True, description="typeset paragraphs $$…$$ of the answer"
    )
    scope: Annotated[str | None, Written(read_word, "NAME")] = Field(
        default=None, description="which of the agent's conversations the run goes on with"
    )
    compact: Annotated[int | bool | None, Written(read_compact, "N")] = Field(
        default=None, description="a history of more tokens is summarised; yes: more than half of the model's window"
    )
    input_guardrails: Annotated[tuple[str, ...] | None, Written(read_names, "NAMES")] = Field(
        default=None, description="functions that check the question: True, False, or Rewrite(text)"
    )
    output_guardrails: Annotated[tuple[str, ...] | None, Written(read_names, "NAMES")] = Field(
        default=None, description="functions that check the answer"
    )
    hooks: Annotated[tuple[str, ...] | None, Written(read_names, "NAMES")] = Field(
        default=None, description="notebook variables that listen to the run, or step in"
    )
    max_llm_calls: Annotated[int | None, Written(read_count, "N")] = Field(
        default=None, description="model calls a run may make in all, with the agents inside it"
    )
    max_tool_calls: Annotated[int | None, Written(read_whole, "N")] = Field(
        default=None, description="tools a run may start in all"
    )
    max_tokens: Annotated[int | None, Written(read_count, "N")] = Field(
        default=None, description="how long one reply may be"
    )
    budget: Annotated[Budget | None, Written(read_budget, "AMOUNT")] = Field(
        default=None, description="what a run may use: 20_000 (tokens) or $0.05"
    )
    timeout: Annotated[float | None, Written(read_seconds, "SECONDS")] = Field(
        default=None, description="how long a run may take"
    )
    store: Annotated[str | bool | None, Written(read_store, "FOLDER")] = Field(
        default=None, description="where its runs are written, to go on after a restart; yes: .nbagent/runs"
    )
    decisions: Annotated[CellDecisions | None, Written(read_decisions, "JSON")] = Field(
        default=None,
        description='about calls that wait, in their order: \'["approve", {"reject": "no"}]\', or a file',
    )
    on_approval: Annotated[OnApproval | None, Written(read_on_approval, "WAY")] = Field(
        default=None, description="who decides otherwise: wait (whoever is there), input, suspend or deny"
    )
    images: Annotated[tuple[str, ...] | None, Written(read_images, "PATHS")] = Field(
        default=None, description="pictures shown with the task: files, or figures of the notebook"
    )
    out: Annotated[str | None, Written(read_variable, "NAME")] = Field(
        default=None, description="a notebook variable that receives the result"
    )
    propose: Annotated[bool | None, Written(read_switch, None)] = Field(
        default=None, strict=True, description="only make a plan; `%plan NAME --run` then does it"
    )
    run: Annotated[bool | None, Written(read_switch, None)] = Field(
        default=None, strict=True, description="do the plan that NAME has proposed"
    )
    dry: Annotated[bool | None, Written(read_switch, None)] = Field(
        default=None, strict=True, description="show the exact request, and send nothing"
    )
    skip_without_key: Annotated[bool | None, Written(read_switch, None)] = Field(
        default=None, strict=True, description="where the model's key is missing, show a note in place of an error"
    )
    quiet: Annotated[bool | None, Written(read_switch, None)] = Field(
        default=None, strict=True, description="show nothing; the result is in NAME.last"
    )


OF_THE_RUN = frozenset({
    "name", "images", "inputs", "out", "quiet", "skip_without_key", "dry", "scope", "retries", "propose", "run",
    "decisions", "on_approval",
})  # fmt: skip
"""What is said of one run, and not of the agent."""


def written(field: str) -> Written:
    """How this field of CellSpec is written."""
    return next(item for item in CellSpec.model_fields[field].metadata if isinstance(item, Written))


ALIASES: Mapping[str, str] = {alias: field for field in CellSpec.model_fields if (alias := written(field).alias)}
"""Other words for a field: `system_prompt` is `system`."""


def read_spec(header: Mapping[str, Node], options: Mapping[str, str]) -> tuple[CellSpec, Mapping[str, str]]:
    """The spec, and the origin of each value that was said (`cell line 3`, `option --tools`). Options win.

    `header` is what `read_header` gives; `options` maps fields to what stands on the magic line.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for key, node in header.items():
        field = ALIASES.get(key, key)
        if field not in CellSpec.model_fields:
            raise unknown("key", key, CellSpec.model_fields, f"Cell line {node.line}")
        if field in origins:
            raise CellError(f"Cell line {node.line}: `{key}` is the same as `{field}` on {origins[field]}; keep one.")
        if isinstance(node, Scalar) and not node.text and not node.quoted:
            raise CellError(f"Cell line {node.line}: `{key}` has no value; write one, or delete the line.")
        refuse_secret(field, node, f"Cell line {node.line}")
        values[field] = written(field).read(node, f"Cell line {node.line}: `{key}`")
        origins[field] = f"cell line {node.line}"
    for field, text in options.items():
        what = "the agent's name" if field == "name" else f"`{flag(field)}`"
        node = Scalar(text, quoted=False, line=1)
        refuse_secret(field, node, "Magic line")
        values[field] = written(field).read(node, f"Magic line: {what}")
        origins[field] = f"option {flag(field)}"
    return CellSpec(**values), origins


def flag(field: str) -> str:
    """The option of a field."""
    return f"--{field.replace('_', '-')}"
