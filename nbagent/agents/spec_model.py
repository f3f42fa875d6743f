"""Spec model: how the model of an agent's spec, or its script, is written in a cell."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from nbagent.agents.spec_no_text import NoText, json_value, kind_of
from nbagent.agents.spec_variables import path
from nbagent.agents.spec_words import is_environment
from nbagent.errors import KINDS, ModelError
from nbagent.messages import ModelReply, ToolCall
from nbagent.models.opening import Opened
from nbagent.models.remote import TIMEOUT, RemoteModel
from nbagent.models.scripted import ScriptedLLM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def model_value(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"model": _one_line(value)}
    if isinstance(value, ScriptedLLM):
        return script_value(value)
    if not isinstance(value, RemoteModel):
        raise NoText(kind_of(value))
    asked = value.opened_as
    is_usual = value.timeout == TIMEOUT and value.streaming and value.price is None
    if asked is None or not is_usual or value.params != (asked.params or {}):
        raise NoText(f"the model {value.name} with settings of its own")
    if asked == Opened(asked.model):
        return {"model": _one_line(value.name)}
    said = {} if asked.model is None else {"model": _one_line(asked.model)}
    for name, write in SETTINGS.items():
        if (setting := getattr(asked, name)) is not None:
            said |= write(setting)
    return said


def _one_line(name: str) -> str:
    if name != name.strip() or len(name.splitlines()) != 1:
        raise NoText(f"the model {name!r}")
    return name


def _address(value: str) -> dict[str, Any]:
    if not value or re.search(r"[\s@?#]", value):
        raise NoText("an address with a user, a password or a query" if value.split() == [value] else "no address")
    return {"base_url": value}


def _variable(value: str) -> dict[str, Any]:
    if not is_environment(value):
        raise NoText("what is no name of an environment variable")
    return {"api_key_env": value}


def _params(value: dict[str, Any]) -> dict[str, Any]:
    return {"params": json_value(value)}


SETTINGS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "base_url": _address, "api": lambda value: {"api": value}, "api_key_env": _variable, "params": _params,
}  # fmt: skip
"""How the settings of a model are written."""


def script_value(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        if _YAML_WORD.fullmatch(value):
            raise NoText(f"the name {value!r}, which YAML reads as something else")
        return {"script": path(value)}
    if isinstance(value, ScriptedLLM):
        has_more = type(value) is not ScriptedLLM or vars(value)["_matches"] is not None
        if has_more or value.position:
            raise NoText("a script with matches or a fallback" if has_more else "a script that has begun")
        value = value.script
    entries = [_entry(entry) for entry in value]
    if not entries:
        raise NoText("an empty script")
    return {"script": entries}


_YAML_WORD = re.compile("(?i)yes|no|on|off|true|false|null")
"""What is quoted where it is meant as a text; and a name of a script is not quoted."""


def _entry(entry: Any) -> Any:
    if isinstance(entry, str) and entry:
        return entry
    if type(entry) is ModelError:
        said = str(entry)
        if entry.kind in KINDS and vars(entry) == vars(ModelError(said, kind=entry.kind)):
            return {"error": said, "kind": entry.kind}
    if isinstance(entry, list | tuple):
        entry = _one_reply(cast("list[Any]", entry))
    if type(entry) is ModelReply:
        calls = [_call(one.name, one.arguments, one.id) for one in entry.tool_calls]
        plain_calls = tuple([ToolCall(one.id, one.name, one.arguments) for one in entry.tool_calls])
        if entry.complete and entry == ModelReply(entry.content, plain_calls, finish_reason=entry.finish_reason):
            if calls:
                asked = calls[0] if len(calls) == 1 else {"calls": calls}
                return {**asked, "content": entry.content} if entry.content else asked
            if entry.content:
                return entry.content
    raise NoText("a script with functions or other objects")


def _one_reply(entries: Iterable[Any]) -> ModelReply:
    """Several replies as the one that a script makes of them."""
    replies = [ModelReply(one) if isinstance(one, str) else one for one in entries]
    if not all(type(one) is ModelReply for one in replies):
        raise NoText("a script with functions or other objects")
    calls = tuple([call for one in replies for call in one.tool_calls])
    text = "\n".join([one.content for one in replies if one.content])
    return ModelReply(text, calls, finish_reason="tool_calls" if calls else "stop")


def _call(name: str, arguments: str, call_id: str) -> dict[str, Any]:
    if not name:
        raise NoText("a script with a call of nothing")
    try:
        args = json.loads(arguments)
        is_same = isinstance(args, dict) and json.dumps(args, ensure_ascii=False, allow_nan=False) == arguments
    except ValueError:
        args, is_same = None, False
    said: dict[str, Any] = {"args": args} if is_same else {"raw": arguments}
    return {"call": name, **said, **({"id": call_id} if call_id else {})}
