"""Known formatters: their names, and which two of them an agent's `formatters` means."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import ConfigError
from nbagent.prompt.formatters.json_object import JsonFormatter, LenientJsonFormatter
from nbagent.prompt.formatters.markdown import MarkdownFormatter
from nbagent.prompt.formatters.paragraph import ParagraphFormatter
from nbagent.prompt.formatters.tagged import TaggedFormatter
from nbagent.prompt.formatters.twins import TwinsFormatter

if TYPE_CHECKING:
    from nbagent.prompt.formatters.formatter import BuiltIn, Formatter

_FORMATTERS: tuple[BuiltIn, ...] = (
    ParagraphFormatter(),
    JsonFormatter(),
    LenientJsonFormatter(),
    MarkdownFormatter(),
    TaggedFormatter(),
    TwinsFormatter(),
)
KNOWN = {formatter.name: formatter for formatter in _FORMATTERS}
"""The formatters by name. They keep nothing, so there is one of each."""

TEXT = "text"
"""In the place of the second formatter: answers are not read, but stay text."""

_EXPECTED = "formatters: expected a name, an object with dump and format, or a list of two: for the prompt, for answers"


def formatter_named(name: str) -> BuiltIn:
    """The formatter of this name, in any case and with `_` or `-` for a blank. Raises ConfigError."""
    plain = " ".join(re.split(r"[\s_-]+", name.strip().lower()))
    if plain in KNOWN:
        return KNOWN[plain]
    near = get_close_matches(plain[:100], KNOWN, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    if plain == TEXT:
        hint = f" ({TEXT!r} can be the second of two: answers are not read then.)"
    raise ConfigError(f"formatters: no formatter has the name {name[:100]!r}; there are {', '.join(KNOWN)}.{hint}")


def pair_of(formatters: Any) -> tuple[Formatter, Formatter | None]:
    """The formatter for prompts and the one for answers, which is None where answers are not read.

    `formatters`: None is `paragraph`, and None for answers, where the caller has a default of its own; one name or
    object is both; a list or tuple of two is the one and the other, and the second may be None or `text`. Raises
    ConfigError for anything else.
    """
    if formatters is None:
        return KNOWN["paragraph"], None
    if not isinstance(formatters, list | tuple):
        return _formatter(formatters, "dump"), _formatter(formatters, "format")
    pair = cast("list[Any] | tuple[Any, ...]", formatters)
    if len(pair) != 2:
        raise ConfigError(f"{_EXPECTED}; got {len(pair)} of them.")
    first, second = pair
    unread = second is None or (isinstance(second, str) and second == TEXT)
    return _formatter(first, "dump"), None if unread else _formatter(second, "format")


def _formatter(formatter: Any, method: str) -> Formatter:
    """The formatter, by its name or as it is; `method` is the one that it has to have."""
    if isinstance(formatter, str):
        return formatter_named(formatter)
    if isinstance(formatter, type):
        name = cast("type[Any]", formatter).__name__
        raise ConfigError(f"{_EXPECTED}; got the class {name}: write {name}().")
    if not callable(getattr(formatter, method, None)):
        raise ConfigError(f"{_EXPECTED}; got {type(formatter).__name__}, which has no method {method}.")
    return formatter
