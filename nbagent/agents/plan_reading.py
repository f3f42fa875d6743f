"""Plan reading: the steps of a plan out of a model's answer, with as little repair as it takes, each with a note."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from nbagent.prompt.formatters.json_object import LenientJsonFormatter
from nbagent.prompt.formatters.ladder import around
from nbagent.prompt.formatters.mending import Mended, closed
from nbagent.prompt.formatters.objects import JSON, MAX_CUT_OFF, PYTHON, Found, objects
from nbagent.prompt.formatters.reading import Unreadable, unreadable
from nbagent.prompt.formatters.strict import Broken, as_object, parse
from nbagent.prompt.formatters.thinking import without_thinking
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_KEYS = ("steps", "plan")
_TITLES = ("step", "title", "task")
_READER = LenientJsonFormatter()

_FENCE = r"(?:`{3,9}+|~{3,9}+)"
_INNER = r"(?:\s{0,9}+\[){0,50}+"
_LIST = re.compile(rf"(?:(?P<fence>{_FENCE}[\w+#.-]{{0,20}}+\s*+)|(?<![\w\])]))\[(?={_INNER}\s*+[\"'{{\]])")
"""The beginning of a list of texts or objects, with its fence. `x["a"]` in a sentence is none, and `[1]` neither."""
_FENCE_END = re.compile(rf"\s*+(?:{_FENCE}|\Z)")
_FENCE_LINE = re.compile(rf"^[ \t]*+(?={_FENCE})", re.MULTILINE)
_EMPTY = re.compile(r"[\[{]\s*+[\]}]")

_BOLD = r"(?:\*{1,3}|_{1,3})"
_WORD = r"(?:step|schritt|[ée]tape|paso|passo|шаг|步骤|步驟|ステップ|手順|단계)"
_MARKER = re.compile(
    rf"\s*+(?:\#{{1,6}}\s++)?(?P<bold>{_BOLD}(?!\s))?(?:"
    rf"(?P<step>(?:{_WORD}\s*+\#?(?P<n1>\d{{1,3}})(?!\d)|第\s*+(?:(?P<n2>\d{{1,3}})|[一二三四五六七八九十百]{{1,4}})\s*+步)"
    rf"{_BOLD}?(?:\s*+(?:[:：)）、，]|[.．](?!\d)|[—–-](?=\s))|(?<=[*_步])[^\S\n]|[^\S\n]*+(?:\n|\Z)))"
    r"|(?P<number>[(（]?(?P<n3>\d{1,3})(?:[.)](?=\s|[^\x00-\x7f]|\*|\Z)|[．）、](?!\d)))"
    r"|(?P<bullet>[-*+•–](?=\s)(?!(?:\s*+[-*_])*+\s*+\Z)(?:\s++\[[ xX]\](?=\s))?)"
    rf"){_BOLD}?\s*+",
    re.IGNORECASE,
)
"""What a step in a list begins with: `Step 1:` or `第1步：`, `1.`, `-`; as a heading and in bold, too."""
_RANKED = ("step", "number", "bullet")
"""The kinds of markers. Those of a later kind, where there are both, are about parts of a step."""


class Plan(Struct, frozen=True):
    """What an answer says is to be done."""

    steps: tuple[str, ...]
    """Each in one line. There may be none."""
    repairs: tuple[str, ...] = ()
    """What had to be done to the text for it: `took the list out of the text around it`."""


def read_plan(text: str) -> Plan:
    """The plan that the answer says; raises Unreadable, whose str is for the model.

    The answer is asked to be `{"steps": ["…", "…"]}`; `plan` as the key, other keys beside it, and the list alone are
    as good. With a note of what was done the same is read in a code fence, between other text, with the faults that
    the ladder mends, and as Python writes it; and so are lines that begin with `1.`, `1)`, `Step 1:`, `第1步：`, `-` or
    `*`. Of several, objects with that key come first, then lists on lines of their own, then lines and lists in a
    sentence, and of each kind what is last. Two lists made of lines are refused: which is the plan cannot be told.

    A line below such a step belongs to it where it is indented, or a part of it, or runs on to the next step; other
    lines are left out. A step may be an object with a text as `step`, `title` or `task`, as `description`, or both. Its
    number, and steps without any text, are left out.
    """
    plain = without_thinking(text)
    try:
        plan = _plan(plain.text)
    except Broken as error:
        expected = '{"steps": ["…", "…"]}, a JSON object with the list of the steps, each of them a text'
        advice = "Answer again with that object and nothing else: no text around it, no code fence."
        raise unreadable(text, expected=expected, wrong=str(error), advice=advice) from None
    return Plan(plan.steps, (*plain.repairs, *plan.repairs))


def _plan(text: str) -> Plan:
    try:
        value = parse(text)
    except Broken:
        return _repaired(text)
    return Plan(_steps(value))


def _repaired(text: str) -> Plan:
    wrong = ""
    for way in sorted(_ways(text), key=lambda way: way.likeliness, reverse=True):
        try:
            return way.read()
        except Broken as error:
            wrong = wrong or str(error)
    raise Broken(wrong or "there is no JSON object in it, no list, and no numbered line")


class _Way(NamedTuple):
    """What may be the plan."""

    likeliness: tuple[int, int]
    """Of what form it is, and where it begins."""
    read: Callable[[], Plan]


def _ways(text: str) -> Iterator[_Way]:
    lines = _Lines(text)
    both = dict.fromkeys([*_founds(text, JSON), *_founds(text, PYTHON)])
    founds = [found for found in both if found.start not in lines.covered]
    end = len(text.rstrip())
    for found in founds:
        form = _form(found, text)
        if form >= 0 or found.alone or _stop(found) == end:
            yield _Way((form, found.start), partial(_read, found))
    taken = _Spans((found.start, _stop(found)) for found in founds)
    if steps := [step for step in lines.steps if step.start not in taken]:
        yield _Way((0, steps[0].start), partial(lines.plan, steps))


# What a plan is as a value.


def _steps(value: Any) -> tuple[str, ...]:
    return tuple([text for n, step in enumerate(_listed(value), 1) if (text := _step(step, n))])


def _listed(value: Any) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)
    found = as_object(value)
    given = [key for key in _KEYS if key in found]
    steps = next((found[key] for key in given if isinstance(found[key], list)), None)
    if found and steps is None:
        raise Broken(f'its "{given[0]}" is no list' if given else 'the object has no key "steps"')
    return steps or []


def _step(step: Any, number: int) -> str:
    if isinstance(step, dict):
        step = _described(cast("dict[str, Any]", step))
    if isinstance(step, str):
        return _line_of(step)
    if isinstance(step, bool) or not isinstance(step, int | float):
        raise Broken(f'step {number} is no text, and no object with a text as "step" either')
    try:
        return str(step)
    except ValueError as error:  # an integer of more digits than Python writes
        raise Broken(f"step {number}: {error}") from None


def _described(step: dict[str, Any]) -> str | None:
    """The title and the description, as far as they are there; None where both are missing."""
    texts = [text for key in (*_TITLES, "description") if isinstance(text := step.get(key), str)]
    said = [text for one in texts if (text := one.strip(" .:：。\n")) and not text.isdigit()]
    description = step.get("description")
    if len(said) > 1 and texts[-1] == description:
        return f"{said[0]}: {description}"
    return said[0] if said else texts[0] if texts else None


def _line_of(text: str) -> str:
    """The text of a step in one line, without its number; as it is where it has nothing else."""
    marker = _MARKER.match(text)
    rest = "" if marker is None or marker["bullet"] else _behind(marker)
    return rest or " ".join(text.split())


def _behind(marker: re.Match[str]) -> str:
    """What follows the marker, in one line. Bold that began in front of the marker is none any more."""
    rest, bold = marker.string[marker.end() :], marker["bold"]
    return " ".join((rest.replace(bold, "", 1) if bold and rest.count(bold) % 2 else rest).split())


# Objects and lists, as JSON or as Python writes them.


def _founds(text: str, token: re.Pattern[str]) -> list[Found]:
    found = objects(text, token)
    return [*found, *_lists(text, token, _Spans((one.start, _stop(one)) for one in found))]


def _lists(text: str, token: re.Pattern[str], taken: _Spans) -> Iterator[Found]:
    """The lists that are in no object, as `objects` finds those."""
    at = cut_off = 0
    whole = (len(text) - len(text.lstrip()), len(text.rstrip()))
    while cut_off < MAX_CUT_OFF and (opening := _LIST.search(text, at)):
        start, at, fenced = opening.end() - 1, opening.end(), bool(opening["fence"])
        if start in taken:
            continue
        end = _end(text, start, token)
        if is_cut := end < 0:
            cut_off += 1
            if not fenced and not _begins_line(text, start):
                continue  # a bracket in a sentence
            behind = _FENCE_LINE.search(text, start)
            end = len(text[: behind.start() if behind else len(text)].rstrip())
        at = end
        alone = bool(_FENCE_END.match(text, end)) if fenced else (start, end) == whole
        yield Found(text[start:end], not is_cut, fenced, alone, start)


def _end(text: str, start: int, token: re.Pattern[str]) -> int:
    """Where the list that begins here ends, or -1."""
    depth = 0
    for match in token.finditer(text, start):
        mark = match[0]
        if mark in ('"', "'"):
            return -1
        depth += (mark in "{[") - (mark in "}]")
        if not depth:
            return match.end()
    return -1


def _stop(found: Found) -> int:
    return found.start + len(found.text)


def _form(found: Found, text: str) -> int:
    """The higher, the likelier it is a plan; below 0 where it is empty."""
    if _EMPTY.fullmatch(found.text):
        return -1
    if found.text.startswith("{"):
        return 2
    return 1 if found.alone or _has_own_lines(text, found.start, _stop(found)) else 0


def _has_own_lines(text: str, start: int, end: int) -> bool:
    while end < len(text) and text[end] in " \t\r":
        end += 1
    return _begins_line(text, start) and text[end : end + 1] in ("", "\n")


def _begins_line(text: str, start: int) -> bool:
    while start and text[start - 1] in " \t":
        start -= 1
    return text[start - 1 : start] in ("", "\n")


def _read(found: Found) -> Plan:
    if _lacks_comma(found.text):
        raise Broken("a comma is missing between two of its texts")
    is_list = found.text.startswith("[")
    whole = closed(found.text) if is_list and not found.closed else Mended(found.text, ())
    try:
        reading = _READER.read_plain(f'{{"steps": {whole.text}}}' if is_list else whole.text, ())
    except Unreadable:
        parse(found.text)  # raises Broken, which says why
        raise
    return Plan(_steps(reading.value), (*_around(found, is_list=is_list), *reading.repairs, *whole.repairs))


def _lacks_comma(text: str) -> bool:
    """Whether two texts stand side by side: Python would make one of them, and so one step of two."""
    marks = pairwise(PYTHON.finditer(text))
    texts = [(one.end(), other.start()) for one, other in marks if one[0][0] in "\"'" and other[0][0] in "\"'"]
    return any(not text[end:start].strip() for end, start in texts)


def _around(found: Found, *, is_list: bool) -> tuple[str, ...]:
    return tuple([note.replace("JSON object", "list") if is_list else note for note in around(found)])


class _Spans:
    """Stretches of a text."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        self._ends = list(accumulate([end for _, end in ordered], max))

    def __contains__(self, position: int) -> bool:
        before = bisect_right(self._starts, position)
        return before > 0 and position < self._ends[before - 1]


