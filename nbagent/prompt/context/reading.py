"""Reading: what a provider gave, as blocks.

A provider need not know ours: a block may be a `ContextBlock`, any object with a `text` (masfactory's own, for one), a
dict with a `text`, or a plain str.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from inspect import iscoroutine
from typing import Any, SupportsFloat, cast

from nbagent.prompt.context.arguments import shown
from nbagent.prompt.context.block import ContextBlock
from nbagent.text import sound, without_addresses

_BLOCK = "a block (a ContextBlock, an object or a dict with a text, or a str)"


def read_blocks(given: object) -> tuple[ContextBlock, ...]:
    """All blocks of an answer, in its order. Raises TypeError, saying what was expected and what came."""
    if iscoroutine(given):
        given.close()
        raise TypeError("expected an iterable of blocks, got a coroutine; get_blocks has to be a plain `def`")
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"expected an iterable of blocks, got {shown(given)}")
    return tuple([read_block(one) for one in cast("Iterable[object]", given)])


def read_block(given: object) -> ContextBlock:
    """One block. `uri`, `title` and `chunk_id` become str (None where empty), `score` a float.

    A score that is no finite number orders nothing, and becomes None.
    """
    if isinstance(given, str):
        return ContextBlock(sound(given))
    if not (isinstance(given, Mapping) and "text" in given) and not hasattr(cast("object", given), "text"):
        raise TypeError(f"expected {_BLOCK}, got {shown(cast('object', given))}")
    field = partial(_field, cast("object", given))
    text = field("text")
    if not isinstance(text, str):
        raise TypeError(f"expected a str as the text of a block, got {shown(text)}")
    metadata = field("metadata")
    return ContextBlock(
        sound(text),
        uri=_words(field("uri")),
        chunk_id=_words(field("chunk_id")),
        score=_score(field("score")),
        title=_words(field("title")),
        metadata=dict(cast("Mapping[str, Any]", metadata)) if isinstance(metadata, Mapping) else {},
        dedupe_key=_words(field("dedupe_key")),
    )


def _field(given: object, name: str) -> Any:
    return cast("Mapping[str, Any]", given).get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _words(value: object) -> str | None:
    return None if value is None else sound(without_addresses(str(value))) or None


def _score(value: object) -> float | None:
    if value is None:
        return None
    try:
        number = float(cast("SupportsFloat", value))
    except (TypeError, ValueError) as error:
        raise TypeError(f"expected a number or None as the score of a block, got {shown(value)}") from error
    return number if math.isfinite(number) else None
