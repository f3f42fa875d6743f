"""Providers: what surrounds a cell's agent: variables that it pulls and pushes, memories, retrievers."""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING, Any

from nbagent.agents.base import BaseAgent
from nbagent.errors import CellError, ConfigError
from nbagent.notebook.attributes import NotebookAttributes
from nbagent.notebook.look_up import look_up
from nbagent.prompt.context.info import read_provider

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from nbagent.notebook.cell import Cell
    from nbagent.notebook.spec import CellSpec


def attributes(
    cell: Cell, existing: BaseAgent | None, namespace: Mapping[str, Any], variables: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """What the cell pulls and pushes; else what the agent has, but for what an older description pulled."""
    spec = cell.spec
    before: MutableMapping[str, Any] = existing.attributes if existing else {}
    others: MutableMapping[str, Any] = {} if isinstance(before, NotebookAttributes) else before
    if spec.pull is None and spec.push is None:
        return others if cell.describes else before
    kept = existing.prompting.blueprint.pulled if existing and not cell.describes else None
    local = namespace.maps[0] if isinstance(namespace, ChainMap) else None
    return NotebookAttributes(variables, spec.pull if spec.pull is not None else kept or {}, local, others)


_IPYTHONS = {"In", "Out", "get_ipython", "exit", "quit", "open"}


def refuse_push(spec: CellSpec, namespace: Mapping[str, Any]) -> None:
    """An answer must not take the place of an agent, of the result, or of what belongs to IPython."""
    for name in spec.push or ():
        if name in (spec.name, spec.out) or isinstance(namespace.get(name), BaseAgent):
            raise CellError(f"push: {name!r} is the name of an agent, or of the result; give the field another name")
        if name in _IPYTHONS or name.startswith("_"):
            raise CellError(f"push: {name!r} is a name of IPython, or a private one; give the field another name")


def context(cell: Cell, kept: BaseAgent | None, namespace: Mapping[str, Any]) -> dict[str, Any]:
    options = kept.prompting.context.options if kept else {}
    if cell.spec.context is None:
        return options
    providers = [_provider(name, namespace) for name in cell.spec.context]
    memories = [one for one in providers if hasattr(one, "get_messages") or hasattr(one, "insert")]
    retrievers = [one for one in providers if not any(one is each for each in memories)]
    return options | {"memories": memories, "retrievers": retrievers}


def _provider(name: str, namespace: Mapping[str, Any]) -> Any:
    """A context provider; of an MCP server its resources. Raises CellError for what is neither."""
    value = look_up(name, namespace, "context")
    if not hasattr(value, "get_blocks") and callable(resources := getattr(value, "resources", None)):
        return resources()
    if hasattr(value, "get_messages") or hasattr(value, "insert"):
        return value
    try:
        read_provider(value)
    except ConfigError as error:
        raise CellError(f"context: {name}: {error}") from None
    return value
