"""Paragraph: a line with the name and a colon, then the value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbagent.prompt.formatters.entries import any_of, collected, trimmed
from nbagent.prompt.formatters.formatter import BuiltIn
from nbagent.prompt.formatters.pieces import in_blocks
from nbagent.prompt.formatters.reading import Reading, Unreadable, unreadable
from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbagent.messages import Field, Piece

_ANY_NAME = r"[A-Za-z_][\w -]{0,60}"


class ParagraphFormatter(BuiltIn):
    """`CITY:` and the value below it; an answer may give the value on the line of its key, too."""

    name = "paragraph"

    def layout(self, fields: Sequence[Field]) -> tuple[Piece, ...]:
        return in_blocks(fields, lambda name: f"{name}:", gap="\n", separator="\n")

    def rules(self, output: Mapping[str, str]) -> Phrase:
        return Phrase("format.paragraph", lines=Phrase("format.lines", lines=_lines(output)) if output else "")

    def read_plain(self, text: str, names: Sequence[str]) -> Reading:
        key = re.compile(rf"^({any_of(names) or _ANY_NAME}):(?!//)", re.MULTILINE | re.IGNORECASE)
        found = list(key.finditer(text))
        if not found:
            raise _no_key(text, names)
        ends = [*(match.start() for match in found), len(text)]
        entries = [
            (match[1].strip(), _value(text[match.end() : end])) for match, end in zip(found, ends[1:], strict=True)
        ]
        before = ("left out the text before the first key",) if text[: ends[0]].strip() else ()
        reading = collected(entries, names)
        return Reading(reading.value, (*before, *reading.repairs))


def _value(text: str) -> str:
    line, end, rest = text.partition("\n")
    return trimmed(line.lstrip(" \t") + end + rest)


def _lines(names: Mapping[str, str] | Sequence[str]) -> str:
    return " ".join(f"`{name}:`" for name in names)


def _no_key(text: str, names: Sequence[str]) -> Unreadable:
    expected = Phrase("answer.lines", lines=_lines(names)) if names else Phrase("answer.any_lines")
    return unreadable(text, expected=expected, wrong=Phrase("answer.no_line"), advice=Phrase("answer.lines_again"))
