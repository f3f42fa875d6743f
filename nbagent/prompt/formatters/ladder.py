"""Ladder: a JSON object out of an answer, with as little repair as it takes, each step with a note.

The steps: the text as it is; an object with a code fence of its own; the widest object in the text; in each of these,
trailing commas, raw control characters in strings, and an end that is missing. No value is guessed or changed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from nbagent.prompt.formatters.mending import Mended, closed, mended
from nbagent.prompt.formatters.objects import Found, objects
from nbagent.prompt.formatters.reading import Reading, Unreadable, unreadable
from nbagent.prompt.formatters.strict import Broken, as_object, parse, parse_object
from nbagent.texts.phrase import Phrase, phrase_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def read_object(text: str, names: Sequence[str]) -> Reading:
    """The object that the text holds; raises Unreadable. `names` are the keys that the error speaks of.

    A text that is sound JSON of another kind, an array for example, holds none: nothing is taken out of it.
    """
    try:
        value = parse(text)
    except Broken:
        return _repaired(text, names)
    try:
        return Reading(as_object(value))
    except Broken as error:
        raise no_object(text, names, phrase_of(error)) from None


def no_object(text: str, names: Sequence[str], wrong: Phrase | str) -> Unreadable:
    """The error about an answer that holds no object."""
    expected = Phrase("answer.object_with", keys=listed(names)) if names else Phrase("answer.object")
    return unreadable(text, expected=expected, wrong=wrong, advice=Phrase("answer.object_again"))


def listed(names: Sequence[str]) -> str:
    """The names as JSON strings."""
    return ", ".join(json.dumps(name, ensure_ascii=False) for name in names)


def around(found: Found, what: str = "JSON object") -> tuple[str, ...]:
    """What was done to get this out of its text. `what`: what it is called."""
    fence = ("took the text out of a code fence",) if found.fenced else ()
    rest = () if found.alone else (f"took the {what} out of the text around it",)
    return (*fence, *rest)


def _repaired(text: str, names: Sequence[str]) -> Reading:
    """Of several objects the one that has the wanted keys; of those that have, the last in the text: the model came
    to it later."""
    first: Broken | None = None
    other: Reading | None = None
    wanted: list[tuple[int, Reading]] = []
    for found in objects(text):
        try:
            reading = _read(found)
        except Broken as error:
            first = first or error
            continue
        if not names:
            return reading
        if set(names) <= reading.value.keys():
            wanted.append((found.start, reading))
        other = other or reading
    if wanted:
        return max(wanted, key=lambda one: one[0])[1]
    if other:
        return other
    raise no_object(text, names, phrase_of(first) if first else Phrase("json.none")) from None


def _read(found: Found) -> Reading:
    whole = Mended(found.text, ()) if found.closed else closed(found.text)
    try:
        return Reading(parse_object(whole.text), (*around(found), *whole.repairs))
    except Broken:
        sound = mended(whole.text)
        if not sound.repairs:
            raise
    return Reading(parse_object(sound.text), (*around(found), *sound.repairs, *whole.repairs))
