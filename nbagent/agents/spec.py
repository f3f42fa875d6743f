"""AgentSpec: an agent as a value: what it is made of, before it is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from nbagent.agents.agent import Agent
from nbagent.agents.checks import name_of
from nbagent.agents.options import refuse_agentmakers
from nbagent.agents.plan_agent import PlanAgent
from nbagent.agents.reflection_agent import ReflectionAgent
from nbagent.agents.spec_approvals import check, folded, rules_of
from nbagent.errors import ConfigError
from nbagent.messages import Piece
from nbagent.models.scripted import ScriptedLLM
from nbagent.prompt.blueprint import template
from nbagent.prompt.inputs import pieces
from nbagent.texts.pack import texts_of
from nbagent.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbagent.agents.base import BaseAgent
    from nbagent.texts.template import Template

Strategy = Literal["chat", "react", "plan", "reflection"]
TURNS: Mapping[str, int] = {"chat": 10, "react": 5, "plan": 3, "reflection": 3}
"""`max_turns` where it is not said: of the run, of each step of a plan, rounds of a reflection."""
REACT = "react.style"
"""The text that makes an agent think before it acts."""


class AgentSpec(BaseModel):
    """What an agent is made of. `build_agent(spec)` makes it; `str(spec)` is a cell that describes it.

    name: of the agent. strategy: `chat` (default), `react` (chat that is told to think before it acts; needs a tool),
    `plan` or `reflection`. model: a model, the name of one, `provider` for its usual model, or None for the default;
    base_url, api, api_key_env and params of one that is named are those of `open_model`. script: replies by hand, in
    place of a model. instructions: the system prompt as a template. tools: functions, `@tool` functions, names
    of these, or a registry. max_turns: default 10 of a run (chat), 5 (react), 3 of each step (plan), 3 rounds
    (reflection). replan: of a plan, whether a step that fails revises the rest. All others are the options of `Agent`.
    approve, auto, deny: lists of rules about tool calls, in place of `approvals`.

    A field that the strategy would not use is refused. Raises ConfigError (a ValueError) naming the field.

    Source: agentmaker's `AgentSpec`.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, strict=True)

    name: str
    strategy: Strategy = "chat"
    model: Any = None
    base_url: str | None = None
    api: Literal["chat", "responses"] | None = None
    api_key_env: str | None = None
    params: dict[str, Any] | None = None
    script: Any = None
    system_prompt: Any = None
    instructions: Any = None
    prompt_template: Any = None
    examples: Any = None
    examples_in: Literal["messages", "prompt"] = "messages"
    output: Any = None
    formatters: Any = None
    hide_unused_fields: bool = False
    attributes: Any = None
    pull_keys: Any = None
    push_keys: Any = None
    memories: Any = None
    retrievers: Any = None
    context_policy: Any = None
    tools: Any = None
    tool_registry: Any = None
    max_turns: int | None = None
    replan: bool = False
    max_tokens: int | None = None
    retries: int | None = None
    limits: Any = None
    retry: Any = None
    texts: Any = None
    scope: Any = None
    math: bool = False
    description: str | None = None
    session_store: Any = None
    store: Any = None
    compact: Any = None
    input_guardrails: Any = None
    output_guardrails: Any = None
    hooks: Any = None
    permissions: Any = None
    approvals: Any = None
    decide: Any = None
    tool_retriever: Any = None

    def __init__(self, name: str, strategy: Strategy = "chat", **fields: Any) -> None:
        for field in _LISTS:  # an iterator would be used up by the first who looks
            if isinstance(fields.get(field), Iterator):
                fields[field] = list(fields[field])
        for field in fields.keys() - type(self).model_fields.keys():
            refuse_agentmakers(field)
        try:
            super().__init__(name=name, strategy=strategy, **folded(fields))  # pyright: ignore[reportCallIssue]
        except ValidationError as error:
            raise ConfigError(f"AgentSpec: {_told(error)}") from None
        name_of("name", self.name)
        if self.strategy != "plan" and self.replan:
            raise ConfigError(f"replan: only a plan is revised, and the strategy is {self.strategy!r}; leave it out")
        if self.script is not None and self.model is not None:
            raise ConfigError("script and model: a script is the model; keep one of them")
        if self.system_prompt is not None and self.instructions is not None:
            raise ConfigError("system_prompt and instructions: both are the system prompt; keep one of them")
        if self.tools is not None and self.tool_registry is not None:
            raise ConfigError("tools and tool_registry: give one of them, not both")
        if self.script is not None or not isinstance(self.model, str | None):
            _refuse_settings({name: getattr(self, name) for name in OF_THE_MODEL})

    @property
    def approve(self) -> list[str]:
        """Which calls wait for a person."""
        return rules_of("approve", self.approvals)

    @property
    def auto(self) -> list[str]:
        """Which calls run without asking."""
        return rules_of("auto", self.approvals)

    @property
    def deny(self) -> list[str]:
        """Which calls never run."""
        return rules_of("deny", self.approvals)

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """pydantic's, with the errors of `AgentSpec(…)`."""
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            first = error.errors()[0].get("ctx", {}).get("error")
            raise (first if isinstance(first, ConfigError) else ConfigError(f"AgentSpec: {_told(error)}")) from None

    def __str__(self) -> str:
        from nbagent.agents.spec_text import cell_text

        return cell_text(self)

    def to_yaml(self) -> str:
        """What it says, as YAML with the keys of a cell. Raises ConfigError for a field that is no text."""
        from nbagent.agents.spec_text import yaml_text

        return yaml_text(self)


