"""Match: which entry answers what the user said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from nbagent.errors import ConfigError
from nbagent.models.entries import Entry, Turns, calls_in, check
from nbagent.values import Struct

if TYPE_CHECKING:
    from nbagent.request import ModelRequest

Match: TypeAlias = "Mapping[Any, Entry | Turns] | Iterable[tuple[str | re.Pattern[str], Entry | Turns]]"
"""What the user may say, with the entry that answers it; see `ScriptedLLM`."""


class Asked(Struct, frozen=True):
    """What a request says about the turn of the conversation that it belongs to."""

    said: str | None
    """The user's last message; what the agent itself adds after tool results is none."""
    replies: int
    """How often the model has replied since."""
    answered: bool
    """Whether tools have answered since."""
    calls: int
    """How many tool calls all messages hold."""


def what_was_asked(request: ModelRequest) -> Asked:
    said, replies, answered, calls, after_tools = None, 0, False, 0, False
    for message in request.messages:
        calls += len(message.tool_calls)
        if message.role == "user":
            # What follows tool results is the agent's advice to the model, in the role of the user.
            if not after_tools:
                said, replies, answered = message.content, 0, False
            continue
        replies += message.role == "assistant"
        after_tools = message.role == "tool"
        answered = answered or after_tools
    return Asked(said, replies, answered, calls)


class Matches:
    """The entries that are chosen by what the user said, and the one for everything else."""

    def __init__(self, match: Match | None, fallback: Entry | Turns | None) -> None:
        self._rules = [(_key(key), _checked(entry)) for key, entry in _pairs(match)]
        self._fallback = None if fallback is None else _checked(fallback)

    def choose(self, asked: Asked) -> Entry | None:
        """The first entry that matches and is not done."""
        found = (_turn(entry, asked) for _, entry in self._fitting(asked))
        return next((entry for entry in found if entry is not None), None)

    def otherwise(self, asked: Asked) -> Entry | None:
        """The entry for what nothing matches, as long as it is not done."""
        return None if self._fallback is None else _turn(self._fallback, asked)

    def why_not(self, asked: Asked) -> str:
        """Why no entry was chosen, and what to do."""
        done = [repr(key) for key, _ in self._fitting(asked)] + ["fallback"] * (self._fallback is not None)
        if not done:
            return "no match fits what the user said last, either; add a match, a reply or a fallback"
        return (
            f"what fits ({', '.join(done)}) has called its tools already; "
            f'say what follows, as in ScriptedLLM.turns(call, "Done."), or add a reply'
        )

    def _fitting(self, asked: Asked) -> list[tuple[str | re.Pattern[str], Entry | Turns]]:
        """The rules that match, whole texts first."""
        if asked.said is None:
            return []
        said, plain = asked.said, _plain(asked.said)
        whole = [rule for rule in self._rules if rule[0] == plain]
        return whole + [rule for rule in self._rules if rule[0] != plain and _found(rule[0], said, plain)]

    def __str__(self) -> str:
        matches = f", {counted(len(self._rules), 'match', 'matches')}" if self._rules else ""
        return f"{matches}{'' if self._fallback is None else ', fallback'}"


def _found(key: str | re.Pattern[str], said: str, plain: str) -> bool:
    return key in plain if isinstance(key, str) else key.search(said) is not None


def _plain(text: str) -> str:
    return text.strip().casefold()


def _turn(entry: Entry | Turns, asked: Asked) -> Entry | None:
    """The entry for this reply; None where its tools have been called and nothing comes after."""
    entries = entry.entries if isinstance(entry, Turns) else (entry,)
    if asked.replies < len(entries):
        return entries[asked.replies]
    # The user's message still matches; to call again, and again, would never end.
    return None if asked.answered and calls_in(entries[-1]) else entries[-1]


def _pairs(match: Any) -> list[tuple[Any, Any]]:
    given: Any = () if match is None else match
    if isinstance(given, Mapping):
        given = cast("Mapping[Any, Any]", given).items()
    pairs = list(cast("Iterable[Any]", given)) if isinstance(given, Iterable) else [given]
    if all(isinstance(pair, tuple | list) and len(cast("list[Any]", pair)) == 2 for pair in pairs):
        return pairs
    raise ConfigError(
        f"match: expected a mapping, or a list of pairs, from what the user says to an entry; "
        f'got {type(match).__name__}: {match!r}; write match={{"weather": "It rains."}}'
    )


def _key(key: Any) -> str | re.Pattern[str]:
    if isinstance(key, str) and (plain := _plain(key)):
        return plain
    if isinstance(key, re.Pattern) and isinstance(cast("re.Pattern[Any]", key).pattern, str):
        return cast("re.Pattern[str]", key)
    hint = "; for everything else, write fallback=…" if isinstance(key, str) else ""
    raise ConfigError(
        f"match: expected a text that is not empty, or a compiled pattern such as re.compile('rain|snow'), to match; "
        f"got {type(cast('object', key)).__name__}: {key!r}{hint}"
    )


def _checked(entry: Entry | Turns) -> Entry | Turns:
    if not isinstance(entry, Turns):
        check(entry)
    return entry


def counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
