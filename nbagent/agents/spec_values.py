r"""Spec values: how each field of an agent's spec is written in a cell.

What a cell would look up is escaped: `{{` is `\{{`, and in templates a `{name}` that is no place is `\{name}`.
"""

from __future__ import annotations

import builtins
import json
import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import pairwise
from math import isfinite
from types import ModuleType, NoneType
from typing import Any, cast

from nbagent.agents.base import BaseAgent
from nbagent.agents.compaction import Compact
from nbagent.agents.spec_names import AGENT
from nbagent.agents.sub_agent import AgentTool
from nbagent.errors import KINDS, ModelError
from nbagent.messages import ModelReply, Piece, ToolCall
from nbagent.models.opening import Opened
from nbagent.models.remote import TIMEOUT, RemoteModel
from nbagent.models.scripted import ScriptedLLM
from nbagent.prompt.blueprint import template
from nbagent.prompt.template import Slot
from nbagent.prompt.texts.pack import texts_of
from nbagent.runtime.limits import Limits
from nbagent.tools.permissions import ToolPermissions
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.tool import Tool

_TEXT, _SLOTS = re.compile(r"\{\{"), re.compile(r"\{\{|\{(?=[^\W\d]\w*\})")


class NoText(Exception):
    """A value that has no text in a cell. Its str says what it is."""


def plain(key: str) -> Callable[[Any], dict[str, Any]]:
    def write(value: Any) -> dict[str, Any]:
        if isinstance(value, bool | str):
            return {key: value}
        raise NoText(kind_of(value))

    return write


def _whole(key: str, most: int, least: int = 1) -> Callable[[Any], dict[str, Any]]:
    def write(value: Any) -> dict[str, Any]:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return {key: value}
        raise NoText(_number_of(value))

    return write


def _number_of(value: Any) -> str:
    return f"the number {value}" if isinstance(value, int | float | Decimal) else kind_of(value)


def no_text(value: Any) -> dict[str, Any]:
    """For a field that has no key in a cell."""
    raise NoText(kind_of(value))


def kind_of(value: Any) -> str:
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
    raise NoText(kind_of(value))


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
        if value != value.strip() or len(value.splitlines()) != 1:
            raise NoText(f"the model {value!r}")
        return {"model": value}
    if isinstance(value, ScriptedLLM):
        return _script(value)
    if not isinstance(value, RemoteModel):
        raise NoText(kind_of(value))
    asked = value.opened_as
    is_usual = value.timeout == TIMEOUT and value.streaming and value.price is None and not value.params
    if asked is None or asked != Opened(asked.model) or not is_usual:
        raise NoText(f"the model {value.name} with settings of its own")
    return {"model": value.name}


def _script(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"script": _path(value)}
    if isinstance(value, ScriptedLLM):
        has_more = type(value) is not ScriptedLLM or vars(value)["_matches"] is not None
        if has_more or value.position:
            raise NoText("a script with matches or a fallback" if has_more else "a script that has begun")
        value = value.script
    entries = [_entry(entry) for entry in value]
    if not entries:
        raise NoText("an empty script")
    return {"script": entries}


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


def _names(key: str) -> Callable[[Any], dict[str, Any]]:
    def write(value: Any) -> dict[str, Any]:
        if isinstance(value, str | Mapping):
            raise NoText(kind_of(value))
        return {key: once([_name(one, value, key) for one in value])}

    return write


def once(names: list[str]) -> list[str]:
    """The names, of which a cell takes none twice. Raises NoText."""
    if len(set(names)) < len(names):
        raise NoText("a list with a name twice")
    return names


def _path(text: str) -> str:
    """The text, where it is a name or names with dots between them. Raises NoText."""
    if not all(map(_is_name, text.split("."))):
        raise NoText(f"the name {text!r}")
    return text


def is_variable(name: Any) -> bool:
    """Whether a cell can keep something under this name."""
    return _is_name(name) and not hasattr(builtins, name)


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and text.isidentifier() and not keyword.iskeyword(text)


def _name(one: Any, value: Any, key: str) -> str:
    if isinstance(one, str):
        prefix = AGENT if key == "tools" and one.startswith(AGENT) else ""
        return prefix + _path(one.removeprefix(prefix))
    if isinstance(one, AgentTool | BaseAgent):
        agent = one.agent if isinstance(one, AgentTool) else one
        is_usual = agent is one or _is_like(one, agent.as_tool(), "scope")
        if key == "tools" and _is_name(agent.name) and is_usual:
            return f"{AGENT}{agent.name}"
    elif isinstance(one, Tool):
        name = _variable(cast("Any", one.function))
        if name and _is_like(cast("Any", one), Tool(cast("Any", one.function))):
            return name
        raise NoText(f"the tool {one.name} with settings of its own")
    elif callable(one) and (name := _variable(one)):
        return name
    raise NoText(kind_of(value))


_OF_A_TOOL = ("name", "schema", "parallel", "idempotent", "on_error", "max_chars", "origin")


def _is_like(one: Any, other: Any, *more: str) -> bool:
    same = all(getattr(one, each) == getattr(other, each) for each in (*_OF_A_TOOL, *more))
    return same and type(one) is type(other)


def _variable(value: Any) -> str:
    """The variable that holds a function or a class by its definition; empty for a method, or for what has no name."""
    name = getattr(value, "__name__", "")
    around = getattr(value, "__qualname__", name).rpartition("<locals>.")[2]
    is_method = not isinstance(getattr(value, "__self__", None), ModuleType | NoneType)
    return name if _is_name(name) and around == name and not is_method else ""


