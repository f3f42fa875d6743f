"""Redact: no secret leaves nbagent; all text for a cell, an exception, a log, a journal or a cassette passes here.

What is masked: values somebody told us (`know`), values of environment variables with a secret's name, and what
looks like a key, a token, a password in a URL or a private key. Each becomes a mark such as `‹redacted key›`.

`redact` takes a whole text, `StreamRedactor` one that comes in pieces, and both are the same code. It finds the secrets
in the text so far, and the place up to which no later text can change which secrets begin. Up to there text is shown.
The mark of a secret shows as soon as it is sure to be one, and the rest of the secret is dropped as it comes.

Overlapping secrets become one mark. Every decision needs a fixed number of characters, so that little is held back and
time is linear. None depends on what another mark hides, so marking twice is marking once.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from bisect import bisect_left
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Generic, NamedTuple, NoReturn, TypeVar
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

T = TypeVar("T")

_LEAST = 8
"""Characters. A shorter value is too likely to be ordinary text."""

_CONTACT_WITHIN = 256
"""Characters at the beginning of a key among which a letter has to touch a digit."""

_PRIVATE_KEY_LIMIT = 16_384
"""Characters that a private key without an end line hides. An RSA key of 16,384 bits has 12,700."""

_LAST_LINE = 80
"""More characters than the last line of a private key has."""

_BEHIND = 8
"""How many characters before a place may matter for what begins there."""


def redact(text: str) -> str:
    """`text` with a mark in place of each secret, or the very same object where there is none. It never raises."""
    if len(text) < _LEAST:
        return text
    forms = _store.forms()
    if not _HINT.search(text) and not forms.are_in(text):
        return text
    masked = _Stream().more(text, forms, final=True)
    return text if masked == text else masked


def know(value: str, label: str) -> None:
    """From now on `value` is masked as `‹redacted {label}›`, as it is and escaped or encoded in the usual ways.

    Blanks around it do not count. Without effect where it has less than 8 characters, where it is a word of the marks
    ("password"), and where it is known: the first label stays. A label that shows a secret itself becomes "secret".
    """
    _store.know({value: label})


def know_environment() -> None:
    """Knows what is secret in `os.environ` now; what was known stays known. Cheap where nothing has changed.

    The first `redact` does it, too; after that, whoever begins something long (a run) calls it.
    """
    _store.know_environment()


def forget() -> None:
    """Drops all known values, also those of the environment until the next `know_environment`. For tests."""
    _store.forget()


class _Kept:
    """Something that no pickle and no copy takes along."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} can be neither pickled nor copied: there may be a secret in it")


class StreamRedactor(_Kept):
    """Redacts a text that comes in pieces: all that `feed` and `end` return is, joined, `redact` of the whole.

    Held back is only what may yet become a secret: mostly less than a word, at most about 1,600 characters or a known
    value. It can be neither pickled nor copied (TypeError).
    """

    __slots__ = ("_stream",)

    def __init__(self) -> None:
        self._stream = _Stream()

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        return self._stream.more(piece, _store.forms())

    def end(self) -> str:
        """The rest. After that the redactor is as new."""
        rest = self._stream.more("", _store.forms(), final=True)
        self._stream = _Stream()
        return rest


class _Hidden(_Kept, Generic[T]):
    """A value that no repr, `vars`, pickle or copy shows."""

    __slots__ = ("get",)

    def __init__(self, value: T) -> None:
        self.get: Callable[[], T] = lambda: value

    def __repr__(self) -> str:
        return "<hidden>"


# The text so far.


