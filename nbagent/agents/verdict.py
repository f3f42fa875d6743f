"""Verdict: whether a critic passes what it was shown.

Searching for the signal anywhere, as agentmaker does, passes `NOT GOOD ENOUGH`. Here it has to be the whole verdict.
Where the two cannot be told apart the answer is no: that costs one more round, the other mistake costs the answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import category, normalize

from nbagent.agents.doubt import DOUBT, TAKES_BACK
from nbagent.errors import ConfigError
from nbagent.prompt.formatters.thinking import without_thinking

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LABEL = 30
"""How many characters the label of a verdict has at most."""
MAX_AROUND = 12
"""How many CJK characters may stand around a signal."""

# All of these are about folded text, which has no capitals, no wide forms, and U+2010 for U+2011.
_DASHES = "-‐‒–—"
_MARKS = "\"'`*_<>¡"
"""What may surround a verdict on both sides; so may blanks, what is not seen, and brackets and quotes of any kind."""
_LIST_MARKS = f"#•{_DASHES}"
"""What may stand in front, too: at the end these would be a part of it, as in `A-` and `C#`."""
_FULL_STOPS = ".!。։۔።।॥"
"""What may end a verdict. A question mark does not: a question is no verdict. Nor does a comma or a colon."""
_BETWEEN = re.compile(rf"[\s_*`{re.escape(_DASHES)}]+")
_OPEN_BOX = re.compile(r"\[ *\]")
_LIST_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
_CJK = r"々〇\u3041-\u3096\u30a1-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
_AROUND = re.compile(rf"[\s{_CJK}]{{1,{MAX_AROUND + 1}}}")
_LETTER = rf"[^\W{_CJK}]"
"""Of a script that writes blanks between words."""


def passes(critique: str, signals: Sequence[str]) -> bool:
    """Whether the critique is one of the signals, such as `GOOD ENOUGH`, as a verdict.

    Case, the width of letters, and which blanks, hyphens, underscores, `*` or backticks are between words make no
    difference, nor does what surrounds them: blanks, quotes, brackets, Markdown's marks for emphasis, code, headings
    and lists, and at the end full stops and exclamation marks. Thinking in front of the critique is no part of it.
    Then a **verdict** is the signal

    - alone; or
    - behind one label and a colon: `Verdict: GOOD ENOUGH`. The label has at most 30 characters, letters and digits, and
      no doubt in it; or
    - among at most 12 CJK characters that have no doubt in them: `答案已达最佳了`.

    Anything else beside it, a question mark too, makes it none. The critique passes where

    - all of it is a verdict; or
    - its last line is one, and no doubt leads to it. The line above leads to it where it ends with a colon, or is right
      above and neither ends a sentence nor is an item of a list (`This is not yet`, line end, `GOOD ENOUGH`); or
    - its first line is one, and nothing below takes it back: no `but`, `if` or `not`, and no signal.

    Lines of marks only do not count; `[ ]`, the open box of a list, is no mark. A doubt is a word that denies, asks,
    sets a condition or says almost; those of English and Chinese are known, and the commonest of some other languages.

    signals: at least one, and none of them empty. Raises ConfigError otherwise.
    """
    wanted = _wanted(signals)
    text = _folded(without_thinking(critique).text)
    if text.lstrip().startswith("<think"):  # thinking that was cut off: nothing is said yet
        return False
    lines = [(number, line) for number, line in enumerate(text.splitlines()) if _bare(line)]
    return bool(lines) and (_is_verdict(text, wanted) or _ends(lines, wanted) or _begins(lines, wanted))


def _wanted(signals: Sequence[str]) -> tuple[str, ...]:
    """The signals as they are compared."""
    given = () if isinstance(signals, str) else tuple(signals)
    wanted = tuple([_bare(_folded(one)) for one in given])
    if not wanted or not all(wanted):
        raise ConfigError(f"signals: expected a list of texts, such as ('GOOD ENOUGH',), none empty; got {signals!r}")
    return wanted


def _ends(lines: list[tuple[int, str]], wanted: tuple[str, ...]) -> bool:
    """Whether the last line is a verdict, and no doubt leads to it."""
    return _is_verdict(lines[-1][1], wanted) and not (len(lines) > 1 and _is_doubted(lines[-2], lines[-1]))


def _is_doubted(before: tuple[int, str], last: tuple[int, str]) -> bool:
    """Whether the line before the last one leads to it, with a doubt."""
    number, above = before
    is_item = _LIST_ITEM.match(above) and not last[1][:1].isspace()
    ending = above[: _end(above, "")][-1:]
    goes_on = last[0] - number == 1 and not is_item and ending not in f"{_FULL_STOPS}?"
    return (goes_on or ending == ":") and bool(DOUBT.search(above))


def _begins(lines: list[tuple[int, str]], wanted: tuple[str, ...]) -> bool:
    """Whether the first line is a verdict, and nothing below takes it back."""
    named = re.compile(f"(?<!{_LETTER})(?:{'|'.join(map(re.escape, wanted))})(?!{_LETTER})")
    (_, first), *below = lines
    return _is_verdict(first, wanted) and not any(
        TAKES_BACK.search(line) or named.search(_bare(line)) for _, line in below
    )


def _is_verdict(text: str, wanted: tuple[str, ...]) -> bool:
    said = _bare(text)
    label, _, rest = said.partition(":")
    told = _bare(rest) if _is_label(_bare(label)) else ""
    return any(_is_signal(said, signal) or _is_signal(told, signal) for signal in wanted)


def _is_label(text: str) -> bool:
    is_plain = all(category(char)[0] in "LMNZ" for char in text)
    return 0 < len(text) <= MAX_LABEL and is_plain and not DOUBT.search(text)


def _is_signal(said: str, signal: str) -> bool:
    before, found, behind = said.partition(signal)
    around = f"{before} {behind}"
    return bool(found) and (around == " " or bool(_AROUND.fullmatch(around) and not DOUBT.search(around)))


def _folded(text: str) -> str:
    """The text without the differences of case and width; a box of a list that is open is no pair of brackets."""
    return _OPEN_BOX.sub("☐", normalize("NFKC", text).casefold())


def _bare(text: str) -> str:
    """The text without what may surround it, and one blank between its words."""
    start, end = 0, _end(text, _FULL_STOPS)
    while start < end and (_is_mark(text[start]) or text[start] in _LIST_MARKS):
        start += 1
    return _BETWEEN.sub(lambda found: " " if found.end() < end - start else found[0], text[start:end])


def _end(text: str, stops: str) -> int:
    """Where the text ends without the marks behind it, and without these stops."""
    end = len(text)
    while end and (_is_mark(text[end - 1]) or text[end - 1] in stops):
        end -= 1
    return end


def _is_mark(char: str) -> bool:
    return char.isspace() or char in _MARKS or category(char) in ("Ps", "Pe", "Pi", "Pf", "Cf")
