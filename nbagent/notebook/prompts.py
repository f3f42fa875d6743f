"""Prompts: what a line `%prompt …` says."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbagent.errors import CellError
from nbagent.notebook.credentials import refuse_keys
from nbagent.notebook.header import Scalar
from nbagent.notebook.prompt_fields import read_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping

_HOW = (
    "write `%prompt NAME TASK…`, `%prompt NAME --inputs JSON`, `%prompt NAME`, `%prompt NAME@2`, "
    "`%prompt diff NAME@1 NAME@2` (or `FILE.ipynb:NAME@1`), `%prompt requests NAME 3`; "
    "`--to FILE` at the end writes a file"
)
_RUN = re.compile(r"(?:(.+\.ipynb):)?([^\W\d]\w*)(?:@([1-9][0-9]{0,8}))?")
_INPUTS = re.compile(r"""(?:^|\s)--inputs(?:\s+|=)('[^']*'|"[^"]*"|\S+)""")
_TO = re.compile(r"""(?:^|\s)--to(?:\s+|=)(\S*\.\w{1,8}|'[^']+'|"[^"]+")\s*$""")
LAST = 10
"""How many requests are shown where the line does not say."""


@dataclass(frozen=True, slots=True)
class RunName:
    """A run of an agent: `weather@2`, or `weather` for its newest one; of this kernel, or of a notebook file."""

    name: str
    number: int | None = None
    file: str = ""

    def __str__(self) -> str:
        name = f"{self.file}:{self.name}" if self.file else self.name
        return name if self.number is None else f"{name}@{self.number}"


@dataclass(frozen=True, slots=True)
class PromptLine:
    """What a line asks for: the prompt of a run, of a task that has not run, the difference of two, or requests."""

    run: RunName
    task: str = ""
    inputs: Mapping[str, Any] | None = None
    """Input fields, as they stand in the line."""
    other: RunName | None = None
    requests: int | None = None
    """How many of the newest requests."""
    to: str = ""
    """The file that is written; empty where it is shown."""


def parse_prompt(line: str) -> PromptLine:
    """Reads what follows `%prompt`. Raises CellError."""
    refuse_keys(line, None)
    to = _TO.search(line)
    file = to[1].strip("'\"") if to else ""
    line = line[: to.start()] if to else line
    word, *more = line.split(maxsplit=1) or [""]
    rest = more[0].strip() if more else ""
    if word == "diff":
        return _diff(rest, file)
    if word == "requests" and rest:
        return _requests(rest, file)
    run, inputs = _here(word), _INPUTS.match(rest)
    if run.number is not None and rest:
        raise CellError(f"`{word}` is a run that has been; a task goes with a name alone: {_HOW}")
    if inputs is None:
        return PromptLine(run, rest, to=file)
    node = Scalar(inputs[1].strip("'\""), quoted=True, line=1)
    return PromptLine(run, rest[inputs.end() :].strip(), read_inputs(node, "`--inputs`"), to=file)


def _diff(rest: str, file: str) -> PromptLine:
    try:
        names = shlex.split(rest)
    except ValueError:
        names = []
    if len(names) != 2:
        raise CellError(f"`%prompt diff` takes two runs; {_HOW}")
    return PromptLine(_run(names[0]), other=_run(names[1]), to=file)


def _requests(rest: str, file: str) -> PromptLine:
    name, *more = rest.split()
    if len(more) > 1 or (more and not re.fullmatch("[1-9][0-9]{0,5}", more[0])):
        raise CellError(f"`%prompt requests` takes a name and how many; {_HOW}")
    return PromptLine(_here(name), requests=int(more[0]) if more else LAST, to=file)


def _here(word: str) -> RunName:
    run = _run(word)
    if run.file:
        raise CellError(f"`{word[:60]}`: a notebook file goes with `%prompt diff`; {_HOW}")
    return run


def _run(word: str) -> RunName:
    match = _RUN.fullmatch(word)
    if match is None:
        raise CellError(f"`%prompt` begins with an agent's name, got {word[:60]!r}; {_HOW}")
    return RunName(match[2], int(match[3]) if match[3] else None, match[1] or "")
