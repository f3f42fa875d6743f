"""ApprovalQuestion: tool calls that wait, and what is to become of each."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.approvals.decision import Approve, Decision, Stop
from nbagent.approvals.pending import canonical
from nbagent.notebook.call_card import CallCard, Draft
from nbagent.notebook.card_parts import Parts
from nbagent.notebook.card_style import STYLE
from nbagent.notebook.in_words import in_words
from nbagent.notebook.panel import Question
from nbagent.views.safe import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nbagent.approvals.pending import PendingAction
    from nbagent.notebook.panel import Panel

Decisions = dict[str, Decision]


class ApprovalQuestion(Question[Decisions]):
    """What becomes of each call, by its digest: one card for each, and one answer for all of them."""

    def __init__(
        self, pendings: Sequence[PendingAction], said: str = "", drafts: Mapping[str, Draft] | None = None
    ) -> None:
        """`said`: why it is asked again; `drafts`: what somebody has written before about a call, by its digest."""
        self.pendings = tuple(pendings)
        self._said = said
        self._drafts = drafts or {}
        self._cards: list[CallCard] = []

    def again(self, pendings: Sequence[PendingAction], said: str) -> ApprovalQuestion:
        """The next question of the same run. What was written about a call that still waits is kept."""
        return ApprovalQuestion(pendings, said, {card.pending.digest: card.draft for card in self._cards})

    def widgets(self, panel: Panel[Decisions]) -> Sequence[Any]:
        import ipywidgets

        parts, many = Parts(panel), len(self.pendings)
        self._panel = panel
        self._cards = [
            CallCard(
                one, parts, self._changed, which=f"{number} of {many}" if many > 1 else "",
                draft=self._drafts.get(one.digest),
            )
            for number, one in enumerate(self.pendings, 1)
        ]  # fmt: skip
        self._left = parts.label("") if many > 1 else None
        asked = [one for one in self._cards if one.pending.kind == "approval"]
        buttons = [parts.button(f"Approve all {len(asked)}", self._approve_all)] if len(asked) > 1 else []
        buttons += [parts.button("Stop the run", self._stop, "danger")] if many > 1 else []
        below = [parts.line([*buttons, self._left])] if many > 1 else []
        said = [parts.label(visible(f"That cannot be: {self._said}"))] if self._said else []
        card = parts.column([
            ipywidgets.HTML(STYLE, layout=ipywidgets.Layout(display="none")), *said,
            *[one.widget for one in self._cards], *below,
        ])  # fmt: skip
        card.add_class("nbagent-card")
        return [card]

    def words(self, ask: Callable[[str], str]) -> Decisions:
        return in_words(self.pendings, ask, self._said)

    def _approve_all(self) -> None:
        """All that nobody has decided about. Whether a call that has started is to run again is said of each."""
        for card in self._cards:
            if card.chosen is None and card.pending.kind == "approval":
                card.approve()

    def _stop(self) -> None:
        self._panel.decide({one.digest: Stop() for one in self.pendings})

    def _changed(self, card: CallCard) -> None:
        """When there is nothing left to say about any call, the question is answered."""
        if isinstance(card.chosen, Stop):
            self._panel.decide({one.digest: card.chosen for one in self.pendings})
            return
        for other in self._cards:
            if other.is_untouched and _is_meant(card, other.pending):
                other.approve()
        decided = {one.pending.digest: one.chosen for one in self._cards if one.chosen is not None}
        left = len(self._cards) - len(decided)
        if not left:
            self._panel.decide(decided)
        elif self._left is not None:
            self._left.value = f"{left} of {len(self._cards)} left" if decided else ""


def _is_meant(card: CallCard, other: PendingAction) -> bool:
    """Whether what was chosen on a card says that this call is approved, too."""
    chosen, one = card.chosen, card.pending
    if not isinstance(chosen, Approve) or chosen.always is None or other.kind != "approval":
        return False
    if (other.tool_name, other.origin, other.agent) != (one.tool_name, one.origin, one.agent):
        return False
    return chosen.always == "tool" or canonical(other.arguments) == canonical(chosen.edited or one.arguments)