class _Stream:
    """What is held back of a text, and what is left to drop of secrets whose mark is shown."""

    __slots__ = ("_at", "_coming", "_ends", "_masked", "_tails", "_text")

    def __init__(self) -> None:
        self._text = _Hidden("")
        """What is held back, after a few characters that are not. The places below are places in it."""
        self._at = 0
        """Where that begins."""
        self._masked = 0
        """Where the last mark's secrets end."""
        self._ends: set[int] = set()
        """Where any secret ends, if not before `_at`: a new word may begin there."""
        self._tails: list[_Tail] = []
        self._coming: list[_Span] = []
        """Found already, but begins at `_at` or later: after `api-key: `, for example."""

    def more(self, piece: str, forms: _Forms, *, final: bool = False) -> str:
        """What can be shown now; all of it if this piece is the last."""
        text = self._text.get() + piece
        self._follow(text)
        search = _Search(text, self._at, self._ends, forms, final=final)
        spans, horizon = search.spans([span.going_on(text) for span in self._coming])
        shown = self._show(text, [span for span in spans if span.start < horizon], horizon)
        self._coming = [span for span in spans if span.start >= horizon]
        self._keep(text, horizon)
        return shown

    def _follow(self, text: str) -> None:
        tails, self._tails = self._tails, []
        for tail in tails:
            end = tail.end(text)
            if end is None:
                self._tails.append(tail.after(text))
            else:
                self._ends.add(end)
            self._masked = max(self._masked, len(text) if end is None else end)

    def _show(self, text: str, spans: Iterable[_Span], horizon: int) -> str:
        shown: list[str] = []
        done = max(self._at, self._masked)
        for span in spans:
            if span.start >= done:
                shown += [text[done : span.start], _mark(span.label)]
            done = max(done, span.end)
            if span.tail:
                self._tails.append(span.tail)
            else:
                self._ends.add(span.end)
        self._masked = done
        return "".join([*shown, text[done:horizon]])

    def _keep(self, text: str, horizon: int) -> None:
        cut = max(0, horizon - _BEHIND)
        self._text = _Hidden(text[cut:])
        self._at = horizon - cut
        self._masked -= cut
        self._ends = {end - cut for end in self._ends if end >= horizon}
        self._tails = [*dict.fromkeys(tail.moved(cut) for tail in self._tails)]
        self._coming = [span.moved(cut) for span in self._coming]


def _mark(label: str) -> str:
    return f"‹redacted {label}›"


# The secrets in it.


class _Span(NamedTuple):
    """A secret in a text."""

    start: int
    rank: int
    """Among secrets with the same start the least one gives the label: a known one before others, a long one first."""
    end: int
    label: str
    tail: _Tail | None = None
    """Where the text so far ends before the secret does."""

    def going_on(self, text: str) -> _Span:
        """The same in a text that goes on."""
        end = self.tail.end(text) if self.tail else self.end
        if end is None:
            return self._replace(end=len(text), tail=self.tail and self.tail.after(text))
        return self._replace(end=end, tail=None)

    def moved(self, by: int) -> _Span:
        return self._replace(start=self.start - by, end=self.end - by, tail=self.tail and self.tail.moved(by))


class _Tail(NamedTuple):
    """The rest of a secret: up to the next `stop`, which belongs to it only if it is the last line of a private key."""

    stop: re.Pattern[str]
    since: int
    limit: int | None = None

    def end(self, text: str, following: _Following | None = None) -> int | None:
        """Where the secret ends, or None where that is not in `text`."""
        found = (following or _Following(text)).first(self.stop, self.since)
        end = found and (found[1] if self.stop is _PRIVATE_KEY_END else found[0])
        if self.limit is not None:
            end = self.limit if end is None else min(end, self.limit)
        return end if end is not None and end <= len(text) else None

    def after(self, text: str) -> _Tail:
        """The rest where it does not end in `text`. Of many keys that do not end there is one rest, or they add up."""
        return self._replace(since=max(self.since, len(text) - _LAST_LINE if self.limit else len(text)))

    def moved(self, by: int) -> _Tail:
        return self._replace(since=max(0, self.since - by), limit=self.limit and self.limit - by)