# Lines with a marker each.


class _Line(NamedTuple):
    text: str
    """Without the blanks around it."""
    start: int
    end: int
    indent: int
    marker: re.Match[str] | None
    kind: str
    """That of the marker; empty where there is none."""

    @property
    def is_heading(self) -> bool:
        return self.text.endswith((":", "：")) or self.text.startswith("#") or self.text[:2] == self.text[-2:] == "**"


def _split(text: str) -> Iterator[_Line]:
    start = 0
    for raw in text.splitlines(keepends=True):
        line = raw.strip()
        indent = len(raw[: len(raw) - len(raw.lstrip())].expandtabs(4)) if line else 0
        marker = _MARKER.match(line)
        kind = next(kind for kind in _RANKED if marker[kind]) if marker else ""
        yield _Line(line, start, start + len(raw), indent, marker, kind)
        start += len(raw)


class _Step:
    """A line with a marker, and what belongs to it."""

    def __init__(self, line: _Line, marker: re.Match[str], *, is_apart: bool) -> None:
        self.parts = [_behind(marker)]
        self.start, self.end = line.start, line.end
        digits = marker["n1"] or marker["n2"] or marker["n3"]
        self.number = int(digits) if digits else None
        self.kind = line.kind
        self.is_apart = is_apart
        """Whether text that belongs to no step stands between it and the step above."""

    @property
    def text(self) -> str:
        return " ".join([part for part in self.parts if part])

    def begins_anew(self, above: _Step) -> bool:
        if self.number is None or above.number is None:
            return self.is_apart and self.kind == "bullet"
        return self.number < above.number or (self.is_apart and self.number == above.number)


