"""Asking: who decides about calls that wait, and what their answer means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from nbagent.approvals.decision import EXPECTED, Approve, Decision, decision_of, in_words
from nbagent.errors import ConfigError, DecisionError, DecisionsLeftOver

if TYPE_CHECKING:
    from nbagent.approvals.pending import PendingAction


class Asked(Protocol):
    """Whoever decides about calls that wait."""

    def __call__(self, pendings: tuple[PendingAction, ...], /) -> Any:
        """What is decided: one decision for all of them, a list of one for each, or a mapping from call ids or digests
        to decisions, which may leave some out; None where nothing is. May return something to await."""
        ...


def matched(answer: Any, pendings: Sequence[PendingAction]) -> dict[str, Decision]:
    """What was decided about each, by its digest. Raises DecisionError for what is no decision, or is about none."""
    if answer is None:
        return {}
    if isinstance(answer, Mapping):
        return _by_name(cast("Mapping[Any, Any]", answer), pendings)
    if isinstance(answer, list | tuple):
        decisions = cast("Sequence[Any]", answer)
        if len(decisions) > len(pendings):
            raise DecisionError(f"got {len(decisions)} decisions about {_calls(pendings)}")
        return {one.digest: decision_of(said) for one, said in zip(pendings, decisions, strict=False)}
    decision = decision_of(answer)
    if isinstance(decision, Approve) and decision.arguments is not None and len(pendings) > 1:
        raise DecisionError(f"arguments are for one call; say for which of {_calls(pendings)}: {{call id: Approve(…)}}")
    return {one.digest: decision for one in pendings}


def _by_name(answer: Mapping[Any, Any], pendings: Sequence[PendingAction]) -> dict[str, Decision]:
    found: dict[str, Decision] = {}
    for name, said in answer.items():
        meant = [one for one in pendings if name in (one.call_id, one.digest)]
        if not meant:
            known = ", ".join([f"{one.call_id!r} ({one.shown})" for one in pendings])
            raise DecisionError(f"no call {name!r} waits for a decision; these do: {known}")
        if len(meant) > 1:
            digests = ", ".join([f"{one.digest!r} ({one.agent}: {one.shown})" for one in meant])
            raise DecisionError(f"{len(meant)} calls have the id {name!r}; name one by its digest: {digests}")
        found[meant[0].digest] = decision_of(said)
    return found


def _calls(pendings: Sequence[PendingAction]) -> str:
    return f"{len(pendings)} calls" if len(pendings) > 1 else "one call"


class Listed:
    """Decisions written down beforehand, in the order in which they are needed. `by`: what holds them."""

    def __init__(self, decisions: Iterable[Any], by: str = "cell") -> None:
        self._decisions = [decision_of(one) for one in decisions]
        self._given: dict[str, Decision] = {}
        """Each by the digest of the question that it was given for, which it stays with: one that was asked again does
        not get the next."""
        self.by = by

    @property
    def used(self) -> int:
        """How many have been needed."""
        return len(self._given)

    def __call__(self, pendings: tuple[PendingAction, ...], /) -> dict[str, Decision]:
        for one in pendings:
            if one.digest not in self._given and self.used < len(self._decisions):
                self._given[one.digest] = self._decisions[self.used]
        return {one.digest: self._given[one.digest] for one in pendings if one.digest in self._given}

    @property
    def left(self) -> list[str]:
        """Those that nobody has needed, each with its number."""
        return [f"{in_words(one)} (no. {i})" for i, one in enumerate(self._decisions, 1) if i > self.used]


class Decided:
    """The decision of a person about a run that waits, for the questions that it was given for and no others."""

    by = "person"

    def __init__(self, decision: Any, pendings: Sequence[PendingAction]) -> None:
        """Raises DecisionError for what is no decision, or about none of these."""
        if not pendings:
            raise DecisionError("no call waits for a decision")
        if decision is None:
            raise DecisionError(f"expected {EXPECTED}, or a dict of these by call id; got None")
        self._left = matched(decision, pendings)

    def __call__(self, pendings: tuple[PendingAction, ...], /) -> dict[str, Decision]:
        return {one.digest: self._left.pop(one.digest) for one in pendings if one.digest in self._left}


def asked_of(name: str, given: object) -> Asked | None:
    """Who decides, as it is given. Raises ConfigError."""
    if given is not None and not callable(given):
        raise ConfigError(f"{name}: expected a function of the calls that wait, which returns decisions; got {given!r}")
    return cast("Asked | None", given)


class ByDigest:
    """Decisions written down beforehand, each for the one question with its digest. `by`: what holds them."""

    def __init__(self, decisions: Mapping[str, Any], by: str = "cell") -> None:
        self._decisions = {digest: decision_of(one) for digest, one in decisions.items()}
        self._used: set[str] = set()
        self.by = by

    def __call__(self, pendings: tuple[PendingAction, ...], /) -> dict[str, Decision]:
        found = {one.digest: self._decisions[one.digest] for one in pendings if one.digest in self._decisions}
        self._used |= found.keys()
        return found

    @property
    def left(self) -> list[str]:
        """Those that nobody has needed, each with its digest."""
        return [f"{in_words(one)} ({digest})" for digest, one in self._decisions.items() if digest not in self._used]


Written = Listed | ByDigest
"""Decisions that were written down."""


def written_of(given: object) -> Written:
    """A list in their order, or a dict by digest. Raises DecisionError."""
    if isinstance(given, Listed | ByDigest):
        return given
    if isinstance(given, Mapping):
        return ByDigest(cast("Mapping[str, Any]", given))
    if not isinstance(given, list | tuple):
        raise DecisionError(
            f"decisions: expected a list, in the order in which they are needed, or a dict by digest; got {given!r}"
        )
    return Listed(cast("Sequence[Any]", given))


def not_written(deciders: Iterable[Asked]) -> tuple[Asked, ...]:
    """Those of them who decide anew about each run."""
    return tuple([one for one in deciders if not isinstance(one, Written)])


def check_used(deciders: Iterable[object]) -> None:
    """Raises DecisionsLeftOver where decisions were written down that nobody has needed."""
    left = [said for one in deciders if isinstance(one, Listed | ByDigest) for said in one.left]
    if left:
        count = "a decision was" if len(left) == 1 else f"{len(left)} decisions were"
        raise DecisionsLeftOver(
            f"decisions: {count} not needed: {', '.join(left)}; the run makes other calls than those they were "
            "written for: look at what it did, and take out what it does not need"
        )
