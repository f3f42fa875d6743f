"""Paragraph: a line with the name and a colon, then the value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbagent.prompt.formatters.entries import any_of, collected, trimmed
from nbagent.prompt.formatters.formatter import BuiltIn
from nbagent.prompt.formatters.pieces import in_blocks
from nbagent.prompt.formatters.reading import Reading, Unreadable, unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbagent.messages import Field, Piece

_ANY_NAME = r"[A-Za-z_][\w -]{0,60}"


class ParagraphFormatter(BuiltIn):
    """`CITY:` and the value below it; an answer may give the value on the line of its key, too."""

    name = "paragraph"

    def layout(self, fields: Sequence[Field]) -> tuple[Piece, ...]:
        return in_blocks(fields, lambda name: f"{name}:", gap="\n", separator="\n")

    def instructions(self, output: Mapping[str, str]) -> str:
        shape = "Answer with plain text, in one block for each field.\n"
        first = "A block begins with a line that holds the name of the field and a colon; the value follows below it."
        keys = f"\nThese lines are, exactly: {_lines(output)}" if output else ""
        return f"{shape}{first}{keys}"

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
    expected = f"lines that begin with {_lines(names)}" if names else "lines with a key and a colon, such as `answer:`"
    advice = "Answer again, each key at the beginning of a line and its value below it."
    return unreadable(text, expected=expected, wrong="no line begins with such a key", advice=advice)
