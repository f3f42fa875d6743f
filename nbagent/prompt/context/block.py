"""Block: a piece of outside text, and the question that providers answer with blocks.

Source: the fields are those of masfactory's `ContextBlock` and `ContextQuery`.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  msgspec reads the annotations
from typing import Any

from nbagent.messages import Message  # noqa: TC001  msgspec reads the annotations
from nbagent.values import Struct


class ContextBlock(Struct, frozen=True):
    """A piece of outside text: a passage of a document, something remembered, a search hit."""

    text: str
    uri: str | None = None
    """Where it is: the path of a file, the address of a page."""
    chunk_id: str | None = None
    """Which part of what is there."""
    score: float | None = None
    """How well it fits the query, as its provider says; the higher, the better."""
    title: str | None = None
    metadata: Mapping[str, Any] = {}
    """Whatever else its provider knows."""
    dedupe_key: str | None = None
    """Blocks with the same key are the same one; None leaves it to uri and chunk_id, or else to the text."""

    def __hash__(self) -> int:
        return hash(self.text)  # the metadata are a dict


class ContextQuery(Struct, frozen=True):
    """What a provider is asked: the text to look for, and all that is known when it is asked."""

    query_text: str
    inputs: Mapping[str, Any] = {}
    """The input fields of this run."""
    attributes: Mapping[str, Any] = {}
    node_name: str = ""
    """The agent's name."""
    messages: tuple[Message, ...] = ()
    """What was said before."""

    def __hash__(self) -> int:
        return hash(self.query_text)  # the inputs are a dict
