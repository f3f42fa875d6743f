"""Arguments: the JSON of a tool call, laid out without changing it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LINE = 72
_DEEP = 20
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')

_FLAT = re.compile(r"([\[{])\n *([^\[\]{}]{1,60})\n *([\]}])")
"""What is short and holds nothing deeper goes on one line again."""


def laid_out(text: str) -> str:
    """A JSON object over several lines where it is long; anything else as it came.

    Only white space between the tokens changes: a parser would lose duplicate keys and digits.
    """
    if (len(text) <= _LINE and "\n" not in text) or not _is_object(text):
        return text
    symbols: list[str] = _TOKEN.findall(text)
    return _FLAT.sub(_joined, _indented(symbols)) if _depth(symbols) <= _DEEP else text


def members(text: str) -> list[tuple[str, list[str]]] | None:
    """The names in a JSON object, and the tokens of their values; those that come twice are there twice. None for
    anything else."""
    if not _is_object(text):
        return None
    found: list[tuple[str, list[str]]] = []
    part: list[str] = []
    depth = 0
    for symbol in (*_TOKEN.findall(text)[1:-1], ","):
        if symbol == "," and depth == 0:
            found += [(name_of(part[0]), part[2:])] if part else []
            part = []
            continue
        depth += (symbol in "{[") - (symbol in "}]")
        part.append(symbol)
    return found


def layout(symbols: Sequence[str]) -> str:
    """A JSON value, over several lines where it is long, with the characters that its escapes stand for."""
    readable = [_readable(symbol) for symbol in symbols]
    return _FLAT.sub(_joined, _indented(readable)) if _depth(readable) <= _DEEP else "".join(readable)


def texts_inside(symbols: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The texts among the values in a JSON object or array, each with its place: `[0].name`."""
    place: list[str | int] = []
    for symbol, after in zip(symbols, (*symbols[1:], ""), strict=True):
        if symbol in "{[":
            place.append(0 if symbol == "[" else "")
        elif symbol in "}]":
            place.pop()
        elif symbol == "," and isinstance(index := place[-1], int):
            place[-1] = index + 1
        elif after == ":":
            place[-1] = name_of(symbol)
        elif symbol.startswith('"') and place:
            yield "".join(f"[{at}]" if isinstance(at, int) else f".{at}" for at in place), read_text(symbol)


def read_text(symbol: str) -> str:
    """What the token of a text says."""
    return str(json.loads(symbol))


def name_of(symbol: str) -> str:
    """The name that a token says, as it is where it is one word."""
    name = read_text(symbol)
    return name if name.isascii() and name.replace("-", "_").isidentifier() else _readable(symbol)


def _readable(symbol: str) -> str:
    return json.dumps(read_text(symbol), ensure_ascii=False) if symbol.startswith('"') else symbol


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _joined(match: re.Match[str]) -> str:
    return match[1] + re.sub(r"\n *", " ", match[2]) + match[3]


def _depth(symbols: list[str]) -> int:
    depth = deepest = 0
    for symbol in symbols:
        depth += (symbol in "{[") - (symbol in "}]")
        deepest = max(deepest, depth)
    return deepest


def _indented(symbols: list[str]) -> str:
    out: list[str] = []
    depth = 0
    for before, symbol in zip(["", *symbols], symbols, strict=False):
        if symbol in "}]":
            depth -= 1
        if before and (before in "{[," or symbol in "}]") and before + symbol not in {"{}", "[]"}:
            out.append("\n" + "  " * depth)
        out.append(": " if symbol == ":" else symbol)
        if symbol in "{[":
            depth += 1
    return "".join(out)
