"""Examples: questions with their answers, for the model to go by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, cast

from nbagent.errors import ConfigError
from nbagent.messages import Message, Piece, Source

Examples = Iterable[tuple[Any, Any] | Mapping[str, Any]]
"""Pairs of a question and its answer, or dicts with `user` and `assistant`."""
Place = Literal["messages", "prompt"]
"""Where they go: as messages before the history, or into the system prompt."""

_KEYS = {"user": "assistant", "input": "output", "question": "answer"}


def example_messages(examples: Examples | None, to_text: Callable[[Any], str]) -> tuple[Message, ...]:
    """The examples as messages. Raises ConfigError for what is no pair."""
    given: Any = examples
    if isinstance(given, str | Mapping) or (given is not None and not isinstance(given, Iterable)):
        raise ConfigError(f"examples: expected a list of pairs (question, answer), got {given!r}")
    pairs = [_pair(number, example) for number, example in enumerate(examples or (), 1)]
    said = [(to_text(user), to_text(assistant)) for user, assistant in pairs]
    return tuple([m for user, assistant in said for m in (Message("user", user), Message("assistant", assistant))])


def _pair(number: int, example: Any) -> tuple[Any, Any]:
    if isinstance(example, Mapping):
        one = cast("Mapping[str, Any]", example)
        for user, assistant in _KEYS.items():
            if set(one) == {user, assistant}:
                return one[user], one[assistant]
    elif isinstance(example, list | tuple) and len(cast("tuple[Any, ...]", example)) == 2:
        return cast("tuple[Any, Any]", tuple(example))  # pyright: ignore[reportUnknownArgumentType]
    raise ConfigError(
        f"examples: example {number}: expected a pair (question, answer), or a dict with user and assistant; "
        f"got {example!r}"
    )


def in_prompt(examples: tuple[Message, ...], *, bare: bool) -> tuple[Piece, ...]:
    """The examples as a part of the system prompt; `bare`: as all of it."""
    found: list[Piece] = []
    for number, (user, assistant) in enumerate(zip(examples[::2], examples[1::2], strict=True), 1):
        source = Source("example", f"{number}")
        gap = "" if bare and number == 1 else "\n\n"
        found += [
            Piece(f"{gap}Example {number}\nInput:\n", Source("framework", "label Example")),
            Piece(user.content, source),
            Piece("\nOutput:\n", Source("framework", "label Example")),
            Piece(assistant.content, source),
        ]
    return tuple([piece for piece in found if piece.text])
