"""Field: an argument of a call as somebody reads it who decides about the call. Nothing is cut, nothing is hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.redact import redact
from nbagent.views.arguments import layout, members, read_text, texts_inside
from nbagent.views.safe import exact, inline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Field:
    """Its name and its value, both with a marker for every character that is not seen."""

    name: str
    value: str
    """JSON; a text of several lines as it is."""
    is_code: bool = False
    """Whether it is a text of several lines."""

    @property
    def lines(self) -> tuple[str, ...]:
        """Those of a text of several lines."""
        return tuple(self.value.split("\n"))

    @property
    def listed(self) -> str:
        return f"{self.name}:\n{self.value}" if self.is_code else f"{self.name}: {self.value}"

    @property
    def numbered(self) -> str:
        """Its lines with their numbers."""
        return "\n".join(f"{number} {line}" for number, line in zip(self.numbers, self.lines, strict=True))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Those of its lines, equally wide."""
        width = len(str(len(self.lines)))
        return tuple(f"{number:>{width}}" for number in range(1, len(self.lines) + 1))


def fields(arguments: str) -> tuple[Field, ...] | None:
    """The arguments of a call, in their order. Of one that holds texts of several lines, these follow on it, each by
    its place (`files[0].text`). None where they are no JSON object."""
    found = members(redact(arguments))  # before it is taken apart: what is beside a secret may be what shows it
    return None if found is None else tuple(field for name, value in found for field in _fields(name, value))


def listed(arguments: str) -> str:
    """The arguments as a text that another can be compared with, whatever the spacing in which they came."""
    found = fields(arguments)
    return exact(arguments) if found is None else "\n".join(field.listed for field in found)


def _fields(name: str, value: Sequence[str]) -> Iterator[Field]:
    if len(value) == 1 and value[0].startswith('"') and "\n" in (text := read_text(value[0])):
        yield Field(_name(name), exact(text), is_code=True)
        return
    yield Field(_name(name), exact(layout(value)))
    for place, text in texts_inside(value):
        if "\n" in text:
            yield Field(_name(name + place), exact(text), is_code=True)


def _name(name: str) -> str:
    return inline(exact(name))