class _Following:
    """The first match at a place or after it, remembered: many places have the same, and a search goes far."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[re.Pattern[str], tuple[int, tuple[int, int] | None]] = {}

    def first(self, pattern: re.Pattern[str], place: int) -> tuple[int, int] | None:
        """Its start and its end."""
        since, span = self._known.get(pattern, (sys.maxsize, None))
        if since <= place and (span is None or place <= span[0]):
            return span
        match = pattern.search(self._text, place)
        self._known[pattern] = place, match.span() if match else None
        return self._known[pattern][1]


class _Search:
    """Looks for the secrets that begin at `at` or later in a text, `final` if it is all there is."""

    def __init__(self, text: str, at: int, ends: Iterable[int], forms: _Forms, *, final: bool) -> None:
        self._text = text
        self._at = at
        self._ends = set(ends)
        self._forms = forms
        self._final = final
        self._following = _Following(text)

    def spans(self, coming: list[_Span]) -> tuple[list[_Span], int]:
        """The secrets by their start, and the place up to which no later text changes which secrets begin.

        Of those that begin later there are only the ones whose head is before that place.
        """
        known = list(self._forms.spans(self._text, self._at))
        self._ends.update(span.end for span in known + coming)
        horizon = len(self._text)
        if not self._final:
            horizon = min(self._forms.begun(self._text, self._at), _head_begun(self._text, self._at))
        others, horizon = self._others(horizon)
        spans = [span for span in known if span.start < horizon] + coming + others
        return sorted(spans, key=lambda span: span[:2]), horizon

    def _others(self, horizon: int) -> tuple[list[_Span], int]:
        spans: list[_Span] = []
        for head in self._heads(horizon):
            span = self._judged(head)
            if span is _UNDECIDED:
                return spans, head.start()
            if span:
                spans.append(span)
                self._ends.add(span.end)
        return spans, horizon

    def _heads(self, horizon: int) -> Iterator[re.Match[str]]:
        head = _HEAD.search(self._text, self._at)
        while head and head.start() < horizon:
            yield head
            head = _HEAD.search(self._text, head.start() + 1)

    def _judged(self, head: re.Match[str]) -> _Span | None:
        kind = _KINDS[head[0]]
        if (isinstance(kind, _Key) or kind.is_word) and not self._word_begins(head.start()):
            return None
        return self._key(head, kind) if isinstance(kind, _Key) else self._shape(head.start(), kind)

    def _word_begins(self, place: int) -> bool:
        return bool(_WORD_BEGINS.match(self._text, place)) or place in self._ends

    def _key(self, head: re.Match[str], key: _Key) -> _Span | None:
        body = head.end()
        stop = self._following.first(key.stop, body)
        end = stop[0] if stop else len(self._text)
        contact = self._following.first(_CONTACT, body)
        is_mixed = contact is not None and contact[0] + 1 < min(end, body + _CONTACT_WITHIN)
        if end - body >= key.least and (is_mixed or not key.mixed):
            return self._span(head.start() + key.seen, key.label, _Tail(key.stop, end))
        may_come = not stop and not self._final and end - body < _CONTACT_WITHIN
        return _UNDECIDED if may_come else None

    def _shape(self, head: int, shape: _Shape) -> _Span | None:
        if not self._final and _compiled(shape.begun).match(self._text, head):
            return _UNDECIDED
        match = _compiled(shape.sure).match(self._text, head)
        if not match:
            return None
        start, end = match.span("secret")
        if shape.stop is None:
            return _Span(start, 0, end, shape.label)
        return self._span(start, shape.label, _Tail(shape.stop, end, shape.limit and head + shape.limit))

    def _span(self, start: int, label: str, tail: _Tail) -> _Span:
        end = tail.end(self._text, self._following)
        if end is None:
            return _Span(start, 0, len(self._text), label, None if self._final else tail.after(self._text))
        return _Span(start, 0, end, label)


_UNDECIDED = _Span(0, 0, 0, "")


# What a secret looks like that nobody told us.


class _Key(NamedTuple):
    """A secret with a fixed beginning, and at least so many characters after it, a letter next to a digit among them.

    Words and numbers in a row have no such two, `sk-telecom-announces-2024-results`; a key of 40 without is rare.
    """

    stop: re.Pattern[str]
    least: int = 20
    mixed: bool = True
    label: str = "key"
    seen: int = 0
    """How much of the beginning stays."""


class _Shape(NamedTuple):
    """A secret that looks as the group `secret` of `sure`, and goes on up to `stop` and no further than `limit`."""

    label: str
    sure: str
    begun: str
    """Matches what may match `sure` otherwise, or at all, when more text comes."""
    stop: re.Pattern[str] | None = None
    limit: int | None = None
    is_word: bool = False
    """Whether it has to begin where a word does, as a key has to."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """When it is first needed: some take milliseconds."""
    return re.compile(pattern)


_LETTERS = re.compile("[^A-Za-z0-9]")
_WORD = re.compile("[^A-Za-z0-9_]")
_DASHED = re.compile("[^A-Za-z0-9_-]")
_DOTTED = re.compile("[^A-Za-z0-9_.-]")
_CAPITALS = re.compile("[^A-Z0-9]")
_BEARER = re.compile("[^A-Za-z0-9._~+/=-]")
"""What ends a key of such characters."""

_CONTACT = re.compile("[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")

_WORD_BEGINS = re.compile(  # also after an escape, and after a colour of a terminal, though these end with a letter
    r"(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\x[0-9a-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})|(?<=[0-9;\[]m)"
)

_Step = tuple[str, int, int]
"""A pattern of one character, and how often it comes at least and at most."""


def _done(steps: Iterable[_Step]) -> str:
    return "".join(f"{one}{{{least},{most}}}" for one, least, most in steps)


def _begun(steps: list[_Step], then: str) -> str:
    """A pattern of a text that ends within the steps, or has `then` after them."""
    for one, least, most in reversed(steps):
        then = f"(?:{one}{{0,{most}}}\\Z|{one}{{{least},{most}}}{then})"
    return then


_NO_VALUE = r"\s\"'`,;<>\\‹›(){}\[\]"
_VALUE = f"[A-Za-z0-9._~+/=!@#%^&*|-][^{_NO_VALUE}]"
_VALUE_BEGUN = f"(?:\\Z|{_VALUE}{{0,6}}+\\Z)"
_COLON: list[_Step] = [
    (r"\\", 0, 3),
    ("[\"']", 0, 1),
    ("[ \t]", 0, 4),
    ("(?:[:=]|(?<=[\"']),)", 1, 1),
    ("[ \t]", 0, 4),
    (r"(?:b(?=\\{0,3}(?:[\"']|\Z)))", 0, 1),
    (r"\\", 0, 3),
    ("[\"']", 0, 1),
]
"""What is between a header and its value, also in JSON, JSON in JSON, a dict and a list of pairs of bytes."""


def _header(name: str, label: str, *schemes: str) -> _Shape:
    scheme = f"(?:{'|'.join(schemes)}) {{1,3}}+" if schemes else ""
    begun = [_begun([*((letter, 1, 1) for letter in word), (" ", 1, 3)], _VALUE_BEGUN) for word in schemes]
    then = f"(?:{'|'.join(begun) or _VALUE_BEGUN})"
    return _Shape(
        label,
        f"(?i:{name}{_done(_COLON)}{scheme})(?P<secret>{_VALUE}{{7}})",
        f"(?i:{name}{_begun(_COLON, then)})",
        re.compile(f"[{_NO_VALUE}]"),
    )


_AUTHORIZATION = _header("authorization", "token", "bearer", "basic", "token")
_API_KEY = _header("api-key", "key")

_PART = "[A-Za-z0-9_-]"
_JWT_SURE = rf"(?P<secret>eyJ{_PART}{{7,509}}+\.(?:eyJ{_PART}{{7}}|{_PART}{{4,1024}}+\.{_PART}{{10}}))"
_JWT = _Shape(
    "token",
    _JWT_SURE,
    rf"(?!{_JWT_SURE})eyJ{_PART}{{0,509}}+(?:\Z|\.{_PART}{{0,1024}}+(?:\Z|\.{_PART}{{0,9}}+\Z))",
    _DOTTED,
    is_word=True,
)

_USER = r"""://[^\s/@:"'<>\\‹›]{0,128}+"""
_BEFORE_AT = r"""[^\s/"'<>\\‹›]"""
_URL = _Shape(  # up to the last @: not everybody writes %40
    "password",
    rf"{_USER}:(?P<secret>{_BEFORE_AT}{{1,256}})(?=@)",
    rf"{_USER}(?:\Z|:{_BEFORE_AT}{{0,256}}+\Z)",
)

