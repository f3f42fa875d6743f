"""Stream: a text that comes in pieces, with marks in place of its secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.redact.hidden import Hidden
from nbagent.redact.search import Search

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbagent.redact.known import Forms
    from nbagent.redact.spans import Span, Tail

_BEHIND = 8
"""How many characters before a place may matter for what begins there."""


class Stream:
    """What is held back of a text, and what is left to drop of secrets whose mark is shown."""

    __slots__ = ("_at", "_coming", "_ends", "_masked", "_tails", "_text")

    def __init__(self) -> None:
        self._text = Hidden("")
        """What is held back, after a few characters that are not. The places below are places in it."""
        self._at = 0
        """Where that begins."""
        self._masked = 0
        """Where the last mark's secrets end."""
        self._ends: set[int] = set()
        """Where any secret ends, if not before `_at`: a new word may begin there."""
        self._tails: list[Tail] = []
        self._coming: list[Span] = []
        """Found already, but begins at `_at` or later: after `api-key: `, for example."""

    def more(self, piece: str, forms: Forms, *, final: bool = False) -> str:
        """What can be shown now; all of it if this piece is the last."""
        text = self._text.get() + piece
        self._follow(text)
        search = Search(text, self._at, self._ends, forms, final=final)
        spans, horizon = search.spans([span.going_on(text) for span in self._coming])
        shown = self._show(text, [span for span in spans if span.start < horizon], horizon)
        self._coming = [span for span in spans if span.start >= horizon]
        self._keep(text, horizon)
        return shown

    def _follow(self, text: str) -> None:
        tails, self._tails = self._tails, []
        for tail in tails:
            end = tail.end(text)
            if end is None:
                self._tails.append(tail.after(text))
            else:
                self._ends.add(end)
            self._masked = max(self._masked, len(text) if end is None else end)

    def _show(self, text: str, spans: Iterable[Span], horizon: int) -> str:
        shown: list[str] = []
        done = max(self._at, self._masked)
        for span in spans:
            if span.start >= done:
                shown += [text[done : span.start], mark_of(span.label)]
            done = max(done, span.end)
            if span.tail:
                self._tails.append(span.tail)
            else:
                self._ends.add(span.end)
        self._masked = done
        return "".join([*shown, text[done:horizon]])

    def _keep(self, text: str, horizon: int) -> None:
        cut = max(0, horizon - _BEHIND)
        self._text = Hidden(text[cut:])
        self._at = horizon - cut
        self._masked -= cut
        self._ends = {end - cut for end in self._ends if end >= horizon}
        self._tails = [*dict.fromkeys(tail.moved(cut) for tail in self._tails)]
        self._coming = [span.moved(cut) for span in self._coming]


def mark_of(label: str) -> str:
    return f"‹redacted {label}›"
