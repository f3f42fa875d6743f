"""Comparison: what several runs have come to, side by side, and where two of them went apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.events import RunStarted
from nbagent.redact import redact
from nbagent.views import words
from nbagent.views.place import Place
from nbagent.views.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    from nbagent.events import Event, Forked
    from nbagent.views.kinds import Totals
    from nbagent.views.trace import Turn

_ANSWER = 160
"""Characters of an answer that are shown."""


@dataclass(frozen=True, slots=True)
class Column:
    """One of the runs."""

    name: str
    """As it was asked for: `bot@2`."""
    place: Place
    run_id: str
    forked: Forked | None
    """Which run it was forked from."""

    @classmethod
    def of(cls, name: str, events: Iterable[Event]) -> Column:
        known = tuple(events)
        started = next((one for one in known if isinstance(one, RunStarted)), None)
        place = Place.of(Trace.of(known))
        return cls(name, place, started.run_id if started else "", started.forked if started else None)

    @property
    def trace(self) -> Trace:
        return self.place.trace

    @property
    def turns(self) -> int:
        return len(self.trace.all_turns)

    @property
    def tokens(self) -> tuple[int, int] | None:
        """Those that went in, and that came out; None where no reply has reported them."""
        usage = self.trace.usage
        return None if usage is None else (usage.input_tokens, usage.output_tokens)

    @property
    def tokens_notes(self) -> str:
        """What there is to know of their number."""
        usage = self.trace.usage
        notes = ["estimated"] if usage is not None and usage.estimated else []
        return ", ".join(notes if self.trace.usage_complete else [*notes, "some unknown"])

    @property
    def cost(self) -> Decimal | None:
        """US dollars, where they are known."""
        usage = self.trace.usage
        return usage.cost if usage is not None and self.trace.usage_complete else None

    @property
    def per_turn(self) -> list[Totals]:
        """The tokens of each turn: what was sent, and the reply."""
        used = [turn.reply.usage if turn.reply else None for turn in self.trace.all_turns]
        return [{"input": one.input_tokens, "reply": one.output_tokens} if one else {"input": 0} for one in used]

    @property
    def tools(self) -> Counter[str]:
        """How often each tool was started, also in runs inside."""
        calls = (call for turn in self.trace.everything for call in turn.calls)
        return Counter(call.call.name for call in calls if call.started is not None)

    @property
    def answer(self) -> str:
        """The beginning of the answer, on one line; empty where there is none."""
        text = " ".join(redact(words.answered(self.trace)).split())
        return text if len(text) <= _ANSWER else f"{text[: _ANSWER - 1]}…"

    @property
    def cells(self) -> tuple[str, ...]:
        """What is said of it in the table; names and texts from outside among it."""
        tokens = ("unknown", "unknown") if self.tokens is None else tuple(f"{one:,}" for one in self.tokens)
        notes = f" ({self.tokens_notes})" if self.tokens_notes and self.tokens else ""
        cost = "" if self.cost is None else f"${self.cost.normalize():f}"
        reason = " ".join(redact(self.trace.stop_reason).split())[:_ANSWER]
        return (
            self.name, self.place.status, f"{self.turns:,}", f"{self.trace.tool_calls:,}", f"{tokens[0]}{notes}",
            f"{tokens[1]}{notes}", cost, reason, self.answer,
        )  # fmt: skip


HEADS = ("run", "status", "turns", "tool calls", "tokens in", "tokens out", "cost", "stop reason", "answer")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several runs, in the order in which they were asked for."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, runs: Iterable[tuple[str, Iterable[Event]]]) -> Comparison:
        return cls(tuple([Column.of(name, events) for name, events in runs]))

    @property
    def heads(self) -> list[int]:
        """Which columns the table has: all but those in which no run has anything."""
        return [at for at in range(len(HEADS)) if any(column.cells[at] for column in self.columns)]

    @property
    def common(self) -> int:
        """How many turns two runs have in common at their beginning; 0 where they are not two that began alike."""
        if len(self.columns) != 2:
            return 0
        one, other = self.columns
        return _common(one.trace.all_turns, other.trace.all_turns)

    @property
    def is_apart(self) -> bool:
        """Whether two runs are shown side by side: the one was forked from the other, or they began alike."""
        if len(self.columns) != 2:
            return False
        one, other = self.columns
        pairs = ((one, other), (other, one))
        return self.common > 0 or any(a.forked is not None and a.forked.run == b.run_id for a, b in pairs)

    @property
    def origins(self) -> list[tuple[str, str, str]]:
        """Of each fork its name, which run it was forked from, and where and how: `at turn 2: observation edited`."""
        return [(one.name, one.forked.run, _where(one.forked)) for one in self.columns if one.forked is not None]

    @property
    def tools(self) -> list[str]:
        """The tools that any of them has used, in the order of their names."""
        return sorted({name for column in self.columns for name in column.tools})


def _common(one: Sequence[Turn], other: Sequence[Turn]) -> int:
    same = 0
    for mine, yours in zip(one, other, strict=False):
        if mine != yours:
            break
        same += 1
    return same


def _where(forked: Forked) -> str:
    of_call = "" if forked.call is None else f" of call {forked.call}"
    edited = f"{' and '.join(forked.edits)}{of_call} edited" if forked.edits else "nothing edited"
    return f"at turn {forked.turn}: {edited}"
