"""Known: the values that somebody told us, and all that they look like in a text."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from bisect import bisect_left
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from nbagent.redact.hidden import Hidden, Kept
from nbagent.redact.spans import Span
from nbagent.redact.stream import Stream, mark_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LEAST = 8
"""Characters. A shorter value is too likely to be ordinary text."""


class Forms(Kept):
    """All that known values look like in a text."""

    __slots__ = ("_labels", "_longest", "_ordered", "_shortest", "_starts")

    def __init__(self, values: Mapping[str, str]) -> None:
        labels: dict[str, str] = {}
        for value, label in values.items():
            for form in _forms_of(value):
                labels.setdefault(form, label)
        shown = {label: _safe(label, labels) for label in values.values()}
        ordinary = " ".join(map(mark_of, ("key", "token", "password", "private key", "secret")))
        self._labels = {form: shown[label] for form, label in labels.items() if form not in ordinary}
        self._ordered = sorted(self._labels)
        self._starts = frozenset(form[0] for form in self._labels)
        self._shortest = min(map(len, self._labels), default=sys.maxsize)
        self._longest = max(map(len, self._labels), default=0)

    def are_in(self, text: str) -> bool:
        """Whether any is."""
        for form in self._ordered:  # noqa: SIM110 - any() takes twice as long
            if form in text:
                return True
        return False

    def spans(self, text: str, at: int) -> Iterator[Span]:
        """Each place from `at` on where one of them is, also where they overlap."""
        if len(text) - at < self._shortest:
            return
        for form, label in self._labels.items():
            place = text.find(form, at)
            while place >= 0:
                yield Span(place, -len(form), place + len(form), label)
                place = text.find(form, place + 1)

    def begun(self, text: str, at: int) -> int:
        """Where one of them begins that the text ends within, or the end of the text."""
        for place in range(max(at, len(text) - self._longest + 1), len(text)):
            if text[place] in self._starts and self._goes_on(text[place:]):
                return place
        return len(text)

    def _goes_on(self, beginning: str) -> bool:
        place = bisect_left(self._ordered, beginning)
        if place < len(self._ordered) and self._ordered[place] == beginning:
            place += 1
        return place < len(self._ordered) and self._ordered[place].startswith(beginning)


def _safe(label: str, forms: Iterable[str]) -> str:
    plain = re.sub(r"[^\w -]", "_", " ".join(label.split()))[:64]
    mark = mark_of(plain)
    is_safe = Stream().more(mark, NO_FORMS, final=True) == mark and not any(form in mark for form in forms)
    return plain if plain and is_safe else "secret"


def _forms_of(value: str) -> set[str]:
    raw = value.encode("utf-8", "surrogatepass")
    quoted = {quote(raw, safe=safe) for safe in ("", "/", "!'()*")} | {quote_plus(raw)}
    return {
        value,
        *quoted,
        *(re.sub("%[0-9A-F]{2}", lambda escape: escape[0].lower(), form) for form in quoted),
        *_escaped(value, raw),
        *_base64(raw),
        raw.hex(),
        raw.hex().upper(),
    }


def _escaped(value: str, raw: bytes) -> Iterator[str]:
    for in_ascii in (True, False):
        once = json.dumps(value, ensure_ascii=in_ascii)[1:-1]
        yield once
        yield json.dumps(once, ensure_ascii=in_ascii)[1:-1]
    yield from (repr(value)[1:-1], ascii(value)[1:-1], repr(raw)[2:-1])
    yield from (repr(f'"{value}')[2:-1], ascii(f'"{value}')[2:-1], repr(b'"' + raw)[3:-1])  # where ' is escaped


def _base64(raw: bytes) -> Iterator[str]:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(raw).decode()
        yield from (whole, whole.rstrip("="))
        for before in range(3):  # in a longer text only the characters that depend on nothing but the value
            inside = encode(bytes(before) + raw).decode()
            yield inside[(8 * before + 5) // 6 : 8 * (before + len(raw)) // 6]


NO_FORMS = Forms({})


class Store:
    """The known values."""

    __slots__ = ("_environment", "_forms", "_lock", "_values")

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: Hidden[dict[str, str]] = Hidden({})
        self._environment: Hidden[dict[str, str]] | None = None
        """As it was when it was last read."""
        self._forms = Hidden(NO_FORMS)

    def forms(self) -> Forms:
        if self._environment is None:
            self.know_environment()
        return self._forms.get()

    def know(self, values: Mapping[str, str]) -> None:
        with self._lock:
            known = self._values.get()
            stripped = ((value.strip().strip("‹›"), label) for value, label in values.items())
            new = {value: label for value, label in stripped if len(value) >= LEAST and value not in known}
            if new:
                self._values = Hidden({**known, **new})
                self._forms = Hidden(Forms(self._values.get()))

    def know_environment(self) -> None:
        environment = dict(os.environ)
        if self._environment and environment == self._environment.get():
            return
        self.know({value: name for name, value in environment.items() if _is_secret(name, value)})
        self._environment = Hidden(environment)

    def forget(self) -> None:
        with self._lock:
            self._values = Hidden({})
            self._forms = Hidden(NO_FORMS)
            self._environment = Hidden({})


_SECRET_NAME = re.compile(
    r"(?!.*(?:PUBLIC|PUBLISHABLE)_?KEY).*(?:_KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)(?:_?[0-9]+)?",
    re.IGNORECASE | re.DOTALL,
)
_ORDINARY = re.compile(
    r"[+-]?[0-9.,_]+(?:e[+-]?[0-9]+)?"  # a number
    r"|true|false|yes|no|on|off|none|null|enabled|disabled|undefined"
    r"|[a-z][a-z0-9+.-]*://[^\s@?]*",  # a URL in which there is no room for a secret
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:~\w*|\.{0,2})/.*|[A-Za-z]:[\\/].*|\\\\.*|[^\s:]*[\\/][^\s/\\]*\.[A-Za-z][A-Za-z0-9]{0,4}")
_RANDOM = re.compile(r"(?=[a-z+A-Z]*[0-9])(?=[0-9+A-Z]*[a-z])(?=[0-9+a-z]*[A-Z])[A-Za-z0-9+]{16}")
"""One in sixty keys in base64 begins with a slash."""


VARIABLE = re.compile(r"\$?\{?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\}?")
"""The name of a variable in the place of its value: nothing to hide, and an error has to say it."""


def _is_secret(name: str, value: str) -> bool:
    if not _SECRET_NAME.fullmatch(name) or _ORDINARY.fullmatch(value.strip()) or VARIABLE.fullmatch(value.strip()):
        return False
    return not _PATH.fullmatch(value.strip()) or bool(_RANDOM.search(value))
