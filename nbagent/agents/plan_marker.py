"""Plan marker: what a step in a list begins with, as a heading and in bold, too: `Step 1:`, `一、`, `1.`, `①`, `-`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from unicodedata import numeric

Kind = Literal["step", "numeral", "number", "circled", "bullet"]
KINDS: tuple[Kind, ...] = ("step", "numeral", "number", "circled", "bullet")
"""Where there are several, those of a later kind are about parts of a step."""

_BOLD = r"(?:\*{1,3}|_{1,3})"
_DIGITS = "一二三四五六七八九"
_WORD = r"(?:step|schritt|[ée]tape|paso|passo|шаг|步骤|步驟|ステップ|手順|단계)"
_MARKER = re.compile(
    rf"\s*+(?:\#{{1,6}}\s++)?(?P<bold>{_BOLD}(?!\s))?(?:"
    rf"(?P<step>(?:{_WORD}\s*+\#?(?P<n1>\d{{1,3}})(?!\d)|第\s*+(?:(?P<n2>\d{{1,3}})|[一二三四五六七八九十百]{{1,4}})\s*+步)"
    rf"{_BOLD}?(?:\s*+(?:[:：)）、，]|[.．](?!\d)|[—–-](?=\s))|(?<=[*_步])[^\S\n]|[^\S\n]*+(?:\n|\Z)))"
    rf"|(?P<numeral>[(（]?(?P<n4>[{_DIGITS}十]{{1,3}})[、．.)）:：](?![{_DIGITS}十百千万\d]))"
    r"|(?P<number>[(（]?(?P<n3>\d{1,3})(?:[.)](?=\s|[^\x00-\x7f]|\*|\Z)|[．）、：](?!\d)|:(?=\s++[^\s\d\"'\[{])))"
    r"|(?P<circled>[\u2460-\u249b\u2776-\u2793])"
    r"|(?P<bullet>[-*+•–](?=\s)(?!(?:\s*+[-*_])*+\s*+\Z)(?:\s++\[[ xX]\](?=\s))?)"
    rf"){_BOLD}?\s*+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker, and what follows it."""

    kind: Kind
    number: int | None
    """None of a bullet, and of `第一步`."""
    rest: str
    """In one line."""


def marker_of(text: str) -> Marker | None:
    """The marker that the text begins with."""
    match = _MARKER.match(text)
    if match is None:
        return None
    return Marker(next(kind for kind in KINDS if match[kind]), _number(match), _rest(match))


def unnumbered(text: str) -> str:
    """The text in one line, without the number in front of it; as it is where it has nothing else."""
    marker = marker_of(text)
    rest = "" if marker is None or marker.kind == "bullet" else marker.rest
    return rest or " ".join(text.split())


def _number(match: re.Match[str]) -> int | None:
    if digits := match["n1"] or match["n2"] or match["n3"]:
        return int(digits)
    if match["circled"]:
        return int(numeric(match["circled"]))
    if not match["n4"]:
        return None
    tens, ten, ones = match["n4"].rpartition("十")
    return (10 * (_DIGITS.find(tens or "一") + 1) if ten else 0) + (_DIGITS.find(ones) + 1 if ones else 0)


def _rest(match: re.Match[str]) -> str:
    """What follows. Bold that began in front of the marker is none any more."""
    rest, bold = match.string[match.end() :], match["bold"]
    return " ".join((rest.replace(bold, "", 1) if bold and rest.count(bold) % 2 else rest).split())