OF_THE_MODEL = ("base_url", "api", "api_key_env", "params")
"""Fields that say how a model that is named is opened."""


def _refuse_settings(given: Mapping[str, Any]) -> None:
    if said := [name for name in OF_THE_MODEL if given[name] is not None]:
        raise ConfigError(f"{said[0]}: only a model that is named is opened with settings; this one is there already")


_LISTS = (
    "script", "tools", "memories", "retrievers", "input_guardrails", "output_guardrails", "hooks", "examples",
    "formatters", "pull_keys", "push_keys", "instructions", "prompt_template", "system_prompt",
    "approve", "auto", "deny",
)  # fmt: skip


def build_agent(spec: AgentSpec, namespace: Mapping[str, Any] | None = None) -> BaseAgent:
    """The agent that a spec describes. `namespace`: where names of tools and models are looked up, such as `globals()`.

    Raises ConfigError naming the field that cannot be used.
    """
    from nbagent.agents.spec_names import resolved

    return assembled(spec, resolved(spec, namespace or {}))


def assembled(spec: AgentSpec, given: Mapping[str, Any] | None = None) -> BaseAgent:
    """The agent of a spec. `given`: its fields with what their names stand for; None where none of them is a name."""
    given = given or {name: getattr(spec, name) for name in type(spec).model_fields}
    if spec.strategy == "react" and not _has_tools(given):
        raise ConfigError("tools: the strategy 'react' needs at least one tool; give one, or write strategy='chat'")
    options = {name: value for name, value in given.items() if value is not None and name not in _NOT_OPTIONS}
    if spec.strategy == "react":
        options |= _react(options, given["texts"])
    if spec.strategy == "plan":
        options["replan"] = spec.replan
    turns = TURNS[spec.strategy] if spec.max_turns is None else spec.max_turns
    made = _CLASSES[spec.strategy](spec.name, _model(given), **options, max_turns=turns)
    check(made.approvals, made.own_tools)
    return made


_NOT_OPTIONS = ("name", "strategy", "model", *OF_THE_MODEL, "script", "max_turns", "replan")
_CLASSES: Mapping[str, Callable[..., BaseAgent]] = {
    "chat": Agent, "react": Agent, "plan": PlanAgent, "reflection": ReflectionAgent,
}  # fmt: skip


def _model(given: Mapping[str, Any]) -> Any:
    if given["script"] is not None:
        script = given["script"]
        return script if isinstance(script, ScriptedLLM) else ScriptedLLM(script)
    model = given["model"]
    if model is not None and not isinstance(model, str):
        _refuse_settings(given)
        return model
    from nbagent.models.opening import open_model

    return open_model(model, **{name: given[name] for name in OF_THE_MODEL})


def _has_tools(given: Mapping[str, Any]) -> bool:
    tools = given["tool_registry"] if given["tools"] is None else given["tools"]
    return tools is not None and (len(tools) > 0 if isinstance(tools, ToolRegistry) else bool(list(tools)))


def _react(options: Mapping[str, Any], texts: Any) -> dict[str, Any]:
    """The system prompt with the style of ReAct below it."""
    style = texts_of(texts).pieces(REACT)
    said: Template = ()
    if (text := options.get("instructions")) is not None:
        said = template("instructions", text)
    elif (text := options.get("system_prompt")) is not None:
        said = pieces("system prompt", text)
    if any(isinstance(part, Piece) and part.source == style[0].source for part in said):
        return {}
    between = (Piece("\n\n", style[0].source),) if said else ()
    key = "system_prompt" if options.get("system_prompt") is not None else "instructions"
    return {key: (*said, *between, *style)}


def _told(error: ValidationError) -> str:
    told: list[str] = []
    for one in error.errors():
        name = ".".join(map(str, one["loc"]))
        if one["type"] == "extra_forbidden":
            told.append(f"there is no field {name!r}; there are {', '.join(AgentSpec.model_fields)}")
        else:
            told.append(f"{name}: {one['msg'].lower()}, got {one['input']!r}")
    return "; ".join(told)