_BEGIN = "-----BEGIN (?=[A-Z0-9 ]{0,49}PRIVATE KEY)[A-Z0-9 ]{11,60}+-----"
_INSIDE = "(?:[^‹›-]|-(?!----END))"
_PRIVATE_KEY_SURE = f"(?P<secret>{_BEGIN}{_INSIDE}{{0,200}}?[A-Za-z0-9+/]{{24}})"
_PRIVATE_KEY_END = re.compile("-----END [A-Z0-9 ]{0,60}+-----")
_PRIVATE_KEY = _Shape(  # only where something follows that may be the key, or a text about such keys would be hidden
    "private key",
    _PRIVATE_KEY_SURE,
    rf"(?!{_PRIVATE_KEY_SURE})(?:-----BEGIN [A-Z0-9 ]{{0,60}}+-{{0,4}}+\Z|{_BEGIN}{_INSIDE}{{0,223}}\Z)",
    _PRIVATE_KEY_END,
    limit=_PRIVATE_KEY_LIMIT,
)
_END_LINE = _Shape("", "(?!)", r"-----END [A-Z0-9 ]{0,60}+-{0,4}+\Z")
"""Holds the last line of a private key together."""

_KINDS: dict[str, _Key | _Shape] = {
    "sk-": _Key(_DASHED),  # OpenAI, Anthropic, DeepSeek, OpenRouter, …
    "AIza": _Key(_DASHED, least=35),  # Google
    "hf_": _Key(_LETTERS, label="token"),  # Hugging Face
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), _Key(_WORD, label="token")),
    **dict.fromkeys(("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"), _Key(_DASHED, label="token")),  # Slack
    "AKIA": _Key(_CAPITALS, least=16, mixed=False),  # AWS: one in thirty has no digit
    "ASIA": _Key(_CAPITALS, least=16),
    **dict.fromkeys(("gsk_", "sk_live_", "sk_test_", "rk_live_", "rk_test_"), _Key(_LETTERS)),  # Groq, Stripe
    **dict.fromkeys(("xai-", "pplx-", "r8_"), _Key(_LETTERS)),  # xAI, Perplexity, Replicate
    "nvapi-": _Key(_DASHED),  # NVIDIA
    **dict.fromkeys(("bearer ", "Bearer ", "BEARER "), _Key(_BEARER, label="token", seen=len("Bearer "))),
    "eyJ": _JWT,
    "://": _URL,
    "-----BEGIN ": _PRIVATE_KEY,
    "-----END ": _END_LINE,
    **dict.fromkeys(("authorization", "Authorization", "AUTHORIZATION"), _AUTHORIZATION),
    **dict.fromkeys(("api-key", "Api-Key", "Api-key", "API-Key", "API-key", "API-KEY"), _API_KEY),
}
"""The heads: what each kind begins with. None is the beginning of another one."""


