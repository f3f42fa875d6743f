"""Cell: what an agent cell says, from its text alone. Pure: looks nothing up and runs nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from nbagent.errors import CellError
from nbagent.notebook import MAGICS, STRATEGIES
from nbagent.notebook.blame import blaming
from nbagent.notebook.credentials import refuse_keys
from nbagent.notebook.header import lines_of, read_header
from nbagent.notebook.help import help_text
from nbagent.notebook.options import parse_options, split_line_magic
from nbagent.notebook.spec import ALIASES, OF_THE_RUN, CellSpec, read_spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbagent.notebook.header import Node

Line: TypeAlias = tuple[int, str]
"""The number of a cell line, from 1, and its text."""

_NBVAL = re.compile(r"\s*#+\s*NBVAL_")
_EMPTY = (
    "This cell has no task. Write it below the first line, for example:\n"
    "`%%agent weather`\n"
    "`What's the weather in Paris?`"
)


@dataclass(frozen=True, slots=True)
class Cell:
    """What an agent cell says."""

    spec: CellSpec
    task: str = ""
    """Empty where the cell only declares the agent."""
    has_header: bool = False
    """Whether a header says anything. An empty one only sets the task apart."""
    help: str | None = None
    """The help text, where the cell asks for it; it then says nothing else."""
    task_lines: tuple[int, ...] = ()
    """The cell line of each line of the task; of a line magic, nobody knows."""
    origins: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    """Where each field that the cell says stands: `cell line 3`, `option --tools`."""
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]], compare=False)
    """The cell line of each line of a header's text."""
    describes: bool = field(default=False, compare=False)
    """Whether the header says what the agent is, so that it is described anew; one that speaks of this run only
    (`inputs`, `out`, `dry` …) does not."""

    magic: str = field(default="agent", compare=False)
    """Which magic it begins with."""

    @property
    def strategy(self) -> str | None:
        """The strategy that it names; None where it names none."""
        return self.spec.strategy or STRATEGIES[self.magic]

    @property
    def task_line(self) -> int:
        """The cell line on which the task begins."""
        return self.task_lines[0] if self.task_lines else 1


@dataclass(frozen=True, slots=True)
class LineCell:
    """What a line `%agent …` says: one turn, or a subcommand with what follows it."""

    cell: Cell
    subcommand: str | None = None


def parse_cell(line: str, body: str, magic: str = "agent") -> Cell:
    """What a cell says: `line` is what follows `%%agent`, `body` the lines below it.

    Body line i is cell line i + 1, here and in every error. Raises CellError, and nothing else, on any text.
    """
    refuse_keys(line, None)
    refuse_keys(body, 2)
    options = parse_options(line)
    if options.help is not None:
        return Cell(CellSpec(), help=help_text(magic))
    lines = [(number, text) for number, text in _numbered(body) if not _NBVAL.match(text)]
    split = next((i for i, (_, text) in enumerate(lines) if text.rstrip(" \t") == "---"), None)
    header = _header(lines[:split] if split is not None else ())
    task = _trimmed(lines if split is None else lines[split + 1 :])
    if split is None and not task and not {"inputs", "run"} & options.said.keys():
        raise CellError(_EMPTY.replace("%%agent", f"%%{magic}"))
    _refuse_front_matter(header, task)
    if split is None:
        _refuse_wrong_line(task)
    spec, origins = read_spec(header, options.said)
    with blaming(origins):
        _refuse_strategy(spec, magic)
    numbers = tuple(number for number, _ in task) or (body.count("\n") + 2,)
    describes = any(ALIASES.get(key, key) not in OF_THE_RUN for key in header)
    text_lines = {ALIASES.get(key, key): lines_of(node) for key, node in header.items()}
    said = "\n".join(text for _, text in task)
    return Cell(spec, said, bool(header), None, numbers, origins, text_lines, describes, magic)


def _refuse_strategy(spec: CellSpec, magic: str) -> None:
    means = STRATEGIES[magic]
    if means is not None and spec.strategy not in (None, means):
        raise CellError(f"strategy: `%%{magic}` is the strategy {means!r}; for {spec.strategy!r} begin with `%%agent`")


_RUN = re.compile(r"\s*([^\W\d]\w*)\s+--run\s*")


def parse_line(line: str, magic: str = "agent") -> LineCell:
    """What a line `%agent …` says; `line` is what follows `%agent`. `%plan NAME --run` is `%plan --run NAME`."""
    refuse_keys(line, None)
    found = split_line_magic(_RUN.sub(r"--run \1", line) if _RUN.fullmatch(line) else line)
    spec, origins = read_spec({}, found.options.said)
    with blaming(origins):
        _refuse_strategy(spec, magic)
    said = None if found.options.help is None else help_text(magic)
    cell = Cell(spec, found.task, help=said, origins=origins, magic=magic)
    return LineCell(cell, found.subcommand)


def lift_magic(lines: list[str], magics: Sequence[str] = MAGICS) -> list[str]:
    """Moves `%%agent` above the comments and blank lines that it stands under; IPython wants it first.

    Empty lines take their place below it, so that body lines keep their numbers; an empty body becomes one empty
    line, or IPython would refuse the cell itself, with an error that passes CI. Doing it twice changes nothing.
    """
    at = next((i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)
    if at is None or not re.match(rf"%%(?:{'|'.join(map(re.escape, magics))})(?!\S)", lines[at]):
        return lines
    above = "".join(lines[:at]).count("\n")
    body = ["\n"] * above + lines[at + 1 :]
    return [lines[at].removesuffix("\n") + "\n", *(body or ["\n"])]


def _refuse_front_matter(header: Mapping[str, Node], task: Sequence[Line]) -> None:
    """Other tools put a header between two lines `---`; here it would reach the model as the task."""
    if header or not any(text.rstrip() == "---" for _, text in task):
        return
    number, first = task[0]
    if _reads_like_a_header(first):
        raise CellError(
            f"Cell line {number}: this reads like a header, but a header has no line `---` above it, only below it. "
            "Remove the first line `---`."
        )


def _refuse_wrong_line(task: Sequence[Line]) -> None:
    """A header that ends in something like `---` would reach the model as the task."""
    wrong = next(((number, text) for number, text in task if _LIKE_A_LINE.fullmatch(text)), None)
    if wrong is not None and _reads_like_a_header(task[0][1]):
        number, text = wrong
        raise CellError(
            f"Cell line {number}: the line below a header is exactly `---`, without blanks before it; got `{text}`."
        )


_LIKE_A_LINE = re.compile(r"\s*[-\u2010-\u2015\u2212_=*]{1,20}\s*")


def _reads_like_a_header(text: str) -> bool:
    key, colon, _ = text.partition(":")
    return bool(colon) and key in {*CellSpec.model_fields, *ALIASES}


def _numbered(body: str) -> list[Line]:
    return list(enumerate(body.replace("\r\n", "\n").split("\n"), start=2))


def _header(lines: Sequence[Line]) -> Mapping[str, Node]:
    if not lines:
        return {}
    numbers = [number for number, _ in lines]
    gaps = set(range(2, numbers[-1])).difference(numbers)
    return read_header("".join(f"{text}\n" for _, text in lines), 2, gaps)


def _trimmed(lines: Sequence[Line]) -> Sequence[Line]:
    """The lines without the blank ones at both ends."""
    filled = [i for i, (_, text) in enumerate(lines) if text.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else ()
