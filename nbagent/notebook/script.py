"""Script: the replies that a cell writes by hand for its agent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from nbagent.errors import KINDS, CellError
from nbagent.notebook.credentials import quote, unknown
from nbagent.notebook.fields import is_path, read_text
from nbagent.notebook.header import Items, Node, Scalar, Table, as_json

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, slots=True)
class ScriptText:
    """A scripted reply that is text."""

    text: str


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A scripted tool call."""

    name: str
    arguments: str = "{}"
    """JSON text, or whatever `raw:` says."""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptCalls:
    """A scripted reply that asks for tools."""

    calls: tuple[ScriptCall, ...]
    content: str = ""


@dataclass(frozen=True, slots=True)
class ScriptError:
    """A model call that fails with this message."""

    message: str
    kind: str = "error"


ScriptEntry: TypeAlias = ScriptText | ScriptCalls | ScriptError


def read_script(node: Node, where: str) -> tuple[ScriptEntry, ...] | str:
    match node:
        case Items(()):
            raise CellError(f"{where} is empty: an agent makes at least one model call; write a reply, `- text`.")
        case Items(nodes):
            return tuple(_entry(item) for item in nodes)
        case Scalar(text, quoted) if not quoted and is_path(text):
            return text
        case _:
            raise CellError(f"{where} must be a list of replies (`- text`), or the name of a notebook variable.")


_FORMS = (
    "`- text`, `- call: tool` (with args, raw, id, content), `- calls: [{call: tool}, …]` (with content), "
    "`- error: message` (with kind); a text that contains `: ` needs quotes"
)


def _entry(node: Node) -> ScriptEntry:
    match node:
        case Scalar(text, quoted) if text or quoted:
            return ScriptText(text)
        case Items(nodes) if nodes:
            return ScriptCalls(tuple(_call(item, _CALL) for item in nodes))
        case Table(entries) if "call" in entries:
            return ScriptCalls((_call(node, (*_CALL, "content")),), _part(node, "content") or "")
        case Table({"calls": Items(nodes)} as entries) if nodes and entries.keys() <= {"calls", "content"}:
            return ScriptCalls(tuple(_call(item, _CALL) for item in nodes), _part(node, "content") or "")
        case Table({"error": Scalar(text)} as entries) if entries.keys() <= {"error", "kind"}:
            return ScriptError(text, _kind(node))
        case _:
            raise CellError(f"Cell line {node.line}: this is not a scripted reply. Its forms: {_FORMS}.")


def _kind(entry: Table) -> str:
    kind = _part(entry, "kind") or "error"
    if kind not in KINDS:
        line = entry.entries["kind"].line
        raise CellError(f"Cell line {line}: `kind` must be one of {', '.join(KINDS)}; got {quote(kind)}.")
    return kind


_CALL = ("call", "args", "raw", "id")


def _call(node: Node, allowed: Collection[str]) -> ScriptCall:
    if not isinstance(node, Table) or not (name := _part(node, "call")):
        raise CellError(f"Cell line {node.line}: expected a tool call such as `{{call: tool, args: {{city: Paris}}}}`.")
    for key, value in node.entries.items():
        if key not in allowed:
            raise unknown("key of a tool call", key, allowed, f"Cell line {value.line}")
    args, raw = node.entries.get("args", Table({}, node.line)), _part(node, "raw")
    if not isinstance(args, Table) or (raw is not None and "args" in node.entries):
        raise CellError(f"Cell line {args.line}: `args` must be a mapping such as `{{city: Paris}}`, without `raw`.")
    arguments = json.dumps(as_json(args), ensure_ascii=False) if raw is None else raw
    return ScriptCall(name, arguments, _part(node, "id") or None)


def _part(table: Table, key: str) -> str | None:
    node = table.entries.get(key)
    return None if node is None else read_text(node, f"Cell line {node.line}: `{key}`")
