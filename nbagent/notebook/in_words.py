"""In words: asks a person, line by line, what is to become of tool calls that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.approvals.decision import Answer, Approve, Decision, Reject, Stop
from nbagent.notebook.argument_form import ArgumentForm, read_arguments
from nbagent.views.approval import approval_text
from nbagent.views.safe import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbagent.approvals.pending import PendingAction

_CHOICE = "approve, edit {JSON}, reject REASON, answer TEXT or stop? "
_MASKED_CHOICE = "approve (with the secret that is masked), reject REASON, answer TEXT or stop? "
"""Where there is nothing to edit: the mask would be what runs."""
_UNKNOWN_CHOICE = "approve (run it again), answer TEXT (its result), reject REASON (it has not run) or stop? "


def in_words(pendings: Sequence[PendingAction], ask: Callable[[str], str], said: str = "") -> dict[str, Decision]:
    """Asks about each call, until one ends the run. `ask` gives what the person answers to a prompt."""
    decisions: dict[str, Decision] = {}
    for one in pendings:
        decision = _about(one, ask, f"{visible(said)}\n" if said else "")
        if isinstance(decision, Stop):  # the run is over, so of the others, too
            return {each.digest: decision for each in pendings}
        decisions[one.digest], said = decision, ""
    return decisions


def _about(one: PendingAction, ask: Callable[[str], str], before: str) -> Decision:
    is_masked = ArgumentForm(one.arguments).is_masked
    choice = _UNKNOWN_CHOICE if one.kind == "unknown" else _MASKED_CHOICE if is_masked else _CHOICE
    prompt = f"{before}{approval_text([one])}\n{choice}"
    while True:
        word, _, rest = ask(prompt).partition(" ")
        decision = _decision(word.lower(), rest.strip(), ask, may_edit=choice is _CHOICE)
        if not isinstance(decision, str):
            return decision
        prompt = f"{decision}{choice}"


def _decision(word: str, rest: str, ask: Callable[[str], str], *, may_edit: bool) -> Decision | str:
    """What was decided, or what is to be said before it is asked again."""
    if word in ("a", "approve", "y", "yes"):
        return Approve(note=rest)
    if word in ("r", "reject", "n", "no"):
        return Reject(rest or ask("The reason, which the model reads (Enter: none): "))
    if word in ("s", "stop"):
        return Stop(rest)
    if word == "answer":
        text = rest or ask("What the model reads as the result: ")
        return Answer(text) if text else "An answer is what the model reads as the result; it is not empty.\n"
    if word in ("e", "edit") and may_edit:
        return _edited(rest or ask("All arguments, as JSON: "))
    return ""


def _edited(text: str) -> Decision | str:
    """The call with these arguments; or why they are none."""
    try:
        return Approve(read_arguments(text))
    except ValueError as error:
        return f"{error}\n"
