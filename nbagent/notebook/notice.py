"""Notice: a text in the place of a question, and buttons of which one may be pressed."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.notebook.card_parts import Parts
from nbagent.notebook.card_style import STYLE
from nbagent.notebook.panel import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbagent.notebook.panel import Panel


class Notice(Question[str]):
    """Which button is pressed, by what stands on it."""

    def __init__(self, text: str, *buttons: str) -> None:
        """`text`: shown as it is, in several lines where it has some."""
        self._text = text
        self._buttons = buttons

    def widgets(self, panel: Panel[str]) -> Sequence[Any]:
        import ipywidgets

        parts = Parts(panel)
        buttons = [parts.button(label, lambda label=label: panel.decide(label)) for label in self._buttons]
        body = parts.column([parts.label(self._text), *([parts.line(buttons)] if buttons else [])])
        body.add_class("nbagent-call")
        body.add_class("nbagent-chosen")
        card = parts.column([ipywidgets.HTML(STYLE, layout=ipywidgets.Layout(display="none")), body])
        card.add_class("nbagent-card")
        return [card]

    def words(self, ask: Callable[[str], str]) -> str:
        return ask(f"{self._text}\n{' or '.join(self._buttons)}? ")
