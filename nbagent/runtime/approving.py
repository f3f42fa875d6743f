"""Approving: what there is to decide about the tool calls of one reply, and what was decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nbagent.approvals.decision import Approve
from nbagent.errors import DecisionError
from nbagent.events import ApprovalDecided, ApprovalRequested, ApprovalRevoked, ToolStarted
from nbagent.messages import Observation, ToolCall, ToolFailure
from nbagent.runtime.calling import Invocation
from nbagent.runtime.gate import Stopped, event_of

if TYPE_CHECKING:
    from collections.abc import Container, Generator, Mapping

    from nbagent.approvals.decision import Decision
    from nbagent.approvals.pending import PendingAction
    from nbagent.runtime.consult import Consult
    from nbagent.runtime.gate import Gate
    from nbagent.runtime.journal import CallEvent, Journal
    from nbagent.tools.tool import Tool

Check = Callable[[int, ToolCall], Invocation | ToolFailure]
"""Whether a call could run."""
Instead = ToolFailure | Observation
"""What a call is answered with in place of running."""


class Undecided(Exception):
    """Calls wait for a person: they may not run yet, or were started and have no result, or wait inside a run."""


class Approving:
    """The questions about the calls of one reply, by their number in it, and the decisions."""

    __slots__ = ("_decided", "_gate", "_journal", "_starts", "_taken_up", "_turn", "questions")

    def __init__(self, gate: Gate, journal: Journal, turn: int) -> None:
        self._gate = gate
        self._journal = journal
        self._turn = turn
        self.questions: dict[int, ApprovalRequested] = {}
        self._decided: dict[int, ApprovalDecided] = {}
        self._taken_up: dict[int, ApprovalDecided] = {}
        """What was decided about calls that had started and have no result."""
        self._starts: dict[int, list[ToolStarted]] = {}

    def take(self, event: CallEvent) -> None:
        """Something that was asked or decided, now or in the recorded run."""
        match event:
            case ApprovalRequested(_, index):
                self.questions[index] = event
                self._gate.seen(event)
            case ApprovalDecided(_, index, digest=digest):
                question = self.questions.get(index)
                if question is not None and question.digest == digest:
                    self._decided[index] = event
                    self._gate.remembered(event, question)
                else:
                    self._taken_up[index] = event
            case ApprovalRevoked():
                self._gate.forgotten(event)
            case ToolStarted(_, index):
                self._starts.setdefault(index, []).append(event)
                self._taken_up.pop(index, None)  # that was about the time before
            case _:
                pass

    def ruled(self, index: int, call: ToolCall, tool: Tool) -> ToolFailure | None:
        """Why the call never runs; None where it runs, at once or when that is decided."""
        ruling = self._gate.ruling(tool, call)
        if ruling.what == "deny":  # also where it was a question when the rules were other ones
            return ToolFailure("denied", self._gate.denied(ruling))
        if ruling.what == "ask" and index not in self.questions:
            self.questions[index] = question = self._gate.question(self._turn, index, call, tool, ruling.why)
            self._journal.append(question)
        return None

    def revoke(self) -> None:
        """Puts down what does not count any more of what was approved for the rest of the run."""
        for event in self._gate.revocations(self._turn):
            self._put_down(event)

    def decide(self, could_run: Container[int], check: Check) -> Generator[Consult]:
        """Asks about the calls that nobody has decided about. `could_run`: those that would run, if they may.

        Raises `Undecided` where some are left, DecisionError for what is no decision, or where something else would run
        than what is asked about; nothing is decided then.
        """
        left = {i: one for i, one in self.questions.items() if i not in self._decided and i in could_run}
        self._approve_as_before(left, check)
        if not left:
            return
        for question in left.values():
            self._tool_of(question, check)
        found = yield from self._gate.decided([self._gate.pending(question) for question in left.values()])
        made = [(one, *found[one.digest]) for one in left.values() if one.digest in found]
        events = [self._made(question, decision, by, check) for question, decision, by in made]
        for event in events:
            del left[event.index]
            self._put_down(event)
        self._approve_as_before(left, check)
        if left:
            waiting = ", ".join([self._gate.pending(question).shown for question in left.values()])
            raise Undecided(f"waits for a decision about {waiting}")

    def _approve_as_before(self, left: dict[int, ApprovalRequested], check: Check) -> None:
        """Takes out those that an earlier decision has approved, too."""
        for index, question in list(left.items()):
            would_run = check(index, question.call)
            if isinstance(would_run, Invocation) and (event := self._gate.always(question, would_run.tool)) is not None:
                del left[index]
                self._put_down(event)

    def _made(self, question: ApprovalRequested, decision: Decision, by: str, check: Check) -> ApprovalDecided:
        """The decision as an event. Raises DecisionError where something else would run by now, or for arguments that
        the tool does not take, or that a rule forbids."""
        event, call = event_of(decision, self._turn, question.index, question.digest, by), question.call
        tool = self._tool_of(question, check)
        if event.arguments is not None and (why := self._wrong(question.index, call, tool, event.arguments, check)):
            raise DecisionError(f"the arguments that were put in place of {call.name}'s: {why}")
        return event

    def _wrong(self, index: int, call: ToolCall, tool: Tool, arguments: str, check: Check) -> str:
        """Why a call may not run with these arguments; nothing where it may."""
        edited = ToolCall(call.id, call.name, arguments)
        would_run = check(index, edited)
        if isinstance(would_run, ToolFailure):
            return would_run.message
        ruling = self._gate.ruling(tool, edited)
        return f"not permitted ({ruling.why})" if ruling.what == "deny" else ""

    def _tool_of(self, question: ApprovalRequested, check: Check) -> Tool:
        """The tool of the call. Raises DecisionError where what would run is not what the question is about."""
        would_run = check(question.index, question.call)
        if isinstance(would_run, ToolFailure):
            raise self._other(question, would_run.message)
        return self._same(question, would_run.tool)

    def _same(self, question: ApprovalRequested, tool: Tool) -> Tool:
        if changed := self._gate.changed(question, tool):
            raise self._other(question, changed)
        return tool

    def _other(self, question: ApprovalRequested, why: str) -> DecisionError:
        shown = self._gate.pending(question).shown
        return DecisionError(f"{shown}, which waits for a decision, is not what would run now: {why}")

    def _put_down(self, event: ApprovalDecided | ApprovalRevoked) -> None:
        self._journal.append(event)
        self.take(event)

    def as_decided(self, index: int, tool: Tool) -> ToolCall | Instead:
        """The call that runs, or what it is answered with. Raises Stopped where the run is over, DecisionError where
        something else would run than what was decided about."""
        question, event = self.questions[index], self._decided[index]
        call, shown = question.call, self._gate.pending(question).shown
        self._same(question, tool)
        if event.verdict == "approved":
            return call if event.arguments is None else ToolCall(call.id, call.name, event.arguments)
        return self._instead(event, call, shown)

    def take_up(self, open_calls: Mapping[int, ToolCall]) -> Generator[Consult, None, dict[int, Instead]]:
        """Asks whether calls that were started and have no result took effect. Those that are approved run again, the
        others are answered with what comes back. Raises `Undecided` where nobody says."""
        starts = {index: self._starts[index] for index in open_calls}
        pendings = {index: self._gate.unknown(known[-1], len(known)) for index, known in starts.items()}
        left = {i: one for i, one in pendings.items() if i not in self._taken_up}
        found = yield from self._gate.decided(list(left.values()))
        events = [
            self._taken(index, pending, *found[pending.digest])
            for index, pending in left.items()
            if pending.digest in found
        ]
        for event in events:
            del left[event.index]
            self._put_down(event)
        if left:
            names = ", ".join([one.tool_name for one in left.values()])
            raise Undecided(f"it is unknown whether {names} took effect: started, and no result recorded")
        decided = {index: self._taken_up[index] for index in open_calls}
        return {
            index: self._instead(event, open_calls[index], pendings[index].shown)
            for index, event in decided.items()
            if event.verdict != "approved"
        }

    def _taken(self, index: int, pending: PendingAction, decision: Decision, by: str) -> ApprovalDecided:
        if isinstance(decision, Approve) and decision.arguments is not None:
            raise DecisionError(f"{pending.shown} may have run: it runs again as it was, or not at all")
        return event_of(decision, self._turn, index, pending.digest, by)

    def _instead(self, event: ApprovalDecided, call: ToolCall, shown: str) -> Instead:
        if event.verdict == "stopped":
            raise Stopped(event.text or f"a person has stopped the run at {shown}")
        if event.verdict == "answered":
            return Observation(call.id, event.text)
        return ToolFailure("rejected", self._gate.rejected(event))

    def said(self, index: int) -> str:
        """What the model is told of the decisions about a call, beside its result."""
        events = [known[index] for known in (self._decided, self._taken_up) if index in known]
        return "\n".join(filter(None, [self._gate.said(event) for event in events]))
