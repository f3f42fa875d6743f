"""Standing: what a person has approved for the rest of a run, and has not taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from nbagent.errors import ConfigError
from nbagent.events import ApprovalDecided, ApprovalRequested, ApprovalRevoked, innermost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbagent.events import Event


def standing(events: Iterable[Event]) -> tuple[str, ...]:
    """The tools of which later calls run without a question, or equal ones do; also those of runs inside."""
    asked: dict[str, str] = {}
    found: dict[str, str] = {}
    for event in map(innermost, events):
        match event:
            case ApprovalRequested(call=call, digest=digest):
                asked[digest] = call.name
            case ApprovalDecided(verdict="approved", digest=digest, always=always) if always and digest in asked:
                found[digest] = asked[digest]
            case ApprovalRevoked(digest=digest):
                found.pop(digest, None)
            case _:
                pass
    return tuple(dict.fromkeys(found.values()))


def revoked(said: object, events: Iterable[Event]) -> tuple[str, ...]:
    """The tools that are asked about again: one by its name, several, or all by True. Raises ConfigError."""
    if said is None or said is False:
        return ()
    known = standing(events)
    if not known:
        raise ConfigError("revoke: nothing is approved for the rest of the run")
    if said is True:
        return known
    there = f"for the rest of the run are approved: {', '.join(known)}"
    names = [said] if isinstance(said, str) else said
    if not isinstance(names, list | tuple | set | frozenset) or not names:
        raise ConfigError(f"revoke: expected the name of a tool, several, or True for all; got {said!r}; {there}")
    asked = set(cast("Iterable[object]", names))
    if unknown := sorted(map(repr, asked.difference(known))):
        raise ConfigError(f"revoke: nothing of {unknown[0]} is approved for the rest of the run; {there}")
    return tuple([name for name in known if name in asked])
