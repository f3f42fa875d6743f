"""CallCard: what there is to see and to press about one call that waits."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbagent.approvals.decision import Answer, Approve, Decision, Reject, Stop
from nbagent.notebook.argument_form import ArgumentForm, Entry, as_json, read_arguments
from nbagent.views.field import fields
from nbagent.views.pending import meaning, title
from nbagent.views.safe import exact, inline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbagent.approvals.pending import PendingAction
    from nbagent.notebook.card_parts import Parts

_ALWAYS = [
    ("this call", None),
    ("every call of this tool in this run", "tool"),
    ("equal calls in this run", "arguments"),
]
_MASKED = "A secret is masked here, so the arguments cannot be edited. The call runs with the secret itself."
_FORM = "A text is written as it is, everything else as JSON. To add an argument, or to leave one out: as JSON."
_WHOLE = "All arguments, as one JSON object."
_NEEDS_RESULT = "Write what the model gets as the result; then press the button again."


@dataclass(frozen=True, slots=True)
class Draft:
    """What somebody has written about a call."""

    note: str = ""
    always: str | None = None
    texts: tuple[str, ...] | None = None
    """The arguments one by one, where they are edited so."""
    whole: str | None = None
    """All of them, where they are edited so."""


class CallCard:
    """Its `widgets`, from top to bottom as the keyboard goes through them, and what was `chosen`."""

    def __init__(
        self, pending: PendingAction, parts: Parts, changed: Callable[[CallCard], object], *,
        which: str = "", draft: Draft | None = None,
    ) -> None:  # fmt: skip
        """`changed`: is told when something is chosen. `which`: which of several calls it is, such as `1 of 3`."""
        self.pending = pending
        self.chosen: Decision | None = None
        self._changed = changed
        self._is_one_of_several = bool(which)
        self._parts = parts
        self._is_unknown = pending.kind == "unknown"
        self._form = ArgumentForm(pending.arguments, pending.parameters)
        self._may_edit = not (self._is_unknown or self._form.is_masked)
        self._make(which, draft or Draft())
        self._restore(draft or Draft())

    def _make(self, which: str, draft: Draft) -> None:
        """Widgets have what was written from the beginning: what is changed afterwards may come to a page when somebody
        writes there already."""
        parts, pending = self._parts, self.pending
        what = inline("".join([part if isinstance(part, str) else part.text for part in title(pending)]))
        self._read = parts.column([parts.row(name, value, disabled=True) for name, value in _shown(pending.arguments)])
        entries = self._form.entries if self._may_edit else ()
        self._entries = [
            parts.area(text, f"Argument {entry.shown}")
            for entry, text in zip(entries, self._written(entries, draft), strict=True)
        ]
        for entry, area in zip(entries, self._entries, strict=True):
            area.placeholder = entry.left_out
        rows = zip(entries, self._entries, strict=True)
        self._edit = parts.column([parts.row_of(entry.shown, area) for entry, area in rows], shown=False)
        # A secret is not sent to the page either.
        whole = "" if not self._may_edit else self._form.whole if draft.whole is None else draft.whole
        self._whole = parts.area(whole, "All arguments, as JSON", shown=False)
        self._as_json = parts.button("As JSON", self._open_whole)
        self._undo = parts.button("Undo the edit", self._close)
        self._tools = parts.line([self._as_json, self._undo], shown=False)
        self._note = parts.area(draft.note, "Note, reason or result, which the model reads")
        self._note.placeholder = "Note, reason or result (the model reads it)"
        self._note.add_class("nbagent-note")
        chosen = [value for _, value in _ALWAYS].index(draft.always)
        self._always = parts.choice("Approve for", _ALWAYS, chosen, shown=not self._is_unknown)
        self._approve = parts.button("Run again" if self._is_unknown else "Approve", self.approve, "primary")
        self._open_edit = parts.button("Edit", self._open, shown=self._may_edit)
        self._change = parts.button("Change it", self._reopen, shown=False)
        self._standing = _MASKED if self._form.is_masked else meaning(pending)
        """What is said as long as there is nothing else to say."""
        self._said = parts.label(inline(self._standing))
        self._said.add_class("nbagent-said")
        self._buttons = [
            self._approve,
            self._open_edit,
            parts.button("It did not run" if self._is_unknown else "Reject", self._reject),
            parts.button("Give the result" if self._is_unknown else "Answer for it", self._answer),
            *([] if self._is_one_of_several else [parts.button("Stop the run", self._stop, "danger")]),
        ]
        for one in self._buttons:
            one.tooltip = f"{one.description}: {inline(pending.tool_name)}"
        heading = parts.label(f"{which} · {what}" if which else what)
        heading.add_class("nbagent-what")
        self.widget = parts.column([
            heading, self._read, self._edit, self._whole, self._tools, parts.line([self._note, self._always]),
            # The last is far from the first, which a double click is on.
            parts.line([*self._buttons, self._change]), self._said,
        ])  # fmt: skip
        self.widget.add_class("nbagent-call")

    @property
    def draft(self) -> Draft:
        """What was written."""
        texts = tuple([area.value for area in self._entries]) if self._parts.is_shown(self._edit) else None
        whole = self._whole.value if self._parts.is_shown(self._whole) else None
        return Draft(self._note.value, self._always.value, texts, whole)

    @property
    def is_untouched(self) -> bool:
        """Whether nobody has written or chosen anything here."""
        return self.chosen is None and self.draft == Draft()

    def _written(self, entries: Sequence[Entry], draft: Draft) -> Sequence[str]:
        """What was written of each argument."""
        if draft.texts is not None and len(draft.texts) == len(entries):
            return draft.texts
        return [entry.text for entry in entries]

    def _restore(self, draft: Draft) -> None:
        """Opens what was open."""
        if draft.texts is not None and len(draft.texts) == len(self._entries):
            self._open()
        elif draft.whole is not None and self._may_edit:
            self._show(self._whole)

    # editing

    def _open(self) -> None:
        self._show(self._edit if self._entries else self._whole)

    def _open_whole(self) -> None:
        try:
            values = self._form.filled([area.value for area in self._entries])
        except ValueError as error:
            self._say(str(error))
            return
        self._whole.value = self._form.whole if self._form.is_as_it_was(values) else as_json(values)
        self._show(self._whole)

    def _close(self) -> None:
        for entry, area in zip(self._form.entries, self._entries, strict=True):
            area.value = entry.text
        self._show(self._read)

    def _show(self, arguments: Any) -> None:
        """Shows the arguments as they are read, as a form, or as JSON."""
        parts = self._parts
        for one in (self._read, self._edit, self._whole):
            parts.show(one, one is arguments)
        is_edited = arguments is not self._read
        parts.show(self._tools, is_edited)
        self._open_edit.disabled, self._as_json.disabled = is_edited, arguments is self._whole
        self._approve.description = "Approve as edited" if is_edited else "Approve"
        self._standing = "" if not is_edited else _WHOLE if arguments is self._whole else _FORM
        self._say(self._standing)

    def _arguments(self) -> dict[str, Any] | None:
        """Those in place of the call's; None where they are its own. Raises ValueError."""
        if self._parts.is_shown(self._edit):
            values = self._form.filled([area.value for area in self._entries])
        elif self._parts.is_shown(self._whole):
            values = read_arguments(self._whole.value)
        else:
            return None
        return None if self._form.is_as_it_was(values) else values

    # deciding

    def approve(self) -> None:
        """Approves it, as it is or as it was edited; says what is wrong where that cannot be."""
        try:
            arguments = self._arguments()
        except ValueError as error:
            self._say(str(error))
            return
        note, always = self._note.value.strip(), None if self._is_unknown else self._always.value
        edited = " with other arguments" if arguments is not None else ""
        self._choose(Approve(arguments, note, always), f"{'run again' if self._is_unknown else 'approve'}{edited}")

    def _reject(self) -> None:
        self._choose(Reject(self._note.value.strip()), "it did not run" if self._is_unknown else "reject")

    def _answer(self) -> None:
        if text := self._note.value.strip():
            self._choose(Answer(text), "answer in its place")
        else:
            self._say(_NEEDS_RESULT)

    def _stop(self) -> None:
        self._choose(Stop(self._note.value.strip()), "stop the run")

    def _choose(self, decision: Decision, word: str) -> None:
        self.chosen = decision
        self._settle(is_chosen=True)
        self._say(f"Chosen: {word}." + (" It counts when every call has its decision." * self._is_one_of_several))
        self._changed(self)

    def _reopen(self) -> None:
        self.chosen = None
        self._settle(is_chosen=False)
        self._say(self._standing)
        self._changed(self)

    def _settle(self, *, is_chosen: bool) -> None:
        for one in (*self._buttons, *self._entries, self._whole, self._as_json, self._undo, self._note, self._always):
            one.disabled = is_chosen
        if not is_chosen:
            self._open_edit.disabled = not self._parts.is_shown(self._read)
        self._parts.show(self._change, is_chosen and self._is_one_of_several)
        (self.widget.add_class if is_chosen else self.widget.remove_class)("nbagent-chosen")

    def _say(self, text: str) -> None:
        self._said.value = inline(text)


def _shown(arguments: str) -> list[tuple[str, str]]:
    """Each argument as it is read: its name, and all of its value, with the numbers of its lines where it has some."""
    found = fields(arguments)
    if found is None:
        return [("arguments", exact(arguments))]
    shown = [(field.name, field.numbered if field.is_code else field.value) for field in found]
    return shown or [("arguments", "none")]
