"""LiveView: a run as widgets while it goes on. It shows the sections of the static output, and what happens now."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any

from nbagent.events import PromptAssembled, RunStarted, ToolStarted, innermost, is_fleeting
from nbagent.notebook.live_style import LIVE_STYLE
from nbagent.notebook.stack import Make, Stack, Stacks
from nbagent.notebook.stop_button import StopButton
from nbagent.views.budget import Near
from nbagent.views.gathering import Gathering
from nbagent.views.html import Section
from nbagent.views.now import Now
from nbagent.views.place import Place
from nbagent.views.sections import Sectioned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbagent.events import StreamEvent
    from nbagent.messages import Prompt

PAUSE = 0.125
"""Seconds between two updates at least: with the clock that is less than ten a second."""
BURST = 4
"""So many updates may come at once before a tool that may hold the thread."""
SHARE = 10
"""So many times as long as an update took to be made, there is no other."""
FLOW = 200_000
"""Characters a second that updates may take in the long run. A server drops what is above a million bytes."""
_ALLOWED = 150_000
"""Characters that the text of a stream may take before it counts how many of them are new."""
_PER_LETTER = 10
"""So many characters may be sent for each that has come of a stream."""
_AT_LEAST = 6.0
"""Seconds after which what is new of a stream is shown, however little it is."""
_NEAR = Near(24, 6, 12)
"""How much of runs inside, and of the steps of a plan, is whole: a turn or a step that goes on is sent again and again.
The run's own turns all are."""
_TICK = 1.0
"""Seconds after which the clock goes on."""


