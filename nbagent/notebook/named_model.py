"""Named model: the model that a cell names for its agent: a script, a variable, one of a provider."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, assert_never, cast

from msgspec.structs import replace

from nbagent.errors import CellError, ConfigError, MissingKey, ModelError
from nbagent.messages import ModelReply, ToolCall
from nbagent.models.invoked import Invokable, InvokedModel
from nbagent.models.model import Model
from nbagent.models.scripted import ScriptedLLM
from nbagent.notebook.fields import is_path
from nbagent.notebook.look_up import look_up
from nbagent.notebook.script import ScriptCalls, ScriptEntry, ScriptError, ScriptText

if TYPE_CHECKING:
    from nbagent.agents.base import BaseAgent
    from nbagent.models.entries import Entry
    from nbagent.models.opening import Opened
    from nbagent.notebook.spec import CellSpec

Namespace = Mapping[str, Any]
_HOW_TO = (
    "write `script:` with its replies above a line `---`, or `model:` with a model such as openai:gpt-5, ollama:qwen3, "
    "test, or the name of a notebook variable that holds one"
)
_OF_THE_MODEL = ("base_url", "api", "api_key_env", "params")


def model_of(spec: CellSpec, existing: BaseAgent | None, namespace: Namespace) -> tuple[Model, bool]:
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
                f"model: agent {spec.name!r} has no script yet: write `script:` with its replies above a line `---`"
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
        raise CellError(f"model: {named!r} is {kind_of(value)}, not a model; {_HOW_TO}")
    _refuse_settings(spec, f"the variable {named!r} holds a model already, with its own settings")
    return value


def _opened(spec: CellSpec, existing: BaseAgent | None) -> Model:
    """A model of a provider: the one that the cell describes, or the agent's own with what the cell changes of it."""
    from nbagent.models.opening import open_model  # not for scripted cells: the first one is felt
    from nbagent.models.providers import providers

    if spec.model == "test":
        _refuse_settings(spec, "the model test sends nothing")
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
        raise CellError(f"model: {asked.model or asked.base_url or providers.default_model}: {error}") from None


def _asked(spec: CellSpec, existing: BaseAgent | None) -> Opened:
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
        return ScriptedLLM(script_of(script))
    value = look_up(script, namespace, "script")
    if isinstance(value, ScriptedLLM):
        return value
    if isinstance(value, list | tuple):
        return ScriptedLLM(cast("list[Entry]", value))
    raise CellError(f"script: {script!r} is {kind_of(value)}; expected a list of replies or a ScriptedLLM")


def kind_of(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"


def script_of(entries: tuple[ScriptEntry, ...]) -> list[Entry]:
    """The replies that a cell writes by hand."""
    return [_entry(entry) for entry in entries]


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
