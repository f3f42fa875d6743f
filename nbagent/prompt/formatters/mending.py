"""Mending: the faults of JSON text that have one remedy only. Every other character stays as it is."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from nbagent.prompt.formatters.objects import JSON
from nbagent.prompt.formatters.strict import Broken
from nbagent.texts.phrase import Phrase

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_STRINGS = re.compile(_STRING, re.DOTALL)
_STRINGS_AND_COMMAS = re.compile(rf"{_STRING}|(?P<commas>(?:,\s*+)++)(?P<bracket>[}}\]])?", re.DOTALL)
_RAW = re.compile(r"\\.|[\x00-\x1f]", re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}


class Mended(NamedTuple):
    """A text with the notes of what was done to it; none where it needed nothing."""

    text: str
    repairs: tuple[str, ...]


def mended(text: str) -> Mended:
    """The text without trailing commas, and with raw control characters in its strings escaped."""
    repairs: list[str] = []
    for note, pattern, remedy in (
        ("removed trailing commas", _STRINGS_AND_COMMAS, _without_commas),
        ("escaped raw control characters in strings", _STRINGS, _with_escapes),
    ):
        before, text = text, pattern.sub(remedy, text)
        repairs += [note] if text != before else []
    return Mended(text, tuple(repairs))


def closed(text: str) -> Mended:
    """The text with an end for its last string and its brackets; raises Broken where they do not match."""
    opened: list[str] = []
    quote = ""
    for match in JSON.finditer(text):
        mark = match[0]
        if mark in _CLOSING:
            opened.append(mark)
        elif mark == '"':
            quote = mark
            break
        elif len(mark) == 1 and (not opened or _CLOSING[opened.pop()] != mark):
            raise Broken(Phrase("json.bracket", bracket=mark, rest=text[: match.end()][-40:]))
    brackets = "".join(_CLOSING[mark] for mark in reversed(opened))
    count = len(brackets)
    notes = (
        "closed an open string" if quote else "",
        f"closed {count} open bracket{'s' * (count > 1)}" if count else "",
    )
    return Mended(text + quote + brackets, tuple(note for note in notes if note))


def _without_commas(match: re.Match[str]) -> str:
    return match[0].replace(",", "") if match["bracket"] else match[0]


def _with_escapes(string: re.Match[str]) -> str:
    return _RAW.sub(lambda raw: raw[0] if raw[0][0] == "\\" else json.dumps(raw[0])[1:-1], string[0])
