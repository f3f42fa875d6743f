"""View parts: the widgets that looking back is made of. Text from outside is in those that show it as it is, or is HTML
of the views."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from nbagent.notebook.card_style import PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbagent.notebook.hands import Hands


class ViewParts:
    """Makes widgets. Layouts are shared where nothing is hidden."""

    def __init__(self, hands: Hands) -> None:
        import ipywidgets

        self._hands = hands
        self._widgets: Any = ipywidgets

    @cached_property
    def _auto(self) -> Any:
        return self._widgets.Layout(width="auto")

    def html(self, value: str = "", *classes: str, shown: bool = True) -> Any:
        """HTML of the views."""
        html = self._widgets.HTML(value, layout=self._widgets.Layout(width="auto", display="" if shown else "none"))
        for name in classes:
            html.add_class(name)
        return html

    def told(self, text: str = "") -> Any:
        """A line that says something."""
        label = self._widgets.Label(text, layout=self._auto)
        for name in (*PLAIN, "nbagent-told"):
            label.add_class(name)
        return label

    def button(
        self, label: str, action: Callable[[], object], about: str = "", style: str = "", *, shown: bool = True,
        is_quick: bool = False,
    ) -> Any:  # fmt: skip
        layout = self._auto if shown else self._widgets.Layout(width="auto", display="none")
        made = self._hands.quick_button if is_quick else partial(self._hands.button, style=style)
        button = made(label, action, layout)
        button.tooltip = about or label
        return button

    def slider(self, description: str, most: int) -> Any:
        """From 1, at its end."""
        slider = self._widgets.IntSlider(most, min=1, max=max(most, 1), description=description)
        slider.style.description_width = "initial"
        slider.tooltip = description
        return slider

    def number(self, description: str, most: int) -> Any:
        """A number from 1."""
        number = self._widgets.BoundedIntText(1, min=1, max=max(most, 1), description=description, layout=self._auto)
        number.style.description_width = "initial"
        return number

    def field(self, description: str, placeholder: str) -> Any:
        """A line to write into, which is sent when somebody has gone on to the next thing, or presses Enter."""
        field = self._widgets.Text(placeholder=placeholder, description=description, continuous_update=False)
        field.style.description_width = "initial"
        return field

    def area(self, description: str) -> Any:
        """A text of any length to write into."""
        area = self._widgets.Textarea(description=description, continuous_update=False, layout=self._auto)
        area.style.description_width = "initial"
        area.tooltip = description
        return area

    def choice(self, description: str, options: Sequence[Any]) -> Any:
        choice = self._widgets.Dropdown(options=options, description=description, layout=self._auto)
        choice.style.description_width = "initial"
        return choice

    def toggles(self, description: str, options: Sequence[str]) -> Any:
        """One of a few, all of which are seen."""
        toggles = self._widgets.ToggleButtons(options=options, index=0, layout=self._auto)
        toggles.tooltip = description
        return toggles

    def bar(self, parts: Sequence[Any]) -> Any:
        bar = self._widgets.HBox(list(parts))
        bar.add_class("nbagent-bar-of-buttons")
        return bar

    def column(self, parts: Sequence[Any], *classes: str) -> Any:
        column = self._widgets.VBox(list(parts))
        for name in classes:
            column.add_class(name)
        return column
