"""Show: one output for a run, then its figures. The same bytes with and without a front end."""

from __future__ import annotations

import sys
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any

from nbagent.events import Event, RunStarted, StepStarted, StreamEvent, Waiting, is_fleeting
from nbagent.views.bundle import bundle, figures
from nbagent.views.safe import visible
from nbagent.views.words import waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.runtime.result import RunResult


def show(shell: InteractiveShell, data: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
    """Displays a MIME bundle as one output."""
    shell.display_pub.publish(data, metadata)  # pyright: ignore[reportUnknownMemberType]


SHARE = 10
"""So many times as long as it takes to show a run that goes on, it is not shown again: ten steps in a blink are not."""


class Output:
    """The one output of a run. To whoever is there it shows the steps of a plan or a reflection while they are done,
    and that a failed model call waits to be tried again."""

    def __init__(self, shell: InteractiveShell, *, quiet: bool) -> None:
        self._shell = shell
        self._watched = not quiet and somebody_is_there(shell)
        self._changes = self._watched and getattr(shell, "kernel", None) is not None
        """Whether what was displayed can be displayed anew; a terminal would show both."""
        self._quiet = quiet
        self._id = ""
        self._events: list[Event] = []
        self._next = 0.0
        """When a run that goes on may be shown again."""

    def take(self, event: StreamEvent) -> None:
        """Looks at what happens."""
        if not self._watched:
            return
        if isinstance(event, Waiting):
            self._publish({"text/plain": waiting(event)})
        elif not is_fleeting(event):
            if isinstance(event, RunStarted):  # of a plan that is gone on with, everything comes again
                self._events.clear()
            self._events.append(event)  # pyright: ignore[reportArgumentType]  # what is not fleeting is in the journal
            if isinstance(event, StepStarted) and self._changes and monotonic() > self._next:
                began = monotonic()
                self._publish(dict(bundle(self._events)))
                self._next = monotonic() + SHARE * (monotonic() - began)

    async def ask(self, result: RunResult, steps: Sequence[str]) -> tuple[str, ...] | None:
        """What is to be done with a plan that waits: its steps, as they are now; None to leave it, or headless."""
        if not self._changes:
            return None
        from nbagent.notebook.live_plan import LivePlan

        shown = dict(bundle(result.events))
        live = LivePlan(shown["text/html"], steps)
        self._publish({"text/plain": shown["text/plain"], **live.view})
        try:
            return await live.decision()
        finally:
            self._publish(shown)
            live.close()

    def end(self, result: RunResult) -> None:
        """The run in the place of what was shown so far, then each image that a tool returned."""
        if self._quiet:
            return
        data = dict(bundle(result.events))
        self._publish(data) if self._id else show(self._shell, data)
        for image in figures(result.events):
            show(self._shell, {image.media_type: image.data, "text/plain": visible(image.caption) or "figure"})

    def _publish(self, data: dict[str, Any]) -> None:
        """Into an output that can be changed: its id is not saved with it."""
        update, self._id = bool(self._id), self._id or f"nbagent-{next(_numbers)}"
        shell: Any = self._shell
        shell.display_pub.publish(data, transient={"display_id": self._id}, update=update)


_numbers = count(1)


def somebody_is_there(shell: InteractiveShell) -> bool:
    """Whether a person watches: not under nbclient, nbval, papermill or in a script."""
    kernel: Any = getattr(shell, "kernel", None)
    return bool(getattr(kernel, "_allow_stdin", False)) if kernel else bool(sys.stdin and sys.stdin.isatty())
