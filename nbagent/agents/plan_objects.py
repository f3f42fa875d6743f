"""Plan objects: the objects and the lists in a text that may be its plan, as JSON or as Python writes them."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from nbagent.agents.plan_spans import Spans
from nbagent.agents.plan_steps import Plan, steps_of
from nbagent.prompt.formatters.json_object import LenientJsonFormatter
from nbagent.prompt.formatters.ladder import around
from nbagent.prompt.formatters.mending import Mended, closed
from nbagent.prompt.formatters.objects import (
    FENCE_LINE,
    FENCE_OR_END,
    JSON,
    MAX_CUT_OFF,
    PYTHON,
    Found,
    end_of,
    objects,
)
from nbagent.prompt.formatters.reading import Unreadable
from nbagent.prompt.formatters.strict import Broken, parse
from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_READER = LenientJsonFormatter()

_FENCE = r"(?:`{3,9}+|~{3,9}+)"
_INNER = r"(?:\s{0,9}+\[){0,50}+"
_LIST = re.compile(rf"(?:(?P<fence>{_FENCE}[\w+#.-]{{0,20}}+\s*+)|(?<![\w\])]))\[(?={_INNER}\s*+[\"'{{\]])")
"""The beginning of a list of texts or objects, with its fence. `x["a"]` in a sentence is none, and `[1]` neither."""
_EMPTY = re.compile(r"[\[{]\s*+[\]}]")


def founds_in(text: str) -> Iterable[Found]:
    """All that are in no other, each once."""
    return dict.fromkeys([found for token in (JSON, PYTHON) for found in _founds(text, token)])


def form_of(found: Found, text: str) -> int:
    """The higher, the likelier it is a plan; below 0 where it is empty."""
    if _EMPTY.fullmatch(found.text):
        return -1
    if found.text.startswith("{"):
        return 2
    return 1 if found.alone or _has_own_lines(text, found) else 0


def plan_in(found: Found) -> Plan:
    """The plan that it says; raises Broken or Unreadable."""
    if _lacks_comma(found.text):
        raise Broken(Phrase("plan.comma"))
    is_list = found.text.startswith("[")
    whole = closed(found.text) if is_list and not found.closed else Mended(found.text, ())
    try:
        reading = _READER.read_plain(f'{{"steps": {whole.text}}}' if is_list else whole.text, ())
    except Unreadable:
        parse(found.text)  # raises Broken, which says why
        raise
    taken = around(found, "list" if is_list else "JSON object")
    return Plan(steps_of(reading.value), (*taken, *reading.repairs, *whole.repairs))


def _founds(text: str, token: re.Pattern[str]) -> list[Found]:
    found = objects(text, token)
    return [*found, *_lists(text, token, Spans((one.start, one.end) for one in found))]


def _lists(text: str, token: re.Pattern[str], taken: Spans) -> Iterator[Found]:
    """The lists that are in no object, as `objects` finds those."""
    at = cut_off = 0
    whole = (len(text) - len(text.lstrip()), len(text.rstrip()))
    while cut_off < MAX_CUT_OFF and (opening := _LIST.search(text, at)):
        start, at, fenced = opening.end() - 1, opening.end(), bool(opening["fence"])
        if start in taken:
            continue
        end = end_of(text, start, token)
        if is_cut := end < 0:
            cut_off += 1
            if not fenced and not _begins_line(text, start):
                continue  # a bracket in a sentence
            behind = FENCE_LINE.search(text, start)
            end = len(text[: behind.start() if behind else len(text)].rstrip())
        at = end
        alone = bool(FENCE_OR_END.match(text, end)) if fenced else (start, end) == whole
        yield Found(text[start:end], not is_cut, fenced, alone, start)


def _has_own_lines(text: str, found: Found) -> bool:
    end = found.end
    while end < len(text) and text[end] in " \t\r":
        end += 1
    return _begins_line(text, found.start) and text[end : end + 1] in ("", "\n")


def _begins_line(text: str, start: int) -> bool:
    while start and text[start - 1] in " \t":
        start -= 1
    return text[start - 1 : start] in ("", "\n")


def _lacks_comma(text: str) -> bool:
    """Whether two texts stand side by side: Python would make one of them, and so one step of two."""
    marks = pairwise(PYTHON.finditer(text))
    texts = [(one.end(), other.start()) for one, other in marks if one[0][0] in "\"'" and other[0][0] in "\"'"]
    return any(not text[end:start].strip() for end, start in texts)
