"""Stack: sections of a run as widgets, one below the other. Only what has changed is sent."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from nbagent.views.html import line
from nbagent.views.style import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbagent.views.html import Section
    from nbagent.views.sections import Batch

T = TypeVar("T")


class Make:
    """Makes widgets that have their layout and their style in common: each of those would be a message of its own."""

    def __init__(self) -> None:
        import ipywidgets

        self._widgets: Any = ipywidgets
        self._layout: Any = ipywidgets.Layout()
        self._style: dict[str, Any] = {}

    def html(self, value: str) -> Any:
        """HTML of the views, which is safe: everything from outside is escaped in it."""
        made = self._widgets.HTML(value, layout=self._layout, **self._style)
        self._style = {"style": made.style}
        return made

    def box(self) -> Any:
        return self._widgets.VBox(layout=self._layout)


class Stack:
    """Its `box` shows sections. What a reader has opened in one stays open as long as that does not change."""

    def __init__(self, make: Make, around: Callable[[str], str] = line) -> None:
        """`around`: what is around a section."""
        self._make = make
        self._around = around
        self.box = make.box()
        self._shown: dict[str, tuple[str, Any]] = {}
        """The HTML and the widget of each section, in their order."""

    def set(self, sections: Sequence[Section]) -> int:
        """Shows these. Gives how many characters were sent."""
        wanted, before = [one for one in sections if one.html], list(self._shown)
        sent = sum(self._put(one.key, one.html) for one in wanted)
        keys = [one.key for one in wanted]
        if before != keys:
            self._shown, gone = _sorted_by(keys, self._shown)
            self.box.children = tuple([widget for _, widget in self._shown.values()])
            for _, widget in gone:
                widget.close()
        return sent

    def _put(self, key: str, html: str) -> int:
        known = self._shown.get(key)
        if known is not None and known[0] == html:
            return 0
        value = f'<div class="{ROOT}">{self._around(html)}</div>'
        if known is None:
            self._shown[key] = html, self._make.html(value)
        else:
            known[1].value = value
            self._shown[key] = html, known[1]
        return len(value)


class Stacks:
    """Its `box` shows batches of sections, each in a stack of its own, so that others stay as they are."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self.box = make.box()
        self._shown: dict[str, Stack] = {}

    def set(self, batches: Sequence[Batch]) -> int:
        """Shows these. Gives how many characters were sent."""
        sent, keys = 0, [batch.key for batch in batches]
        before = list(self._shown)
        for batch in batches:
            if batch.key not in self._shown:
                self._shown[batch.key] = Stack(self._make)
            sent += self._shown[batch.key].set(batch.sections)
        if before != keys:
            self._shown, gone = _sorted_by(keys, self._shown)
            self.box.children = tuple([stack.box for stack in self._shown.values()])
            for stack in gone:
                for widget in (*stack.box.children, stack.box):  # not what they have in common with others
                    widget.close()
        return sent


def _sorted_by(keys: Sequence[str], shown: dict[str, T]) -> tuple[dict[str, T], list[T]]:
    """What is shown in this order, and what is not any more."""
    gone = [one for key, one in shown.items() if key not in set(keys)]
    return {key: shown[key] for key in keys}, gone
