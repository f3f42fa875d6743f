"""Transform: what IPython's input transformers do for our magics before a cell runs. Light: the extension loads it.

`lift` lets comments stand above `%%agent`. `make_awaiter` writes `await` before a call of our magics, so that an agent
cell is an ordinary top-level-await cell: measured, the only style in which clicks and interrupts reach a running cell.
"""

from __future__ import annotations

import ast
import inspect
import re
import tokenize
from typing import TYPE_CHECKING, Any

from IPython.core.inputtransformer2 import EscapedCommand, MagicAssign
from IPython.core.interactiveshell import InteractiveShell

from nbagent.notebook import MAGICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_RUNNING = frozenset(
    {
        InteractiveShell.run_code.__code__,  # pyright: ignore[reportUnknownMemberType]
        InteractiveShell.run_cell_magic.__code__,  # pyright: ignore[reportUnknownMemberType]
        InteractiveShell.run_line_magic.__code__,
    }
)
Lines = list[str]
_CELLS = tuple(f"%%{name}" for name in MAGICS)
_LINES = "|".join([*MAGICS, "prompt"])


def nesting() -> int:
    """How many cells and magics are running now, one inside the other: 0 where a cell of its own is prepared, 2 in an
    agent cell, more in one below `%%capture` or in a cell that code runs by `get_ipython().run_cell(…)`.

    What another magic or code runs it does not await, so there an agent has to run in the plain way.
    """
    frame, depth = inspect.currentframe(), 0
    while frame is not None:
        depth += frame.f_code in _RUNNING
        frame = frame.f_back
    return depth


def lift(lines: Lines) -> Lines:
    """For `input_transformers_cleanup`: moves `%%agent` above the comments and blank lines it stands under."""
    if not any(line.startswith(_CELLS) for line in lines):
        return lines
    from nbagent.notebook.cell import lift_magic

    return lift_magic(lines)


# So IPython leaves it out when it asks whether a cell is complete: a terminal would otherwise take `%%agent bot`
# alone for one, since `lift` gives it an empty body.
lift.has_side_effects = True  # type: ignore[attr-defined]


class QuestionLine(EscapedCommand):
    """For `token_transformers`: `%agent bot What now?` is a question to the agent, not a request for help on `now`."""

    priority = 1  # before IPython's own `something?`

    @classmethod
    def find(cls, tokens_by_line: list[list[tokenize.TokenInfo]]) -> QuestionLine | None:
        for line in tokens_by_line:
            first = next((token for token in line if token.type not in (tokenize.INDENT, tokenize.DEDENT)), None)
            if first is not None and first.string == "%" and _QUESTION.fullmatch(first.line):
                return cls(first.start)
        return None


class AssignedQuestion(MagicAssign):
    """The same for `answer = %agent bot What now?`."""

    priority = 1

    @classmethod
    def find(cls, tokens_by_line: list[list[tokenize.TokenInfo]]) -> AssignedQuestion | None:
        questions = [line for line in tokens_by_line if line and _ASSIGNED.fullmatch(line[0].line)]
        found: Any = super().find(questions)  # pyright: ignore[reportUnknownMemberType]
        if found is not None:
            # IPython goes by the column first, and a request for help begins with the line.
            found.column, found.start_col = found.start_col, 0
        return found

    def transform(self, lines: Lines) -> Lines:
        one: Any = self
        one.start_col = one.column
        return super().transform(lines)  # pyright: ignore[reportUnknownMemberType]


_ASSIGNED = re.compile(rf"[^%=]*=\s*%(?:{_LINES})\s+\S+\s+\S[^\n]*\?\s*")
_QUESTION = re.compile(rf"\s*%(?:{_LINES})\s+\S+\s+\S[^\n]*\?\s*")


def make_awaiter(awaits: Callable[[], bool]) -> Callable[[Lines], Lines]:
    """For `input_transformers_post`; `awaits` says whether IPython awaits at top level now (`%autoawait`)."""

    def await_magics(lines: Lines) -> Lines:
        text = "".join(lines)
        if "get_ipython().run_" not in text or not awaits() or nesting():
            return lines
        if any(text.startswith(f"get_ipython().run_cell_magic('{name}',") for name in MAGICS):
            return ["await " + lines[0], *lines[1:]]
        is_ours = any(f"run_line_magic('{name}'" in text for name in MAGICS)
        return _await_lines(text).splitlines(keepends=True) if is_ours else lines

    return await_magics


def _await_lines(text: str) -> str:
    """Line magics become awaited calls, except inside a `def`, a `lambda` or a class body, where await is no syntax.

    An awaited line goes to the cell magic with a mapping of local names (or None) in the place of the body.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text
    lines = [line.encode() for line in text.splitlines(keepends=True)]  # ast counts columns in bytes
    for call, local in sorted(
        _calls(tree, None), key=lambda found: (found[0].lineno, found[0].col_offset), reverse=True
    ):
        names = "locals()" if local else "None"
        magic, rest = ast.unparse(call.args[0]), ast.unparse(call.args[1])
        source = f"await get_ipython().run_cell_magic({magic}, {rest}, {names})".encode()
        line, end = lines[call.lineno - 1], call.end_col_offset
        lines[call.lineno - 1] = line[: call.col_offset] + source + line[end:]
    return b"".join(lines).decode()


def _calls(node: ast.AST, scope: ast.AST | None) -> Iterator[tuple[ast.Call, bool]]:
    """The calls of our line magics that may be awaited, and whether they stand in a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        inner = child if isinstance(child, ast.AsyncFunctionDef) else scope
        if isinstance(child, ast.Call) and _is_ours(child) and child.end_lineno == child.lineno:
            yield child, inner is not None
        yield from _calls(child, inner)


def _is_ours(call: ast.Call) -> bool:
    named = [arg.value for arg in call.args[:1] if isinstance(arg, ast.Constant)]
    return ast.unparse(call.func) == "get_ipython().run_line_magic" and named[:1] != [] and named[0] in MAGICS
