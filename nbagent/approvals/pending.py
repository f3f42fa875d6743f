"""PendingAction: a tool call that waits for a decision, and the digest that binds a decision to it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Literal

from nbagent.tools.arguments import InvalidArguments, parse
from nbagent.values import PartlyCompared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbagent.messages import ToolCall

PendingKind = Literal["approval", "unknown", "plan"]


class PendingAction(PartlyCompared, frozen=True):
    """A tool call that waits for a decision; or a plan, as the call of a tool of that name."""

    aside = ("parameters",)

    tool_name: str
    arguments: str
    """JSON text, as it would run."""
    call_id: str
    digest: str = ""
    """What a decision is bound to: run, call, tool, its source, its arguments. A change of any of them changes it."""
    agent: str = ""
    """Whose call it is: of a run inside, that agent's."""
    origin: str = "function"
    """Where the tool comes from: `function`, `mcp:SERVER`, `agent:NAME`."""
    why: str = ""
    """The rule that asks for it."""
    kind: PendingKind = "approval"
    """`unknown`: it was started and has no result, so nobody knows whether it took effect. `plan`: a proposed plan."""
    parameters: Mapping[str, Any] | None = None
    """The JSON schema of the arguments, where a person is about to be asked, who may write some."""

    @property
    def shown(self) -> str:
        """The call in one line, such as `pay(amount=120)`."""
        try:
            parsed = parse(self.arguments)
        except InvalidArguments:
            return f"{self.tool_name}({self.arguments})"
        said = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in parsed.items()]
        return f"{self.tool_name}({', '.join(said)})"


def digest_of(run_id: str, number: int, call: ToolCall, origin: str, source: str) -> str:
    """What a decision about this call is bound to. `number`: which question of the run it is, from 1."""
    said = json.dumps([run_id, number, call.id, call.name, canonical(call.arguments), origin, source])
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def canonical(arguments: str) -> str:
    """The arguments in one form, whatever the order and the spacing in which they came."""
    try:
        return json.dumps(parse(arguments), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except InvalidArguments:
        return arguments
