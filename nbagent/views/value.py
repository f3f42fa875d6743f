"""Value: what the text of an observation is when it is more than text: a JSON object or array, or a table.

Read from the text alone, so that a run shows the same from its journal as while its values are still in memory.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, TypeGuard, cast

LIMIT = 24_000
"""Characters; of what is longer, only the text is shown."""
_LEAST = 120
"""Characters; a shorter object or array is read at a glance."""
_FEWEST = 2
"""With fewer equal objects than this, a list of them is no table."""
_MOST_COLUMNS = 12
_FRAME = re.compile(r"DataFrame of (\d[\d,]*) rows? × (\d[\d,]*) columns?\n")


class Literal(str):
    """A number, `true`, `false` or `null`, in the characters in which it came."""

    __slots__ = ()


class Members(list[tuple[str, Any]]):
    """The members of an object in their order; those that come twice are there twice."""

    __slots__ = ()


class Table(NamedTuple):
    """Cells of text, in rows."""

    title: str
    """`DataFrame of 30 rows × 2 columns`; in our words."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_indexed: bool = False
    """Whether the first cell of each row says which row it is."""
    more: str = ""
    """`… 20 more rows`; in our words."""


def tree_of(text: str) -> list[Any] | None:
    """The object or the array that a text of some size is, else None."""
    if not _LEAST <= len(text) <= LIMIT or text.lstrip()[:1] not in ("{", "["):
        return None
    return _read(text)


def table_of(text: str) -> Table | None:
    """The table that a text is: what a tool said of a frame, or a list of objects with the same names."""
    if found := _FRAME.match(text):
        return _frame(text, found) if len(text) <= LIMIT else None
    if len(text) > LIMIT or text.lstrip()[:1] != "[":
        return None
    rows = _read(text)
    return None if rows is None else _records(rows)


def _read(text: str) -> list[Any] | None:
    """The object or the array, with all of its members and digits."""
    try:
        value: Any = json.loads(
            text, object_pairs_hook=Members, parse_int=Literal, parse_float=Literal, parse_constant=Literal
        )
    except (ValueError, RecursionError):
        return None
    return cast("list[Any]", value) if isinstance(value, list) else None


def literal(value: Any) -> str:
    """A value that holds no other, as JSON writes it."""
    if isinstance(value, Literal):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def is_flat(value: Any) -> TypeGuard[str | bool | None]:
    return not isinstance(value, list)


def _records(rows: list[Any]) -> Table | None:
    if len(rows) < _FEWEST or not all(isinstance(row, Members) for row in rows):
        return None
    names = tuple(name for name, _ in rows[0])
    if not 0 < len(names) <= _MOST_COLUMNS or len(set(names)) < len(names):
        return None
    if any(tuple(name for name, _ in row) != names or not all(is_flat(v) for _, v in row) for row in rows):
        return None
    columns = "1 column" if len(names) == 1 else f"{len(names)} columns"
    cells = tuple(tuple(v if type(v) is str else literal(v) for _, v in row) for row in rows)
    return Table(f"{len(rows):,} rows × {columns}", names, cells)


def _frame(text: str, found: re.Match[str]) -> Table | None:
    """The cells stand below each other, at least two blanks apart. None where there are not as many as it says."""
    lines = text[found.end() :].split("\n")
    more = lines.pop() if re.fullmatch(r"… [\d,]+ more rows", lines[-1]) else ""
    spans = _columns(lines)
    if len(lines) < _FEWEST or found[2].replace(",", "") != str(len(spans) - 1):
        return None
    rows = [tuple(line[start:end].strip() for start, end in spans) for line in lines]
    title = found[0].rstrip("\n")
    return Table(title, rows[0], tuple(rows[1:]), is_indexed=True, more=more)


def _columns(lines: list[str]) -> list[tuple[int, int]]:
    """From where to where each column goes."""
    filled = bytearray(b" " * max(map(len, lines), default=0))
    for line in lines:
        for match in re.finditer(r"\S+", line):
            filled[match.start() : match.end()] = b"x" * len(match[0])
    return [match.span() for match in re.finditer(r"x+(?: x+)*", filled.decode())]
