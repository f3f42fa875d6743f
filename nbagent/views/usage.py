"""Usage by turn: how many tokens each model call of a run took, read and written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.views.growth import BARS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.messages import Usage
    from nbagent.views.kinds import Totals
    from nbagent.views.trace import Trace, Turn


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """The tokens of the turns of a run whose model has reported any, with those of the runs that a turn has started."""

    bars: tuple[Totals, ...]
    """Of each group of turns: what was written, and what was read. In the kinds `reply` and `history`."""
    group: int
    """How many turns a bar stands for."""
    total: Usage
    has_inside: bool = False
    """Whether turns have started runs, which are counted in their bars."""

    @classmethod
    def of(cls, trace: Trace) -> TurnUsage | None:
        """None for a run of one turn, and where nobody has counted."""
        by_turn = [list(_used(turn)) for turn in trace.all_turns]
        used = [usage for some in by_turn for usage in some]
        if len(used) < 2:
            return None
        counted = [some for some in by_turn if some]
        group = -(-len(counted) // BARS)
        bars: list[Totals] = []
        for start in range(0, len(counted), group):
            some = [usage for turn in counted[start : start + group] for usage in turn]
            bars.append({"history": sum(u.input_tokens for u in some), "reply": sum(u.output_tokens for u in some)})
        return cls(tuple(bars), group, sum(used[1:], used[0]), any(call.run for call in trace.calls))

    @property
    def line(self) -> str:
        """`50 tokens read, 18 written (estimated)`."""
        estimated = " (estimated)" if self.total.estimated else ""
        return f"{self.total.input_tokens:,} tokens read, {self.total.output_tokens:,} written{estimated}"


def _used(turn: Turn) -> Iterator[Usage]:
    """What a turn took, with the runs inside it."""
    if turn.reply and turn.reply.usage:
        yield turn.reply.usage
    for call in turn.calls:
        for inner in call.run.all_turns if call.run else ():
            yield from _used(inner)
