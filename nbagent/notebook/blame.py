"""Blame: which lines of a cell an error is about."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nbagent.errors import CellError, ConfigError
from nbagent.notebook.spec import ALIASES, CellSpec

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

_OPTIONS = {"memories": ("context",), "retrievers": ("context",), "permissions": ("allow",)}
"""Options of an agent that a cell calls otherwise; others are in `ALIASES`."""
_NAMES = re.compile(r"[a-z_]+(?:(?:, | and )[a-z_]+)*")
_PLACED = ("Cell line", "Magic line")


@contextmanager
def blaming(origins: Mapping[str, str]) -> Generator[None]:
    """Says of each ConfigError that is raised within where in the cell it comes from, as far as that can be told.

    origins: where each field stands that the cell says, as `read_spec` gives it.
    """
    try:
        yield
    except ConfigError as error:
        said = placed(str(error), origins)
        if said == str(error) or type(error) not in (ConfigError, CellError):
            raise
        raise CellError(said) from error.__cause__


def placed(message: str, origins: Mapping[str, str]) -> str:
    """The message with the cell lines that it is about: `Cell line 3: hooks: expected …`.

    What an error is about it says in front of its first colons, as in `hooks: expected …`, `script and model: …`,
    `model: x: base_url: …`. Where the cell says nothing of that, but of another field that is in the sentence, it is
    about this one, as in `tools: the strategy 'react' needs one`.
    """
    parts = message.split(": ", 3)
    if message.startswith(_PLACED) or len(parts) == 1:
        return message
    for part in parts[:-1]:
        if said := [name for name in _fields(part) if name in origins]:
            return f"{_where(said, origins)}: {message}"
    words = re.findall("[a-z_]+", parts[1].partition(";")[0]) if _fields(parts[0]) else []
    near = [word for word in words if word in origins][:1]
    return f"{_where(near, origins)}: {message}" if near else message


def _fields(text: str) -> list[str]:
    """The fields of a cell that a text names, where it does nothing else."""
    if not _NAMES.fullmatch(text):
        return []
    found = [one for name in re.split(", | and ", text) for one in _OPTIONS.get(name, (ALIASES.get(name, name),))]
    return found if all(name in CellSpec.model_fields for name in found) else []


def _where(fields: list[str], origins: Mapping[str, str]) -> str:
    """`Cell line 3`, `Cell lines 3 and 5`, `Cell line 3 and magic line`."""
    places = [origins[field] for field in fields]
    lines = sorted({int(place.removeprefix("cell line ")) for place in places if place.startswith("cell line ")})
    said = [f"cell line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines))}"] if lines else []
    said += ["magic line"] if any(place.startswith("option ") for place in places) else []
    return " and ".join(said).capitalize()
