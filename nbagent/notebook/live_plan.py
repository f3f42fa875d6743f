"""Live plan: a plan that waits, with buttons to run it, to edit it, to leave it. Only where somebody is there."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from nbagent.views.safe import inline

if TYPE_CHECKING:
    from collections.abc import Sequence

_VIEW = "application/vnd.jupyter.widget-view+json"
BEAT = 0.25
"""Seconds between looks, so that a kernel interrupt is noticed."""


class LivePlan:
    """A proposed plan as a widget. `shown`: the HTML of the run so far."""

    def __init__(self, shown: str, steps: Sequence[str]) -> None:
        import ipywidgets as widgets

        self._decided: asyncio.Future[tuple[str, ...] | None] = asyncio.get_running_loop().create_future()
        self._steps = tuple(steps)
        self._run = self._button("Run the plan", "primary", self._take)
        self._edit = self._button("Edit", "", self._open)
        self._stop = self._button("Leave it", "", lambda: self._decide(None))
        self._text = widgets.Textarea(
            value="\n".join(map(inline, self._steps)),
            rows=len(self._steps) + 2,
            layout=widgets.Layout(width="64em", max_width="100%", display="none"),
        )
        self._text.description = ""
        self._text.tooltip = "One step a line"
        self._note = widgets.Label("One step a line; then run the plan.", layout=widgets.Layout(display="none"))
        buttons = widgets.HBox([self._run, self._edit, self._stop])
        self.widget = widgets.VBox([widgets.HTML(shown), self._note, self._text, buttons])

    @property
    def view(self) -> dict[str, Any]:
        """The widget, as a front end shows it."""
        return {_VIEW: {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}}

    def _button(self, label: str, style: str, action: Any) -> Any:
        import ipywidgets as widgets

        button = widgets.Button(description=label, button_style=style)
        button.on_click(lambda _: action())
        return button

    def _open(self) -> None:
        for part in (self._text, self._note):
            part.layout.display = ""
        self._edit.disabled = True

    def _take(self) -> None:
        lines = tuple([line.strip() for line in self._text.value.split("\n") if line.strip()])
        same = lines == tuple(map(inline, self._steps))
        if not lines:
            self._note.value = "A plan has one step at least; write one a line, or leave it."
            self._open()
            return
        self._decide(self._steps if same else lines)

    def _decide(self, steps: tuple[str, ...] | None) -> None:
        if not self._decided.done():
            self._decided.set_result(steps)

    async def decision(self) -> tuple[str, ...] | None:
        """The steps that are to be done; None where the plan is left as it is."""
        while True:
            done, _ = await asyncio.wait([self._decided], timeout=BEAT)
            if done:
                return self._decided.result()

    def close(self) -> None:
        """Takes the widgets away."""
        waiting = [self.widget]
        while waiting:
            widget = waiting.pop()
            waiting += getattr(widget, "children", ())
            widget.close()
