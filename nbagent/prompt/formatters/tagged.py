"""Tagged: each value behind a tag with its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbagent.prompt.formatters.entries import any_of, collected
from nbagent.prompt.formatters.formatter import BuiltIn
from nbagent.prompt.formatters.ladder import read_object
from nbagent.prompt.formatters.pieces import in_blocks
from nbagent.prompt.formatters.reading import Reading, Unreadable, unreadable
from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nbagent.messages import Field, Piece

_ANY_NAME = r"[^\W\d][\w .-]{0,60}"
_OUTSIDE = ""
"""No tag has this name."""


class TaggedFormatter(BuiltIn):
    """`<city>Paris`, each on a line. A value goes up to its closing tag, or else up to the tag of the next field."""

    name = "tagged"

    def layout(self, fields: Sequence[Field]) -> tuple[Piece, ...]:
        return in_blocks(fields, lambda name: f"<{name}>", gap="", separator="\n")

    def rules(self, output: Mapping[str, str]) -> Phrase:
        return Phrase("format.tagged", tags=Phrase("format.tags", tags=_tags(output)) if output else "")

    def read_plain(self, text: str, names: Sequence[str]) -> Reading:
        """Without names, any tag at the beginning of a line counts."""
        stretches = _stretches(text, names)
        entries = [(name, value) for name, value in stretches if name != _OUTSIDE]
        if not entries:
            return _from_json(text, names)
        outside = any(value for name, value in stretches if name == _OUTSIDE)
        reading = collected(entries, names)
        left_out = ("left out the text outside the tags",) if outside else ()
        return Reading(reading.value, (*left_out, *reading.repairs))


def _stretches(text: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """The text cut at its tags, each stretch with the name of the tag that it belongs to, without blanks around it."""
    stretches: list[tuple[str, list[str]]] = [(_OUTSIDE, [])]
    end = 0
    for tag in _pattern(names).finditer(text):
        name, parts = stretches[-1]
        own = tag["close"] is not None and tag["close"].casefold() == name.casefold()
        if not names and tag["close"] is not None and not own:
            continue  # nobody knows this tag: it is text
        parts.append(text[end : tag.start()])
        end = tag.end()
        if tag["open"] is not None:
            stretches.append((tag["open"], []))
        elif own:
            stretches.append((_OUTSIDE, []))
    stretches[-1][1].append(text[end:])
    return [(name, "".join(parts).strip()) for name, parts in stretches]


def _pattern(names: Sequence[str]) -> re.Pattern[str]:
    known = any_of(names)
    opening = rf"<(?P<open>{known})>" if known else rf"^<(?P<open>{_ANY_NAME})>"
    return re.compile(rf"{opening}|</(?P<close>{known or _ANY_NAME})>", re.MULTILINE | re.IGNORECASE)


def _from_json(text: str, names: Sequence[str]) -> Reading:
    try:
        reading = read_object(text, names)
    except Unreadable:
        raise _no_tag(text, names) from None
    return Reading(reading.value, ("read it as JSON, as it has no tag", *reading.repairs))


def _no_tag(text: str, names: Sequence[str]) -> Unreadable:
    expected = Phrase("answer.tags", tags=_tags(names)) if names else Phrase("answer.any_tags")
    return unreadable(text, expected=expected, wrong=Phrase("answer.no_tag"), advice=Phrase("answer.tags_again"))


def _tags(names: Iterable[str]) -> str:
    return " ".join(f"<{name}>" for name in names)
