"""Embedder: what turns texts into vectors whose directions say what the texts are about."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from operator import mul
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from nbagent.errors import ConfigError
from nbagent.prompt.context import arguments

Unit: TypeAlias = "array[float]"
"""A vector of length 1, or of zeros."""


@runtime_checkable
class Embedder(Protocol):
    """What turns texts into vectors, many at a time; the same text always into the same one."""

    def embed(self, texts: Sequence[str]) -> Iterable[Iterable[float]]:
        """One vector for each text, in their order, all of one length."""
        ...


AnyEmbedder: TypeAlias = Embedder | Callable[[str], Iterable[float]]
"""Also a plain function of one text, as masfactory's `embedding_function`."""


def embedder(value: Any, what: str) -> AnyEmbedder:
    """`value`, which has to be an embedder. Raises ConfigError."""
    if isinstance(value, type) or not (callable(getattr(value, "embed", None)) or callable(value)):
        raise arguments.unexpected(what, "an object with embed(texts), or a function of a text", value)
    return cast("AnyEmbedder", value)


def units(embedder: AnyEmbedder, texts: Sequence[str]) -> list[Unit]:
    """The vectors of the texts, each with length 1. Raises ConfigError where the embedder gives something else."""
    if not texts:
        return []
    embed = getattr(embedder, "embed", None)
    one = cast("Callable[[str], Iterable[float]]", embedder)
    given: Iterable[Any] = embed(list(texts)) if callable(embed) else [one(text) for text in texts]  # pyright: ignore[reportAssignmentType]
    vectors = [_unit(vector) for vector in given]
    if len(vectors) != len(texts):
        raise ConfigError(f"embedder: expected a vector for each of {len(texts)} texts, got {len(vectors)}")
    return vectors


def closeness(one: Unit, other: Unit) -> float:
    """The cosine of the angle between them: 1 the same direction, 0 nothing in common. 0 also for zeros."""
    if len(one) != len(other):
        raise ConfigError(f"embedder: expected vectors of one length, got {len(one)} and {len(other)} numbers")
    return sum(map(mul, one, other))


def _unit(vector: Any) -> Unit:
    try:
        numbers = array("d", [float(number) for number in vector])
    except (TypeError, ValueError) as error:
        raise arguments.unexpected("embedder", "a vector of numbers", vector) from error
    length = math.hypot(*numbers)
    if not math.isfinite(length) or not numbers:
        raise arguments.unexpected("embedder", "a vector of finite numbers", vector)
    return array("d", [number / length for number in numbers]) if length else numbers
