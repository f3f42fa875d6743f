"""Show: one output for a run, then its figures. The same bytes with and without a front end."""

from __future__ import annotations

import sys
from itertools import count
from typing import TYPE_CHECKING, Any

from nbagent.events import StreamEvent, Waiting
from nbagent.views.bundle import bundle, figures
from nbagent.views.safe import visible
from nbagent.views.words import waiting

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.runtime.result import RunResult


def show(shell: InteractiveShell, data: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
    """Displays a MIME bundle as one output."""
    shell.display_pub.publish(data, metadata)  # pyright: ignore[reportUnknownMemberType]


class Output:
    """The one output of a run. While a failed model call waits to be tried again, it says so to whoever is there."""

    def __init__(self, shell: InteractiveShell, *, quiet: bool) -> None:
        self._shell = shell
        self._quiet = quiet
        self._id = ""

    def take(self, event: StreamEvent) -> None:
        """Looks at what happens."""
        if isinstance(event, Waiting) and not self._quiet and somebody_is_there(self._shell):
            self._publish({"text/plain": waiting(event)})

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
