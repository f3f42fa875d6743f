"""Show: one output for a run, then its figures. The same bytes with and without a front end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.views.bundle import bundle, figures
from nbagent.views.safe import visible

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.runtime.result import RunResult


def show(shell: InteractiveShell, data: dict[str, Any]) -> None:
    """Displays a MIME bundle as one output."""
    shell.display_pub.publish(data)  # pyright: ignore[reportUnknownMemberType]


def show_run(shell: InteractiveShell, result: RunResult) -> None:
    """Displays a run: its bundle, then each image that a tool returned."""
    show(shell, dict(bundle(result.events)))
    for image in figures(result.events):
        show(shell, {image.media_type: image.data, "text/plain": visible(image.caption) or "figure"})
