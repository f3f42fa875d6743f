"""Gate: what every tool call of a run passes before it runs, whoever brings the tool: the one place for approvals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from nbagent.approvals.asking import Decided, Listed, matched
from nbagent.approvals.decision import Answer, Approve, Decision, Reject, Stop
from nbagent.approvals.pending import PendingAction, canonical, digest_of
from nbagent.approvals.policy import RUN, ApprovalPolicy, Ruling, strictest
from nbagent.events import ApprovalDecided, ApprovalRequested, ApprovalRevoked, ToolStarted
from nbagent.runtime.consult import consult
from nbagent.runtime.pendings import asking, unknown
from nbagent.tools.arguments import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence

    from nbagent.approvals.asking import Asked
    from nbagent.messages import ToolCall
    from nbagent.runtime.consult import Consult
    from nbagent.texts.pack import Texts
    from nbagent.tools.tool import Tool


class Stopped(BaseException):
    """A person has ended the run where it waited for a decision, and those around it. No error of a tool, so nothing
    that keeps those from the run may catch it."""


class Gate:
    """The gate of one run. Those of the runs around it count, too: of several rulings the strictest.

    `deciders`: who decides, one after another, each about what is left. `revoked`: tools of which nothing that has
    been approved for the rest of the run counts any more, here and in runs inside.
    """

    __slots__ = (
        "_agent", "_always", "_around", "_number", "_policy", "_revoked", "_run_id", "deciders", "has_rules",
        "revokes", "texts",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917
        self, policy: ApprovalPolicy, texts: Texts, agent: str, run_id: str, deciders: tuple[Asked, ...],
        around: Gate | None = None, revoked: Collection[str] = (),
    ) -> None:  # fmt: skip
        self._policy = policy
        self.texts = texts
        """What is said to the model."""
        self._agent = agent
        self._run_id = run_id
        self._around = around
        self.has_rules = bool(policy) or (around is not None and around.has_rules)
        self._number = 0
        inherited: frozenset[str] = frozenset() if around is None else around._revoked  # noqa: SLF001 - of its own class
        self._revoked: frozenset[str] = inherited.union(revoked)
        self.revokes = bool(self._revoked)
        """Whether `revocations` has something to tell, when the run goes on."""
        self._always: list[tuple[ApprovalRequested, str | None]] = []
        """Questions whose approval counts for later calls, each with the arguments that these need to have."""
        self.deciders: tuple[Asked, ...] = deciders
        if around is not None:  # what was decided about these very calls comes first, whoever else decides in here
            given = [one for one in around.deciders if isinstance(one, Decided)]
            self.deciders = (*given, *deciders, *[one for one in around.deciders if one not in given])

    @property
    def in_order(self) -> bool:
        """Whether decisions are written down in an order, which runs side by side would not keep."""
        return any(isinstance(one, Listed) for one in self.deciders)

    def concerns(self, tool: Tool) -> bool:
        """Whether a call of the tool may have to wait, or be refused."""
        if self.has_rules:
            return self._policy.concerns(tool) or (self._around is not None and self._around.concerns(tool))
        return bool(tool.approval)

    def ruling(self, tool: Tool, call: ToolCall) -> Ruling:
        """What happens with a call that could run. What the tool says of itself, this agent may know better; the runs
        around it only add to that."""
        if not self.concerns(tool):
            return RUN
        arguments = parse(call.arguments)
        rulings, around = [self._policy.ruling(tool, arguments)], self._around
        while around is not None:
            rulings.append(around._policy.rules_about(tool, arguments) or RUN)  # noqa: SLF001 - one of its own class
            around = around._around  # noqa: SLF001
        return strictest(*rulings)

    def denied(self, ruling: Ruling) -> str:
        """What the model reads of a call that may not run."""
        return self.texts.text("approval.denied", rule=ruling.why)

    def question(self, turn: int, index: int, call: ToolCall, tool: Tool, why: str) -> ApprovalRequested:
        """The question about a call, the next of this run."""
        self._number += 1
        digest = digest_of(self._run_id, self._number, call, tool.origin, tool.source)
        return ApprovalRequested(turn, index, call, self._number, digest, tool.origin, why)

    def changed(self, asked: ApprovalRequested, tool: Tool) -> str:
        """What is not as it was when the question was put; nothing where all is."""
        call = asked.call
        digest = digest_of(self._run_id, asked.number, call, tool.origin, tool.source)
        if (digest, tool.origin) == (asked.digest, asked.origin):
            return ""
        if tool.origin != asked.origin:
            return f"the tool came from {asked.origin}, and comes from {tool.origin}"
        return "the code of the tool is another one, or the question belongs to another run"

    def seen(self, asked: ApprovalRequested) -> None:
        """A recorded run has put this question."""
        self._number = max(self._number, asked.number)

    def remembered(self, event: ApprovalDecided, question: ApprovalRequested) -> None:
        """Keeps what an approval says about later calls."""
        if event.verdict == "approved" and event.always:
            arguments = canonical(event.arguments or question.call.arguments) if event.always == "arguments" else None
            self._always.append((question, arguments))

    def revocations(self, turn: int) -> list[ApprovalRevoked]:
        """What does not count any more of what has been approved until now; told once."""
        self.revokes = False
        known = {one.digest: one.call.name for one, _ in self._always}
        return [ApprovalRevoked(turn, name, digest) for digest, name in known.items() if name in self._revoked]

    def forgotten(self, event: ApprovalRevoked) -> None:
        """Lets go of what an approval has said about later calls."""
        self._always = [(one, arguments) for one, arguments in self._always if one.digest != event.digest]

    def always(self, asked: ApprovalRequested, tool: Tool) -> ApprovalDecided | None:
        """What an earlier approval of this run says about this call: of the same tool, which has not changed since."""
        for before, arguments in self._always:
            is_meant = arguments is None or arguments == canonical(asked.call.arguments)
            if before.call.name == asked.call.name and is_meant and not self.changed(before, tool):
                return ApprovalDecided(asked.turn, asked.index, "approved", asked.digest, by="always")
        return None

    def decided(
        self, pendings: Sequence[PendingAction]
    ) -> Generator[Consult, None, Mapping[str, tuple[Decision, str]]]:
        """What those who decide say, and who said it, by the digest of the question. Nothing about what nobody decides.

        Raises DecisionError for what is no decision.
        """
        found: dict[str, tuple[Decision, str]] = {}
        for decider in self.deciders:
            left = tuple([one for one in pendings if one.digest not in found])
            if not left:
                break
            answer = yield from consult(cast("Callable[..., Any]", decider), (left,), "what decides about tool calls")
            by = getattr(decider, "by", "policy")
            found.update({digest: (decision, by) for digest, decision in matched(answer, left).items()})
        return found

    def pending(self, asked: ApprovalRequested) -> PendingAction:
        """The question, as those see it who decide."""
        return asking(asked, self._agent)

    def unknown(self, started: ToolStarted, times: int) -> PendingAction:
        """The question about a call that was started, so many times, and has no result."""
        return unknown(self._run_id, started, self._agent, times)

    def said(self, event: ApprovalDecided) -> str:
        """What the model is told of an approval beside the result: other arguments, a note."""
        texts: list[str] = []
        if event.arguments is not None:
            texts.append(self.texts.text("approval.edited", arguments=event.arguments))
        if event.text:
            texts.append(self.texts.text("approval.note", note=event.text))
        return "\n".join(texts)

    def rejected(self, event: ApprovalDecided) -> str:
        """What the model is told of a rejection."""
        if not event.text:
            return self.texts["approval.rejected"]
        return self.texts.text("approval.rejected_because", reason=event.text)


def event_of(decision: Decision, turn: int, index: int, digest: str, by: str) -> ApprovalDecided:
    """A decision as an event. Raises DecisionError for arguments that JSON has no words for."""
    match decision:
        case Approve():
            return ApprovalDecided(
                turn, index, "approved", digest, decision.edited, decision.note, decision.always or "", by
            )  # fmt: skip
        case Reject(reason):
            return ApprovalDecided(turn, index, "rejected", digest, text=reason, by=by)
        case Answer(text):
            return ApprovalDecided(turn, index, "answered", digest, text=text, by=by)
        case Stop(reason):
            return ApprovalDecided(turn, index, "stopped", digest, text=reason, by=by)
