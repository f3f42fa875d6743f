"""Show: one output for a run, then its figures. The same bytes with and without a front end."""

from __future__ import annotations

from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from IPython.core.displaypub import CapturingDisplayPublisher

from nbagent.events import Event, RunStarted, StepStarted, StreamEvent, ToolStarted, Waiting, innermost, is_fleeting
from nbagent.notebook.front_end import somebody_is_there, take_away
from nbagent.notebook.held import Held
from nbagent.notebook.identity import running_cell
from nbagent.notebook.live import LiveView
from nbagent.notebook.live_style import SHADOW
from nbagent.notebook.panel import Unanswered, answer, answer_in_words, answer_now
from nbagent.notebook.root import Root
from nbagent.notebook.spot import Spot
from nbagent.runtime.capture import overheard
from nbagent.tools.failure import headline
from nbagent.views.bundle import bundle, figures
from nbagent.views.safe import escape, visible
from nbagent.views.words import waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.messages import Prompt
    from nbagent.notebook.panel import Question
    from nbagent.runtime.result import RunResult
    from nbagent.views.html import Section

T = TypeVar("T")


def show(shell: InteractiveShell, data: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
    """Displays a MIME bundle as one output."""
    shell.display_pub.publish(data, metadata)  # pyright: ignore[reportUnknownMemberType]


SHARE = 10
"""So many times as long as it takes to save a run that goes on, it is not saved again: ten steps in a blink are not."""
SAVED_EVERY = 5.0
"""Seconds after which a run that goes on is saved again, where widgets show it: a kernel may be killed."""
HELD = 2.0
"""Seconds after which it is saved by another thread, since a tool that waits holds the one of the cell."""
SAVED_FLOW = 50_000
"""Characters a second that this may take in the long run."""


class Output:
    """The one output of a run. Whoever is there sees it as widgets while it goes on; a terminal says that a failed
    model call waits to be tried again."""

    def __init__(
        self, shell: InteractiveShell, *, quiet: bool, live: bool = True, stop: Callable[[], object] | None = None,
        request: Callable[[Prompt], Section] | None = None,
    ) -> None:  # fmt: skip
        """`live`: whether widgets may show it while it goes on; `stop`, `request`: see `LiveView`."""
        self._shell = shell
        self._quiet = quiet
        self._watched = not quiet and somebody_is_there(shell)
        self._changes = self._watched and _is_page(shell)
        """Whether what was displayed can be displayed anew; a terminal would show both."""
        self._spot, self._beside = Spot(shell), Spot(shell)
        """The run, and below it what is saved meanwhile, or the buttons of a run whose cell has ended."""
        # A cell with an id is one of a notebook. A console shows no widgets, and nothing of what changes.
        self._is_live = live and self._changes and bool(running_cell(shell)[0])
        self._stop, self._request = stop, request
        self._live: LiveView | None = None
        self._root = Root(shell, self._spot if self._is_live else self._beside)
        self._saves = self._beside
        """Where a run is saved that widgets show meanwhile."""
        self._held = Held(self._save_now_and_then)
        self._is_left = False
        self._events: list[Event] = []
        self._next = 0.0
        """When a run that goes on may be saved again."""
        self._saved = 0
        """How many events there were when it was."""

    def take(self, event: StreamEvent) -> None:
        """Looks at what happens."""
        if not self._watched:
            return
        if isinstance(event, RunStarted):  # of a run that is gone on with, everything comes again
            self._events.clear()
        if not is_fleeting(event):
            self._events.append(event)  # pyright: ignore[reportArgumentType]  # what is not fleeting is in the journal
        if self._is_live:
            with self._kept_going():
                self._take_live(event)
        elif isinstance(event, Waiting) and not self._is_left:
            self._spot.put(self._above(waiting(event)))
        elif isinstance(event, StepStarted) and self._changes and monotonic() > self._next:
            self._save(self._spot)

    def _take_live(self, event: StreamEvent) -> None:
        self._held.end()
        if self._live is not None:
            self._live.take(event)
        else:
            self._live = live = LiveView(self._stop, self._request, self._save_now_and_then)
            live.take(event)
            live.flush()
            if self._is_left:
                self._root.watch(live.widgets)
                self._spot.put(_shadowed(self._spot.data))
            else:
                self._root.open(live.widgets, bundle(self._events))
            self._next, self._saved = monotonic() + SAVED_EVERY, len(self._events)
            live.begin()
        self._save_now_and_then()
        if isinstance(innermost(event), ToolStarted):
            self._held.begin(max(self._next - monotonic(), 0) + HELD)

    def _save_now_and_then(self) -> None:
        if len(self._events) != self._saved and monotonic() > self._next:
            self._save(self._saves)

    def _save(self, spot: Spot) -> None:
        """Shows the run so far, as it would be saved."""
        began, data = monotonic(), dict(bundle(self._events))
        spot.put(_shadowed(data) if self._is_live else data)
        self._saved, now = len(self._events), monotonic()
        pause = SAVED_EVERY + len(data["text/html"]) / SAVED_FLOW if self._is_live else 0.0
        self._next = now + max(pause, SHARE * (now - began))

    def _above(self, said: str) -> dict[str, str]:
        """What is said for a moment, below the run so far; alone in a terminal, which shows all that was displayed."""
        if not (self._changes and self._events):
            return {"text/plain": said}
        shown = bundle(self._events)
        html = f'{shown["text/html"]}<p role="status">{escape(said)}</p>'
        return {**shown, "text/html": html, "text/plain": f"{shown['text/plain']}\n{said}"}

    @contextmanager
    def overhearing(self) -> Generator[None]:
        """While the body runs, what tools print is shown while they print it."""
        if not self._is_live:
            yield
            return
        with overheard(self._print):
            yield

    def _print(self, at: Sequence[int], text: str) -> None:
        if self._live is not None:
            with self._kept_going():
                self._live.print(at, text)

    @contextmanager
    def _kept_going(self) -> Generator[None]:
        """What cannot be drawn does not end a run: it ends the widgets, and the run goes on without."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is
            self._shell.log.error("nbagent: the run cannot be shown while it goes on: %s", headline(error))  # pyright: ignore[reportUnknownMemberType]
            self._end_live({"text/plain": "This run goes on, and is shown when it has ended."})

    async def ask(self, question: Question[T]) -> T | Unanswered:
        """What a person decides who has the run so far before them. A quiet run asks nobody."""
        return await answer(self._shell, question, self._root) if self.pause() else Unanswered.NOBODY

    def ask_now(self, question: Question[T]) -> T | Unanswered:
        """The same where nothing can be awaited."""
        return answer_now(self._shell, question) if self.pause() else Unanswered.NOBODY

    def ask_in_words(self, question: Question[T]) -> T | Unanswered:
        """The same where it was said that `input()` is to ask, whoever is there."""
        self.pause()
        return answer_in_words(question)

    def pause(self) -> bool:
        """Shows the run so far, and saves it. Whether somebody watches."""
        if self._live is not None and self._events:
            self._live.flush()
            self._save(self._saves)
        elif self._changes and self._events:
            self._spot.put(dict(bundle(self._events)))
        return self._watched

    def leave(self) -> Root:
        """The cell ends, and there is a question all the same: gives where it is asked, below the run so far."""
        was_live = self._is_live
        self._end_live(dict(bundle(self._events)))
        self._is_left, self._is_live, self._saves, self._stop = True, was_live, self._spot, None
        self._root = Root(self._shell, self._beside)
        self._root.outlive()
        return self._root

    def end_stretch(self) -> None:
        """What has gone on after its cell waits again, or is over: the run so far, in the place of its widgets."""
        if self._live is not None:
            self._end_live(dict(bundle(self._events)))
            self._is_live = True

    def _end_live(self, data: dict[str, Any]) -> None:
        """What stays, in the place of the widgets."""
        self._held.end()
        if self._live is not None:
            self._live.end()
            if self._is_left:
                self._root.watch(())
            elif not self._root.is_open:
                take_away(*self._live.widgets)
        if self._root.is_open:
            self._root.become(data)
            if self._beside.is_used:
                self._beside.put({})
        elif self._changes and self._events:
            self._spot.put(data)
        self._live, self._is_live = None, False

    def end(self, result: RunResult | None, shown: dict[str, str] | None = None) -> None:
        """The run in the place of what was shown so far, then each image that a tool returned; what a question has left
        goes, unless it outlives the cell. None: the run did not even begin. `shown`: what is shown in its place."""
        if not self._is_left:
            self._root.close()
        if self._quiet or result is None:
            self._end_live(dict(bundle(self._events)) if self._events else {})
            return
        try:
            data: dict[str, Any] = dict(shown or bundle(result.events))
        except BaseException:  # whatever it is, no widget goes on
            self._end_live({"text/plain": "This run could not be drawn; its result has all of it."})
            raise
        if self._root.is_open:
            self._end_live(data)
        elif self._spot.is_used:
            self._spot.put(data)
        else:
            show(self._shell, data)
        self.end_figures(result)

    def end_figures(self, result: RunResult) -> None:
        """The images alone."""
        for image in figures(result.events):
            show(self._shell, {image.media_type: image.data, "text/plain": visible(image.caption) or "figure"})

    def end_again(self, result: RunResult) -> None:
        """The same of a run that has gone on after its cell: what would be displayed besides is lost by then."""
        if self._spot.is_used:
            self._spot.put(dict(bundle(result.events)))


def _shadowed(data: dict[str, Any]) -> dict[str, Any]:
    """What is not seen as long as widgets show it, but saved."""
    return {**data, "text/html": f'<div class="{SHADOW}">{data["text/html"]}</div>'}


def _is_page(shell: InteractiveShell) -> bool:
    """Whether what is displayed goes to a front end, not into a variable (`%%capture`)."""
    return getattr(shell, "kernel", None) is not None and not isinstance(shell.display_pub, CapturingDisplayPublisher)
