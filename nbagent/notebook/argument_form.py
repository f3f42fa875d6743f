"""ArgumentForm: the arguments of a call as somebody changes them: a text as it is, everything else as JSON."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from nbagent.notebook.fields import strict_json
from nbagent.redact import redact
from nbagent.text import texts_in
from nbagent.tools.arguments import InvalidArguments, parse
from nbagent.views.safe import exact, inline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TYPES = ("string", "integer", "number", "boolean", "array", "object")
_MOST_LEFT_OUT = 12
"""Arguments that a call does not have, and that are asked for one by one; more are written as JSON."""
_MAYBE_UNSEEN = re.compile(r"[^\n -~]")


@dataclass(frozen=True, slots=True)
class Entry:
    """One argument. `text`: as it is changed; `is_text`: it is a text, and needs no quotes; `kind`: its type, by the
    schema; `left_out`: what there is to say where the call has none, and needs none."""

    name: str
    text: str
    is_text: bool
    kind: str = ""
    left_out: str = ""

    @property
    def shown(self) -> str:
        """Its name on one line, and how it is written: as a text, as this kind of JSON, as any."""
        return f"{inline(exact(self.name))} ({'text' if self.is_text else self.kind or 'JSON'})"


class ArgumentForm:
    """The arguments of a call, one by one and as one JSON object. What nobody sees is written as `\\u202e`, so that it
    can be seen, and changed. Where a secret is masked there is nothing to change: its mask would be what runs."""

    def __init__(self, arguments: str, parameters: Mapping[str, Any] | None = None) -> None:
        """`parameters`: their JSON schema; what it has more than the call may be written, too."""
        try:
            self._values: dict[str, Any] | None = parse(arguments)
        except InvalidArguments:  # no such call waits
            self._values = None
        values, known = self._values or {}, _properties(parameters)
        given = [Entry(name, *_text(value), _kind(known.get(name))) for name, value in values.items()]
        more = [name for name in known if name not in values and self._values is not None]
        left_out = [Entry(name, "", *_as_known(known[name])) for name in more[:_MOST_LEFT_OUT]]
        self.entries = (*given, *left_out)
        self.whole = arguments if self._values is None else as_json(values)
        shown = (arguments, self.whole, *texts_in(values))
        self.is_masked = any(redact(text) != text for text in shown)

    def filled(self, texts: Sequence[str]) -> dict[str, Any]:
        """What the entries hold after somebody has written. Raises ValueError, which says of which it is no JSON."""
        values = self._values or {}
        found: dict[str, Any] = {}
        for entry, text in zip(self.entries, texts, strict=True):
            if entry.left_out and not text:
                continue
            if text == entry.text:
                found[entry.name] = values[entry.name]
            elif entry.is_text:
                found[entry.name] = text
            else:
                found[entry.name] = _read(text, f"{inline(exact(entry.name))}: ")
        return found

    def is_as_it_was(self, values: dict[str, Any]) -> bool:
        """Whether these are the call's own arguments."""
        return self._values is not None and json.dumps(values) == json.dumps(self._values)


def _properties(parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments that a schema knows; a server's may be anything."""
    known = None if parameters is None else parameters.get("properties")
    return cast("dict[str, Any]", known) if isinstance(known, dict) else {}


def _type(schema: Any) -> str:
    kind = cast("dict[str, Any]", schema).get("type") if isinstance(schema, dict) else None
    return kind if kind in _TYPES else ""


def _kind(schema: Any) -> str:
    """What a value has to be, where the schema says it in a word and the way it is written does not."""
    kind = _type(schema)
    return "" if kind == "string" else kind


def _as_known(schema: Any) -> tuple[bool, str, str]:
    """Whether an argument that the call has not is a text, its kind, and what there is to say."""
    said = "may stay empty"
    if isinstance(schema, dict) and "default" in schema:
        said = f"{said}: {inline(exact(redact(json.dumps(schema['default'], ensure_ascii=False))))}"
    return _type(schema) == "string", _kind(schema), said


def read_arguments(text: str) -> dict[str, Any]:
    """All arguments of a call, written as one JSON object. Raises ValueError."""
    found = _read(text)
    if not isinstance(found, dict):
        raise ValueError('expected all arguments as one JSON object, such as {"amount": 5}')
    return cast("dict[str, Any]", found)


def as_json(values: Any) -> str:
    """JSON that can be read and changed, with a number in place of every character that nobody sees."""
    return seen(json.dumps(values, ensure_ascii=False, indent=2))


def seen(text: str) -> str:
    """JSON text with the escape of every character that is not seen."""
    return _MAYBE_UNSEEN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return character if exact(character) == character else json.dumps(character)[1:-1]


def _text(value: Any) -> tuple[str, bool]:
    """A value as it is changed, and whether that is a text as it is: where all of it can be seen, and written."""
    if isinstance(value, str) and "\t" not in value and exact(value) == value:
        return value, True
    return as_json(value), False


def _read(text: str, where: str = "") -> Any:
    try:
        return strict_json(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}this is not JSON: {error}") from None
