"""Texts: the strings that fit a JSON schema, likely ones first."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from itertools import chain, count, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FORMATS = {
    "date": "2000-01-{0:02}",
    "date-time": "2000-01-{0:02}T00:00:00Z",
    "time": "00:00:{0:02}Z",
    "duration": "PT{0}S",
    "uuid": "00000000-0000-4000-8000-0000000000{0:02}",
    **{f"uuid{version}": f"00000000-0000-{version}000-8000-0000000000{{0:02}}" for version in range(1, 9)},
    "email": "a{0}@example.com",
    "idn-email": "a{0}@example.com",
    "name-email": "a{0}@example.com",
    "uri": "https://example.com/{0}",
    "url": "https://example.com/{0}",
    "multi-host-uri": "postgres://localhost/{0}",
    "hostname": "a{0}.example.com",
    "ipv4": "127.0.0.{0}",
    "ipv6": "::{0}",
    "ipv4network": "127.0.0.{0}/32",
    "ipv6network": "::{0}/128",
    "ipv4interface": "127.0.0.{0}/32",
    "ipv6interface": "::{0}/128",
    "base64": "AA{0:02}",
    "base64url": "AA{0:02}",
    "directory-path": ".",
}
"""Texts of the formats that are not just any text, as `path`, `binary` and `password` are; for the numbers 1 to 28."""


def texts(schema: dict[str, Any]) -> Iterator[str]:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    pattern: str = schema.get("pattern", "")
    fits = _test(pattern) if pattern else None
    likely = [_FORMATS[schema["format"]].format(n) for n in range(1, 29)] if schema.get("format") in _FORMATS else []
    found = False
    for text in chain(likely, _likely(pattern, shortest) if fits else ()):
        if shortest <= len(text) <= longest and (fits is None or fits(text)):
            found = True
            yield text
    if found:
        return
    for length in count(max(shortest, min(1, longest))):
        if length > longest:
            return
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _test(pattern: str) -> Callable[[Any], bool] | None:
    """Whether a text fits the pattern, as pydantic sees it: Rust first, since in Python some patterns take for ever.

    None where neither can read it.
    """
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    for engine in ("rust-regex", "python-re"):
        with suppress(SchemaError, re.error, OverflowError):
            return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine=engine)).isinstance_python
    return None


_USUAL = (
    *("0.0.0", "v0.0.0", "0.0", "00-00-00", "000-00-0000", "000-000-0000", "+10000000000", "A00AA", "aa-AA", "aa_AA"),
    *("2000-01-01", "2000-01-01T00:00:00Z", "00:00", "00:00:00", "#000", "#000000", "$a", "@a", "#a", "/a", "./a"),
    *("a/a", "a.a.a", "a@a.com", "http://a.com", "https://a.com/"),
)


def _likely(pattern: str, shortest: int) -> Iterator[str]:
    """Texts that a pattern may well mean, simple ones first."""
    yield from (letter * length for length in chain(range(1, 65), (shortest,)) for letter in "aA0-_.")
    yield from _USUAL
    runs = [letter * length for length in range(1, 13) for letter in "aA0"]
    words = re.findall(r"\w+", pattern)[:8]  # ^user_[0-9]+$ may have a user_ in it
    yield from words
    for joint in ("", "-", "_", ".", ":", "/", "@", " "):
        yield from (f"{first}{joint}{second}" for first, second in product([*words, *runs], runs))
    yield ""
