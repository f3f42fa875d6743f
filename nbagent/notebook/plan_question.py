"""PlanQuestion: whether a plan that waits is run, changed first, or left."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.notebook.panel import Question
from nbagent.views.safe import inline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbagent.notebook.panel import Panel

Steps = tuple[str, ...]

_WAITS = "The plan waits for you."
_ONE_A_LINE = "One step a line; then run the plan."
_NO_STEP = "A plan has one step at least; write one a line, or leave it."


class PlanQuestion(Question[Steps | None]):
    """The steps that are to be done; None where the plan is left as it is."""

    def __init__(self, steps: Sequence[str]) -> None:
        self._steps = tuple(steps)
        self._shown = tuple(map(inline, steps))
        self._note: Any = None
        self._text: Any = None

    def widgets(self, panel: Panel[Steps | None]) -> Sequence[Any]:
        import ipywidgets as widgets

        wide = {"width": "64em", "max_width": "calc(100% - 4px)"}
        self._note = widgets.Label(_WAITS)
        self._text = widgets.Textarea(
            value="\n".join(self._shown), rows=len(self._shown) + 2, layout=widgets.Layout(**wide, display="none"),
            continuous_update=False,  # letter by letter, a click would overtake the last ones
        )  # fmt: skip
        self._text.tooltip = "One step a line"
        edit = panel.button("Edit", lambda: self._open(edit))
        run = panel.button("Run the plan", lambda: self._take(panel, edit), "primary")
        leave = panel.button("Leave it", lambda: panel.decide(None))
        return self._note, self._text, widgets.HBox([run, edit, leave])

    def _open(self, edit: Any, said: str = _ONE_A_LINE) -> None:
        self._note.value, self._text.layout.display, edit.disabled = said, "", True

    def _take(self, panel: Panel[Steps | None], edit: Any) -> None:
        lines = _stripped(self._text.value.split("\n"))
        if lines:
            panel.decide(self._as_they_were(lines))
        else:
            self._open(edit, _NO_STEP)

    def _as_they_were(self, lines: Steps) -> Steps:
        """What was written; of each line that was not changed the step itself, not as it is shown."""
        known: dict[str, list[str]] = {}
        for step, shown in zip(self._steps, self._shown, strict=True):
            known.setdefault(shown.strip(), []).append(step)
        return tuple([_taken(known[line]) if line in known else line for line in lines])

    def words(self, ask: Callable[[str], str]) -> Steps | None:
        listed = "".join(f"{number}. {step}\n" for number, step in enumerate(self._shown, 1))
        said = ask(f"{listed}Run this plan, edit it, or stop? [run/edit/stop] ").lower()
        while said not in _RUN + _EDIT + _STOP:
            said = ask("Please write run, edit or stop: ").lower()
        if said in _STOP:
            return None
        return self._steps if said in _RUN else self._edited(ask)

    def _edited(self, ask: Callable[[str], str]) -> Steps | None:
        steps: list[str] = []
        for number, (step, shown) in enumerate(zip(self._steps, self._shown, strict=True), 1):
            said = ask(f"Step {number}: {shown}\nEnter keeps it, - drops it, or write it anew: ")
            steps += [] if said == "-" else [said or step]
        while said := ask(f"Step {len(steps) + 1} (Enter: there are no more): "):
            steps.append(said)
        return tuple(steps) or None


_RUN, _EDIT, _STOP = ("run", "r"), ("edit", "e"), ("stop", "s", "")


def _taken(steps: list[str]) -> str:
    """The first of the steps that look alike, and of the last one as many as there are."""
    return steps.pop(0) if len(steps) > 1 else steps[0]


def _stripped(lines: Sequence[str]) -> Steps:
    return tuple([line.strip() for line in lines if line.strip()])
