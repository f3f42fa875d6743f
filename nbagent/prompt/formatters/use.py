"""Use: to write and to read with any formatter, ours or an object that has `dump` and `format` only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from nbagent.errors import FOREIGN, ConfigError
from nbagent.messages import Field, Piece, Source
from nbagent.prompt.formatters.formatter import BuiltIn
from nbagent.prompt.formatters.reading import Reading, Unreadable, unreadable
from nbagent.prompt.formatters.thinking import without_thinking
from nbagent.texts.pack import DEFAULT, Texts
from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.prompt.formatters.formatter import Formatter


def name_of(formatter: Formatter) -> str:
    """Its name, or else that of its class."""
    name = getattr(formatter, "name", None)
    return name if isinstance(name, str) and name else type(formatter).__name__


def laid_out(formatter: Formatter, fields: Sequence[Field]) -> tuple[Piece, ...]:
    """The text of the fields in pieces, none of them empty, each with where it comes from.

    Of an object with `dump` only: the values that are found in its text, in their order, keep their sources, and the
    rest comes from the formatter. Raises ConfigError where `dump` raises or returns no str.
    """
    layout = getattr(formatter, "layout", None)
    if callable(layout):
        return tuple(cast("Sequence[Piece]", layout(fields)))
    text = _dumped(formatter, {field.name: field.text if field.value is None else field.value for field in fields})
    frame = Source("framework", f"formatter {name_of(formatter)}")
    return tuple(piece for piece in _traced(text, fields, frame) if piece.text)


def instructions_of(formatter: Formatter, output: Mapping[str, str], texts: Texts = DEFAULT) -> tuple[Piece, ...]:
    """What the model is told about the form of its answer; nothing where the formatter does not say."""
    if isinstance(formatter, BuiltIn) and type(formatter).instructions is BuiltIn.instructions:
        told = formatter.rules(output)
        return (Piece(texts.said(told), Source("format", told.key.removeprefix("format."))),)
    instructions = getattr(formatter, "instructions", None)
    said = str(instructions(output)) if callable(instructions) else ""
    return (Piece(said, Source("format")),) if said else ()


def read_answer(formatter: Formatter, text: str, names: Sequence[str]) -> Reading:
    """What the answer says, and what had to be repaired for it. `names`: the fields wanted; there may be none.

    Raises Unreadable, also where an object's own `format` raises any exception or returns no dict with names as keys.
    """
    read = getattr(formatter, "read", None)
    if callable(read):
        return cast("Reading", read(text, names))
    plain = without_thinking(text)
    try:
        value: Any = formatter.format(plain.text)
    except Unreadable:
        raise
    except Exception as error:
        raise _unreadable(formatter, text, " ".join(f"{type(error).__name__}: {error}".split())[:200]) from error
    if not _has_names(value):
        raise _unreadable(formatter, text, Phrase("answer.no_dict", kind=type(value).__name__))
    return Reading(dict(value), plain.repairs)


def _has_names(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in cast("Mapping[Any, Any]", value))


def _unreadable(formatter: Formatter, text: str, wrong: Phrase | str) -> Unreadable:
    expected = Phrase("answer.formatter", formatter=name_of(formatter))
    return unreadable(text, expected=expected, wrong=wrong, advice=Phrase("answer.form_again"))


def _dumped(formatter: Formatter, data: Mapping[str, Any]) -> str:
    try:
        text: Any = formatter.dump(data)
    except FOREIGN as error:
        why = f"{type(error).__name__}: {error}"
        raise ConfigError(f"the formatter {name_of(formatter)} cannot write the prompt: {why}") from error
    if not isinstance(text, str):
        raise ConfigError(f"the formatter {name_of(formatter)}: expected a str of dump, got {type(text).__name__}")
    return text


def _traced(text: str, fields: Sequence[Field], frame: Source) -> Iterator[Piece]:
    end = 0
    for field in fields:
        start = _find(text, field, end)
        if start < 0:
            continue
        yield Piece(text[end:start], frame)
        yield from field.pieces
        end = start + len(field.text)
    yield Piece(text[end:], frame)


def _find(text: str, field: Field, end: int) -> int:
    """Where the field's text is, behind its name if that is there: a value such as `E` is in many a name."""
    value = field.text
    if not value:
        return -1
    name = text.find(field.name, end)
    behind = text.find(value, name + len(field.name)) if name >= 0 else -1
    return behind if behind >= 0 else text.find(value, end)
