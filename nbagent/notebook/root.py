"""Root: the one widget in which a run is shown while it goes on, and in which it asks all its questions."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.notebook.echo import Echo
from nbagent.notebook.front_end import confirm, take_away

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.notebook.spot import Spot

_VIEW = "application/vnd.jupyter.widget-view+json"
_KEPT = "Buttons: they can be clicked while the cell waits."
"""What a notebook shows in their place that was saved meanwhile, where no kernel runs."""
_OUTLIVES = "Buttons: they can be clicked as long as this kernel runs; `%agent pending` says what waits."
"""The same where the cell has ended."""
_LOADED_AGAIN = "Decided. A page that was loaded again meanwhile shows no more of it; the agent's `last` does."


class Root:
    """It stays the same from question to question: a page that was loaded again meanwhile gets no outputs any more, but
    what changes in a widget that it has."""

    def __init__(self, shell: InteractiveShell, spot: Spot, kept: str = _KEPT) -> None:
        """`spot`: where it is displayed; `kept`: what a saved notebook shows in its place."""
        self._shell = shell
        self._spot = spot
        self._widget: Any = None
        self._view: tuple[Any, ...] = ()
        self._watched: tuple[Any, ...] = ()
        self._asking: tuple[Any, ...] = ()
        self._page: object = None
        self._echo: Echo | None = None
        self._kept = kept

    def open(self, view: Sequence[Any], data: Mapping[str, str]) -> None:
        """Shows a run that goes on; questions are asked below it. `data`: what is saved in its place."""
        self._view = tuple(view)
        self._make()
        self._put(())
        self._widget.add_class("nbagent-live")
        self._spot.put({**data, **self._displayed})

    def watch(self, view: Sequence[Any]) -> None:
        """Shows a run that goes on after its cell, where it was asked about; nothing more of it when it is over.
        Nothing at all where the output is gone, since the cell runs again."""
        before, self._watched = self._watched, tuple(view)
        if self._widget is None:
            take_away(*before, *view)
            return
        (self._widget.add_class if view else self._widget.remove_class)("nbagent-live")
        self._put(self._asking)
        take_away(*before)

    @property
    def is_open(self) -> bool:
        """Whether it shows a run that goes on."""
        return bool(self._view)

    def show(self, widgets: Sequence[Any]) -> None:
        """Shows a question."""
        self._make()
        self._echo = self._echo or Echo(self._shell)
        self._put(widgets)
        confirm(self._shell, *widgets)
        if not self._view:
            self._spot.put({**self._displayed, "text/plain": self._kept})

    def _make(self) -> None:
        import ipywidgets

        if self._widget is None:
            self._widget, self._page = ipywidgets.VBox(), _page()

    @property
    def _displayed(self) -> dict[str, Any]:
        return {_VIEW: {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}}

    def after(self, page: str | None, action: Callable[[], object]) -> None:
        """Does what a click in a page is for, when all has come that was written there before it."""
        if self._echo is not None:
            self._echo.after(page, action)

    def clear(self) -> None:
        """Takes the question away that was decided. A page that was loaded again is told."""
        import ipywidgets

        if self._view:
            self._put(())
            return
        self._spot.put({})
        self._put([] if _page() is self._page else [ipywidgets.Label(_LOADED_AGAIN)])

    def outlive(self) -> None:
        """From now on questions are asked here though the cell has ended."""
        self._kept = _OUTLIVES

    def end(self, widgets: Sequence[Any], text: str) -> None:
        """Shows what stays: as a text where an output can still be changed, also in the notebook that is saved then;
        else, as in a page that was loaded again, as widgets."""
        self._put(widgets)
        self._hear_no_more()
        self._spot.put({"text/plain": text})

    def take_away(self) -> None:
        """Takes all away when the output is gone, since the cell runs again."""
        if self._widget is not None:
            self._hear_no_more()
            take_away(self._widget)
            self._widget = None

    def close(self) -> None:
        """Takes a question away, but for what a page that was loaded again is told."""
        if self._widget is None or self._view:
            return
        self._hear_no_more()
        if self._spot.is_empty and self._widget.children:
            self._widget = None
            return
        self._spot.put({})
        take_away(self._widget)
        self._widget = None

    def become(self, data: dict[str, Any]) -> None:
        """Shows what stays of a run: in the place of its widgets, but in a page that was loaded again in one more."""
        import ipywidgets

        self._hear_no_more()
        self._spot.put(data)
        view, self._view = self._view, ()
        if _page() is self._page:
            take_away(self._widget)
        else:
            self._widget.children = [ipywidgets.HTML(data.get("text/html", ""))]
            take_away(*view, *self._asking)
        self._widget = None

    def _hear_no_more(self) -> None:
        """There is nothing left to click on."""
        if self._echo is not None:
            self._echo.close()
        self._echo = None

    def _put(self, widgets: Sequence[Any]) -> None:
        before, self._asking = self._asking, tuple(widgets)
        self._widget.children = (*self._view, *self._asking, *self._watched)
        take_away(*[one for one in before if one not in self._asking])


def _page() -> object:
    """The page that has asked last which widgets there are: each does so when it is loaded."""
    import ipywidgets

    return getattr(ipywidgets.Widget, "_control_comm", None)
