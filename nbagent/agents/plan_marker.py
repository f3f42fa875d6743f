"""Plan marker: what a step in a list begins with: `Step 1:` or `第1步：`, `1.`, `-`; as a heading and in bold, too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["step", "number", "bullet"]
KINDS: tuple[Kind, ...] = ("step", "number", "bullet")
"""Where there are several, those of a later kind are about parts of a step."""

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


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker, and what follows it."""

    kind: Kind
    number: int | None
    """None of a bullet, and of a number in Chinese characters."""
    rest: str
    """In one line."""


def marker_of(text: str) -> Marker | None:
    """The marker that the text begins with."""
    match = _MARKER.match(text)
    if match is None:
        return None
    digits = match["n1"] or match["n2"] or match["n3"]
    return Marker(next(kind for kind in KINDS if match[kind]), int(digits) if digits else None, _rest(match))


def unnumbered(text: str) -> str:
    """The text in one line, without the number in front of it; as it is where it has nothing else."""
    marker = marker_of(text)
    rest = "" if marker is None or marker.kind == "bullet" else marker.rest
    return rest or " ".join(text.split())


def _rest(match: re.Match[str]) -> str:
    """What follows. Bold that began in front of the marker is none any more."""
    rest, bold = match.string[match.end() :], match["bold"]
    return " ".join((rest.replace(bold, "", 1) if bold and rest.count(bold) % 2 else rest).split())