def _tools(value: Any) -> dict[str, Any]:
    if isinstance(value, ToolRegistry) and type(value) is not ToolRegistry:
        raise NoText(kind_of(value))
    return _names("tools")(list(value) if isinstance(value, ToolRegistry) else value)


def _examples(value: Any) -> dict[str, Any]:
    pairs = [[_json(one) for one in (user, assistant)] for user, assistant in value]
    if not pairs or not all(isinstance(one, str | dict | list) for pair in pairs for one in pair):
        raise NoText("a list with numbers" if pairs else "an empty list")  # a cell reads `4` as a text
    return {"examples": pairs}


def _json(value: Any) -> Any:
    """A value of JSON with its texts escaped."""
    if isinstance(value, str):
        return _escaped(value, _TEXT)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in cast("Mapping[Any, Any]", value)):
            raise NoText("a mapping with keys that are no texts")
        return {key: _json(one) for key, one in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_json(one) for one in cast("Iterable[Any]", value)]
    if value is None or (isinstance(value, bool | int | float) and isfinite(value)):
        return value
    raise NoText(kind_of(value))


def _output(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"output": _path(value)}
    if isinstance(value, type) and (name := _variable(value)):
        return {"output": name}
    if not isinstance(value, Mapping):
        raise NoText(kind_of(value))
    return {"output": {name: _declared(one) for name, one in cast("Mapping[str, Any]", value).items()}}


def _declared(value: Any) -> Any:
    if isinstance(value, str):
        if not value.strip():
            raise NoText("a field with an empty description")
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
        if isinstance(value, str) or not all(is_variable(name) for name in value):
            raise NoText(kind_of(value))
        texts: Mapping[str, str] = value if isinstance(value, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]
        if any(texts.values()):
            return {key: {name: _escaped(text, _TEXT) for name, text in texts.items()}}
        return {key: once(list(cast("Iterable[str]", value)))}

    return write


def _formatters(value: Any) -> dict[str, Any]:
    names = [value] if isinstance(value, str) else list(value)
    if len(names) not in (1, 2) or not all(isinstance(name, str) and _is_name(name) for name in names):
        raise NoText(kind_of(value))
    return {"formatters": names[0] if len(names) == 1 else names}


def _limits(value: Any) -> dict[str, Any]:
    if not isinstance(value, Limits):
        raise NoText(kind_of(value))
    if value.max_tokens is not None and value.max_cost is not None:
        raise NoText("limits in tokens and in money")
    said: dict[str, Any] = {}
    if value.max_tokens is not None:
        said |= _whole("budget", 10**15 - 1)(value.max_tokens)
    if value.max_cost is not None:
        said["budget"] = f"${_decimal(value.max_cost, 9, 9)}"
    if value.deadline is not None:
        text = _decimal(value.deadline, 6, 17)
        said["timeout"] = text if "e" in repr(float(text)) else _number(float(text))
    if value.max_llm_calls is not None:
        said |= _whole("max_llm_calls", _MOST)(value.max_llm_calls)
    if value.max_tool_calls is not None:
        said |= _whole("max_tool_calls", _MOST, 0)(value.max_tool_calls)
    return said


_MOST = 10**9 - 1
"""Of a whole number in a cell."""


def _decimal(value: float | Decimal, before: int, after: int) -> str:
    """The number without an exponent. Raises NoText where it has more digits than a cell takes."""
    text = f"{Decimal(str(value)):f}"
    if not re.fullmatch(rf"[0-9]{{1,{before}}}(\.[0-9]{{1,{after}}})?", text):
        raise NoText(_number_of(value))
    return text


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _scope(value: Any) -> dict[str, Any]:
    if isinstance(value, str) and value and not re.search(r"\s", value):
        return {"scope": value}
    raise NoText(repr(value) if isinstance(value, str | int | float) else kind_of(value))


def _compact(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"compact": value}
    if isinstance(value, Compact) and value == Compact(value.tokens):
        value = value.tokens
        if value is None:
            return {"compact": True}
    return _whole("compact", _MOST)(value)


def _texts(value: Any) -> dict[str, Any]:
    texts = texts_of(value)
    language = {} if texts.language == "english" else {"language": texts.language}
    return language | ({"texts": dict(texts.overrides)} if texts.overrides else {})


def _permissions(value: Any) -> dict[str, Any]:
    if type(value) is not ToolPermissions or value.allow_origins is not None or value.deny_origins:
        raise NoText(kind_of(value))
    if value.allow is not None and not value.allow:
        raise NoText("an empty list of what is allowed")
    allow = {} if value.allow is None else {"allow": list(value.allow)}
    return allow | ({"deny": list(value.deny)} if value.deny else {})


WRITERS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "model": _model, "script": _script, "system_prompt": _text("system"), "instructions": _template("instructions"),
    "prompt_template": _template("prompt_template"), "examples": _examples, "output": _output,
    "formatters": _formatters, "pull_keys": _keys("pull"), "push_keys": _keys("push"), "tools": _tools,
    "tool_registry": _tools, "memories": _names("context"), "retrievers": _names("context"), "limits": _limits,
    "texts": _texts, "permissions": _permissions, "input_guardrails": _names("input_guardrails"),
    "output_guardrails": _names("output_guardrails"), "hooks": _names("hooks"), "description": plain("description"),
    "strategy": plain("strategy"), "examples_in": plain("examples_in"), "replan": plain("replan"),
    "hide_unused_fields": plain("hide_unused_fields"), "scope": _scope, "compact": _compact,
    "max_turns": _whole("max_turns", 10_000), "max_tokens": _whole("max_tokens", _MOST),
}  # fmt: skip
