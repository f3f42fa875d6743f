"""Card parts: the widgets that cards are made of. All text is in widgets that show it as it is."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from nbagent.notebook.card_style import PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbagent.notebook.panel import Panel

_NO_MATH = str.maketrans("$\\", "＄＼")
"""A label, which only a screen reader reads, is typeset by the front end where there is something to typeset."""
_COLUMNS = 84
"""Letters in a line, where a browser does not fit the height to the text by itself."""


class Parts:
    """Makes widgets. Layouts are shared where nothing is hidden: each is a message to the page."""

    def __init__(self, panel: Panel[Any]) -> None:
        import ipywidgets

        self._panel = panel
        self._widgets: Any = ipywidgets

    @cached_property
    def _plain(self) -> Any:
        return self._widgets.Layout()

    @cached_property
    def _wide(self) -> Any:
        return self._widgets.Layout(width="auto")

    @cached_property
    def _wrapped(self) -> Any:
        return self._widgets.Layout(flex_flow="row wrap", align_items="center")

    def label(self, text: str) -> Any:
        """A text that nobody writes. Dollars stay dollars."""
        label = self._widgets.Label(text, layout=self._plain)
        for name in PLAIN:
            label.add_class(name)
        return label

    def area(self, text: str, tooltip: str, *, shown: bool = True, disabled: bool = False) -> Any:
        """A text of any length, all of which is to be seen.

        The page sends what is written when somebody goes on to the next thing, not letter by letter. Where a click
        overtakes it, the panel waits for it.
        """
        layout = self._wide if shown else self._widgets.Layout(width="auto", display="none")
        area = self._widgets.Textarea(
            text, description=tooltip.translate(_NO_MATH), rows=_rows(text), disabled=disabled, layout=layout,
            continuous_update=False,
        )  # fmt: skip
        area.tooltip = tooltip
        return area

    def row(self, name: str, text: str, *, disabled: bool = False) -> Any:
        """An argument."""
        return self.row_of(name, self.area(text, f"Argument {name}", disabled=disabled))

    def row_of(self, name: str, area: Any) -> Any:
        row = self._widgets.HBox([self.label(name), area], layout=self._plain)
        row.add_class("nbagent-argument")
        return row

    def column(self, parts: Sequence[Any], *, shown: bool = True) -> Any:
        layout = self._widgets.Layout() if shown else self._widgets.Layout(display="none")
        column = self._widgets.VBox(list(parts), layout=layout)
        column.add_class("nbagent-arguments")
        return column

    def line(self, parts: Sequence[Any], *, shown: bool = True) -> Any:
        layout = self._wrapped if shown else self._widgets.Layout(flex_flow="row wrap", display="none")
        return self._widgets.HBox(list(parts), layout=layout)

    def button(self, label: str, action: Callable[[], object], style: str = "", *, shown: bool = True) -> Any:
        button = self._panel.button(label, action, style)
        if not shown:
            button.layout.display = "none"
        return button

    def choice(self, label: str, options: Sequence[Any], chosen: int = 0, *, shown: bool = True) -> Any:
        """One of a few. `chosen`: its place among them."""
        layout = self._widgets.Layout(width="auto", display="" if shown else "none")
        choice = self._widgets.Dropdown(options=options, index=chosen, description=label, layout=layout)
        choice.style.description_width = "initial"
        return choice

    def show(self, part: Any, is_shown: bool) -> None:
        part.layout.display = "" if is_shown else "none"

    def is_shown(self, part: Any) -> bool:
        return part.layout.display != "none"


def _rows(text: str) -> int:
    return sum(1 + _width(line) // _COLUMNS for line in text.split("\n"))


def _width(line: str) -> int:
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in line)
