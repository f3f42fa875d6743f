"""Spec variables: what of an agent's spec a cell names by the variable that holds it."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Callable, Mapping
from types import ModuleType, NoneType
from typing import Any, cast

from nbagent.agents.base import BaseAgent
from nbagent.agents.spec_names import AGENT
from nbagent.agents.spec_no_text import NoText, kind_of
from nbagent.agents.sub_agent import AgentTool
from nbagent.tools.tool import Tool


def names_value(key: str) -> Callable[[Any], dict[str, Any]]:
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


def path(text: str) -> str:
    """The text, where it is a name or names with dots between them. Raises NoText."""
    if not all(map(is_name, text.split("."))):
        raise NoText(f"the name {text!r}")
    return text


def is_variable(name: Any) -> bool:
    """Whether a cell can keep something under this name."""
    return is_name(name) and not hasattr(builtins, name)


def is_name(text: Any) -> bool:
    return isinstance(text, str) and text.isidentifier() and not keyword.iskeyword(text)


def _name(one: Any, value: Any, key: str) -> str:
    if isinstance(one, str):
        prefix = AGENT if key == "tools" and one.startswith(AGENT) else ""
        return prefix + path(one.removeprefix(prefix))
    if isinstance(one, AgentTool) and one.variable and key == "tools":
        return f"{AGENT}{one.variable}"
    if isinstance(one, AgentTool | BaseAgent):
        agent = one.agent if isinstance(one, AgentTool) else one
        is_usual = agent is one or _is_like(one, agent.as_tool(), "scope")
        if key == "tools" and is_name(agent.name) and is_usual:
            return f"{AGENT}{agent.name}"
    elif isinstance(one, Tool):
        name = variable(cast("Any", one.function))
        if name and _is_like(cast("Any", one), Tool(cast("Any", one.function))):
            return name
        raise NoText(f"the tool {one.name} with settings of its own")
    elif callable(one) and (name := variable(one)):
        return name
    raise NoText(kind_of(value))


_OF_A_TOOL = ("name", "schema", "parallel", "idempotent", "on_error", "max_chars", "origin")


def _is_like(one: Any, other: Any, *more: str) -> bool:
    same = all(getattr(one, each) == getattr(other, each) for each in (*_OF_A_TOOL, *more))
    return same and type(one) is type(other)


def variable(value: Any) -> str:
    """The variable that holds a function or a class by its definition; empty for a method, or for what has no name."""
    name = getattr(value, "__name__", "")
    around = getattr(value, "__qualname__", name).rpartition("<locals>.")[2]
    is_method = not isinstance(getattr(value, "__self__", None), ModuleType | NoneType)
    return name if is_name(name) and around == name and not is_method else ""
