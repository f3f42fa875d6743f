"""Formatter: what writes a payload into a prompt and reads an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from nbagent.prompt.formatters.json_text import field_of
from nbagent.prompt.formatters.reading import Reading
from nbagent.prompt.formatters.thinking import without_thinking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbagent.messages import Field, Piece
    from nbagent.texts.phrase import Phrase


@runtime_checkable
class Formatter(Protocol):
    """What writes and reads. Any object with these two methods is one, as those written for masfactory are.

    It may have more, which is then used: `name`, and `layout`, `instructions` and `read` as in `BuiltIn`.
    """

    def dump(self, data: Mapping[str, Any], /) -> str:
        """The text for a prompt."""
        ...

    def format(self, text: str, /) -> dict[str, Any]:
        """What an answer says; any exception means that it cannot be read."""
        ...


class BuiltIn(ABC):
    """A formatter of ours. It keeps nothing between two calls and prints nothing."""

    name: ClassVar[str]
    """What a cell calls it."""

    @abstractmethod
    def layout(self, fields: Sequence[Field]) -> tuple[Piece, ...]:
        """The text of the fields in pieces, none of them empty, each with where it comes from."""

    @abstractmethod
    def rules(self, output: Mapping[str, str]) -> Phrase:
        """What the model is told about the form of its answer. `output`: the fields wanted, name → description."""

    def instructions(self, output: Mapping[str, str]) -> str:
        """The same in English. A class of one's own may say it in other words."""
        return str(self.rules(output))

    @abstractmethod
    def read_plain(self, text: str, names: Sequence[str]) -> Reading:
        """`read`, of an answer without thinking in front of it."""

    def read(self, text: str, names: Sequence[str]) -> Reading:
        """What the answer says, and what had to be repaired for it. `names`: the fields wanted; there may be none.

        Raises Unreadable. That a wanted field is missing is no error here.
        """
        plain = without_thinking(text)
        reading = self.read_plain(plain.text, names)
        return Reading(reading.value, (*plain.repairs, *reading.repairs))

    def dump(self, data: Mapping[str, Any], /) -> str:
        """The text of these values: a str as it is, None as nothing, anything else as JSON.

        Raises ConfigError for a value that cannot be written as JSON.
        """
        return "".join(piece.text for piece in self.layout([field_of(name, value) for name, value in data.items()]))

    def format(self, text: str, /) -> dict[str, Any]:
        """What the answer says, whatever its fields are. Raises Unreadable."""
        return self.read(text, ()).value
