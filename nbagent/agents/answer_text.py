"""AnswerText: the text of an answer while it comes, out of everything that happens in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.events import RunFinished, StepFinished, StepStarted, StreamEvent, TextDelta
from nbagent.views.words import answer_text

if TYPE_CHECKING:
    from collections.abc import Iterator


class AnswerText:
    """In pieces, where each piece that comes belongs to the answer: of a plan the synthesis alone. Else at the end.

    A reply that broke off and was asked for again has its pieces twice: what was given away is not taken back.
    """

    def __init__(self, *, in_pieces: bool) -> None:
        self._in_pieces = in_pieces
        self._step = ""
        self._said = False

    def of(self, event: StreamEvent) -> Iterator[str]:
        match event:
            case TextDelta(_, text) if self._in_pieces and self._step in ("", "synthesize"):
                self._said = True
                yield text
            case StepStarted(kind):
                self._step = kind
            case StepFinished():
                self._step = ""
            case RunFinished("completed", answer) if not self._said:
                yield answer_text(answer)
            case _:
                pass
