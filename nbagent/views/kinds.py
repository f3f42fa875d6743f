"""Kinds: what the text that a model reads is made of, by where it comes from, and the colour that each kind has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from nbagent.messages import SourceKind
from nbagent.views.safe import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nbagent.messages import Span

Kind = SourceKind | Literal["reply", "tool result", "note"]
"""Where a piece of the prompt comes from; the last three are what turns add to it."""

Totals = dict[Kind, int]
"""Tokens, estimated, by kind."""

_FAMILIES: dict[Kind, str] = {
    "template": "template",
    "input": "value",
    "variable": "value",
    "attribute": "value",
    "example": "example",
    "history": "history",
    "context": "context",
    "format": "format",
    "output": "format",
    "tool": "tool",
    "framework": "framework",
    "protocol": "framework",
    "reply": "reply",
    "tool result": "result",
    "note": "framework",
}
"""Each kind, in the order of a stack, and its family: kinds of one family have one colour."""


def css(kind: Kind) -> str:
    """The class that sets the colour."""
    return f"nbagent-{_FAMILIES[kind]}"


def totals(spans: Iterable[Span]) -> Totals:
    found: Totals = {}
    for span in spans:
        found[span.source.kind] = found.get(span.source.kind, 0) + span.tokens
    return ordered(found)


def ordered(found: Mapping[Kind, int]) -> Totals:
    """The kinds that there are, in the order of a stack."""
    return {kind: found[kind] for kind in _FAMILIES if found.get(kind)}


def legend(entries: Sequence[tuple[Kind, str] | tuple[Kind, str, str]]) -> str:
    """Each kind with its colour and what is said of it; a third word is said in the place of the kind. The separators
    are for readers without the style sheet."""
    shown = [
        f'<span><mark class="{css(kind)}">{chr(0xA0) * 2}</mark> {name[0] if name else kind}'
        f"{said and f' <small>{escape(said)}</small>'}</span>"
        for kind, said, *name in entries
    ]
    return f'<p class="nbagent-legend">{"<i> · </i>".join(shown)}</p>'
