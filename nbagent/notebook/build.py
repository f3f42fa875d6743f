"""Build: from what a cell says to an agent in the notebook's namespace."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, assert_never, cast

from msgspec.structs import replace

from nbagent.agents.agent import Agent
from nbagent.errors import CellError, ConfigError, MissingKey, ModelError, ToolDefinitionError
from nbagent.messages import Image, ModelReply, ToolCall
from nbagent.models.invoked import Invokable, InvokedModel
from nbagent.models.model import Model
from nbagent.models.scripted import ScriptedLLM
from nbagent.notebook.described import place_of, prompt_options
from nbagent.notebook.fields import Budget, is_path
from nbagent.notebook.look_up import look_up
from nbagent.notebook.providers import attributes, context, refuse_push
from nbagent.notebook.script import ScriptCalls, ScriptEntry, ScriptError, ScriptText
from nbagent.notebook.spec import OF_THE_RUN, CellSpec
from nbagent.prompt.template import UnknownField
from nbagent.runtime.limits import Limits
from nbagent.tools.pictures import picture
from nbagent.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from nbagent.models.entries import Entry
    from nbagent.models.opening import Opened
    from nbagent.notebook.cell import Cell
    from nbagent.prompt.inputs import Inputs

Namespace = Mapping[str, Any]
MAX_TURNS = 10
_HOW_TO = (
    "write `script:` with its replies above a line `---`, or `model:` with a model such as openai:gpt-5, ollama:qwen3, "
    "test, or the name of a notebook variable that holds one"
)


def build(cell: Cell, *, namespace: Namespace, bind: MutableMapping[str, Any], given: Inputs | None = None) -> Agent:
    """The agent that a cell speaks of: as it is, reconfigured, or new and then bound to its name in `bind`.

    A header describes the agent anew; only its conversation stays, and its model where the header names none.
    Options without a header change what they name. `given` is what it will run with. Raises `ConfigError`, mostly
    `CellError`, before anything has changed.
    """
    spec, describes = cell.spec, cell.describes
    existing = find(spec.name, namespace)
    if existing is not None and not describes and not _configures(spec):
        return existing
    made, anew = _described(cell, existing, namespace, bind)
    if given is not None:
        _check(made, given, cell)
    if existing is None:
        bind[spec.name] = made
        return made
    existing.become(made)
    if anew:
        existing.restart_script()
    return existing


def _check(made: Agent, given: Inputs, cell: Cell) -> None:
    try:
        made.check(given)
    except UnknownField as error:
        raise CellError(f"{place_of(error, cell)}{error}") from None


def draft(cell: Cell, namespace: Namespace, variables: MutableMapping[str, Any]) -> Agent:
    """The agent that `build` would give, with its conversation, as one of its own: nothing is bound or changed."""
    existing = find(cell.spec.name, namespace)
    made, _ = _described(cell, existing, namespace, variables)
    if existing is not None:
        made.share_conversation(existing)
    return made


def _described(
    cell: Cell, existing: Agent | None, namespace: Namespace, variables: MutableMapping[str, Any]
) -> tuple[Agent, bool]:
    """An agent as the cell describes it, and whether its model is named, so that its script starts anew."""
    spec, describes = cell.spec, cell.describes
    kept = None if describes else existing
    refuse_push(spec, namespace)
    model, anew = _model(spec, existing, namespace)
    options: dict[str, Any] = {
        **prompt_options(cell, kept, namespace),
        **context(cell, kept, namespace),
        "tools": _tools(cell, kept, namespace),
        "attributes": attributes(cell, existing, namespace, variables),
        "max_turns": spec.max_turns or (kept.max_turns if kept else MAX_TURNS),
        "max_tokens": spec.max_tokens or (kept.max_tokens if kept else None),
        "limits": _limits(spec, kept),
        "retry": existing.retry if existing else None,
    }
    return Agent(spec.name, model, **options), anew


def find(name: str, namespace: Namespace) -> Agent | None:
    """The agent of this name, None where the name is free. Raises where it holds something else."""
    if name not in namespace:
        if hasattr(builtins, name):
            raise CellError(f"{name!r} is a builtin of Python; give the agent another name")
        return None
    value = namespace[name]
    if not isinstance(value, Agent):
        raise CellError(
            f"the name {name!r} already holds something else ({type(value).__name__}); give the agent another name"
        )
    return value


def known(name: str, namespace: Namespace) -> Agent:
    """The agent of this name. Raises CellError with the names that there are."""
    agent = find(name, namespace)
    if agent is None:
        names = agents(namespace)
        there = f"there are: {', '.join(names)}" if names else "there are no agents yet"
        raise CellError(f"no agent {name!r}; {there}")
    return agent


def agents(namespace: Namespace) -> list[str]:
    """The names that hold agents, in the order in which they came."""
    return [name for name, value in namespace.items() if isinstance(value, Agent) and not name.startswith("_")]


_OF_THE_MODEL = ("base_url", "api", "api_key_env", "params")


def _configures(spec: CellSpec) -> bool:
    return any(getattr(spec, field) is not None for field in CellSpec.model_fields if field not in OF_THE_RUN)


def _limits(spec: CellSpec, kept: Agent | None) -> Limits | None:
    before = (kept.limits if kept else None) or Limits()
    budget = spec.budget or Budget(before.tokens, before.cost)
    limits = Limits(budget.tokens, budget.cost, spec.timeout or before.seconds)
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


def _model(spec: CellSpec, existing: Agent | None, namespace: Namespace) -> tuple[Model, bool]:
    """The model, and whether the cell names it, so that its script starts anew with each execution."""
    if spec.script is not None:
        if spec.model not in (None, "scripted"):
            raise CellError(f"script and model: {spec.model!r} are both given; a script is the model, so drop `model`")
        _refuse_settings(spec, "a script takes no settings of a model")
        return _script(spec.script, namespace), True
    if spec.model == "scripted":
        _refuse_settings(spec, "a script takes no settings of a model")
        if existing is None or not isinstance(existing.model, ScriptedLLM):
            raise CellError(
                f"agent {spec.name!r} has no script yet: write `script:` with its replies above a line `---`"
            )
        return existing.model, True
    if spec.model is None and existing is not None and not any(getattr(spec, field) for field in _OF_THE_MODEL):
        return existing.model, False
    variable = _model_variable(spec, namespace)
    return (variable, True) if variable is not None else (_opened(spec, existing), True)


def _refuse_settings(spec: CellSpec, why: str) -> None:
    if said := [field for field in _OF_THE_MODEL if getattr(spec, field) is not None]:
        raise CellError(f"{said[0]}: {why}; leave it out")


def _model_variable(spec: CellSpec, namespace: Namespace) -> Model | None:
    """The model that a notebook variable holds; None where the cell names another one."""
    named = spec.model or ""
    if not is_path(named) or named.partition(".")[0] not in namespace:
        return None
    from nbagent.models.providers import providers

    value = look_up(named, namespace, "model")
    if isinstance(value, Invokable) and not isinstance(value, type | Model):
        value = InvokedModel(value)
    if isinstance(value, type) or not isinstance(value, Model):
        if providers.get(named) is not None or named == "test":
            return None
        raise CellError(f"model: {named!r} is {_a(value)}, not a model; {_HOW_TO}")
    _refuse_settings(spec, f"the variable {named!r} holds a model already, with its own settings")
    return value


def _opened(spec: CellSpec, existing: Agent | None) -> Model:
    """A model of a provider: the one that the cell describes, or the agent's own with what the cell changes of it."""
    from nbagent.models.opening import open_model  # not for scripted cells: the first one is felt
    from nbagent.models.providers import providers

    asked = _asked(spec, existing)
    if asked.model is None and asked.base_url is None and not providers.default_model:
        raise CellError(f"agent {spec.name!r} has no model yet: {_HOW_TO}")
    try:
        return open_model(
            asked.model, base_url=asked.base_url, api=asked.api, api_key_env=asked.api_key_env, params=asked.params,
            check_key=not spec.dry, ask=not spec.skip_without_key,
        )  # fmt: skip
    except ConfigError as error:
        if isinstance(error, MissingKey) and spec.skip_without_key:
            raise  # the cell knows what to do about it
        raise CellError(f"model {asked.model or asked.base_url or providers.default_model}: {error}") from None


