"""ApprovalPolicy: which tool calls run by themselves, which wait for a person, which never run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from nbagent.approvals.rule import Rule, Undetermined
from nbagent.errors import ConfigError
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbagent.tools.registry import ToolRegistry
    from nbagent.tools.tool import Tool

What = Literal["run", "ask", "deny"]


class Ruling(Struct, frozen=True):
    """What a policy says about a call."""

    what: What
    why: str = ""
    """The rule that says so, such as `approve: pay(amount > 100)`."""


RUN = Ruling("run")
_ORDER: tuple[tuple[What, str], ...] = (("deny", "deny"), ("ask", "approve"), ("run", "auto"))
_STRICTNESS: dict[What, int] = {"run": 0, "ask": 1, "deny": 2}


class ApprovalPolicy:
    """Which calls run, which wait for a person, which are refused.

        ApprovalPolicy(approve=["search", "pay(amount > 100)", "mcp:*"], auto=["read_*"], deny=["delete_*"])

    Each is a list of rules (see `Rule`): tools by exact name, by pattern, by where they come from, `all`; with a
    condition about the arguments where you like. They are looked at in this order, and the first that is about the
    call counts: `deny`, `approve`, `auto`, then what the tool says of itself (`@tool(approval=…)`), then `all` in
    `approve`, then in `auto`. A call that none of them is about runs.

    Where a condition cannot be decided (an argument is missing, or of another kind), a person is asked. Raises
    ConfigError naming the list and the rule.
    """

    def __init__(
        self, approve: Iterable[str] | str = (), auto: Iterable[str] | str = (), deny: Iterable[str] | str = ()
    ) -> None:
        self.approve = _rules("approve", approve)
        self.auto = _rules("auto", auto)
        self.deny = _rules("deny", deny)
        named: list[tuple[What, str, Rule]] = []
        everything: list[tuple[What, str, Rule]] = []
        for what, key in _ORDER:
            for rule in getattr(self, key):
                is_last = rule.is_everything and what != "deny"
                (everything if is_last else named).append((what, key, rule))
        self._named, self._everything = tuple(named), tuple(everything)

    def ruling(self, tool: Tool, arguments: Mapping[str, Any]) -> Ruling:
        """What happens with a call. `arguments`: as they would run."""
        ruling = _first(self._named, tool, arguments) or tool_ruling(tool, arguments)
        return ruling or _first(self._everything, tool, arguments) or RUN

    def rules_about(self, tool: Tool, arguments: Mapping[str, Any]) -> Ruling | None:
        """What its rules alone say about a call; None where that is nothing."""
        return _first((*self._named, *self._everything), tool, arguments)

    def hides(self, tool: Tool) -> bool:
        """Whether no call of the tool can run, so that the model need not know of it."""
        return any(rule.condition is None and rule.names(tool) for rule in self.deny)

    def concerns(self, tool: Tool) -> bool:
        """Whether a call of the tool may have to wait, or be refused."""
        if tool.approval not in (None, False):
            return True
        return any(what != "run" and rule.names(tool) for what, _, rule in (*self._named, *self._everything))

    def check(self, tools: ToolRegistry) -> None:
        """Raises ConfigError where a condition speaks of an argument that its tool does not have."""
        for _, key, rule in (*self._named, *self._everything):
            try:
                rule.check(tools)
            except ConfigError as error:
                raise ConfigError(f"{key}: {error}") from None

    def __bool__(self) -> bool:
        return bool(self._named or self._everything)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ApprovalPolicy) and (self._named, self._everything) == (
            other._named, other._everything
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self._named, self._everything))

    def __repr__(self) -> str:
        lists = {"approve": self.approve, "auto": self.auto, "deny": self.deny}
        said = [f"{key}={[str(rule) for rule in rules]}" for key, rules in lists.items() if rules]
        return f"ApprovalPolicy({', '.join(said)})"


def policy_of(given: object) -> ApprovalPolicy:
    """A policy as it is given. Raises ConfigError."""
    if not isinstance(given, ApprovalPolicy):
        raise ConfigError(f"approvals: expected ApprovalPolicy(approve=[…], auto=[…], deny=[…]); got {given!r}")
    return given


def strictest(*rulings: Ruling) -> Ruling:
    """The first of the strictest."""
    return max(rulings, key=lambda ruling: _STRICTNESS[ruling.what])


def tool_ruling(tool: Tool, arguments: Mapping[str, Any]) -> Ruling | None:
    """What the tool says of itself; None where that is nothing."""
    said = tool.approval
    if said is None:
        return None
    if isinstance(said, bool):
        return Ruling("ask", f"{tool.name} asks for approval") if said else RUN
    rule = Rule(f"{tool.name}({said})")
    try:
        return Ruling("ask", str(rule)) if rule.holds(tool, arguments) else RUN
    except Undetermined:
        return Ruling("ask", f"{rule}: cannot be decided")


def _first(rules: Iterable[tuple[What, str, Rule]], tool: Tool, arguments: Mapping[str, Any]) -> Ruling | None:
    for what, key, rule in rules:
        if not rule.names(tool):
            continue
        try:
            if rule.holds(tool, arguments):
                return Ruling(what, f"{key}: {rule}")
        except Undetermined:
            if what != "run":  # in doubt a person is asked
                return Ruling("ask", f"{key}: {rule}, which cannot be decided")
    return None


def _rules(key: str, given: Iterable[str] | str) -> tuple[Rule, ...]:
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]  # notebooks are not type-checked
        raise ConfigError(f"{key}: expected a list of tools, such as [search, pay(amount > 100)]; got {given!r}")
    made: list[Rule] = []
    for one in given:
        if not isinstance(one, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"{key}: expected tools by name, such as search or pay(amount > 100); got {one!r}")
        try:
            made.append(Rule(one))
        except ConfigError as error:
            raise ConfigError(f"{key}: {error}") from None
    return tuple(made)


NOTHING = ApprovalPolicy()
"""Says nothing: only what a tool says of itself counts."""
