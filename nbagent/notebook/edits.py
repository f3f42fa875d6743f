"""Edits: what of a turn can be made different, so that the run goes on otherwise from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbagent.notebook.argument_form import ArgumentForm, read_arguments
from nbagent.redact import redact
from nbagent.views.safe import inline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.messages import Prompt
    from nbagent.views.trace import Turn

_MOST_CALLS = 20
_LONG = 50_000
"""Characters; what is longer is not sent to the page."""
_MASKED = "A secret is masked here, so it cannot be edited."
_MARK = "‹redacted "
"""How the mark of a secret begins."""
_TOO_LONG = f"It has more than {_LONG:,} characters: too long to be edited here; `NAME.fork(…)` takes it."


@dataclass(frozen=True, slots=True)
class Edit:
    """Something that can be edited."""

    label: str
    """What it is, with names from outside, on one line."""
    field: str = ""
    """The parameter of `fork` that takes it; empty where nothing is edited."""
    call: int = 0
    text: str = ""
    """What it is now, as far as it may be edited."""
    why_not: str = ""
    """Why it cannot be."""

    def options(self, text: str) -> dict[str, Any]:
        """What `fork` is told. Raises ValueError where it cannot be read."""
        if not self.field:
            return {}
        if self.why_not:
            raise ValueError(self.why_not)
        said = {self.field: read_arguments(text) if self.field == "arguments" else text}
        return said | ({"call": self.call} if self.field in ("arguments", "observation") else {})


def edits_of(turn: Turn, prompt: Prompt) -> tuple[Edit, ...]:
    """All that can be edited of a turn whose conversation begins with this prompt."""
    return tuple(_edits(turn, prompt))


def _edits(turn: Turn, prompt: Prompt) -> Iterator[Edit]:
    for index, call in enumerate(turn.calls[:_MOST_CALLS]):
        name = inline(call.asked.name) + (f", call {index}" if len(turn.calls) > 1 else "")
        if call.observation is not None:
            yield _edit(f"observation: {name}", "observation", call.observation.text, index)
        form = ArgumentForm(call.call.arguments)
        masked = _MASKED if form.is_masked or _is_masked(call.call.arguments) else ""
        yield Edit(f"arguments: {name}", "arguments", index, "" if masked else form.whole, masked)
    if turn.reply is not None:
        yield _edit("reply, as a text without calls", "reply", turn.reply.content)
    yield _edit("system prompt", "system", prompt.system)
    yield _edit("user prompt", "user", prompt.user)
    yield Edit("nothing: only run on")


def _edit(label: str, field: str, text: str, call: int = 0) -> Edit:
    if len(text) > _LONG:
        return Edit(label, field, call, "", _TOO_LONG)
    return Edit(label, field, call, "", _MASKED) if _is_masked(text) else Edit(label, field, call, text)


def _is_masked(text: str) -> bool:
    """Whether a secret is masked in it, now or in what was put down: its mask would be what goes on."""
    return _MARK in text or redact(text) != text
