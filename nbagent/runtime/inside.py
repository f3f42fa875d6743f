"""Inside: the runs of other agents that the tool calls of one reply start."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from nbagent.events import RunFinished
from nbagent.runtime.journal import Within
from nbagent.runtime.limits import LimitReached
from nbagent.runtime.nested import Nest, NestingTool

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from contextlib import AbstractContextManager

    from nbagent.events import Event, Nested
    from nbagent.messages import ToolCall
    from nbagent.runtime.calling import Invocation
    from nbagent.runtime.journal import Journal
    from nbagent.runtime.nested import Around, Unknown
    from nbagent.runtime.run import Run


class Inside:
    """What there is to know of these runs, each by the number of its call in the reply, from 0."""

    def __init__(self, journal: Journal, turn: int, around: Around, unknown: Unknown) -> None:
        self._journal = journal
        self._turn = turn
        self._around = around
        self._unknown: Unknown = unknown
        self._recorded: dict[int, list[Event]] = {}
        self._ids: dict[int, str] = {}
        self.journals: dict[int, Within] = {}
        self.waiting: dict[int, tuple[ToolCall, str]] = {}
        """Calls whose run waits for a decision, and what for."""

    def begin(self, index: int) -> None:
        """A run has begun: it gets the next id."""
        if index not in self._ids:
            self._around.begun += 1
            self._ids[index] = f"{self._around.run_id}.{self._around.begun}"

    def keep(self, event: Nested) -> None:
        """Something that a recorded run has done, and that is gone on with. What it waited for is asked anew."""
        inner = event.event
        if not (isinstance(inner, RunFinished) and inner.status == "interrupted"):
            self._recorded.setdefault(event.index, []).append(inner)  # pyright: ignore[reportArgumentType]

    @contextmanager
    def opened(self, invocations: Sequence[Invocation], calls: Sequence[ToolCall]) -> Generator[None]:
        """While the body runs, those that are runs are open; they are opened and closed in the order of their calls.

        Afterwards raises what ends the run around them: `LimitReached` where they have used up what that one may use.
        """
        opened: list[AbstractContextManager[Run]] = []
        try:
            for one in invocations:
                if isinstance(one.tool, NestingTool):
                    made = one.tool.opened(one.kwargs, self._nest(one.index, calls[one.index]))
                    one.run = made.__enter__()
                    opened.append(made)
            yield
        except BaseException as error:
            _close(opened, error)
            raise
        if (failed := _close(opened, None)) is not None:
            raise failed
        meter = self._around.meter
        if meter is not None and meter.reached:
            raise LimitReached(meter.reached)

    def _nest(self, index: int, call: ToolCall) -> Nest:
        self.begin(index)
        self.journals[index] = journal = Within(self._journal, self._turn, index)
        recorded = tuple(self._recorded.get(index, ()))
        return Nest(journal, recorded, call.id, self._ids[index], self._around, self._unknown)


def _close(opened: Iterable[AbstractContextManager[Run]], error: BaseException | None) -> BaseException | None:
    """Closes every one, whatever becomes of the others. `error`: what ended their body. Returns what came up first."""
    first = None
    for one in opened:
        try:
            one.__exit__(None if error is None else type(error), error, error and error.__traceback__)
        except BaseException as caught:  # noqa: BLE001 - those behind it have to be closed, too
            first = caught if first is None else first
    return first
