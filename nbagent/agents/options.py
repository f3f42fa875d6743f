"""Options: the keywords that agents of every strategy take."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from nbagent.agents.checks import brief, offering
from nbagent.errors import ConfigError
from nbagent.runtime.limits import Limits
from nbagent.runtime.patience import Retry
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.tool import Tool

if TYPE_CHECKING:
    from pathlib import Path

    from nbagent.agents.compaction import Compact
    from nbagent.agents.sessions import SessionStore
    from nbagent.agents.tool_retriever import ToolRetriever
    from nbagent.approvals.asking import Asked
    from nbagent.approvals.policy import ApprovalPolicy
    from nbagent.prompt.blueprint import Keys, TemplateText
    from nbagent.prompt.context.provider import ContextProvider
    from nbagent.prompt.context.selection import ContextPolicy
    from nbagent.prompt.examples import Examples, Place
    from nbagent.store.run_store import RunStore
    from nbagent.texts.pack import Texts
    from nbagent.tools.permissions import ToolPermissions

Tools = Iterable[Tool | Callable[..., Any]] | ToolRegistry


class Options(TypedDict, total=False):
    """What `Agent` explains."""

    instructions: TemplateText | None
    prompt_template: TemplateText | None
    examples: Examples | None
    examples_in: Place
    output: Any
    formatters: Any
    hide_unused_fields: bool
    attributes: MutableMapping[str, Any] | None
    pull_keys: Keys | None
    push_keys: Keys | None
    memories: Iterable[ContextProvider | Any] | None
    retrievers: Iterable[ContextProvider | Any] | None
    context_policy: ContextPolicy | None
    tools: Tools | None
    tool_registry: ToolRegistry | None
    max_tokens: int | None
    retries: int
    math: bool
    limits: Limits | None
    retry: Retry | None
    texts: Texts | Mapping[str, str] | str | None
    scope: Hashable
    input_guardrails: Iterable[Any] | None
    output_guardrails: Iterable[Any] | None
    hooks: Iterable[Any] | None
    permissions: ToolPermissions | None
    approvals: ApprovalPolicy | None
    decide: Asked | None
    tool_retriever: ToolRetriever | None
    compact: Compact | bool | int | None
    session_store: SessionStore | None
    store: RunStore | str | Path | None
    description: str | None


_ELSEWHERE = {
    "llm": "it is the second argument, or model=",
    "prompts": "write texts='chinese', or texts={key: text} for single ones",
    "run_policy": "write limits=Limits(max_llm_calls=…, max_tool_calls=…, max_tokens=…, deadline=…)",
    "context_builder": "write retrievers=[…] and context_policy=ContextPolicy(…)",
    "sources": "write retrievers=[…]: any object with get_blocks(query)",
    "checkpoint_store": "write store='folder': a run goes on in a later process with agent.resume(decision, run=id)",
    "confirm": "write decide=: a function of the calls that wait, which returns True, False, Approve(…) or Reject(…)",
    "on_pending": "a new run is refused while one waits: decide with agent.resume(…), or drop it with agent.discard()",
    "tracer": "every run is its events: agent.last.events, or agent.stream(task) while they come",
    "reducer": "write compact=True, or compact=Compact(tokens=…, keep=…)",
    "compactor": "write compact=True, or compact=Compact(tokens=…, keep=…)",
    "window_budget": "write compact=True, or compact=Compact(tokens=…, keep=…)",
    "token_counter": "tokens are what the provider counts, or four characters each",
    "as_child": "AgentTool(agent) makes an agent a tool of another one",
}
"""agentmaker's names for what has another place here."""


def refuse_foreign(given: Iterable[str]) -> None:
    """Raises ConfigError for names of agentmaker, TypeError for others."""
    for name in given:
        refuse_agentmakers(name)
        raise TypeError(f"an agent has no option {name!r}")


def refuse_agentmakers(name: str) -> None:
    """Raises ConfigError for a name of agentmaker: what does here what it does there."""
    if name in _ELSEWHERE:
        raise ConfigError(f"{name}: {_ELSEWHERE[name]}")


def own_options(given: Options) -> Options:
    """The options, of which none is unknown and each is of its kind. Raises ConfigError, TypeError for unknown ones."""
    refuse_foreign({name: value for name, value in given.items() if name not in Options.__annotations__})
    for name, (kind, expected) in _KINDS.items():
        value: Any = given.get(name)
        if value is not None and not isinstance(value, kind):
            raise ConfigError(f"{name}: expected {expected}, got {brief(value)}")
    offering("session_store", given.get("session_store"), "conversation(agent, scope)")
    return given


_KINDS: Mapping[str, tuple[type, str]] = {
    "limits": (Limits, "Limits(max_llm_calls=…, max_tool_calls=…, max_tokens=…, deadline=…)"),
    "retry": (Retry, "Retry(attempts=…)"),
    "description": (str, "a text"),
    "scope": (Hashable, "a text, or anything else that can be a key of a dict"),
}
"""What an option has to be that is no use before a run, and would only fail there."""
