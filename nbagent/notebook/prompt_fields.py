"""Prompt fields: how the keys that make up a prompt are read from what stands in a cell."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import CellError
from nbagent.notebook.credentials import quote
from nbagent.notebook.fields import is_path, read_text, read_variable, strict_json
from nbagent.notebook.header import Items, Node, Scalar, Table, as_json, lines_of
from nbagent.prompt.output import type_named

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class CellText:
    """A text of a cell whose references have not been looked up."""

    text: str
    lines: tuple[int, ...] = ()
    """The cell line of each of its lines."""


def unread(node: Node) -> Any:
    """The JSON value of a node, in which each text is a CellText."""
    match node:
        case Table(entries):
            return {name: unread(one) for name, one in entries.items()}
        case Items(nodes):
            return [unread(one) for one in nodes]
        case Scalar():
            value = as_json(node)
            return CellText(value, lines_of(node)) if isinstance(value, str) else value


def read_lines(node: Node, where: str) -> str:
    """A text, or a list of its lines."""
    if isinstance(node, Items):
        return "\n".join(read_text(item, f"Cell line {item.line}: a line") for item in node.nodes)
    return read_text(node, f"{where} must be text, or a list of its lines; it")


def read_inputs(node: Node, where: str) -> dict[str, Any]:
    """Fields by name. Texts may hold references; numbers, lists and mappings are what they are in JSON."""
    return {name: unread(one) for name, one in _table(node, where, "{topic: DAGs, words: 50}").items()}


def read_keys(node: Node, where: str) -> dict[str, CellText]:
    """Names with what they mean, or names alone."""
    none = CellText("")
    if isinstance(node, Scalar) and not node.text.strip().startswith("{"):
        return dict.fromkeys(
            (read_variable(Scalar(n.strip(), False, node.line), where) for n in node.text.split(",")), none
        )
    if isinstance(node, Items):
        return {read_variable(one, f"Cell line {one.line}: a name"): none for one in node.nodes}
    table = _table(node, where, "{city: where it is}")
    return {
        read_variable(Scalar(name, False, one.line), where): CellText(
            read_text(one, f"{where}: what `{name}` means"), lines_of(one)
        )
        for name, one in table.items()
    }


def read_output(node: Node, where: str) -> dict[str, Any] | str:
    """Output fields, each with a description, a type, or both: `{type: int, description: from 0 to 100}`; or the
    notebook variable that holds a pydantic model."""
    if isinstance(node, Scalar) and is_path(node.text.strip()):
        return node.text.strip()
    return {
        name: _declared(one, f"{where}: `{name}`") for name, one in _table(node, where, "{mood: in one word}").items()
    }


def _declared(node: Node, where: str) -> Any:
    match node:
        case Scalar(text) if text.strip():
            return CellText(text, lines_of(node))
        case Table({"type": Scalar() as kind, "description": Scalar(text) as said} as entries) if len(entries) == 2:
            return _kind(kind, where), CellText(text, lines_of(said))
        case Table({"type": Scalar() as kind} as entries) if len(entries) == 1:
            return _kind(kind, where)
        case _:
            raise CellError(
                f"{where} must be a description, a type such as `int` or `list[str]`, or "
                "`{type: int, description: from 0 to 100}` (in braces, a text with a comma needs quotes)."
            )


def _kind(node: Scalar, where: str) -> str:
    if type_named(node.text) is None:
        raise CellError(
            f'{where}: the type must be one such as `int`, `list[str]`, `str | None`, `Literal["a", "b"]`; got '
            f"{quote(node.text)}."
        )
    return node.text


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


def read_examples(node: Node, where: str) -> tuple[tuple[Any, Any], ...]:
    """Pairs of a question and its answer, texts or JSON."""
    if isinstance(node, Scalar) and node.text.strip().startswith("["):
        node = _from_json(node, where)
    if isinstance(node, Items) and node.nodes:
        return tuple(_pair(item) for item in node.nodes)
    raise CellError(f"{where} must be a list of pairs, such as `- {{user: 2 + 2, assistant: '4'}}`.")


def _pair(node: Node) -> tuple[Any, Any]:
    match node:
        case Table({"user": user, "assistant": assistant} as entries) if len(entries) == 2:
            return _said(user), _said(assistant)
        case Items((user, assistant)):
            return _said(user), _said(assistant)
        case _:
            raise CellError(
                f"Cell line {node.line}: an example is `{{user: question, assistant: answer}}` or `[question, answer]`."
            )


def _said(node: Node) -> Any:
    """A text, whatever it looks like, or JSON."""
    return CellText(node.text, lines_of(node)) if isinstance(node, Scalar) else unread(node)


def _from_json(scalar: Scalar, where: str) -> Node:
    """The node that an option's JSON text stands for."""
    try:
        return _node(strict_json(scalar.text), scalar.line)
    except (ValueError, RecursionError) as error:
        raise CellError(f"{where} is no JSON ({error}); within single quotes, an apostrophe ends the text.") from None


def read_place(node: Node, where: str) -> str:
    text = read_text(node, where)
    if text not in ("messages", "prompt"):
        raise CellError(f"{where} must be `messages` or `prompt`; got `{text[:40]}`.")
    return text


def _table(node: Node, where: str, example: str) -> Mapping[str, Node]:
    """A mapping, or its JSON text (`--inputs '{"topic": "DAGs"}'`)."""
    if isinstance(node, Scalar) and node.text.strip().startswith("{"):
        node = _from_json(node, where)
    if isinstance(node, Table):
        return node.entries
    raise CellError(f"{where} must be a mapping such as `{example}`.")


def _node(value: Any, line: int) -> Node:
    if isinstance(value, dict):
        return Table({name: _node(one, line) for name, one in cast("dict[str, Any]", value).items()}, line)
    if isinstance(value, list):
        return Items(tuple(_node(one, line) for one in cast("list[Any]", value)), line)
    return Scalar(value, True, line) if isinstance(value, str) else Scalar(json.dumps(value), False, line)