def _any_of(words: Iterable[str]) -> str:
    """A pattern for these words. By their first characters, or a search takes twice as long."""
    by_first: dict[str, list[str]] = {}
    for word in words:
        by_first.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in by_first.items())


_HEAD = re.compile(_any_of(_KINDS))
_TELLING = [head for head in _KINDS if head not in {"://", "-----END "}]
_HINT = re.compile(f"{_any_of(_TELLING)}|{_USER}:{_BEFORE_AT}{{1,256}}@")
"""Whether a look is worth it: a text with a link is, by far, the most frequent one that has a head and no secret."""

_HEADS_BEGUN = frozenset(head[:length] for head in _KINDS for length in range(1, len(head)))
_LONGEST_HEAD = max(map(len, _KINDS))


def _head_begun(text: str, at: int) -> int:
    """Where a head begins that the text ends within, or the end of the text."""
    for place in range(max(at, len(text) - _LONGEST_HEAD + 1), len(text)):
        if text[place:] in _HEADS_BEGUN:
            return place
    return len(text)


# What somebody told us.


class _Forms(_Kept):
    """All that known values look like in a text."""

    __slots__ = ("_labels", "_longest", "_ordered", "_shortest", "_starts")

    def __init__(self, values: Mapping[str, str]) -> None:
        labels: dict[str, str] = {}
        for value, label in values.items():
            for form in _forms_of(value):
                labels.setdefault(form, label)
        shown = {label: _safe(label, labels) for label in values.values()}
        ordinary = " ".join(map(_mark, ("key", "token", "password", "private key", "secret")))
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

    def spans(self, text: str, at: int) -> Iterator[_Span]:
        """Each place from `at` on where one of them is, also where they overlap."""
        if len(text) - at < self._shortest:
            return
        for form, label in self._labels.items():
            place = text.find(form, at)
            while place >= 0:
                yield _Span(place, -len(form), place + len(form), label)
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
    mark = _mark(plain)
    is_safe = _Stream().more(mark, _NO_FORMS, final=True) == mark and not any(form in mark for form in forms)
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


_NO_FORMS = _Forms({})


class _Store:
    """The known values."""

    __slots__ = ("_environment", "_forms", "_lock", "_values")

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: _Hidden[dict[str, str]] = _Hidden({})
        self._environment: _Hidden[dict[str, str]] | None = None
        """As it was when it was last read."""
        self._forms = _Hidden(_NO_FORMS)

    def forms(self) -> _Forms:
        if self._environment is None:
            self.know_environment()
        return self._forms.get()

    def know(self, values: Mapping[str, str]) -> None:
        with self._lock:
            known = self._values.get()
            stripped = ((value.strip().strip("‹›"), label) for value, label in values.items())
            new = {value: label for value, label in stripped if len(value) >= _LEAST and value not in known}
            if new:
                self._values = _Hidden({**known, **new})
                self._forms = _Hidden(_Forms(self._values.get()))

    def know_environment(self) -> None:
        environment = dict(os.environ)
        if self._environment and environment == self._environment.get():
            return
        self.know({value: name for name, value in environment.items() if _is_secret(name, value)})
        self._environment = _Hidden(environment)

    def forget(self) -> None:
        with self._lock:
            self._values = _Hidden({})
            self._forms = _Hidden(_NO_FORMS)
            self._environment = _Hidden({})


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


_VARIABLE = re.compile(r"\$?\{?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\}?")
"""The name of a variable in the place of its value: nothing to hide, and an error has to say it."""


def _is_secret(name: str, value: str) -> bool:
    if not _SECRET_NAME.fullmatch(name) or _ORDINARY.fullmatch(value.strip()) or _VARIABLE.fullmatch(value.strip()):
        return False
    return not _PATH.fullmatch(value.strip()) or bool(_RANDOM.search(value))


_store = _Store()