def _asked(spec: CellSpec, existing: Agent | None) -> Opened:
    """What is asked of `open_model`. A model of a known provider stands for itself; the rest is kept."""
    from nbagent.models.opening import Opened
    from nbagent.models.providers import providers
    from nbagent.models.remote import RemoteModel

    said = Opened(spec.model, spec.base_url, spec.api, spec.api_key_env, spec.params)
    if existing is None or (spec.model and providers.get(re.split("[:/]", spec.model)[0]) is not None):
        return said
    if spec.model == "test":
        return said
    before = existing.model.opened_as if isinstance(existing.model, RemoteModel) else None
    if before is None:
        if spec.model is None and spec.base_url is None:
            _refuse_settings(spec, f"the model of {spec.name!r} takes no settings")
        return said
    changed = {field: value for field in Opened.__struct_fields__ if (value := getattr(said, field)) is not None}
    return replace(before, **changed)


def _script(script: tuple[ScriptEntry, ...] | str, namespace: Namespace) -> Model:
    if not isinstance(script, str):
        return ScriptedLLM([_entry(entry) for entry in script])
    value = look_up(script, namespace, "script")
    if isinstance(value, ScriptedLLM):
        return value
    if isinstance(value, list | tuple):
        return ScriptedLLM(cast("list[Entry]", value))
    raise CellError(f"script: {script!r} is {_a(value)}; expected a list of replies or a ScriptedLLM")


def _a(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"


def _entry(entry: ScriptEntry) -> Entry:
    match entry:
        case ScriptText():
            return entry.text
        case ScriptCalls():
            calls = tuple(ToolCall(call.id or "", call.name, call.arguments) for call in entry.calls)
            return ModelReply(entry.content, calls, finish_reason="tool_calls")
        case ScriptError():
            return ModelError(entry.message, kind=entry.kind)
        case _:
            assert_never(entry)


def _tools(cell: Cell, kept: Agent | None, namespace: Namespace) -> ToolRegistry:
    if cell.spec.tools is None:
        return kept.own_tools if kept else ToolRegistry()
    registry, where = ToolRegistry(), f"tools ({cell.origins['tools']})"
    for name in cell.spec.tools:
        for value in _functions(look_up(name, namespace, where)):
            try:
                registry.register(value)
            except ToolDefinitionError as error:
                raise CellError(f"{where}: {name}: {error}") from None
    return registry


def _functions(value: Any) -> Iterable[Callable[..., Any]]:
    """A function; or the functions of a list, of a registry, of an MCP server."""
    if isinstance(value, list | tuple | ToolRegistry):
        return cast("Iterable[Callable[..., Any]]", value)
    if callable(value) or isinstance(value, type) or not callable(tools := getattr(value, "tools", None)):
        return (value,)
    return cast("Iterable[Callable[..., Any]]", tools())
