"""Options: the keywords that agents of every strategy take."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from nbagent.errors import ConfigError
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.tool import Tool

if TYPE_CHECKING:
    from nbagent.agents.compaction import Compact
    from nbagent.agents.sessions import SessionStore
    from nbagent.agents.tool_retriever import ToolRetriever
    from nbagent.prompt.blueprint import Keys, TemplateText
    from nbagent.prompt.context.provider import ContextProvider
    from nbagent.prompt.context.selection import ContextPolicy
    from nbagent.prompt.examples import Examples, Place
    from nbagent.prompt.texts.pack import Texts
    from nbagent.runtime.limits import Limits
    from nbagent.runtime.patience import Retry
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
    limits: Limits | None
    retry: Retry | None
    texts: Texts | Mapping[str, str] | str | None
    scope: Hashable
    input_guardrails: Iterable[Any] | None
    output_guardrails: Iterable[Any] | None
    hooks: Iterable[Any] | None
    permissions: ToolPermissions | None
    tool_retriever: ToolRetriever | None
    compact: Compact | bool | int | None
    session_store: SessionStore | None
    description: str | None


_ELSEWHERE = {
    "llm": "it is the second argument, or model=",
    "prompts": "write texts='chinese', or texts={key: text} for single ones",
    "run_policy": "write limits=Limits(max_llm_calls=…, max_tool_calls=…, max_tokens=…, deadline=…)",
    "context_builder": "write retrievers=[…] and context_policy=ContextPolicy(…)",
    "sources": "write retrievers=[…]: any object with get_blocks(query)",
    "checkpoint_store": "the events of a run are its checkpoint: agent.replay(events) goes on from any prefix of them",
    "confirm": "write hooks=[…] with before_tool(name, arguments), which may return Veto(reason)",
    "on_pending": "a new run leaves what an interrupted one waits for as it is",
    "tracer": "every run is its events: agent.last.events, or agent.stream(task) while they come",
    "reducer": "write compact=True, or compact=Compact(tokens=…, keep=…)",
    "compactor": "write compact=True, or compact=Compact(tokens=…, keep=…)",
    "window_budget": "write compact=True, or compact=Compact(tokens=…, keep=…)",
    "token_counter": "tokens are what the provider counts, or four characters each",
    "as_child": "AgentTool(agent) makes an agent a tool of another one",
}
"""agentmaker's names for what has another place here."""


def refuse_foreign(given: Mapping[str, Any]) -> None:
    """Raises ConfigError for names of agentmaker, TypeError for others."""
    for name in given:
        if name in _ELSEWHERE:
            raise ConfigError(f"{name}: {_ELSEWHERE[name]}")
        raise TypeError(f"an agent has no option {name!r}")


def own_options(given: Options) -> Options:
    """The options, of which none is unknown. Raises as `refuse_foreign` does."""
    refuse_foreign({name: value for name, value in given.items() if name not in Options.__annotations__})
    return given
