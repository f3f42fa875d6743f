r"""Spec values: how each field of an agent's spec is written in a cell.

What a cell would look up is escaped: `{{` is `\{{`, and in templates a `{name}` that is no place is `\{name}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from nbagent.agents.compaction import Compact
from nbagent.agents.spec_approvals import approvals_value
from nbagent.agents.spec_model import SETTINGS, model_value, script_value
from nbagent.agents.spec_no_text import NoText, json_value, kind_of, number_of
from nbagent.agents.spec_variables import is_name, is_variable, names_value, once, path, variable
from nbagent.messages import Piece
from nbagent.prompt.blueprint import template
from nbagent.runtime.limits import Limits
from nbagent.texts.pack import texts_of
from nbagent.texts.template import Slot
from nbagent.tools.permissions import ToolPermissions
from nbagent.tools.registry import ToolRegistry

_TEXT, _SLOTS = re.compile(r"\{\{"), re.compile(r"\{\{|\{(?=[^\W\d]\w*\})")


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
        raise NoText(number_of(value))

    return write


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


def _tools(value: Any) -> dict[str, Any]:
    if isinstance(value, ToolRegistry) and type(value) is not ToolRegistry:
        raise NoText(kind_of(value))
    return names_value("tools")(list(value) if isinstance(value, ToolRegistry) else value)


def _examples(value: Any) -> dict[str, Any]:
    pairs = [[_json(one) for one in (user, assistant)] for user, assistant in value]
    if not pairs or not all(isinstance(one, str | dict | list) for pair in pairs for one in pair):
        raise NoText("a list with numbers" if pairs else "an empty list")  # a cell reads `4` as a text
    return {"examples": pairs}


def _json(value: Any) -> Any:
    """A value of JSON with its texts escaped."""
    return json_value(value, lambda text: _escaped(text, _TEXT))


def _output(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"output": path(value)}
    if isinstance(value, type) and (name := variable(value)):
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
    if len(names) not in (1, 2) or not all(isinstance(name, str) and is_name(name) for name in names):
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
        raise NoText(number_of(value))
    return text


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _scope(value: Any) -> dict[str, Any]:
    if isinstance(value, str) and value and not re.search(r"\s", value):
        return {"scope": value}
    raise NoText(repr(value) if isinstance(value, str | int | float) else kind_of(value))


def _store(value: Any) -> dict[str, Any]:
    """The folder, in whatever form it is given."""
    from nbagent.store.run_store import RunStore  # who keeps nothing needs no locks

    folder = value.folder if type(value) is RunStore else value
    text = str(folder) if isinstance(folder, str | Path) else ""
    if text.strip() and len(text.splitlines()) == 1:
        return {"store": text}
    raise NoText(kind_of(value))


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
    if value.deny:
        raise NoText("permissions that deny a tool")  # what a cell denies, no agent inside may call either
    return {} if value.allow is None else {"allow": list(value.allow)}


WRITERS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "model": model_value, **SETTINGS, "script": script_value, "system_prompt": _text("system"), "examples": _examples,
    "instructions": _template("instructions"), "prompt_template": _template("prompt_template"), "output": _output,
    "formatters": _formatters, "pull_keys": _keys("pull"), "push_keys": _keys("push"), "tools": _tools,
    "tool_registry": _tools, "memories": names_value("context"), "retrievers": names_value("context"),
    "limits": _limits, "texts": _texts, "permissions": _permissions, "scope": _scope, "compact": _compact,
    "store": _store,
    "approvals": approvals_value,
    "input_guardrails": names_value("input_guardrails"), "output_guardrails": names_value("output_guardrails"),
    "hooks": names_value("hooks"), "description": plain("description"), "strategy": plain("strategy"),
    "examples_in": plain("examples_in"), "replan": plain("replan"), "hide_unused_fields": plain("hide_unused_fields"),
    "math": plain("math"),
    "max_turns": _whole("max_turns", 10_000), "max_tokens": _whole("max_tokens", _MOST),
    "retries": _whole("retries", _MOST, 0),
}  # fmt: skip
