"""Phrase: something that nbagent says to a model, before it is known in which words."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from nbagent.redact import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.messages import Piece
    from nbagent.texts.pack import Filling


class Phrase:
    """A text by its key, with what fills its places. `Texts` puts it in words; its str is for people: ours, in English.

    An exception whose only argument is a phrase has the same str, so what is wrong is said once for both.
    """

    __slots__ = ("key", "places")

    def __init__(self, key: str, /, **places: Filling) -> None:
        self.key = key
        self.places = places

    @staticmethod
    def joined(between: str, parts: Sequence[Filling]) -> Filling:
        """Several of them, with a text between each two; one text where all of them are."""
        if all(isinstance(part, str) for part in parts):
            return between.join(cast("Sequence[str]", parts))
        found: list[str | Piece | Phrase] = []
        for number, part in enumerate(parts):
            found += [between] if number and between else []
            found += part if isinstance(part, tuple) else [part]
        return tuple(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Phrase) and (self.key, self.places) == (other.key, other.places)

    def __hash__(self) -> int:
        return hash((self.key, *sorted(self.places)))

    def __str__(self) -> str:
        from nbagent.texts.pack import DEFAULT

        return redact(DEFAULT.said(self))

    def __repr__(self) -> str:
        return repr(str(self))


def phrase_of(error: Exception) -> Phrase | str:
    """What an error says: a phrase where it was made of one."""
    said = error.args[0] if len(error.args) == 1 else None
    return said if isinstance(said, Phrase) else str(error)
