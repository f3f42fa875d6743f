"""Deciding: who decides about the tool calls that a run of a cell waits for, and what happens where nobody does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nbagent.approvals.decision import Decision, Reject
from nbagent.errors import RunInterrupted
from nbagent.notebook.front_end import somebody_is_there
from nbagent.notebook.header import shorten
from nbagent.notebook.panel import Unanswered
from nbagent.runtime.interrupts import interrupts
from nbagent.views.safe import inline

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.resuming import ResumeOptions
    from nbagent.approvals.asking import Asked
    from nbagent.approvals.pending import PendingAction
    from nbagent.notebook.approval_question import ApprovalQuestion
    from nbagent.notebook.decisions import OnApproval
    from nbagent.notebook.show import Output
    from nbagent.runtime.result import RunResult

Who = Literal["person", "later", "words", "deny", "nobody"]
"""`person`: by buttons where they can be clicked, else in words; `later`: by buttons when the cell has ended."""
NOBODY_ASKED = "nobody could be asked"


@dataclass(frozen=True, slots=True)
class Way:
    """How a run that waits goes on. `decision`: what was decided, by digest; `decide`: who decides about the rest;
    `scope`: the conversation that it belongs to; `run`: the id of one that is on disk; `revoke`: the tool that is asked
    about again, True for all."""

    decision: dict[str, Decision]
    decide: Asked | None = None
    scope: Hashable = None
    run: str | None = None
    revoke: str | bool = False

    @property
    def said(self) -> dict[str, Decision] | None:
        """The decision of `resume`. A run on disk goes on without one, as far as it can."""
        return None if self.run is not None and not self.decision else self.decision

    @property
    def options(self) -> ResumeOptions:
        """The options of `resume`."""
        return {"run": self.run, "scope": self.scope, "decide": self.decide, "revoke": self.revoke}


def who_decides(shell: InteractiveShell, said: OnApproval | None, *, quiet: bool) -> Who:
    """Who decides about calls that wait, where neither the cell nor the agent does. `said`: what the cell says."""
    if said == "deny":
        return "deny"
    if said == "input":
        return "words"
    if quiet or not somebody_is_there(shell):
        return "nobody"
    if said == "suspend":
        return "later" if getattr(shell, "kernel", None) is not None else "nobody"
    return "person"


async def decided(output: Output, who: Who, question: ApprovalQuestion) -> Way | Unanswered:
    """What is decided about calls that wait while the cell is awaited. An interrupt ends the cell as CancelledError;
    the run still waits then."""
    if who == "person":
        return _way(await output.ask(question))
    with interrupts(awaited=True):
        return decided_now(output, who, question)


def decided_now(output: Output, who: Who, question: ApprovalQuestion) -> Way | Unanswered:
    """The same where nothing can be awaited. An interrupt is KeyboardInterrupt."""
    if who in ("nobody", "later"):
        return Unanswered.NOBODY
    if who == "deny":
        return Way({}, denied) if _denied(question.pendings) else Unanswered.NOBODY
    return _way(output.ask_in_words(question) if who == "words" else output.ask_now(question))


def _way(decisions: dict[str, Decision] | Unanswered) -> Way | Unanswered:
    return decisions if isinstance(decisions, Unanswered) else Way(decisions)


def denied(pendings: tuple[PendingAction, ...], /) -> dict[str, Decision]:
    """Rejects what would have to be asked. Whether a call that has started took effect is no such question."""
    return _denied(pendings)


def _denied(pendings: Sequence[PendingAction]) -> dict[str, Decision]:
    return {one.digest: Reject(NOBODY_ASKED) for one in pendings if one.kind == "approval"}


def waits(result: RunResult | None) -> tuple[PendingAction, ...]:
    """The calls that a run waits for; none where it does not wait, or only its plan does."""
    interrupt = None if result is None else result.interrupt
    return () if interrupt is None else tuple([one for one in interrupt.pendings if one.kind != "plan"])


def interrupted(name: str, pendings: Sequence[PendingAction], *, by_buttons: bool = False) -> RunInterrupted:
    """The error of a cell whose run waits. `by_buttons`: whether there are some that outlive the cell."""
    calls = ", ".join([shorten(inline(one.shown), 200) for one in pendings])
    buttons = "the buttons above, with " if by_buttons else ""
    return RunInterrupted(
        f"{name} waits for a decision about {calls}. Decide with {buttons}`%agent approve {name}` or "
        f"`%agent reject {name} --reason '…'`, or beforehand in the cell: `decisions: [approve]` (`%agent pending` "
        "shows all of it)"
    )


def shown_calls(pendings: Sequence[PendingAction]) -> str:
    """Calls that wait, with what names each: for errors."""
    said = [(inline(one.call_id), shorten(inline(one.shown), 100), one.digest[:8]) for one in pendings]
    return ", ".join([f"{call_id} ({shown}, digest {digest})" for call_id, shown, digest in said])
