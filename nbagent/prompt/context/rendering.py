"""Rendering: the chosen blocks as the text of the prompt, in pieces that know where they come from.

Source: the layout, `[Context]` and then `(LABEL) text`, is masfactory's; the line with the source is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.messages import Piece, Segment, Source
from nbagent.texts.pack import DEFAULT, Texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbagent.prompt.context.answer import Answer
    from nbagent.prompt.context.block import ContextBlock
    from nbagent.prompt.context.selection import Chosen


def render(chosen: Iterable[Chosen], texts: Texts = DEFAULT) -> tuple[Piece, ...]:
    """The text of the blocks that were kept, in pieces; none where none was.

    The first line is `[Context]`; then, for each block, `(LABEL) text` (in full, but without blanks at its end) and,
    where it has a title or a uri, `  source: Title, uri`.
    """
    return _pieces(((one.label, one.block) for one in chosen if one.kept), texts)


def rendered(blocks: Iterable[ContextBlock], label: str, texts: Texts = DEFAULT) -> str:
    """The same text for the blocks of one provider; "" where there are none."""
    return "".join([piece.text for piece in _pieces(((label, block) for block in blocks), texts)])


def dropped(chosen: Iterable[Chosen], label: str) -> tuple[Segment, ...]:
    """The blocks that were dropped, as segments of the prompt's record. `label`: of the context in the prompt."""
    return tuple(
        Segment("user", label, one.block.text, _source(one.label, one.block), kept=False, reason=one.reason)
        for one in chosen
        if not one.kept
    )


def failures(answers: Iterable[Answer], label: str) -> tuple[Segment, ...]:
    """The providers that failed, as segments of the prompt's record, without text."""
    return tuple(
        Segment("user", label, "", Source("context", answer.label), kept=False, reason=answer.failure)
        for answer in answers
        if answer.failure
    )


def _pieces(blocks: Iterable[tuple[str, ContextBlock]], texts: Texts) -> tuple[Piece, ...]:
    framework = Source("framework", f"label {texts['payload.context']}")
    pieces: list[Piece] = []
    between = texts["context.head"]
    for label, block in blocks:
        if text := block.text.rstrip():
            pieces += [Piece(f"{between}\n({label}) ", framework), Piece(text, _source(label, block))]
            between = _source_line(block, texts)
    if pieces and between:
        pieces.append(Piece(between, framework))
    return tuple(pieces)


def _source_line(block: ContextBlock, texts: Texts) -> str:
    words = dict.fromkeys(" ".join((word or "").split()) for word in (block.title, block.uri))
    known = ", ".join(word for word in words if word)
    return f"\n  {texts.text('context.source', source=known)}" if known else ""


def _source(label: str, block: ContextBlock) -> Source:
    return Source("context", label, block.uri or "", block.score)
