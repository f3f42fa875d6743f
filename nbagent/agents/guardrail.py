"""Guardrail: a function that lets a text pass, stops it, or puts another one in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.agents.checks import brief, listed
from nbagent.errors import ConfigError
from nbagent.redact import redact
from nbagent.runtime.guarding import Verdict
from nbagent.text import sound
from nbagent.tools.callables import name_of
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

_USUAL = "it did not pass the check"


class Rewrite(Struct, frozen=True):
    """What a guardrail returns to go on with this text (str) in place of the one that it was asked about."""

    text: str


class Guardrail:
    """A check of what the user says (`input_guardrails`) or of what the agent answers (`output_guardrails`).

        Agent("a", model, input_guardrails=[Guardrail(lambda text: "password" not in text, message="no passwords")])

    - `check`: a function of the text, async ones too. It returns None or True to let it pass, False to stop the run, a
      str to stop it with this message, or `Rewrite(text)` to go on with another text.
    - `name`: str; how it is called in errors and in the journal; by default the function's name.
    - `message`: str; what is said where `check` returns False.

    In a list of guardrails there may also be such a function itself, or an object with `check(text)`, which may return
    an object with `passed` (bool) and `message` (str), too. A run that is stopped raises `GuardrailTripped`; what the
    function raises fails the run with that. Raises ConfigError for what is no function.

    Source: agentmaker's `CallableGuardrail`; that a guardrail may rewrite is ours.
    """

    def __init__(self, check: Callable[[str], Any], *, name: str | None = None, message: str = "") -> None:
        if not callable(check) or isinstance(check, type):
            raise ConfigError(f"Guardrail: expected a function of a text, got {brief(check)}")
        if not isinstance(message, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # notebooks are not type-checked
            raise ConfigError(f"Guardrail: message: expected a text, got {brief(message)}")
        self.check = check
        self.name = str(name or name_of(check))
        self.message = message

    def verdict(self, answer: Any, text: str) -> Verdict:
        """What the function's answer about a text means. Raises ConfigError where that is nothing."""
        match answer:
            case None | True:
                return Verdict(True)
            case False:
                return self._stopped("")
            case str():
                return self._stopped(answer)
            case Rewrite(str(rewritten)):
                return Verdict(True, text=None if rewritten == text else sound(rewritten))
            case _ if isinstance(passed := getattr(answer, "passed", None), bool):
                return Verdict(True) if passed else self._stopped(getattr(answer, "message", ""))
            case _:
                raise ConfigError(
                    f"the guardrail {self.name!r}: expected None or True to let the text pass, False or a message to "
                    f"stop it, or Rewrite(text) to go on with another; got {brief(answer)}"
                )

    def _stopped(self, message: object) -> Verdict:
        said = message if isinstance(message, str) else ""
        return Verdict(False, redact(said.strip() or self.message.strip() or _USUAL))

    def __repr__(self) -> str:
        message = f", message={self.message!r}" if self.message else ""
        return f"Guardrail({name_of(self.check)}, name={self.name!r}{message})"


CallableGuardrail = Guardrail
"""The name that agentmaker has for it."""


def guardrails_of(option: str, given: Any) -> tuple[Guardrail, ...]:
    """The guardrails of an option. Raises ConfigError naming it."""
    return tuple([_guardrail(option, one) for one in listed(option, given, "guardrails")])


def _guardrail(option: str, given: Any) -> Guardrail:
    if isinstance(given, Guardrail):
        return given
    if not isinstance(given, type):
        if callable(check := getattr(given, "check", None)):
            name = getattr(given, "name", None)
            return Guardrail(check, name=name if isinstance(name, str) else name_of(given))
        if callable(given):
            return Guardrail(given)
    raise ConfigError(f"{option}: expected functions of a text, or objects with check(text); got {brief(given)}")
