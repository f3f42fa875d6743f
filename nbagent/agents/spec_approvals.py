"""Spec approvals: what an agent's spec says of calls that wait, that run, that never run; and whether it can be so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from nbagent.agents.parts import agents_in
from nbagent.agents.spec_no_text import NoText, kind_of
from nbagent.approvals.policy import ApprovalPolicy
from nbagent.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.tools.registry import ToolRegistry

LISTS = ("approve", "auto", "deny")
"""The lists of rules, as `ApprovalPolicy` has them."""


def folded(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a spec with `approve`, `auto` and `deny` as a policy. Raises ConfigError naming the list."""
    kept = {name: value for name, value in fields.items() if name not in LISTS}
    said = {name: _listed(name, value) for name in LISTS if (value := fields.get(name)) is not None}
    if not said:
        return kept
    if kept.get("approvals") is not None:
        raise ConfigError(f"{next(iter(said))} and approvals: both say which calls wait; keep one of them")
    policy = ApprovalPolicy(**said)
    return {**kept, "approvals": policy} if policy else kept


def _listed(key: str, given: Any) -> list[str]:
    """Raises ConfigError for what are no texts."""
    rules: Any = [given] if isinstance(given, str) else given
    if not isinstance(rules, Iterable) or isinstance(rules, Mapping):
        raise ConfigError(f"{key}: expected a list of tools, such as ['search', 'pay(amount > 100)']; got {given!r}")
    listed = list(cast("Iterable[Any]", rules))
    if wrong := [one for one in listed if not isinstance(one, str)]:
        raise ConfigError(f"{key}: expected tools by name, such as search or pay(amount > 100); got {wrong[0]!r}")
    return listed


def rules_of(key: str, approvals: Any) -> list[str]:
    """The rules of a list."""
    return [str(rule) for rule in getattr(approvals, key, ())]


def approvals_value(value: Any) -> dict[str, Any]:
    """How a policy is written in a cell. Raises NoText."""
    if type(value) is not ApprovalPolicy:
        raise NoText(kind_of(value))
    return {key: rules for key in LISTS if (rules := rules_of(key, value))}


def registries(tools: ToolRegistry) -> Iterator[ToolRegistry]:
    """The tools of an agent, and those of the agents among them: their calls pass its rules, too."""
    yield tools
    for agent in agents_in(tools):
        yield agent.prompting.own_tools


def check(approvals: ApprovalPolicy, tools: ToolRegistry) -> None:
    """Raises ConfigError where a condition speaks of an argument that its tool does not have."""
    for registry in registries(tools) if approvals else ():
        approvals.check(registry)
