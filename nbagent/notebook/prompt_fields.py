"""Prompt fields: how the keys that make up a prompt are read from what stands in a cell."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import CellError
from nbagent.notebook.fields import read_text, read_variable
from nbagent.notebook.header import Items, Node, Scalar, Table, as_json

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Written:
    """A text of a cell whose references have not been looked up."""

    text: str


def read_lines(node: Node, where: str) -> str:
    """A text, or a list of its lines."""
    if isinstance(node, Items):
        return "\n".join(read_text(item, f"Cell line {item.line}: a line") for item in node.nodes)
    return read_text(node, f"{where} must be text, or a list of its lines; it")


def read_inputs(node: Node, where: str) -> dict[str, Any]:
    """Fields by name. Texts may hold references; numbers, lists and mappings are what they are in JSON."""
    return {name: _value(one) for name, one in _table(node, where, "{topic: DAGs, words: 50}").items()}


def _value(node: Node) -> Any:
    value = as_json(node)
    return Written(value) if isinstance(value, str) else value


def read_keys(node: Node, where: str) -> dict[str, str]:
    """Names with what they mean, or names alone."""
    if isinstance(node, Scalar) and not node.text.strip().startswith("{"):
        return dict.fromkeys(
            (read_variable(Scalar(n.strip(), False, node.line), where) for n in node.text.split(",")), ""
        )
    if isinstance(node, Items):
        return {read_variable(one, f"Cell line {one.line}: a name"): "" for one in node.nodes}
    table = _table(node, where, "{city: where it is}")
    return {
        read_variable(Scalar(name, False, one.line), where): read_text(one, f"{where}: what `{name}` means")
        for name, one in table.items()
    }


def read_output(node: Node, where: str) -> dict[str, Any]:
    """Output fields, each with a description, a type, or both: `{type: int, description: from 0 to 100}`."""
    return {
        name: _declared(one, f"{where}: `{name}`") for name, one in _table(node, where, "{mood: in one word}").items()
    }


def _declared(node: Node, where: str) -> Any:
    match node:
        case Scalar(text) if text.strip():
            return text
        case Table({"type": Scalar(kind), "description": Scalar(text)} as entries) if len(entries) == 2:
            return kind, text
        case Table({"type": Scalar(kind)} as entries) if len(entries) == 1:
            return kind
        case _:
            raise CellError(
                f"{where} must be a description, a type such as `int` or `list[str]`, or "
                "`{type: int, description: from 0 to 100}` (in braces, a text with a comma needs quotes)."
            )


def read_formatters(node: Node, where: str) -> str | tuple[str, ...]:
    """One name, or two: how the message is written, and how the answer is read."""
    if isinstance(node, Scalar):
        names = [name.strip() for name in node.text.split(",")]
    elif isinstance(node, Items):
        names = [read_text(item, f"Cell line {item.line}: a formatter's name").strip() for item in node.nodes]
    else:
        names = []
    if len(names) not in (1, 2) or not all(names):
        raise CellError(f"{where} must be one formatter or two, such as `json` or `[paragraph, json]`.")
    return names[0] if len(names) == 1 else tuple(names)


def read_examples(node: Node, where: str) -> tuple[tuple[Written, Written], ...]:
    """Pairs of a question and its answer."""
    if isinstance(node, Items) and node.nodes:
        return tuple(_pair(item) for item in node.nodes)
    raise CellError(f"{where} must be a list of pairs, such as `- {{user: 2 + 2?, assistant: '4'}}`.")


def _pair(node: Node) -> tuple[Written, Written]:
    match node:
        case Table({"user": user, "assistant": assistant} as entries) if len(entries) == 2:
            pair = (user, assistant)
        case Items((user, assistant)):
            pair = (user, assistant)
        case _:
            raise CellError(
                f"Cell line {node.line}: an example is `{{user: question, assistant: answer}}` or `[question, answer]`."
            )
    question, answer = (_said(one) for one in pair)
    return question, answer


def _said(node: Node) -> Written:
    if isinstance(node, Scalar):
        return Written(node.text)
    return Written(json.dumps(as_json(node), ensure_ascii=False))


def read_place(node: Node, where: str) -> str:
    text = read_text(node, where)
    if text not in ("messages", "prompt"):
        raise CellError(f"{where} must be `messages` or `prompt`; got `{text[:40]}`.")
    return text


def _table(node: Node, where: str, example: str) -> Mapping[str, Node]:
    """A mapping, or its JSON text (`--inputs '{"topic": "DAGs"}'`)."""
    if isinstance(node, Table):
        return node.entries
    if isinstance(node, Scalar):
        try:
            found = json.loads(node.text)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return {name: _node(value, node.line) for name, value in cast("dict[str, Any]", found).items()}
    raise CellError(f"{where} must be a mapping such as `{example}`.")


def _node(value: Any, line: int) -> Node:
    if isinstance(value, dict):
        return Table({name: _node(one, line) for name, one in cast("dict[str, Any]", value).items()}, line)
    if isinstance(value, list):
        return Items(tuple(_node(one, line) for one in cast("list[Any]", value)), line)
    return Scalar(value, True, line) if isinstance(value, str) else Scalar(json.dumps(value), False, line)
