"""Kinds: what a secret looks like that nobody told us."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_PRIVATE_KEY_LIMIT = 16_384
"""Characters that a private key without an end line hides. An RSA key of 16,384 bits has 12,700."""


class Key(NamedTuple):
    """A secret with a fixed beginning, and at least so many characters after it, a letter next to a digit among them.

    Words and numbers in a row have no such two, `sk-telecom-announces-2024-results`; a key of 40 without is rare.
    """

    stop: re.Pattern[str]
    least: int = 20
    mixed: bool = True
    label: str = "key"
    seen: int = 0
    """How much of the beginning stays."""


class Shape(NamedTuple):
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
def compiled(pattern: str) -> re.Pattern[str]:
    """When it is first needed: some take milliseconds."""
    return re.compile(pattern)


_LETTERS = re.compile("[^A-Za-z0-9]")
_WORD = re.compile("[^A-Za-z0-9_]")
_DASHED = re.compile("[^A-Za-z0-9_-]")
_DOTTED = re.compile("[^A-Za-z0-9_.-]")
_CAPITALS = re.compile("[^A-Z0-9]")
_BEARER = re.compile("[^A-Za-z0-9._~+/=-]")
"""What ends a key of such characters."""

CONTACT = re.compile("[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")

WORD_BEGINS = re.compile(  # also after an escape, and after a colour of a terminal, though these end with a letter
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


def _header(name: str, label: str, *schemes: str) -> Shape:
    scheme = f"(?:{'|'.join(schemes)}) {{1,3}}+" if schemes else ""
    begun = [_begun([*((letter, 1, 1) for letter in word), (" ", 1, 3)], _VALUE_BEGUN) for word in schemes]
    then = f"(?:{'|'.join(begun) or _VALUE_BEGUN})"
    return Shape(
        label,
        f"(?i:{name}{_done(_COLON)}{scheme})(?P<secret>{_VALUE}{{7}})",
        f"(?i:{name}{_begun(_COLON, then)})",
        re.compile(f"[{_NO_VALUE}]"),
    )


_AUTHORIZATION = _header("authorization", "token", "bearer", "basic", "token")
_API_KEY = _header("api-key", "key")

_PART = "[A-Za-z0-9_-]"
_JWT_SURE = rf"(?P<secret>eyJ{_PART}{{7,509}}+\.(?:eyJ{_PART}{{7}}|{_PART}{{4,1024}}+\.{_PART}{{10}}))"
_JWT = Shape(
    "token",
    _JWT_SURE,
    rf"(?!{_JWT_SURE})eyJ{_PART}{{0,509}}+(?:\Z|\.{_PART}{{0,1024}}+(?:\Z|\.{_PART}{{0,9}}+\Z))",
    _DOTTED,
    is_word=True,
)

_USER = r"""://[^\s/@:"'<>\\‹›]{0,128}+"""
_BEFORE_AT = r"""[^\s/"'<>\\‹›]"""
_URL = Shape(  # up to the last @: not everybody writes %40
    "password",
    rf"{_USER}:(?P<secret>{_BEFORE_AT}{{1,256}})(?=@)",
    rf"{_USER}(?:\Z|:{_BEFORE_AT}{{0,256}}+\Z)",
)

_BEGIN = "-----BEGIN (?=[A-Z0-9 ]{0,49}PRIVATE KEY)[A-Z0-9 ]{11,60}+-----"
_INSIDE = "(?:[^‹›-]|-(?!----END))"
_PRIVATE_KEY_SURE = f"(?P<secret>{_BEGIN}{_INSIDE}{{0,200}}?[A-Za-z0-9+/]{{24}})"
PRIVATE_KEY_END = re.compile("-----END [A-Z0-9 ]{0,60}+-----")
_PRIVATE_KEY = Shape(  # only where something follows that may be the key, or a text about such keys would be hidden
    "private key",
    _PRIVATE_KEY_SURE,
    rf"(?!{_PRIVATE_KEY_SURE})(?:-----BEGIN [A-Z0-9 ]{{0,60}}+-{{0,4}}+\Z|{_BEGIN}{_INSIDE}{{0,223}}\Z)",
    PRIVATE_KEY_END,
    limit=_PRIVATE_KEY_LIMIT,
)
_END_LINE = Shape("", "(?!)", r"-----END [A-Z0-9 ]{0,60}+-{0,4}+\Z")
"""Holds the last line of a private key together."""

KINDS: dict[str, Key | Shape] = {
    "sk-": Key(_DASHED),  # OpenAI, Anthropic, DeepSeek, OpenRouter, …
    "AIza": Key(_DASHED, least=35),  # Google
    "hf_": Key(_LETTERS, label="token"),  # Hugging Face
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), Key(_WORD, label="token")),
    **dict.fromkeys(("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"), Key(_DASHED, label="token")),  # Slack
    "AKIA": Key(_CAPITALS, least=16, mixed=False),  # AWS: one in thirty has no digit
    "ASIA": Key(_CAPITALS, least=16),
    **dict.fromkeys(("gsk_", "sk_live_", "sk_test_", "rk_live_", "rk_test_"), Key(_LETTERS)),  # Groq, Stripe
    **dict.fromkeys(("xai-", "pplx-", "r8_"), Key(_LETTERS)),  # xAI, Perplexity, Replicate
    "nvapi-": Key(_DASHED),  # NVIDIA
    **dict.fromkeys(("bearer ", "Bearer ", "BEARER "), Key(_BEARER, label="token", seen=len("Bearer "))),
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


HEAD = re.compile(_any_of(KINDS))
_TELLING = [head for head in KINDS if head not in {"://", "-----END "}]
HINT = re.compile(f"{_any_of(_TELLING)}|{_USER}:{_BEFORE_AT}{{1,256}}@")
"""Whether a look is worth it: a text with a link is, by far, the most frequent one that has a head and no secret."""

_HEADS_BEGUN = frozenset(head[:length] for head in KINDS for length in range(1, len(head)))
_LONGEST_HEAD = max(map(len, KINDS))


def head_begun(text: str, at: int) -> int:
    """Where a head begins that the text ends within, or the end of the text."""
    for place in range(max(at, len(text) - _LONGEST_HEAD + 1), len(text)):
        if text[place:] in _HEADS_BEGUN:
            return place
    return len(text)