class _Lines:
    """A text as a list with a marker in front of each step, as far as it is one."""

    def __init__(self, text: str) -> None:
        lines = list(_split(text))
        marked = [line for line in lines if line.marker]
        self._indent = min([line.indent for line in marked], default=0)
        """How far the steps are indented, give or take one blank."""
        kinds = {line.kind for line in marked if line.indent <= self._indent + 1}
        self._kind = next((kind for kind in _RANKED if kind in kinds), "")
        self.steps: list[_Step] = []
        self._left_out: list[str] = []
        self._loose: list[str] = []
        """The lines right below the newest step that are not indented: its own where another step follows."""
        self._is_open = self._is_right_above = False
        """Whether an indented line belongs to the newest step; whether the line above does."""
        for line in lines:
            self._take(line)
        self._left_out += self._loose
        self.covered = _Spans((step.start, step.end) for step in self.steps)

    def plan(self, steps: Sequence[_Step]) -> Plan:
        if any(step.begins_anew(above) for above, step in pairwise(steps)):
            raise Broken("there is more than one list in it, and which of them is the plan cannot be told")
        texts = tuple([step.text for step in steps if step.text])
        if not texts:
            raise Broken("the lines of its list are empty")
        prose = [line for line in self._left_out if not line.startswith(("```", "~~~"))]
        taken = Found("", closed=True, fenced=len(prose) < len(self._left_out), alone=not prose)
        note = "read it as a list with bullets" if self._kind == "bullet" else "read it as a numbered list"
        return Plan(texts, (*_around(taken, is_list=True), note))

    def _take(self, line: _Line) -> None:
        if line.marker and line.kind == self._kind and line.indent <= self._indent + 1:
            self._begin(line, line.marker)
        elif not line.text:
            self._is_open, self._is_right_above = self._is_open and not self._loose, False
        elif self._is_open and not self._loose and (line.indent > self._indent or line.kind or not self.steps[-1].text):
            self.steps[-1].parts.append(" ".join(line.text.split()))
            self.steps[-1].end = line.end
            self._is_right_above = True
        elif self._is_right_above and not line.is_heading:
            self._loose.append(line.text)
        else:
            self._left_out.append(line.text)
            self._is_open = self._is_right_above = False

    def _begin(self, line: _Line, marker: re.Match[str]) -> None:
        if self._loose:
            self.steps[-1].parts += self._loose
        self.steps.append(_Step(line, marker, is_apart=not self._is_open))
        self._loose = []
        self._is_open = self._is_right_above = True
