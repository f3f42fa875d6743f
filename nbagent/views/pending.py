"""Pending: a call that waits for a decision, as far as views know it; and what of a run waits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from nbagent.views.block import Name, Title
from nbagent.views.safe import exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbagent.messages import ToolCall
    from nbagent.views.trace import Call, Trace

_PLAIN = re.compile(r"[A-Za-z0-9_\-]{1,64}")
_SHORT = 8
"""Characters of a digest that people read and write."""


class Pending(Protocol):
    """A call that waits, whoever knows of it. `PendingAction` is one."""

    @property
    def tool_name(self) -> str: ...
    @property
    def arguments(self) -> str: ...
    @property
    def call_id(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def why(self) -> str: ...
    @property
    def kind(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that a run waits for, read from its events."""

    tool_name: str
    arguments: str
    call_id: str
    agent: str
    kind: str
    digest: str = ""
    origin: str = "function"
    why: str = ""


def waiting(trace: Trace) -> Iterator[Waiting]:
    """The calls that a run waits for, with those of runs inside; of one that has ended otherwise none."""
    if trace.status in (None, "interrupted"):
        for call in trace.calls:
            yield from _waiting(call, trace)


def _waiting(call: Call, trace: Trace) -> Iterator[Waiting]:
    if call.waits and (asked := call.question):
        made = _made(asked.call, trace, "approval")
        yield Waiting(*made, asked.digest, asked.origin, asked.why)
    elif call.run is not None and call.observation is None:
        yield from waiting(call.run)
    elif call.is_unknown and call.started and trace.status == "interrupted":
        yield Waiting(*_made(call.started, trace, "unknown"))


def _made(call: ToolCall, trace: Trace, kind: str) -> tuple[str, str, str, str, str]:
    return call.name, call.arguments, call.id, trace.agent, kind


def title(pending: Pending) -> Title:
    """`buyer wants to run pay from mcp:bank (approve: pay(amount > 100))`."""
    agent = (Name(exact(pending.agent)),) if pending.agent else ("an agent",)
    if pending.kind == "plan":
        return (*agent, " proposes a plan")
    tool = (Name(exact(pending.tool_name)), *origin(pending.origin))
    if pending.kind == "unknown":
        return (*agent, " has started ", *tool, ", and there is no result: nobody knows whether it took effect")
    return (*agent, " wants to run ", *tool, *rule(pending.why))


def meaning(pending: Pending) -> str:
    """What the decisions do to a call that may have run; nothing where they say it themselves."""
    if pending.kind != "unknown":
        return ""
    return "Approve it: it runs again. Reject it: it does not. Answer it: what you say is its result."


def origin(of: str) -> Title:
    """Where a tool comes from; nothing of a plain function."""
    return () if of in ("", "function") else (" from ", Name(exact(of)))


def rule(why: str) -> Title:
    """Why there is a question."""
    return (" (", Name(exact(why)), ")") if why else ()


def handle(pending: Pending, among: Iterable[Pending]) -> str:
    """What a decision names it by: its call's id; the beginning of its digest where that is no plain word, or that of
    several. Empty where there is neither."""
    same = sum(each.call_id == pending.call_id for each in among)
    return pending.call_id if same == 1 and _PLAIN.fullmatch(pending.call_id) else pending.digest[:_SHORT]
