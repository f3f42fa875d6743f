"""Tables: numpy arrays and pandas frames as text that depends on no terminal and no print option of numpy."""

from __future__ import annotations

import sys
from typing import Any

from nbagent.text import without_addresses

_ROWS = 20
"""A frame of at most this many rows is shown whole, a longer one by its head."""
_HEAD = 10
_COLUMNS = 30
_CELL = 200
_ELEMENTS = 200


def frame(table: Any) -> str:
    """Shape, then all rows or the first ten."""
    rows, columns = table.shape
    body = _head(table).to_string(max_cols=_COLUMNS, max_colwidth=_CELL)
    return f"DataFrame of {_count(rows, 'row')} × {_count(columns, 'column')}\n{without_addresses(body)}{_more(rows)}"


def series(column: Any) -> str:
    """Length, type and name, then all values or the first ten."""
    name = "" if column.name is None else f", named {column.name}"
    body = _head(column).rename(None).to_frame().to_string(header=False, max_colwidth=_CELL)
    size = len(column)
    body = f"\n{without_addresses(body)}" if size else ""
    return f"Series of {_count(size, 'value')}, {column.dtype}{name}{body}{_more(size)}"


def array(values: Any) -> str:
    """Shape and type, then all elements, or the corners of a large one."""
    with sys.modules["numpy"].printoptions(
        threshold=_ELEMENTS, edgeitems=3, linewidth=120, precision=8, suppress=False, sign="-", floatmode="maxprec",
        nanstr="nan", infstr="inf", formatter=None,
    ):  # fmt: skip
        body = without_addresses(str(values))
    gap = "\n" if "\n" in body else " "
    return f"array of shape {values.shape}, {values.dtype}:{gap}{body}"


def _head(rows: Any) -> Any:
    return rows if len(rows) <= _ROWS else rows.head(_HEAD)


def _more(rows: int) -> str:
    return f"\n… {rows - _HEAD:,} more rows" if rows > _ROWS else ""


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
