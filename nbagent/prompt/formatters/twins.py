"""Twins: every field of the output gets the whole answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.prompt.formatters.formatter import BuiltIn
from nbagent.prompt.formatters.pieces import in_blocks
from nbagent.prompt.formatters.reading import Reading
from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbagent.messages import Field, Piece


class TwinsFormatter(BuiltIn):
    """`CITY:` with the value below it, and a blank line between two; an answer is never taken apart."""

    name = "twins"

    def layout(self, fields: Sequence[Field]) -> tuple[Piece, ...]:
        return in_blocks(fields, lambda name: f"{name}:", gap="\n", separator="\n\n")

    def rules(self, output: Mapping[str, str]) -> Phrase:
        names = ", ".join(f"`{name}`" for name in output)
        return Phrase("format.twins", use=Phrase("format.used_for", names=names) if output else "")

    def read_plain(self, text: str, names: Sequence[str]) -> Reading:
        return Reading(dict.fromkeys(names, text))
