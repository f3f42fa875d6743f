"""Markdown: a heading with the name, and the value below it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbagent.prompt.formatters.entries import Declared
from nbagent.prompt.formatters.formatter import BuiltIn
from nbagent.prompt.formatters.ladder import read_object
from nbagent.prompt.formatters.pieces import in_blocks
from nbagent.prompt.formatters.reading import Reading, Unreadable, unreadable
from nbagent.prompt.formatters.sections import as_dict, sections
from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nbagent.messages import Field, Piece

_FENCE = re.compile(r"(`{3,}|~{3,})(?:markdown|md)?[ \t\r]*")


class MarkdownFormatter(BuiltIn):
    """`# city` with the value below it; an answer's headings make a dict, nested by their depth."""

    name = "markdown"

    def layout(self, fields: Sequence[Field]) -> tuple[Piece, ...]:
        return in_blocks(fields, lambda name: f"# {name}", gap="\n\n", separator="\n\n")

    def rules(self, output: Mapping[str, str]) -> Phrase:
        headings = Phrase("format.headings", headings=_headings(output)) if output else ""
        return Phrase("format.markdown", headings=headings)

    def read_plain(self, text: str, names: Sequence[str]) -> Reading:
        root = sections(text)
        unwrapped: tuple[str, ...] = ()
        if not root.parts and (inner := _in_a_fence(text)):
            root, unwrapped = sections(inner), ("took the text out of a code fence",)
        if not root.parts:
            return _without_headings(text, names)
        declared = Declared(names)
        before = ("left out the text before the first heading",) if root.text else ()
        repairs = (*unwrapped, *before, *declared.repairs(part.title for part in root.parts))
        return Reading(as_dict(root.parts, declared.name), repairs)


def _in_a_fence(text: str) -> str:
    """What is in the code fence that the whole text is, empty where it is none."""
    first, *lines = text.strip().split("\n")
    fence = _FENCE.fullmatch(first)
    return "\n".join(lines[:-1]) if fence and lines and lines[-1].strip() == fence[1] else ""


def _without_headings(text: str, names: Sequence[str]) -> Reading:
    try:
        reading = read_object(text, names)
    except Unreadable:
        if not names:
            return Reading({"content": text})
        expected, advice = Phrase("answer.headings", headings=_headings(names)), Phrase("answer.headings_again")
        raise unreadable(text, expected=expected, wrong=Phrase("answer.no_heading"), advice=advice) from None
    return Reading(reading.value, ("read it as JSON, as it has no heading", *reading.repairs))


def _headings(names: Iterable[str]) -> str:
    return ", ".join(f"`# {name}`" for name in names)
