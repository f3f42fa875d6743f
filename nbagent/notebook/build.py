"""Build: from what a cell says to an agent in the notebook's namespace."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, cast

from nbagent.agents.base import BaseAgent
from nbagent.agents.spec import REACT, TURNS, AgentSpec, assembled
from nbagent.errors import CellError, ConfigError, ToolDefinitionError
from nbagent.messages import Piece
from nbagent.notebook.described import place_of, prompt_options
from nbagent.notebook.fields import AGENT, Budget, is_path
from nbagent.notebook.look_up import look_up
from nbagent.notebook.named_agent import NamedAgent
from nbagent.notebook.named_model import kind_of, model_of
from nbagent.notebook.policy import policy
from nbagent.notebook.providers import attributes, context, refuse_push
from nbagent.notebook.rules import check_rules
from nbagent.notebook.spec import OF_THE_RUN, CellSpec
from nbagent.runtime.limits import Limits
from nbagent.texts.template import UnknownField
from nbagent.tools.pictures import picture
from nbagent.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from nbagent.messages import Image
    from nbagent.notebook.cell import Cell
    from nbagent.prompt.inputs import Inputs

Namespace = Mapping[str, Any]
_OF_CONTEXT = ("list_context_sources", "retrieve_context")
"""Tools that ask active context providers."""


def build(
    cell: Cell, *, namespace: Namespace, bind: MutableMapping[str, Any], given: Inputs | None = None, store: str = ""
) -> BaseAgent:
    """The agent that a cell speaks of: as it is, reconfigured, or new and then bound to its name in `bind`.

    A header describes the agent anew; only its conversation stays, and its model where the header names none.
    Options without a header change what they name. `given` is what it will run with; `store` where its runs are
    written if the cell describes it and does not say. Raises `ConfigError`, mostly `CellError`, before anything has
    changed.
    """
    spec = cell.spec
    existing = find(spec.name, namespace)
    other = existing is not None and strategy_of(cell, existing) != existing.strategy
    if existing is not None and not other and not changes(cell):
        return existing
    made, anew = _described(cell, existing, namespace, bind, store)
    if given is not None:
        _check(made, given, cell)
    if existing is None or type(existing) is not type(made):
        if existing is not None:
            made.share_conversation(existing)
        bind[spec.name] = made
        return made
    existing.become(made)
    if anew:
        existing.restart_script()
    return existing


def strategy_of(cell: Cell, kept: BaseAgent | None) -> str:
    """What the cell says; else what the agent has."""
    return cell.strategy or (kept.strategy if kept is not None else "chat")


def _check(made: BaseAgent, given: Inputs, cell: Cell) -> None:
    try:
        made.check(given)
    except UnknownField as error:
        raise CellError(f"{place_of(error, cell)}{error}") from None


def draft(cell: Cell, namespace: Namespace, variables: MutableMapping[str, Any]) -> BaseAgent:
    """The agent that `build` would give, with its conversation, as one of its own: nothing is bound or changed."""
    existing = find(cell.spec.name, namespace)
    made, _ = _described(cell, existing, namespace, variables)
    if existing is not None:
        made.share_conversation(existing)
    return made


def _described(
    cell: Cell, existing: BaseAgent | None, namespace: Namespace, variables: MutableMapping[str, Any], store: str = ""
) -> tuple[BaseAgent, bool]:
    """An agent as the cell describes it, and whether its model is named, so that its script starts anew."""
    spec = cell.spec
    kept = None if cell.describes else existing
    refuse_push(spec, namespace)
    model, anew = model_of(spec, existing, namespace)
    strategy: Any = strategy_of(cell, kept)
    options: dict[str, Any] = {
        **prompt_options(cell, kept, namespace),
        **context(cell, kept, namespace),
        **policy(cell, kept, namespace),
        "tools": _tools(cell, kept, namespace, variables),
        "attributes": attributes(cell, existing, namespace, variables),
        "max_turns": spec.max_turns or _turns(strategy, kept),
        "max_tokens": spec.max_tokens or (kept.max_tokens if kept else None),
        "retries": spec.retries if cell.describes else kept.retries if kept else None,
        "math": bool(kept and kept.math) if spec.math is None else spec.math,
        "limits": limits_of(spec, kept),
        "retry": existing.retry if existing else None,
    }
    if kept is None and spec.store is None and store:
        options["store"] = store
    if kept is not None and cell.strategy not in (None, "react"):
        options |= _without_react(options)
    asks_context = bool(options.get("memories") or options.get("retrievers"))
    check_rules(spec, options.get("approvals"), options["tools"], _OF_CONTEXT if asks_context else ())
    return assembled(AgentSpec(spec.name, strategy, model=model, **options)), anew


def _without_react(options: Mapping[str, Any]) -> dict[str, Any]:
    """The system prompt without the style of a strategy that the agent no longer has."""
    said: dict[str, Any] = {key: options.get(key) for key in ("system_prompt", "instructions")}
    return {
        key: _without_style(cast("Iterable[Any]", parts)) for key, parts in said.items() if isinstance(parts, tuple)
    }


def _without_style(parts: Iterable[Any]) -> tuple[Any, ...] | None:
    return tuple([one for one in parts if not (isinstance(one, Piece) and one.source.detail == REACT)]) or None


def _turns(strategy: str, kept: BaseAgent | None) -> int:
    return kept.max_turns if kept is not None and kept.strategy == strategy else TURNS[strategy]


def find(name: str, namespace: Namespace) -> BaseAgent | None:
    """The agent of this name, None where the name is free. Raises where it holds something else."""
    if name not in namespace:
        if hasattr(builtins, name):
            raise CellError(f"{name!r} is a builtin of Python; give the agent another name")
        return None
    value = namespace[name]
    if not isinstance(value, BaseAgent):
        raise CellError(
            f"name: {name!r} already holds something else ({type(value).__name__}); give the agent another name"
        )
    return value


def known(name: str, namespace: Namespace) -> BaseAgent:
    """The agent of this name. Raises CellError with the names that there are."""
    agent = find(name, namespace)
    if agent is None:
        names = agents(namespace)
        there = f"there are: {', '.join(names)}" if names else "there are no agents yet"
        raise CellError(f"no agent {name!r}; {there}")
    return agent


def agents(namespace: Namespace) -> list[str]:
    """The names that hold agents, in the order in which they came."""
    return [name for name, value in namespace.items() if isinstance(value, BaseAgent) and not name.startswith("_")]


def changes(cell: Cell) -> bool:
    """Whether the cell says how its agent is, and not only what it has to do."""
    spec = cell.spec
    return cell.describes or any(
        getattr(spec, field) is not None for field in CellSpec.model_fields if field not in OF_THE_RUN
    )


def limits_of(spec: CellSpec, kept: BaseAgent | None) -> Limits | None:
    before = (kept.limits if kept else None) or Limits()
    budget = spec.budget or Budget(before.max_tokens, before.max_cost)
    calls = spec.max_llm_calls or before.max_llm_calls
    tools = before.max_tool_calls if spec.max_tool_calls is None else spec.max_tool_calls
    limits = Limits(budget.tokens, budget.cost, spec.timeout or before.deadline, calls, tools)
    return None if limits == Limits() else limits


def images(spec: CellSpec, namespace: Namespace) -> tuple[Image, ...]:
    """The pictures that a cell shows with its task: a variable of the notebook, else a file."""
    return tuple(_image(name, namespace) for name in spec.images or ())


def _image(name: str, namespace: Namespace) -> Image:
    is_variable = is_path(name) and name.partition(".")[0] in namespace
    try:
        return picture(look_up(name, namespace, "images") if is_variable else name)
    except CellError:
        raise
    except ConfigError as error:
        raise CellError(f"images: {name}: {error}") from None


def _tools(cell: Cell, kept: BaseAgent | None, namespace: Namespace, variables: Namespace) -> ToolRegistry:
    if cell.spec.tools is None:
        return kept.own_tools if kept else ToolRegistry()
    registry = ToolRegistry()
    for name in cell.spec.tools:
        try:
            for value in _functions(_tool_named(name, cell.spec, namespace, variables)):
                registry.register(value)
        except ToolDefinitionError as error:
            raise CellError(f"tools: {name}: {error}") from None
    return registry


def _tool_named(name: str, spec: CellSpec, namespace: Namespace, variables: Namespace) -> Any:
    """A variable; an agent, where `agent:` says so. An agent of the notebook is known by its name from then on."""
    path = name.removeprefix(AGENT)
    value = look_up(path, namespace, "tools")
    if not isinstance(value, BaseAgent):
        if name.startswith(AGENT):
            raise CellError(f"tools: {name}: {path!r} is {kind_of(value)}, not an agent")
        return value
    if path == spec.name:
        raise CellError(f"tools: {name}: an agent is no tool of its own")
    first = path.partition(".")[0]
    is_local = first not in variables or variables[first] is not namespace[first]
    return value if is_local else NamedAgent(path, variables, spec.name)


def _functions(value: Any) -> Iterable[Callable[..., Any]]:
    """A function or an agent; or the functions of a list, of a registry, of an MCP server."""
    if isinstance(value, list | tuple | ToolRegistry):
        return cast("Iterable[Callable[..., Any]]", value)
    is_one = callable(value) or isinstance(value, type) or hasattr(value, "as_tool")
    if is_one or not callable(tools := getattr(value, "tools", None)):
        return (value,)
    return cast("Iterable[Callable[..., Any]]", tools())
