"""Arguments: the JSON of a tool call, laid out without changing it."""

from __future__ import annotations

import json
import re

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
