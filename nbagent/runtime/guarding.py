"""Guarding: asks guardrails about a text, each about what the one before has made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from nbagent.errors import GuardrailTripped
from nbagent.events import Guarded
from nbagent.messages import Piece, Source
from nbagent.models.model import position
from nbagent.runtime.consult import consult
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from nbagent.runtime.consult import Consult
    from nbagent.runtime.effects import Check
    from nbagent.runtime.journal import Journal, Recording


class Verdict(Struct, frozen=True):
    """What a guardrail says of a text."""

    passed: bool
    message: str = ""
    """Why it does not let it pass."""
    text: str | None = None
    """What it puts in its place."""


class Guard(Protocol):
    """A function that checks texts."""

    @property
    def name(self) -> str: ...
    @property
    def check(self) -> Callable[[str], Any]:
        """The user's function; what it returns may have to be awaited."""
        ...

    def verdict(self, answer: Any, text: str) -> Verdict:
        """What the function's answer about a text means. Raises ConfigError where that is nothing."""
        ...


def checked(effect: Check, recording: Recording, journal: Journal) -> Generator[Consult, None, Piece | None]:
    """Asks those that are not recorded. Raises GuardrailTripped at the first that does not let the text pass."""
    text, made = effect.text, None
    for guard in effect.guardrails:
        recording.check_guardrail(effect.stage, guard.name)
        event = recording.take(Guarded, 0)
        if event is None:
            answer = yield from consult(guard.check, (text,), f"the guardrail {guard.name!r}")
            said = guard.verdict(answer, text)
            event = Guarded(effect.stage, guard.name, said.passed, said.message, said.text, position(effect.model))
        journal.append(event)
        if not event.passed:
            raise GuardrailTripped(event.message, stage=event.stage, guardrail=event.name)
        if event.text is not None:
            text, made = event.text, Piece(event.text, Source("framework", f"guardrail {event.name}"))
    return made
