r"""Spec values: how each field of an agent's spec is written in a cell.

What a cell would look up is escaped: `{{` is `\{{`, and in templates a `{name}` that is no place is `\{name}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from nbagent.agents.base import BaseAgent
from nbagent.agents.spec_names import AGENT
from nbagent.agents.sub_agent import AgentTool
from nbagent.errors import ModelError
from nbagent.messages import ModelReply, Piece
from nbagent.models.scripted import ScriptedLLM
from nbagent.prompt.blueprint import template
from nbagent.prompt.template import Slot
from nbagent.prompt.texts.pack import texts_of
from nbagent.tools.permissions import ToolPermissions
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.tool import Tool

if TYPE_CHECKING:
    from nbagent.models.entries import Entry
    from nbagent.runtime.limits import Limits

_TEXT, _SLOTS = re.compile(r"\{\{"), re.compile(r"\{\{|\{(?=[^\W\d]\w*\})")


class NoText(Exception):
    """A value that has no text in a cell. Its str says what it is."""


def plain(key: str) -> Callable[[Any], dict[str, Any]]:
    def write(value: Any) -> dict[str, Any]:
        if isinstance(value, bool):
            return {key: value}
        if isinstance(value, str | int | float):
            return {key: value}
        raise NoText(_kind(value))

    return write


def _kind(value: Any) -> str:
    if isinstance(value, list | tuple):
        kinds = dict.fromkeys(type(one).__name__ for one in cast("Iterable[Any]", value))
        return f"a list of {', '.join(kinds)}"
    return f"an object of type {type(value).__name__}"


def _text(key: str) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {key: _escaped(_joined(value), _TEXT)}


def _joined(value: Any) -> str:
    if isinstance(value, str):
        return value
    parts = tuple(cast("Iterable[Any]", value))
    if all(isinstance(part, Piece) for part in parts):
        return "".join([part.text for part in parts])
    raise NoText(_kind(value))


def _escaped(text: str, what: re.Pattern[str]) -> str:
    return what.sub(lambda match: f"\\{match[0]}", text)


def _template(key: str) -> Callable[[Any], dict[str, Any]]:
    def write(value: Any) -> dict[str, Any]:
        parts = template(key, value)
        if any(isinstance(after, Slot) and _text_of(before).endswith("{") for before, after in pairwise(parts)):
            raise NoText("a template with a brace right before a field")
        texts = [f"{{{part.name}}}" if isinstance(part, Slot) else _escaped(part.text, _SLOTS) for part in parts]
        return {key: "".join(texts)}

    return write


def _text_of(part: Piece | Slot) -> str:
    return part.text if isinstance(part, Piece) else ""


def _model(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"model": value}
    if isinstance(value, ScriptedLLM):
        return _script(value)
    name: Any = getattr(value, "name", None)
    if isinstance(name, str) and ":" in name:
        return {"model": name}
    raise NoText(_kind(value))


def _script(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"script": value}
    return {"script": [_entry(entry) for entry in (value.script if isinstance(value, ScriptedLLM) else value)]}


def _entry(entry: Entry) -> Any:
    if isinstance(entry, str) and entry:
        return entry
    if isinstance(entry, ModelError):
        return {"error": str(entry), "kind": entry.kind}
    if isinstance(entry, ModelReply) and entry.usage is None and entry.complete and not entry.reasoning:
        calls = [_call(one.name, one.arguments, one.id) for one in entry.tool_calls]
        if calls:
            said = calls[0] if len(calls) == 1 else {"calls": calls}
            return {**said, "content": entry.content} if entry.content else said
        if entry.content:
            return entry.content
    replies: list[Any] = list(cast("Iterable[Any]", entry)) if isinstance(entry, list | tuple) else []
    if replies and all(isinstance(one, ModelReply) for one in replies):
        calls = tuple([call for one in replies for call in one.tool_calls])
        return _entry(ModelReply("".join([one.content for one in replies]), calls, finish_reason="tool_calls"))
    raise NoText("a script with functions or other objects")


def _call(name: str, arguments: str, call_id: str) -> dict[str, Any]:
    try:
        args = json.loads(arguments)
    except ValueError:
        args = None
    said: dict[str, Any] = {"args": args} if isinstance(args, dict) else {"raw": arguments}
    return {"call": name, **said, **({"id": call_id} if call_id else {})}


def _names(key: str) -> Callable[[Any], dict[str, Any]]:
    def write(value: Any) -> dict[str, Any]:
        return {key: [_name(one, value) for one in value]}

    return write


def _name(one: Any, value: Any) -> str:
    if isinstance(one, str):
        return one
    if isinstance(one, AgentTool):
        return f"{AGENT}{one.agent.name}"
    if isinstance(one, BaseAgent):
        return f"{AGENT}{one.name}"
    if isinstance(one, Tool):
        return one.__name__ if str(one.__name__).isidentifier() else one.name
    name = getattr(one, "__name__", "")
    if callable(one) and name.isidentifier():
        return name
    raise NoText(_kind(value))


def _tools(value: Any) -> dict[str, Any]:
    return _names("tools")(list(value) if isinstance(value, ToolRegistry) else value)


def _examples(value: Any) -> dict[str, Any]:
    pairs = [[_json(one) for one in pair] for pair in value]
    return {"examples": pairs}


def _json(value: Any) -> Any:
    """A value of JSON with its texts escaped."""
    if isinstance(value, str):
        return _escaped(value, _TEXT)
    if isinstance(value, Mapping):
        return {key: _json(one) for key, one in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_json(one) for one in cast("Iterable[Any]", value)]
    if value is None or isinstance(value, bool | int | float):
        return value
    raise NoText(_kind(value))


def _output(value: Any) -> dict[str, Any]:
    if isinstance(value, type | str):
        return {"output": value if isinstance(value, str) else value.__name__}
    if not isinstance(value, Mapping):
        raise NoText(_kind(value))
    return {"output": {name: _declared(one) for name, one in cast("Mapping[str, Any]", value).items()}}


def _declared(value: Any) -> Any:
    if isinstance(value, str):
        return _escaped(value, _TEXT)
    if isinstance(value, tuple):
        kind, text = cast("tuple[Any, str]", value)
        return {"type": _typed(kind), "description": _escaped(text, _TEXT)}
    return _typed(value)


def _typed(kind: Any) -> str:
    from nbagent.prompt.output import type_named

    name = (
        kind
        if isinstance(kind, str)
        else kind.__name__
        if isinstance(kind, type) and not hasattr(kind, "__args__")
        else str(kind)
    )
    name = name.replace("typing.", "")
    if type_named(name) is None:
        raise NoText(f"the type {name}")
    return name


def _keys(key: str) -> Callable[[Any], dict[str, Any]]:
    def write(value: Any) -> dict[str, Any]:
        texts: Mapping[str, str] = value if isinstance(value, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]
        if any(texts.values()):
            return {key: {name: _escaped(text, _TEXT) for name, text in texts.items()}}
        return {key: list(cast("Iterable[str]", value))}

    return write


def _formatters(value: Any) -> dict[str, Any]:
    names = [value] if isinstance(value, str) else list(value)
    if not all(isinstance(name, str) for name in names):
        raise NoText(_kind(value))
    return {"formatters": names[0] if len(names) == 1 else names}


def _limits(value: Limits) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if value.max_tokens is not None and value.max_cost is not None:
        raise NoText("limits in tokens and in money")
    if value.max_tokens is not None:
        said["budget"] = value.max_tokens
    if value.max_cost is not None:
        said["budget"] = f"${value.max_cost}"
    names = {"timeout": "deadline", "max_llm_calls": "max_llm_calls", "max_tool_calls": "max_tool_calls"}
    return said | {key: _number(each) for key, name in names.items() if (each := getattr(value, name)) is not None}


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _texts(value: Any) -> dict[str, Any]:
    texts = texts_of(value)
    language = {} if texts.language == "english" else {"language": texts.language}
    return language | ({"texts": dict(texts.overrides)} if texts.overrides else {})


def _permissions(value: Any) -> dict[str, Any]:
    if not isinstance(value, ToolPermissions) or value.allow_origins is not None or value.deny_origins:
        raise NoText(_kind(value))
    allow = {} if value.allow is None else {"allow": list(value.allow)}
    return allow | ({"deny": list(value.deny)} if value.deny else {})


WRITERS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "model": _model, "script": _script, "system_prompt": _text("system"), "instructions": _template("instructions"),
    "prompt_template": _template("prompt_template"), "examples": _examples, "output": _output,
    "formatters": _formatters, "pull_keys": _keys("pull"), "push_keys": _keys("push"), "tools": _tools,
    "tool_registry": _tools, "memories": _names("context"), "retrievers": _names("context"), "limits": _limits,
    "texts": _texts, "permissions": _permissions, "input_guardrails": _names("input_guardrails"),
    "output_guardrails": _names("output_guardrails"), "hooks": _names("hooks"), "description": plain("description"),
}  # fmt: skip
