"""Prompts: what a line `%prompt …` says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nbagent.errors import CellError
from nbagent.notebook.credentials import refuse_keys

_HOW = "write `%prompt NAME TASK…`, `%prompt NAME`, `%prompt NAME@2`, or `%prompt diff NAME@1 NAME@2`"
_RUN = re.compile(r"([^\W\d]\w*)(?:@([1-9][0-9]{0,8}))?")


@dataclass(frozen=True, slots=True)
class RunName:
    """A run of an agent: `weather@2`, or `weather` for its newest one."""

    name: str
    number: int | None = None

    def __str__(self) -> str:
        return self.name if self.number is None else f"{self.name}@{self.number}"


@dataclass(frozen=True, slots=True)
class PromptLine:
    """What a line asks for: the prompt of a run, of a task that has not run, or the difference of two."""

    run: RunName
    task: str = ""
    other: RunName | None = None


def parse_prompt(line: str) -> PromptLine:
    """Reads what follows `%prompt`. Raises CellError."""
    refuse_keys(line, None)
    word, *more = line.split(maxsplit=1) or [""]
    rest = more[0].strip() if more else ""
    if word == "diff":
        names = rest.split()
        if len(names) != 2:
            raise CellError(f"`%prompt diff` takes two runs; {_HOW}")
        return PromptLine(_run(names[0]), other=_run(names[1]))
    run = _run(word)
    if run.number is not None and rest:
        raise CellError(f"`{word}` is a run that has been; a task goes with a name alone: {_HOW}")
    return PromptLine(run, rest)


def _run(word: str) -> RunName:
    match = _RUN.fullmatch(word)
    if match is None:
        raise CellError(f"`%prompt` begins with an agent's name, got {word[:60]!r}; {_HOW}")
    return RunName(match[1], int(match[2]) if match[2] else None)
