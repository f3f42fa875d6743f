"""Plan lines: a text as a list with a marker in front of each step."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from nbagent.agents.plan_marker import KINDS, Marker, marker_of
from nbagent.agents.plan_spans import Spans
from nbagent.agents.plan_steps import Plan
from nbagent.prompt.formatters.ladder import around
from nbagent.prompt.formatters.objects import Found
from nbagent.prompt.formatters.strict import Broken
from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class _Line(NamedTuple):
    text: str
    """Without the blanks around it."""
    start: int
    end: int
    indent: int
    marker: Marker | None

    @property
    def is_heading(self) -> bool:
        return self.text.endswith((":", "：")) or self.text.startswith("#") or self.text[:2] == self.text[-2:] == "**"


def _split(text: str) -> Iterator[_Line]:
    start = 0
    for raw in text.splitlines(keepends=True):
        line = raw.strip()
        indent = len(raw[: len(raw) - len(raw.lstrip())].expandtabs(4)) if line else 0
        yield _Line(line, start, start + len(raw), indent, marker_of(line))
        start += len(raw)


class Step:
    """A line with a marker, and what belongs to it."""

    def __init__(self, line: _Line, marker: Marker, *, is_apart: bool) -> None:
        self.parts = [marker.rest]
        self.start, self.end = line.start, line.end
        self._marker = marker
        self._is_apart = is_apart
        """Whether text that belongs to no step stands between it and the step above."""

    @property
    def text(self) -> str:
        return " ".join([part for part in self.parts if part])

    def begins_anew(self, above: Step) -> bool:
        """Whether it is the first step of another list."""
        number, before = self._marker.number, above._marker.number
        if number is None or before is None:
            return self._is_apart and self._marker.kind == "bullet"
        return number < before or (self._is_apart and number == before)


class Lines:
    """A text as a list with a marker in front of each step, as far as it is one."""

    def __init__(self, text: str) -> None:
        lines = list(_split(text))
        marked = [(line.indent, line.marker.kind) for line in lines if line.marker]
        self._indent = min([indent for indent, _ in marked], default=0)
        """How far the steps are indented, give or take one blank."""
        kinds = {kind for indent, kind in marked if indent <= self._indent + 1}
        self._kind = next((kind for kind in KINDS if kind in kinds), None)
        self.steps: list[Step] = []
        self._left_out: list[str] = []
        self._loose: list[str] = []
        """The lines right below the newest step that are not indented: its own where another step follows."""
        self._is_open = self._is_right_above = False
        """Whether an indented line belongs to the newest step; whether the line above does."""
        for line in lines:
            self._take(line)
        self._left_out += self._loose
        self.covered = Spans((step.start, step.end) for step in self.steps)

    def plan(self, steps: Sequence[Step]) -> Plan:
        """The plan that these of its steps are; raises Broken."""
        if any(step.begins_anew(above) for above, step in pairwise(steps)):
            raise Broken(Phrase("plan.two_lists"))
        texts = tuple([step.text for step in steps if step.text])
        if not texts:
            raise Broken(Phrase("plan.empty_lines"))
        prose = [line for line in self._left_out if not line.startswith(("```", "~~~"))]
        taken = Found("", closed=True, fenced=len(prose) < len(self._left_out), alone=not prose)
        note = "read it as a list with bullets" if self._kind == "bullet" else "read it as a numbered list"
        return Plan(texts, (*around(taken, "list"), note))

    def _take(self, line: _Line) -> None:
        marker = line.marker
        if marker and marker.kind == self._kind and line.indent <= self._indent + 1:
            self._begin(line, marker)
        elif not line.text:
            self._is_open, self._is_right_above = self._is_open and not self._loose, False
        elif self._is_open and not self._loose and (line.indent > self._indent or marker or not self.steps[-1].text):
            self.steps[-1].parts.append(" ".join(line.text.split()))
            self.steps[-1].end = line.end
            self._is_right_above = True
        elif self._is_right_above and not line.is_heading:
            self._loose.append(line.text)
        else:
            self._left_out.append(line.text)
            self._is_open = self._is_right_above = False

    def _begin(self, line: _Line, marker: Marker) -> None:
        if self._loose:
            self.steps[-1].parts += self._loose
        self.steps.append(Step(line, marker, is_apart=not self._is_open))
        self._loose = []
        self._is_open = self._is_right_above = True
