"""Examples: questions with their answers, for the model to go by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from nbagent.errors import ConfigError
from nbagent.messages import Message, Piece, Source

Examples = Iterable[tuple[Any, Any] | Mapping[str, Any]]
"""Pairs of a question and its answer, or dicts with `user` and `assistant`."""
Place = Literal["messages", "prompt"]
"""Where they go: as messages before the history, or into the system prompt."""

_KEYS = {"user": "assistant", "input": "output", "question": "answer"}


def example_messages(examples: Examples | None) -> tuple[Message, ...]:
    """The examples as messages. Raises ConfigError for what is no pair."""
    given: Any = examples
    if isinstance(given, str | Mapping) or (given is not None and not isinstance(given, Iterable)):
        raise ConfigError(f"examples: expected a list of pairs (question, answer), got {given!r}")
    pairs = [_pair(number, example) for number, example in enumerate(examples or (), 1)]
    return tuple([m for user, assistant in pairs for m in (Message("user", user), Message("assistant", assistant))])


def _pair(number: int, example: Any) -> tuple[str, str]:
    if isinstance(example, Mapping):
        one = cast("Mapping[str, Any]", example)
        for user, assistant in _KEYS.items():
            if set(one) == {user, assistant}:
                return _text(one[user]), _text(one[assistant])
    elif isinstance(example, list | tuple) and len(cast("tuple[Any, ...]", example)) == 2:
        user, assistant = cast("tuple[Any, Any]", example)
        return _text(user), _text(assistant)
    raise ConfigError(
        f"examples: example {number}: expected a pair (question, answer), or a dict with user and assistant; "
        f"got {example!r}"
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def in_prompt(examples: tuple[Message, ...]) -> tuple[Piece, ...]:
    """The examples as a part of the system prompt."""
    found: list[Piece] = []
    for number, (user, assistant) in enumerate(zip(examples[::2], examples[1::2], strict=True), 1):
        source = Source("example", f"{number}")
        found += [
            Piece(f"\n\nExample {number}\nInput:\n", Source("framework", "label Example")),
            Piece(user.content, source),
            Piece("\nOutput:\n", Source("framework", "label Example")),
            Piece(assistant.content, source),
        ]
    return tuple([piece for piece in found if piece.text])
