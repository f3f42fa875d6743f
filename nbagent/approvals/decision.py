"""Decision: what a person says about a call that waits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from nbagent.errors import DecisionError

if TYPE_CHECKING:
    from collections.abc import Mapping

Always = Literal["tool", "arguments"]


@dataclass(frozen=True, slots=True)
class Approve:
    """The call runs.

    - `arguments`: dict; runs it with these in place of the model's (all of them), which are checked as the model's are.
      The model is told.
    - `note`: str; what the model is told besides.
    - `always`: `"tool"` approves every further call of this tool in this run, `"arguments"` those with the same
      arguments.
    """

    arguments: Mapping[str, Any] | None = None
    note: str = ""
    always: Always | None = None

    def __post_init__(self) -> None:
        if self.arguments is not None and not isinstance(self.arguments, dict):
            raise DecisionError(f"arguments: expected a dict with all arguments of the call, got {self.arguments!r}")
        _text("note", self.note)
        if self.always not in (None, "tool", "arguments"):
            raise DecisionError(f"always: expected 'tool' or 'arguments', got {self.always!r}")

    @property
    def edited(self) -> str | None:
        """The new arguments as JSON text. Raises DecisionError for what JSON has no words for."""
        if self.arguments is None:
            return None
        try:
            return json.dumps(self.arguments, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise DecisionError(f"arguments: expected values that JSON has words for; {error}") from None


@dataclass(frozen=True, slots=True)
class Reject:
    """The call does not run; the model is told, with the reason, and goes on."""

    reason: str = ""

    def __post_init__(self) -> None:
        _text("reason", self.reason)


@dataclass(frozen=True, slots=True)
class Answer:
    """The call does not run; the model gets this as its result."""

    text: str

    def __post_init__(self) -> None:
        _text("text", self.text)


@dataclass(frozen=True, slots=True)
class Stop:
    """The call does not run, and the run is over: its status is `cancelled`."""

    reason: str = ""

    def __post_init__(self) -> None:
        _text("reason", self.reason)


Decision = Approve | Reject | Answer | Stop
EXPECTED = "True, False, Approve(…), Reject(reason), Answer(text) or Stop()"


def decision_of(given: object) -> Decision:
    """What was decided. Raises DecisionError for all that is not exactly a decision: None, "yes" and 1 are none."""
    if isinstance(given, Approve | Reject | Answer | Stop):
        return given
    if given is True:
        return Approve()
    if given is False:
        return Reject()
    raise DecisionError(f"expected {EXPECTED}; got {given!r}")


def read_decision(said: object) -> Decision:
    """A decision as a cell writes it: `approve`, `reject`, `stop`, or `{reject: reason}`, `{answer: text}`,
    `{approve: {arguments…}}`. Raises DecisionError.
    """
    if isinstance(said, str) and said in _WORDS:
        return _WORDS[said]()
    if isinstance(said, bool):
        return decision_of(said)
    if isinstance(said, dict) and len(cast("dict[Any, Any]", said)) == 1:
        (word, value), *_ = cast("dict[Any, Any]", said).items()
        if word == "approve" and isinstance(value, dict):
            return Approve(cast("dict[str, Any]", value))
        if word in _WITH_TEXT and isinstance(value, str):
            return _WITH_TEXT[word](value)
        if word == "approve" and isinstance(value, str):
            return Approve(note=value)
    raise DecisionError(
        'expected approve, reject, stop, reject: "reason", answer: "text", approve: "note" or approve: {name: value}; '
        f"got {said!r}"
    )


def in_words(decision: Decision) -> str:
    """A decision as a cell writes it."""
    match decision:
        case Approve(arguments, note):
            more = decision.edited if arguments is not None else _quoted(note)
            return f"approve: {more}" if more else "approve"
        case Answer(text):
            return f"answer: {_quoted(text) or repr(text)}"
        case Reject(reason):
            return f"reject: {_quoted(reason)}" if reason else "reject"
        case Stop(reason):
            return f"stop: {_quoted(reason)}" if reason else "stop"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if text else ""


_WORDS: dict[str, type[Approve | Reject | Stop]] = {"approve": Approve, "reject": Reject, "stop": Stop}
_WITH_TEXT: dict[Any, type[Reject | Answer | Stop]] = {"reject": Reject, "answer": Answer, "stop": Stop}


def _text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise DecisionError(f"{name}: expected a text, got {value!r}")
