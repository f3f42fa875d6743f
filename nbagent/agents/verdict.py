"""Verdict: whether a critic passes what it was shown.

Searching for the signal anywhere, as agentmaker does, passes `NOT GOOD ENOUGH`. Here it has to be the whole verdict.
Where the two cannot be told apart the answer is no: that costs one more round, the other mistake costs the answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import category, normalize

from nbagent.errors import ConfigError
from nbagent.prompt.formatters.thinking import without_thinking

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LABEL = 30
"""How many characters the label of a verdict has at most; and MAX_LABEL_WORDS words."""
MAX_LABEL_WORDS = 4
MAX_AROUND = 12
"""How many CJK characters may stand around a signal."""

_MARKS = "\"'`*_<>¡\u200b\ufeff"
"""What may surround a verdict on both sides; so may blanks, and all brackets and quotes that Unicode knows as such."""
_LIST_MARKS = "#-‐‑‒–—•"
"""What may stand in front, too: at the end these would be a part of it, as in `A-` and `C#`."""
_FULL_STOPS = ".!。։۔።।॥"
"""What may end a verdict. A question mark does not: a question is no verdict. Nor does a comma or a colon."""
_BETWEEN = re.compile(r"[\s_*`\-‐‑‒–—]+")
_OPEN_BOX = re.compile(r"\[\s*\]|[☐❌✗✘]")
_LIST_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
_CJK = r"々〇\u3041-\u3096\u30a1-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
_AROUND = re.compile(rf"[\s{_CJK}]{{1,{MAX_AROUND + 1}}}")
_LETTER = rf"[^\W{_CJK}]"
"""Of a script that writes blanks between words."""

_TAKEN_BACK = re.compile(
    r"\b(?:not|cannot|but|however|although|though|except|unless|until|if|once|must|should|yet|wait)\b|n['’]t\b"
    r"|但|不过|然而|可是|只是|除非|如果|若|假如|否则|尚|仍|未|不是|并非|并不|还没|还不|还有|还需|还要|应该|必须"
    r"|しかし|ただし|まだ|もし|않|아니|아직|하지만"
    r"|\b(?:nicht|aber|jedoch|wenn|pas|mais|sauf|pero|salvo|mas|não|ma|не|но|если)\b"
)
"""What says, behind a verdict, that it does not hold. `No changes needed` says no such thing."""
_DOUBT = re.compile(
    rf"{_TAKEN_BACK.pattern}"
    r"|\b(?:no|non|never|neither|nor|hardly|barely|almost|nearly|without|far|lacks?|missing|false|fail\w*|wrong|when"
    r"|would|could|might|may|be|becomes?|is it|kein\w*|noch|nie|sans|sin|sem|nunca|нет|без)\b"
    r"|[不没沒无無非别別否勿莫难難拒绝絕吗嗎么麼呢谁誰哪如倘假错錯误誤除才就则則即只须須需必要待等将將会會应應可能几幾乎近差缺少欠距离離"
    r"似仍尚还還暂暫曾望求而却卻虽雖]"
    r"|ない|なし|ません|なら|たら|れば|けど|ほぼ|か|못|아닌|아닙|없|미|불|면|까|지만|거의|(?:^|\s)안\s"
)
"""What makes no verdict of a signal that it leads to or surrounds: it denies, asks, sets a condition, comes close."""


def passes(critique: str, signals: Sequence[str]) -> bool:
    """Whether the critique is one of the signals, such as `GOOD ENOUGH`, as a verdict.

    Case, the width of letters, and which blanks, hyphens, underscores, `*` or backticks are between words make no
    difference, nor does what surrounds them: blanks, quotes, brackets, Markdown's marks for emphasis, code, headings
    and lists, and at the end full stops and exclamation marks. Thinking in front of the critique is no part of it.
    Then a **verdict** is the signal

    - alone; or
    - behind one label and a colon: `Verdict: GOOD ENOUGH`. The label has at most 4 words and 30 characters, and no
      doubt in it; or
    - among at most 12 CJK characters that have no doubt in them: `答案已达最佳了`.

    Anything else beside it, a question mark too, makes it none. The critique passes where

    - all of it is a verdict; or
    - its last line is one, and no doubt leads to it. The line above leads to it where it ends with a colon, or is right
      above and neither ends a sentence nor is an item of a list (`This is not yet`, line end, `GOOD ENOUGH`); or
    - its first line is one, and nothing below takes it back: no `but`, `if` or `not`, and no line that names a signal
      and is no verdict.

    Lines of marks only do not count. A doubt is a word that denies, asks, sets a condition or says almost; those of
    English and Chinese are known, and the commonest of some other languages.

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
    number, last = lines[-1]
    if len(lines) == 1 or not _is_verdict(last, wanted):
        return _is_verdict(last, wanted)
    before, above = lines[-2]
    is_item = _LIST_ITEM.match(above) and not last[:1].isspace()
    ending = above[: _end(above, "")][-1:]
    goes_on = number - before == 1 and not is_item and ending not in f"{_FULL_STOPS}?"
    return not ((goes_on or ending == ":") and _DOUBT.search(above))


def _begins(lines: list[tuple[int, str]], wanted: tuple[str, ...]) -> bool:
    """Whether the first line is a verdict, and nothing below takes it back."""
    if not _is_verdict(lines[0][1], wanted):
        return False
    named = re.compile(f"(?<!{_LETTER})(?:{'|'.join(map(re.escape, wanted))})(?!{_LETTER})")
    below = [line for _, line in lines[1:]]
    return not any(
        _TAKEN_BACK.search(line) or (named.search(_bare(line)) and not _is_verdict(line, wanted)) for line in below
    )


def _is_verdict(text: str, wanted: tuple[str, ...]) -> bool:
    if _OPEN_BOX.search(text):
        return False
    said = _bare(text)
    label, _, rest = said.partition(":")
    told = _bare(rest) if _is_label(_bare(label)) else ""
    return any(_is_signal(said, signal) or _is_signal(told, signal) for signal in wanted)


def _is_label(text: str) -> bool:
    is_short = len(text) <= MAX_LABEL and 0 < len(text.split()) <= MAX_LABEL_WORDS
    return is_short and all(category(char)[0] in "LMNZ" for char in text) and not _DOUBT.search(text)


def _is_signal(said: str, signal: str) -> bool:
    before, found, behind = said.partition(signal)
    around = f"{before} {behind}"
    return bool(found) and (around == " " or bool(_AROUND.fullmatch(around) and not _DOUBT.search(around)))


def _folded(text: str) -> str:
    """The text without the differences of case and width."""
    return normalize("NFKC", normalize("NFKC", text).casefold())


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
    return char.isspace() or char in _MARKS or category(char) in ("Ps", "Pe", "Pi", "Pf")
