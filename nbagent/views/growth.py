"""Growth: how the prompt of a run grew from one model call to the next, by where its text comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.messages import tokens_in
from nbagent.views.kinds import ordered, totals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.views.kinds import Kind, Totals
    from nbagent.views.trace import Trace, Turn

BARS = 40
"""How many requests are shown at most; of more turns, the last of each group."""
_SPELLED = 8
"""Up to so many numbers are written out."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The tokens of the requests of a run, estimated: about four characters a token."""

    turns: tuple[int, ...]
    """The turn of each request that is shown."""
    requests: tuple[Totals, ...]
    group: int
    """How many turns each stands for."""

    @classmethod
    def of(cls, trace: Trace) -> Growth | None:
        """None for a run whose prompt cannot have grown, for it has no second turn."""
        if trace.prompt is None or not trace.assembled or len(trace.turns) < 2:
            return None
        group = -(-len(trace.turns) // BARS)
        last = len(trace.turns)
        shown = [
            (turn.number, ordered(request))
            for place, (turn, request) in enumerate(_requests(trace), 1)
            if place % group == 0 or place in {1, last}
        ]
        return cls(tuple(number for number, _ in shown), tuple(request for _, request in shown), group)

    @property
    def sums(self) -> tuple[int, ...]:
        return tuple(sum(request.values()) for request in self.requests)

    @property
    def line(self) -> str:
        """`120 → 310 → 450 tokens (estimated)`."""
        sums = [f"{each:,}" for each in self.sums]
        numbers = sums if len(sums) <= _SPELLED else [*sums[:2], "…", sums[-1]]
        over = f", turns {self.turns[0]:,} to {self.turns[-1]:,}" if len(sums) > _SPELLED else ""
        return f"{' → '.join(numbers)} tokens (estimated){over}"


def _requests(trace: Trace) -> Iterator[tuple[Turn, Totals]]:
    """Each turn with what its request held; the same dict, which grows."""
    held = totals(trace.prompt.spans) if trace.prompt else {}
    for turn in trace.turns:
        yield turn, held
        for kind, text in _added(turn):
            held[kind] = held.get(kind, 0) + tokens_in(text)


def _added(turn: Turn) -> Iterator[tuple[Kind, str]]:
    """What the turn adds to the requests that follow."""
    yield "reply", turn.content
    for call in turn.calls:
        yield "reply", f"{call.asked.name} {call.asked.arguments}"
        if call.observation:
            yield "tool result", call.observation.content
    for note in turn.notes:
        yield "note", note
