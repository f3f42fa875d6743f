"""A value in HTML: a JSON tree that opens, or a table; the text that it came as is in a fold below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.views.html import collapsible
from nbagent.views.room import label
from nbagent.views.safe import escape
from nbagent.views.value import Members, is_flat, literal, table_of, tree_of
from nbagent.views.words import count

if TYPE_CHECKING:
    from nbagent.views.value import Table

_NODES = 200
"""So many values of a tree are shown; of a longer list those at its beginning and its end."""
_DEEP = 8
"""What lies deeper is in the text only."""
_SMALL = 8
"""A tree of so many branches or fewer starts with its first level open."""
_CELLS = 400
_HEAD, _TAIL = 12, 4
"""So many items of a longer list, and rows of a longer table, are shown from its beginning and its end."""
_TEXT = 200


def value_html(text: str) -> str:
    """Nothing where the text is no more than a text."""
    if table := table_of(text):
        shown = _table(table)
    elif (tree := tree_of(text)) is not None:
        shown = f'<div class="nbagent-tree">{_Tree().branch("", tree, 0)}</div>'
    else:
        return ""
    return shown + collapsible("<small>text</small>", f'<pre class="nbagent-out">{escape(text)}</pre>')


class _Tree:
    """One tree as it is drawn; `left` values may still be shown."""

    def __init__(self) -> None:
        self.left = _NODES

    def branch(self, name: str, value: list[Any], depth: int) -> str:
        noun = "member" if isinstance(value, Members) else "item"
        title = f"{_key(name)}<small>{count(len(value), noun)}</small>"
        if not value or depth >= _DEEP:
            return f"<div>{title}</div>"
        is_open = depth == 0 and len(value) <= _SMALL
        return collapsible(title, f"<div>{self._items(value, depth)}</div>", opened=is_open)

    def _items(self, value: list[Any], depth: int) -> str:
        named = list(value) if isinstance(value, Members) else [(f"[{at}]", item) for at, item in enumerate(value)]
        is_long = len(named) > _HEAD + _TAIL
        head, tail = (named[:_HEAD], named[-_TAIL:]) if is_long else (named, [])
        gap = f"<div><small>… {len(named) - _HEAD - _TAIL:,} more, in the text below</small></div>" if is_long else ""
        return self._some(head, depth) + gap + self._some(tail, depth)

    def _some(self, named: list[tuple[str, Any]], depth: int) -> str:
        drawn: list[str] = []
        for at, (name, item) in enumerate(named):
            if self.left <= 0:
                drawn.append(f"<div><small>… {len(named) - at:,} more, in the text below</small></div>")
                break
            self.left -= 1
            is_leaf = is_flat(item)
            drawn.append(f"<div>{_key(name)}{_leaf(item)}</div>" if is_leaf else self.branch(name, item, depth + 1))
        return "".join(drawn)


def _key(name: str) -> str:
    return f"<b>{label(name)}</b> " if name else ""


def _leaf(value: Any) -> str:
    return f"<code>{label(literal(value), _TEXT)}</code>"


def _table(table: Table) -> str:
    number = max(_CELLS // max(len(table.columns), 1), 2)
    is_long = len(table.rows) > min(number, _HEAD + _TAIL + 4)
    most = min(number, _HEAD + _TAIL) if is_long else len(table.rows)
    tail = min(_TAIL, most // 2) if is_long else 0
    rows = "".join(_row(row, table) for row in table.rows[: most - tail])
    if is_long:
        gap = f"… {len(table.rows) - most:,} rows, in the text below"
        rows += f'<tr><td colspan="{len(table.columns)}"><small>{gap}</small></td></tr>'
        rows += "".join(_row(row, table) for row in table.rows[-tail:])
    heads = "".join(f'<th scope="col">{label(name)}</th>' for name in table.columns)
    more = f"<p><small>{table.more}</small></p>" if table.more else ""
    caption = f"<caption><small>{table.title}</small></caption>"
    inner = f"{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>"
    return f'<div class="nbagent-table"><table>{inner}</table></div>{more}'


def _row(row: tuple[str, ...], table: Table) -> str:
    cells = [f"<td>{label(cell, _TEXT)}</td>" for cell in row]
    if table.is_indexed:
        cells[0] = f'<th scope="row">{label(row[0], _TEXT)}</th>'
    return f"<tr>{''.join(cells)}</tr>"