class LiveView:
    """What a person sees of a run that goes on. `widgets` stand below each other; `flush` sends what is new."""

    def __init__(
        self, stop: Callable[[], object] | None = None, request: Callable[[Prompt], Section] | None = None,
        tick: Callable[[], object] | None = None, *, clock: Callable[[], float] = monotonic,
    ) -> None:  # fmt: skip
        """`stop`: stops the run; None where nothing is awaited, so that no click would arrive. `request`: the request
        that the assembled prompt makes. `tick`: is called every second, where something is awaited."""
        import ipywidgets

        make = Make()
        self._clock = clock
        self._began = clock()
        self._gathering = Gathering()
        self._sectioned = Sectioned()
        self._now = Now()
        self._request, self._tick_too = request, tick
        self._requested: tuple[Section, ...] = ()
        self._is_new = self._streams = False
        self._due = 0.0
        """When the next update may be sent."""
        self._spare = float(BURST)
        self._flushed = self._began
        self._streamed = 0
        """Characters that were sent of streams."""
        self._head, self._passed = Stack(make, str), ipywidgets.Label("")
        self._before, self._turns, self._after, self._moment = Stack(make), Stacks(make), Stack(make), Stack(make)
        self._stop = StopButton(stop) if stop is not None else None
        controls = ipywidgets.HBox([*(self._stop.widgets if self._stop else ()), self._passed])
        controls.add_class("nbagent-controls")
        style = ipywidgets.HTML(LIVE_STYLE, layout=ipywidgets.Layout(display="none"))
        boxes = [one.box for one in (self._head, self._before, self._turns, self._after, self._moment)]
        self.widgets: Sequence[Any] = [style, boxes[0], controls, *boxes[1:]]
        self._loop = _loop()
        self._timer: asyncio.TimerHandle | None = None
        self._clock_timer: asyncio.TimerHandle | None = None
        self._thread = threading.current_thread()
        self._is_over = False
        self._is_called = False
        """Whether another thread has something new, and the loop will hear of it."""
        self._context = copy_context()

    def begin(self) -> None:
        """Its widgets are displayed: the clock begins to go."""
        if self._stop is not None:
            self._stop.begin()
        self._go_on()

    def end(self) -> None:
        """The run is over: nothing is sent any more."""
        self._is_over = True
        for timer in (self._timer, self._clock_timer):
            if timer is not None:
                timer.cancel()
        if self._stop is not None:
            self._stop.end()

    # what happens

    def take(self, event: StreamEvent) -> None:
        """Looks at what happens, and shows it, now or soon."""
        if isinstance(event, RunStarted):  # of a run that is gone on with, everything comes again
            self._gathering, self._sectioned, self._now = Gathering(), Sectioned(), Now()
            self._requested = ()
        elif isinstance(event, PromptAssembled) and self._request is not None and not self._requested:
            self._requested = (self._request(event.prompt),)
        before = self._now.what
        self._now.take(event)
        if is_fleeting(event):
            self._streams = True
            self._is_new = self._is_new or self._now.what != before
        else:
            self._gathering.add(event)  # pyright: ignore[reportArgumentType]  # what is not fleeting is in the journal
            self._is_new = True
        may_hold = isinstance(innermost(event), ToolStarted)
        if may_hold and self._stop is not None and self._loop is not None:
            self._stop.held(True)
            self._loop.call_later(PAUSE, self._stop.held, False, context=self._context)  # when clicks arrive again
        if may_hold and self._spare >= 1 and self._clock() < self._due:
            self._spare -= 1
            self.flush()
        else:
            self.refresh()

    def print(self, at: Sequence[int], text: str) -> None:
        """Hears what a tool prints, in whatever thread. `at`: where it runs, as in `Now.print`."""
        self._now.print(at, text)
        self._streams = True
        if threading.current_thread() is self._thread:
            self.refresh()
        elif self._loop is not None and not self._is_called:
            self._is_called = True
            self._loop.call_soon_threadsafe(self._called, context=self._context)

    def _called(self) -> None:
        self._is_called = False
        self.refresh()

    # showing it

    def refresh(self) -> None:
        """Sends what is new, if it is time; else when it is."""
        if self._is_over or not (self._is_new or self._streams):
            return
        now = self._clock()
        if now >= self._due and (self._is_new or self._may_stream(now)):
            self.flush()
        elif self._loop is not None and self._timer is None:
            self._timer = self._loop.call_later(max(self._due - now, PAUSE), self._tick, context=self._context)

    def _tick(self) -> None:
        self._timer = None
        self.refresh()

    def _go_on(self) -> None:
        """The clock."""
        self._tell_time()
        if self._tick_too is not None:
            self._tick_too()
        if self._loop is not None:
            self._clock_timer = self._loop.call_later(_TICK, self._go_on, context=self._context)

    def _may_stream(self, now: float) -> bool:
        """Whether enough of a stream is new for its text to be sent once more."""
        allowed = _ALLOWED + _PER_LETTER * self._now.streamed
        return self._streamed < allowed or now - self._flushed >= _AT_LEAST

    def flush(self) -> None:
        """Sends what is new, now."""
        began = self._clock()
        sent = self._show_run() if self._is_new else 0
        moment = self._moment.set([self._now.section()])
        self._streamed += moment
        self._is_new = self._streams = False
        self._tell_time()
        ended = self._clock()
        passed, self._flushed = ended - self._flushed, ended
        self._spare = min(self._spare + passed / PAUSE / 2, BURST)
        self._due = ended + max(PAUSE, SHARE * (ended - began), (sent + moment) / FLOW)

    def _tell_time(self) -> None:
        self._passed.value = _duration(self._clock() - self._began)

    def _show_run(self) -> int:
        shown = self._sectioned.of(Place.of(self._gathering.trace(count(1)), _NEAR, is_live=True), self._now.line)
        sent = self._head.set([Section("head", shown.head)])
        return (
            sent
            + self._before.set((*shown.before, *self._requested))
            + self._turns.set(shown.batches)
            + self._after.set(shown.after)
        )


def _loop() -> asyncio.AbstractEventLoop | None:
    """None where nothing is awaited; what is new then waits for the next event."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
