"""Spec cell: the text of a cell, read as the spec of its agent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from nbagent.agents.spec import OF_THE_MODEL, AgentSpec
from nbagent.messages import Piece
from nbagent.notebook.blame import blaming
from nbagent.notebook.build import limits_of
from nbagent.notebook.cell import parse_cell
from nbagent.notebook.described import prompt_options
from nbagent.notebook.named_model import script_of
from nbagent.notebook.policy import policy
from nbagent.texts.template import Slot, escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbagent.notebook.cell import Cell

_MAGIC = re.compile(r"%%(agent|plan|reflect)(?:[ \t]+([^\n]*))?(?:\n|$)")
_AS_THEY_ARE = ("max_turns", "max_tokens", "retries", "hide_unused_fields", "math", "scope", "model", *OF_THE_MODEL)


def read_spec(text: str, namespace: Mapping[str, Any] | None = None) -> AgentSpec:
    """The spec of an agent from the text of its cell, or from YAML with the same keys (and `name`).

    What `str(spec)` and `spec.to_yaml()` write is read as the same spec. Names of tools and variables stay names, which
    `build_agent(spec, globals())` looks up; `{{references}}` in texts are looked up in `namespace`, now. A task is not
    part of a spec. Raises CellError (a ValueError) with the line of what is wrong.
    """
    found = _MAGIC.match(text)
    if found is None:
        cell = parse_cell("", f"{text}\n---\n")
    else:
        body = text[found.end() :]
        has_header = any(line.rstrip(" \t") == "---" for line in body.split("\n"))
        cell = parse_cell(found[2] or "", body if has_header else f"---\n{body}", found[1])
    with blaming(cell.origins):
        return _spec(cell, namespace or {})


def _spec(cell: Cell, namespace: Mapping[str, Any]) -> AgentSpec:
    spec = cell.spec
    fields: dict[str, Any] = {name: getattr(spec, name) for name in _AS_THEY_ARE}
    fields |= {name: _plain(name, value) for name, value in prompt_options(cell, None, namespace, names=True).items()}
    said = policy(cell, None, namespace, names=True)
    fields |= {name: value for name, value in said.items() if name != "scope"}
    fields["limits"] = limits_of(spec, None)
    fields["tools"] = None if spec.tools is None else list(spec.tools)
    fields["retrievers"] = None if spec.context is None else list(spec.context)
    if spec.script is not None:
        fields["script"] = spec.script if isinstance(spec.script, str) else script_of(spec.script)
    strategy: Any = cell.strategy or "chat"
    return AgentSpec(spec.name, strategy, **{name: value for name, value in fields.items() if value is not None})


def _plain(name: str, value: Any) -> Any:
    """A text in pieces as a text, where nothing in it was looked up: as Python writes it, with braces doubled."""
    if name == "system_prompt" and isinstance(value, tuple):
        pieces = cast("Sequence[Piece]", value)
        return value if _looked_up(pieces) else "".join([piece.text for piece in pieces])  # pyright: ignore[reportUnknownVariableType]
    if name in ("instructions", "prompt_template") and isinstance(value, tuple):
        parts = cast("Sequence[Piece | Slot]", value)
        if _looked_up([part for part in parts if isinstance(part, Piece)]):
            return value  # pyright: ignore[reportUnknownVariableType]
        return "".join([f"{{{part.name}}}" if isinstance(part, Slot) else escaped(part.text) for part in parts])
    return value


def _looked_up(pieces: Sequence[Piece]) -> bool:
    return any(piece.source.kind != "template" for piece in pieces)
