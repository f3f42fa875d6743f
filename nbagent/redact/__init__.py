"""Redact: no secret leaves nbagent; all text for a cell, an exception, a log, a journal or a cassette passes here.

What is masked: values somebody told us (`know`), values of environment variables with a secret's name, and what
looks like a key, a token, a password in a URL or a private key. Each becomes a mark such as `‹redacted key›`.

`redact` takes a whole text, `StreamRedactor` one that comes in pieces, and both are the same code. It finds the secrets
in the text so far, and the place up to which no later text can change which secrets begin. Up to there text is shown.
The mark of a secret shows as soon as it is sure to be one, and the rest of the secret is dropped as it comes.

Overlapping secrets become one mark. Every decision needs a fixed number of characters, so that little is held back and
time is linear. None depends on what another mark hides, so marking twice is marking once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.redact.hidden import Kept
from nbagent.redact.kinds import HINT
from nbagent.redact.known import LEAST, NO_FORMS, Store
from nbagent.redact.search import Search
from nbagent.redact.stream import Stream, mark_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.redact.spans import Span


def redact(text: str) -> str:
    """`text` with a mark in place of each secret, or the very same object where there is none. It never raises."""
    if len(text) < LEAST:
        return text
    forms = _store.forms()
    if not HINT.search(text) and not forms.are_in(text):
        return text
    masked = Stream().more(text, forms, final=True)
    return text if masked == text else masked


def redact_by_looks(text: str) -> str:
    """`redact`, of what looks like a secret only: the same whatever is known here."""
    return Stream().more(text, NO_FORMS, final=True) if len(text) >= LEAST and HINT.search(text) else text


def redact_together(texts: Sequence[str]) -> list[str]:
    """The pieces of one text, each with what `redact` leaves of it: a secret may reach over several, or show as one
    only beside the others. Its mark is in the piece that it begins in."""
    whole = "".join(texts)
    if redact(whole) is whole:
        return [redact(text) for text in texts]
    spans, _ = Search(whole, 0, (), _store.forms(), final=True).spans([])
    shown: list[str] = []
    start = 0
    for text in texts:
        shown.append(redact(_share(whole, start, start + len(text), spans)))
        start += len(text)
    return shown


def _share(whole: str, start: int, end: int, spans: Sequence[Span]) -> str:
    """The part from start to end, without the secrets, and with the marks of those that begin in it."""
    parts: list[str] = []
    done = 0
    for span in spans:
        if span.start >= done:
            parts.append(whole[max(start, done) : min(end, span.start)] if done < end else "")
            if start <= span.start < end:
                parts.append(mark_of(span.label))
        done = max(done, span.end)
    parts.append(whole[max(start, done) : end])
    return "".join(parts)


def know(value: str, label: str) -> None:
    """From now on `value` is masked as `‹redacted {label}›`, as it is and escaped or encoded in the usual ways.

    Blanks around it do not count. Without effect where it has less than 8 characters, where it is a word of the marks
    ("password"), and where it is known: the first label stays. A label that shows a secret itself becomes "secret".
    """
    _store.know({value: label})


def know_environment() -> None:
    """Knows what is secret in `os.environ` now; what was known stays known. Cheap where nothing has changed.

    The first `redact` does it, too; after that, whoever begins something long (a run) calls it.
    """
    _store.know_environment()


def forget() -> None:
    """Drops all known values, also those of the environment until the next `know_environment`. For tests."""
    _store.forget()


class StreamRedactor(Kept):
    """Redacts a text that comes in pieces: all that `feed` and `end` return is, joined, `redact` of the whole.

    Held back is only what may yet become a secret: mostly less than a word, at most about 1,600 characters or a known
    value. It can be neither pickled nor copied (TypeError).
    """

    __slots__ = ("_stream",)

    def __init__(self) -> None:
        self._stream = Stream()

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        return self._stream.more(piece, _store.forms())

    def end(self) -> str:
        """The rest. After that the redactor is as new."""
        rest = self._stream.more("", _store.forms(), final=True)
        self._stream = Stream()
        return rest


_store = Store()
