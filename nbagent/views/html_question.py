"""A question in HTML: a call that waits, with all of its arguments. Nothing of it is cut, and nothing is in a fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.field import fields
from nbagent.views.html import title_html
from nbagent.views.html_row import row
from nbagent.views.pending import handle, meaning, title
from nbagent.views.safe import escape, exact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.views.field import Field
    from nbagent.views.pending import Pending
    from nbagent.views.ways import Ways


def questions_html(pendings: Sequence[Pending]) -> str:
    several = len(pendings) > 1
    return "".join(_question(each, handle(each, pendings) if several else "") for each in pendings)


def ways_html(known: Ways) -> str:
    """How to go on."""
    rows = [row(where, f"<p>{' <small>or</small> '.join(map(_code, lines))}</p>") for where, lines in known]
    return f'<div class="nbagent-question">{"".join(rows)}</div>' if rows else ""


def _question(pending: Pending, named: str) -> str:
    rows = [*([row("call", f"<p>{_code(named)}</p>")] if named else []), *_arguments(pending.arguments)]
    said = f"<p><small>{said}</small></p>" if (said := meaning(pending)) else ""
    return f'<div class="nbagent-question"><p>{title_html(title(pending))}</p>{"".join(rows)}{said}</div>'


def _arguments(arguments: str) -> Iterator[str]:
    found = fields(arguments)
    if found is None:
        yield row("arguments", _pre(exact(arguments)))
    elif not found:
        yield row("arguments", "<p><small>none</small></p>")
    else:
        yield from map(_field, found)


def _field(field: Field) -> str:
    if not field.is_code:
        return row(escape(field.name), _pre(field.value))
    lines = (
        f"<span><i>{number} </i>{escape(line)}\n</span>"
        for number, line in zip(field.numbers, field.lines, strict=True)
    )
    return row(escape(field.name), f'<pre class="nbagent-code">{"".join(lines)}</pre>')


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
