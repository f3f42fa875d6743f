"""Policy: what a cell says of how its agent may act, beside what it says of its prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.agents.guardrail import guardrails_of
from nbagent.agents.hook import hooks_of
from nbagent.errors import CellError, ConfigError
from nbagent.notebook.look_up import look_up
from nbagent.notebook.rules import approvals_of, permissions_of
from nbagent.texts.pack import Texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbagent.agents.base import BaseAgent
    from nbagent.notebook.cell import Cell
    from nbagent.notebook.spec import CellSpec

_NAMED = ("input_guardrails", "output_guardrails", "hooks")
_KEPT = (
    "permissions", "tool_retriever", "session_store", "scope", "description", "hooks", "compact",
    "approvals", "decide", "store",
)  # fmt: skip


def policy(cell: Cell, kept: BaseAgent | None, namespace: Mapping[str, Any], *, names: bool = False) -> dict[str, Any]:
    """The options of an agent: what the cell says, and the rest as it is. `names`: names of variables stay names."""
    spec = cell.spec
    options: dict[str, Any] = {} if kept is None else {name: getattr(kept, name) for name in _KEPT}
    if kept is not None:
        options |= {"input_guardrails": kept.guardrails.input, "output_guardrails": kept.guardrails.output}
    options["texts"] = _texts(spec, kept)
    options["replan"] = getattr(kept, "replan", False) if spec.replan is None else spec.replan
    if spec.replan is None and cell.strategy not in (None, "plan"):
        options["replan"] = False
    if spec.description is not None:
        options["description"] = spec.description
    if spec.compact is not None:
        options["compact"] = spec.compact
    if spec.store is not None:
        options["store"] = spec.store or None
    for name in _NAMED:
        if (said := getattr(spec, name)) is not None:
            options[name] = [one if names else _looked_up(one, namespace, name) for one in said]
    if spec.allow is not None:
        options["permissions"] = permissions_of(spec.allow, kept)
    if spec.approve is not None or spec.auto is not None or spec.deny is not None:
        options["approvals"] = approvals_of(spec, kept)
    return options


def _looked_up(name: str, namespace: Mapping[str, Any], key: str) -> Any:
    """The variable. Raises CellError with its name where it cannot be what the key says."""
    value = look_up(name, namespace, key)
    try:
        if key == "hooks":
            hooks_of([value])
        else:
            guardrails_of(key, [value])
    except ConfigError as error:
        raise CellError(f"{key}: {name}: {str(error).removeprefix(f'{key}: ')}") from None
    return value


def _texts(spec: CellSpec, kept: BaseAgent | None) -> Texts | None:
    if spec.language is None and spec.texts is None:
        return kept.texts if kept else None
    before = kept.texts if kept else Texts()
    said = before.overrides if spec.texts is None else spec.texts
    return Texts(spec.language or before.language, said)
