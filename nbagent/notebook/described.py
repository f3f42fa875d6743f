"""Described: what a cell says of its agent's prompt, with its references looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import CellError
from nbagent.messages import Field, Piece, Source
from nbagent.notebook.look_up import look_up
from nbagent.notebook.prompt_fields import CellText
from nbagent.prompt.inputs import Inputs
from nbagent.prompt.output import type_named
from nbagent.prompt.references import render, render_template
from nbagent.tools.serialise import describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbagent.agents.base import BaseAgent
    from nbagent.notebook.cell import Cell
    from nbagent.texts.template import UnknownField

_AS_THEY_ARE = ("hide_unused_fields", "formatters", "examples_in")
_RESOLVED = {"output": "output", "pull": "pull_keys", "push": "push_keys", "examples": "examples"}
"""Keys whose texts may hold references, and the options of Agent that they are."""
_TEMPLATES = ("instructions", "prompt_template")


def text(source: str, namespace: Mapping[str, Any], where: str, lines: Sequence[int] = ()) -> tuple[Piece, ...]:
    """A prompt text of a cell, with its references looked up. `lines`: the cell line of each of its lines."""
    return render(source, namespace, where=where, lines=lines, to_text=_to_text)


def _to_text(value: Any) -> str:
    return describe(value).text


def prompt_options(
    cell: Cell, kept: BaseAgent | None, namespace: Mapping[str, Any], *, names: bool = False
) -> dict[str, Any]:
    """The agent's options that make up its prompt: what the cell says, and the rest as it is.

    `names`: whether what is the name of a variable stays a name.
    """
    spec, options = cell.spec, dict(kept.prompting.options) if kept else {}
    if spec.system is not None and spec.instructions is not None:
        raise CellError("system and instructions: both give the system prompt; keep one of them")
    if spec.system is not None:
        said = text(spec.system, namespace, "system", cell.lines.get("system", ()))
        options |= {"system_prompt": said, "instructions": None}
    for name in _TEMPLATES:
        if (said := getattr(spec, name)) is not None:
            lines = cell.lines.get(name, ())
            options[name] = render_template(said, namespace, where=name, to_text=_to_text, lines=lines)
            options |= {"system_prompt": None} if name == "instructions" else {}
    options |= {name: said for name in _AS_THEY_ARE if (said := getattr(spec, name)) is not None}
    for name, option in _RESOLVED.items():
        if (said := getattr(spec, name)) is not None:
            options[option] = resolved(said, namespace, name)
    if isinstance(spec.output, str) and not names:
        options["output"] = _type(spec.output, namespace)
    for name in spec.pull or () if not names else ():
        look_up(name, namespace, "pull")
    return options


def _type(name: str, namespace: Mapping[str, Any]) -> Any:
    """The type of an answer: a notebook variable that holds one, or one of Python's own."""
    known = type_named(name) if name not in namespace else None
    return look_up(name, namespace, "output") if known is None else known


def resolved(value: Any, namespace: Mapping[str, Any], where: str) -> Any:
    """A value of the header with the references in all its texts looked up."""
    if isinstance(value, CellText):
        return "".join(piece.text for piece in text(value.text, namespace, where, value.lines))
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {name: resolved(one, namespace, where) for name, one in entries.items()}
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        return type(items)(resolved(one, namespace, where) for one in items)
    return value


def place_of(error: UnknownField, cell: Cell) -> str:
    """Where the place stands in the cell that has no field: `Cell line 4: `; empty where it is another cell's."""
    source = getattr(cell.spec, error.label, None)
    if source is None:
        return ""
    if error.label not in cell.lines:
        return f"{cell.origins[error.label].capitalize()}: "
    number = next((i for i, line in enumerate(source.split("\n")) if f"{{{error.name}}}" in line), 0)
    return f"Cell line {cell.lines[error.label][number]}: "


def inputs(cell: Cell, task: tuple[Piece, ...], namespace: Mapping[str, Any]) -> Inputs | None:
    """What the cell gives to its run; None where it only declares the agent."""
    said = cell.spec.inputs
    if said is None and not cell.task:
        return None
    if "task" in (said or {}) and cell.task:
        raise CellError(f"Cell line {cell.task_line}: the task stands here and under `inputs`, too; keep one of them")
    return Inputs(task, input_fields(said or {}, namespace))


def input_fields(said: Mapping[str, Any], namespace: Mapping[str, Any]) -> tuple[Field, ...]:
    """The input fields of a cell, with their references looked up."""
    return tuple(_input(name, value, namespace) for name, value in said.items())


def _input(name: str, value: Any, namespace: Mapping[str, Any]) -> Field:
    source, where = Source("input", name), f"inputs: {name}"
    if isinstance(value, CellText):
        pieces = text(value.text, namespace, where, value.lines)
        return Field(name, tuple(Piece(p.text, source) if p.source.kind == "template" else p for p in pieces))
    plain = resolved(value, namespace, where)
    return Field(name, (Piece(_to_text(plain), source),), plain)
