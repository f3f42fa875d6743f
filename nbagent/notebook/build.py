"""Build: from what a cell says to an agent in the notebook's namespace."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

from nbagent.agents.base import BaseAgent
from nbagent.agents.spec import REACT, TURNS, AgentSpec, assembled
from nbagent.errors import CellError, ConfigError, ToolDefinitionError
from nbagent.messages import Piece
from nbagent.notebook.described import place_of, prompt_options
from nbagent.notebook.fields import AGENT, Budget, is_path
from nbagent.notebook.look_up import look_up
from nbagent.notebook.named_model import a, model_of
from nbagent.notebook.policy import policy
from nbagent.notebook.providers import attributes, context, refuse_push
from nbagent.notebook.spec import OF_THE_RUN, CellSpec
from nbagent.prompt.template import UnknownField
from nbagent.runtime.limits import Limits
from nbagent.tools.pictures import picture
from nbagent.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from nbagent.messages import Image
    from nbagent.notebook.cell import Cell
    from nbagent.prompt.inputs import Inputs

Namespace = Mapping[str, Any]


def build(
    cell: Cell, *, namespace: Namespace, bind: MutableMapping[str, Any], given: Inputs | None = None
) -> BaseAgent:
    """The agent that a cell speaks of: as it is, reconfigured, or new and then bound to its name in `bind`.

    A header describes the agent anew; only its conversation stays, and its model where the header names none.
    Options without a header change what they name. `given` is what it will run with. Raises `ConfigError`, mostly
    `CellError`, before anything has changed.
    """
    spec, describes = cell.spec, cell.describes
    existing = find(spec.name, namespace)
    other = existing is not None and _strategy(cell, existing) != existing.strategy
    if existing is not None and not describes and not other and not _configures(spec):
        return existing
    made, anew = _described(cell, existing, namespace, bind)
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


def _strategy(cell: Cell, kept: BaseAgent | None) -> str:
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
    cell: Cell, existing: BaseAgent | None, namespace: Namespace, variables: MutableMapping[str, Any]
) -> tuple[BaseAgent, bool]:
    """An agent as the cell describes it, and whether its model is named, so that its script starts anew."""
    spec = cell.spec
    kept = None if cell.describes else existing
    refuse_push(spec, namespace)
    model, anew = model_of(spec, existing, namespace)
    strategy: Any = _strategy(cell, kept)
    options: dict[str, Any] = {
        **prompt_options(cell, kept, namespace),
        **context(cell, kept, namespace),
        **policy(cell, kept, namespace),
        "tools": _tools(cell, kept, namespace),
        "attributes": attributes(cell, existing, namespace, variables),
        "max_turns": spec.max_turns or _turns(strategy, kept),
        "max_tokens": spec.max_tokens or (kept.max_tokens if kept else None),
        "limits": limits_of(spec, kept),
        "retry": existing.retry if existing else None,
    }
    if kept is not None and cell.strategy not in (None, "react"):
        options |= _without_react(options)
    _refuse_unknown_tools(spec, options["tools"], bool(options.get("memories") or options.get("retrievers")))
    try:
        return assembled(AgentSpec(spec.name, strategy, model=model, **options)), anew
    except CellError:
        raise
    except ConfigError as error:
        if cell.strategy == "react" or spec.replan:
            raise CellError(str(error)) from None
        raise


def _without_react(options: Mapping[str, Any]) -> dict[str, Any]:
    """The system prompt without the style of a strategy that the agent no longer has."""
    said: dict[str, Any] = {key: options.get(key) for key in ("system_prompt", "instructions")}
    return {
        key: _without_style(cast("Iterable[Any]", parts)) for key, parts in said.items() if isinstance(parts, tuple)
    }


def _without_style(parts: Iterable[Any]) -> tuple[Any, ...] | None:
    return tuple([one for one in parts if not (isinstance(one, Piece) and one.source.detail == REACT)]) or None


def _refuse_unknown_tools(spec: CellSpec, tools: ToolRegistry, asks_context: bool) -> None:
    """Names in `allow` and `deny` that no tool has: a misspelt one would let pass what it is meant to stop."""
    known: list[str] = [*tools.names, *(("list_context_sources", "retrieve_context") if asks_context else ())]
    for key in ("allow", "deny"):
        said: tuple[str, ...] = getattr(spec, key) or ()
        for name in said:
            if name not in known:
                near = "".join(get_close_matches(name, known, n=1))
                hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(known) or 'none'}"
                raise CellError(f"{key}: the agent has no tool {name!r}; {hint}")


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
            f"the name {name!r} already holds something else ({type(value).__name__}); give the agent another name"
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


def _configures(spec: CellSpec) -> bool:
    return any(getattr(spec, field) is not None for field in CellSpec.model_fields if field not in OF_THE_RUN)


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


def _tools(cell: Cell, kept: BaseAgent | None, namespace: Namespace) -> ToolRegistry:
    if cell.spec.tools is None:
        return kept.own_tools if kept else ToolRegistry()
    registry, where = ToolRegistry(), f"tools ({cell.origins['tools']})"
    for name in cell.spec.tools:
        for value in _functions(_tool_named(name, cell.spec, namespace, where)):
            try:
                registry.register(value)
            except ToolDefinitionError as error:
                raise CellError(f"{where}: {name}: {error}") from None
    return registry


def _tool_named(name: str, spec: CellSpec, namespace: Namespace, where: str) -> Any:
    """A variable; an agent, where `agent:` says so."""
    value = look_up(name.removeprefix(AGENT), namespace, where)
    if name.startswith(AGENT) and not isinstance(value, BaseAgent):
        raise CellError(f"{where}: {name}: {name.removeprefix(AGENT)!r} is {a(value)}, not an agent")
    if isinstance(value, BaseAgent) and name.removeprefix(AGENT) == spec.name:
        raise CellError(f"{where}: {name}: an agent is no tool of its own")
    return value


def _functions(value: Any) -> Iterable[Callable[..., Any]]:
    """A function or an agent; or the functions of a list, of a registry, of an MCP server."""
    if isinstance(value, list | tuple | ToolRegistry):
        return cast("Iterable[Callable[..., Any]]", value)
    is_one = callable(value) or isinstance(value, type) or hasattr(value, "as_tool")
    if is_one or not callable(tools := getattr(value, "tools", None)):
        return (value,)
    return cast("Iterable[Callable[..., Any]]", tools())
