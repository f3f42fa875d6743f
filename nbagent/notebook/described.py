"""Described: what a cell says of its agent's prompt, with its references looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.errors import CellError
from nbagent.messages import Field, Piece, Source
from nbagent.notebook.look_up import look_up
from nbagent.notebook.prompt_fields import Written
from nbagent.prompt.inputs import Inputs
from nbagent.prompt.references import render, render_template
from nbagent.tools.serialise import describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbagent.agents.agent import Agent
    from nbagent.notebook.cell import Cell
    from nbagent.prompt.template import Template

_AS_THEY_ARE = ("hide_unused_fields", "output", "formatters", "examples_in")
_TEMPLATES = ("instructions", "prompt_template")


def text(source: str, namespace: Mapping[str, Any], where: str, lines: Sequence[int] = ()) -> tuple[Piece, ...]:
    """A prompt text of a cell, with its references looked up. `lines`: the cell line of each of its lines."""
    return render(source, namespace, where=where, lines=lines, to_text=_to_text)


def _to_text(value: Any) -> str:
    return describe(value).text


def prompt_options(cell: Cell, kept: Agent | None, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The agent's options that make up its prompt: what the cell says, and the rest as it is."""
    spec, options = cell.spec, dict(kept.prompt_options) if kept else {}
    if spec.system is not None and spec.instructions is not None:
        raise CellError("system and instructions both give the system prompt; keep one of them")
    if spec.system is not None:
        options |= {"system_prompt": text(spec.system, namespace, "system"), "instructions": None}
    for name in _TEMPLATES:
        if (said := getattr(spec, name)) is not None:
            options[name] = _template(said, namespace, name, cell)
            options |= {"system_prompt": None} if name == "instructions" else {}
    for name in _AS_THEY_ARE:
        if (said := getattr(spec, name)) is not None:
            options[name] = said
    if spec.examples is not None:
        options["examples"] = [tuple(_plain(one, namespace, "examples") for one in pair) for pair in spec.examples]
    for name in spec.pull or ():
        look_up(name, namespace, "pull")
    options |= {"pull_keys": spec.pull} if spec.pull is not None else {}
    options |= {"push_keys": spec.push} if spec.push is not None else {}
    return options


def _template(source: str, namespace: Mapping[str, Any], name: str, cell: Cell) -> Template:
    origin = cell.origins[name]
    return render_template(source, namespace, where=name, place=f"{origin.capitalize()}: ", to_text=_to_text)


def _plain(written: Written, namespace: Mapping[str, Any], where: str) -> str:
    return "".join(piece.text for piece in text(written.text, namespace, where))


def inputs(cell: Cell, task: tuple[Piece, ...], namespace: Mapping[str, Any]) -> Inputs | None:
    """What the cell gives to its run; None where it only declares the agent."""
    said = cell.spec.inputs
    if said is None and not cell.task:
        return None
    return Inputs(task, tuple(_input(name, value, namespace) for name, value in (said or {}).items()))


def _input(name: str, value: Any, namespace: Mapping[str, Any]) -> Field:
    source = Source("input", name)
    if isinstance(value, Written):
        pieces = text(value.text, namespace, f"inputs: {name}")
        return Field(name, tuple(Piece(p.text, source) if p.source.kind == "template" else p for p in pieces))
    return Field(name, (Piece(_to_text(value), source),), value)
