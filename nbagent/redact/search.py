"""Search: the secrets in the text so far, and how far that cannot change any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.redact.kinds import CONTACT, HEAD, KINDS, WORD_BEGINS, Key, Shape, compiled, head_begun
from nbagent.redact.spans import Following, Span, Tail

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from nbagent.redact.known import Forms

_CONTACT_WITHIN = 256
"""Characters at the beginning of a key among which a letter has to touch a digit."""


class Search:
    """Looks for the secrets that begin at `at` or later in a text, `final` if it is all there is."""

    def __init__(self, text: str, at: int, ends: Iterable[int], forms: Forms, *, final: bool) -> None:
        self._text = text
        self._at = at
        self._ends = set(ends)
        self._forms = forms
        self._final = final
        self._following = Following(text)

    def spans(self, coming: list[Span]) -> tuple[list[Span], int]:
        """The secrets by their start, and the place up to which no later text changes which secrets begin.

        Of those that begin later there are only the ones whose head is before that place.
        """
        known = list(self._forms.spans(self._text, self._at))
        self._ends.update(span.end for span in known + coming)
        horizon = len(self._text)
        if not self._final:
            horizon = min(self._forms.begun(self._text, self._at), head_begun(self._text, self._at))
        others, horizon = self._others(horizon)
        spans = [span for span in known if span.start < horizon] + coming + others
        return sorted(spans, key=lambda span: span[:2]), horizon

    def _others(self, horizon: int) -> tuple[list[Span], int]:
        spans: list[Span] = []
        for head in self._heads(horizon):
            span = self._judged(head)
            if span is _UNDECIDED:
                return spans, head.start()
            if span:
                spans.append(span)
                self._ends.add(span.end)
        return spans, horizon

    def _heads(self, horizon: int) -> Iterator[re.Match[str]]:
        head = HEAD.search(self._text, self._at)
        while head and head.start() < horizon:
            yield head
            head = HEAD.search(self._text, head.start() + 1)

    def _judged(self, head: re.Match[str]) -> Span | None:
        kind = KINDS[head[0]]
        if (isinstance(kind, Key) or kind.is_word) and not self._word_begins(head.start()):
            return None
        return self._key(head, kind) if isinstance(kind, Key) else self._shape(head.start(), kind)

    def _word_begins(self, place: int) -> bool:
        return bool(WORD_BEGINS.match(self._text, place)) or place in self._ends

    def _key(self, head: re.Match[str], key: Key) -> Span | None:
        body = head.end()
        stop = self._following.first(key.stop, body)
        end = stop[0] if stop else len(self._text)
        contact = self._following.first(CONTACT, body)
        is_mixed = contact is not None and contact[0] + 1 < min(end, body + _CONTACT_WITHIN)
        if end - body >= key.least and (is_mixed or not key.mixed):
            return self._span(head.start() + key.seen, key.label, Tail(key.stop, end))
        may_come = not stop and not self._final and end - body < _CONTACT_WITHIN
        return _UNDECIDED if may_come else None

    def _shape(self, head: int, shape: Shape) -> Span | None:
        if not self._final and compiled(shape.begun).match(self._text, head):
            return _UNDECIDED
        match = compiled(shape.sure).match(self._text, head)
        if not match:
            return None
        start, end = match.span("secret")
        if shape.stop is None:
            return Span(start, 0, end, shape.label)
        return self._span(start, shape.label, Tail(shape.stop, end, shape.limit and head + shape.limit))

    def _span(self, start: int, label: str, tail: Tail) -> Span:
        end = tail.end(self._text, self._following)
        if end is None:
            return Span(start, 0, len(self._text), label, None if self._final else tail.after(self._text))
        return Span(start, 0, end, label)


_UNDECIDED = Span(0, 0, 0, "")
