"""Answer: what the model said at last, read into the fields that were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbagent.prompt.formatters.formatter import Formatter
    from nbagent.prompt.formatters.reading import Reading
    from nbagent.prompt.output import Output


def reader(formatter: Formatter, output: Output) -> Callable[[str], Reading]:
    """Reads an answer: repairs what is written wrong, and checks the fields.

    What it gives raises a ValueError for an answer that cannot be read or lacks a field; its str is for the model.
    """

    from nbagent.prompt.formatters.reading import Reading
    from nbagent.prompt.formatters.use import read_answer

    def read(text: str) -> Reading:
        reading = read_answer(formatter, text, tuple(output.described))
        return Reading(output.checked(reading.value), reading.repairs)

    return read
