"""Timeline: the calls of a run in their order, a row for each run, as wide as their texts are long.

A journal has no clocks, so nothing here is a time. What runs side by side stands above each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from nbagent.messages import tokens_in
from nbagent.views.words import count, outcome_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.views.kinds import Kind
    from nbagent.views.trace import Call, Trace, Turn

GROUPS = 20
"""So many groups of turns a row has at most."""
ROWS = 12
"""So many runs have a row."""
LANES = 4
"""So many calls of one reply stand above each other; the others are in the last lane."""


class Piece(NamedTuple):
    """A call, or those of a group of turns."""

    start: int
    """Tokens from the beginning of the outermost run, estimated."""
    size: int
    kind: Kind
    """`reply` for model calls, `tool result` for tool calls."""
    lane: int = 0
    lanes: int = 1
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A run."""

    agent: str
    depth: int
    line: str
    """`2 model calls, 1 tool call, 1 error`."""
    pieces: tuple[Piece, ...]
    group: int
    """How many turns stand together."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run and the runs inside it."""

    rows: tuple[Row, ...]
    span: int
    """Tokens from its beginning to its end, estimated."""
    more: int
    """How many runs inside have no row."""

    @classmethod
    def of(cls, trace: Trace) -> Timeline | None:
        """None for a run of one turn."""
        if sum(1 for _ in islice(trace.everything, 2)) < 2:
            return None
        sizes: dict[int, int] = {}
        span = _measure(trace, sizes)
        rows = tuple(islice(_rows(trace, 0, 0, sizes), ROWS))
        return cls(rows, span, _runs(trace) - len(rows))


def _measure(trace: Trace, sizes: dict[int, int]) -> int:
    """How long a run is. `sizes`: that of each call, by the id of the object, is put there."""
    for call in trace.calls:
        inside = 0 if call.run is None else _measure(call.run, sizes)
        sizes[id(call)] = inside or max(tokens_in(call.observation.text) if call.observation else 0, 1)
    return sum(_written(turn) + _called(turn, sizes) for turn in trace.all_turns)


def _written(turn: Turn) -> int:
    asked = sum(tokens_in(f"{call.asked.name} {call.asked.arguments}") for call in turn.calls)
    return max(tokens_in(turn.content) + asked, 1)


def _called(turn: Turn, sizes: dict[int, int]) -> int:
    """Calls of one reply begin together, and end with the longest."""
    return max((sizes[id(call)] for call in turn.calls), default=0)


def _rows(trace: Trace, depth: int, start: int, sizes: dict[int, int]) -> Iterator[Row]:
    turns = trace.all_turns
    group = max(-(-len(turns) // GROUPS), 1)
    pieces: list[Piece] = []
    inner: list[tuple[Trace, int]] = []
    for first in range(0, len(turns), group):
        some = turns[first : first + group]
        written = sum(map(_written, some))
        failed = any(turn.reply is None or not turn.reply.complete for turn in some)
        pieces.append(Piece(start, written, "reply", failed=failed))
        start += written
        pieces += _side_by_side(some[0], start, sizes) if group == 1 else _together(some, start, sizes)
        for turn in some:
            inner += [(call.run, start) for call in turn.calls if call.run is not None]
            start += _called(turn, sizes)
    yield Row(trace.agent, depth, _line(turns), tuple(pieces), group)
    for run, at in inner:
        yield from _rows(run, depth + 1, at, sizes)


def _side_by_side(turn: Turn, start: int, sizes: dict[int, int]) -> Iterator[Piece]:
    lanes = min(len(turn.calls), LANES)
    for lane in range(lanes):
        some = turn.calls[lane:] if lane == LANES - 1 else turn.calls[lane : lane + 1]
        yield Piece(start, max(sizes[id(c)] for c in some), "tool result", lane, lanes, any(map(_is_error, some)))


def _together(turns: Sequence[Turn], start: int, sizes: dict[int, int]) -> Iterator[Piece]:
    """Those of several turns; those with errors are a piece of their own."""
    for failed in (False, True):
        some = [turn for turn in turns if any(map(_is_error, turn.calls)) is failed]
        if size := sum(_called(turn, sizes) for turn in some):
            yield Piece(start, size, "tool result", failed=failed)
            start += size


def _is_error(call: Call) -> bool:
    return outcome_of(call).startswith("error")


def _line(turns: Sequence[Turn]) -> str:
    calls = [call for turn in turns for call in turn.calls]
    errors = sum(map(_is_error, calls))
    broken = sum(turn.reply is None or not turn.reply.complete for turn in turns)
    said = [count(len(turns), "model call"), count(len(calls), "tool call") if calls else ""]
    said += [count(errors, "error") if errors else "", f"{broken:,} without a whole reply" if broken else ""]
    return ", ".join(filter(None, said))


def _runs(trace: Trace) -> int:
    return 1 + sum(_runs(call.run) for call in trace.calls if call.run is not None)
