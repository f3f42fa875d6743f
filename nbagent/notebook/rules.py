"""Rules: what a cell says about which tool calls wait for a person, which run, which never run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from nbagent.agents.spec_approvals import LISTS, check, registries
from nbagent.approvals.policy import NOTHING, ApprovalPolicy
from nbagent.approvals.rule import EVERYTHING, Rule
from nbagent.errors import CellError, ConfigError
from nbagent.notebook.header import Items, Node, Scalar
from nbagent.tools.permissions import ToolPermissions
from nbagent.tools.tool import NAME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from nbagent.agents.base import BaseAgent
    from nbagent.notebook.spec import CellSpec
    from nbagent.tools.registry import ToolRegistry

_SUCH_AS = "such as `[search, pay(amount > 100), mcp:*]`"


@dataclass(frozen=True, slots=True)
class CellRule:
    """A rule, as it stands in a cell."""

    text: str
    where: str = field(default="", compare=False)
    """For errors: `` Cell line 3: `approve` ``."""

    @property
    def name(self) -> str:
        """The one tool that it is about; empty where it is about a pattern, a place or all."""
        name = self.text.partition("(")[0].strip()
        return name if NAME.fullmatch(name) and name != EVERYTHING else ""


def read_rules(node: Node, where: str) -> tuple[CellRule, ...]:
    """A list of rules, or a text with commas between them."""
    match node:
        case Scalar(text=text, line=line):
            found = [(one, line) for one in _parted(text)]
        case Items(nodes):
            found = list(_items(nodes, where))
        case _:
            found = []
    if not found:
        raise CellError(f"{where} must be a list of tools, {_SUCH_AS}.")
    rules: list[CellRule] = []
    for text, line in found:
        place = where if line == node.line else where.replace(f"line {node.line}:", f"line {line}:")
        try:
            rules.append(CellRule(str(Rule(text)), place))
        except ConfigError as error:
            quotes = "; put a rule with brackets, commas or `#` in it into quotes" if _depth(text) else ""
            raise CellError(f"{place}: {error}{quotes}") from None
    return tuple(rules)


def _items(nodes: Collection[Node], where: str) -> Iterator[tuple[str, int]]:
    """The texts of a list. YAML parts `[pay(amount in (1, 2))]` at each comma; what is inside brackets is one again."""
    open_text, open_line = "", 0
    for node in nodes:
        if not isinstance(node, Scalar):
            raise CellError(f"{where} must be a list of tools, {_SUCH_AS}; one that contains `: `, `[` needs quotes.")
        if open_text:
            text = f"{open_text}, {node.text}"
        else:
            text, open_line = node.text, node.line
        open_text = text if _depth(text) > 0 and not node.quoted else ""
        if not open_text:
            yield text, open_line
    if open_text:
        yield open_text, open_line


def _parted(text: str) -> Iterator[str]:
    """The parts of a text between the commas that are outside of brackets and quotes."""
    part = ""
    for piece in text.split(","):
        part = f"{part},{piece}" if part else piece
        if _depth(part) <= 0:
            if part.strip():
                yield part.strip()
            part = ""
    if part.strip():
        yield part.strip()


def _depth(text: str) -> int:
    """How many brackets are open at the end; an open quote counts, too."""
    depth, quote = 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            depth += (character in "([") - (character in ")]")
    return depth + bool(quote)


def permissions_of(allow: Collection[str], kept: BaseAgent | None) -> ToolPermissions:
    """Which tools may be called. What the agent's permissions say besides stays. Raises CellError."""
    before = None if kept is None else kept.permissions
    if before is not None and not isinstance(before, ToolPermissions):  # pyright: ignore[reportUnnecessaryIsInstance]  # any object with permitted(registry) will do
        raise CellError(f"permissions: the agent has {before!r}, which a cell cannot change; change it in Python")
    try:
        return replace(before or ToolPermissions(), allow=allow)
    except ConfigError as error:
        raise CellError(str(error)) from None


def approvals_of(spec: CellSpec, kept: BaseAgent | None) -> ApprovalPolicy | None:
    """Which calls wait, None where no rule is left. A list that is not said stays."""
    before = NOTHING if kept is None else kept.approvals
    lists = {key: [str(rule) for rule in getattr(before, key)] for key in LISTS}
    for key in LISTS:
        if (said := _said(spec, key)) is not None:
            lists[key] = [one.text for one in said]
    return ApprovalPolicy(**lists) or None


def check_rules(spec: CellSpec, approvals: ApprovalPolicy | None, tools: ToolRegistry, more: Collection[str]) -> None:
    """Raises CellError for a rule about a tool or an argument that there is not: a misspelt one would let pass what it
    is meant to stop. `more`: names of tools that are not in the registry."""
    everywhere = list(registries(tools))
    inside = [name for registry in everywhere[1:] for name in registry.names]
    for key in ("allow", *LISTS):
        for one in _said(spec, key) or ():
            known = [*tools.names, *more, *(inside if key != "allow" else ())]
            if one.name and one.name not in known:
                near = "".join(get_close_matches(one.name, known, n=1))
                hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(known) or 'none'}"
                raise CellError(f"{one.where or key}: the agent has no tool {one.name!r}; {hint}")
            try:
                for registry in everywhere if key != "allow" else ():
                    Rule(one.text).check(registry)
            except ConfigError as error:
                raise CellError(f"{one.where}: {error}") from None
    if approvals is not None:
        check(approvals, tools)


def _said(spec: CellSpec, key: str) -> tuple[CellRule, ...] | None:
    said: tuple[CellRule | str, ...] | None = getattr(spec, key)
    return None if said is None else tuple([one if isinstance(one, CellRule) else CellRule(one) for one in said])
