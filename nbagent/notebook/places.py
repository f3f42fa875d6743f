"""Places: in which cell and line a notebook variable was set. Shown only where nothing is compared."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from nbagent.errors import CellError
from nbagent.notebook import MAGICS
from nbagent.notebook.cell import parse_cell

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from nbagent.messages import Prompt, Segment


def located(prompt: Prompt, namespace: Mapping[str, Any], kinds: Collection[str] = ("variable",)) -> Prompt:
    """The prompt, whose variables say where they were set: `variable city: str (cell [3], line 2)`.

    `kinds`: the sources that are variables of the notebook.
    """
    sources: Sequence[Any] = list(namespace.get("In", ()))
    known: dict[str, str] = {}
    found: list[Segment] = []
    for segment in prompt.segments:
        source, name = segment.source, re.match(r"[^\W\d]\w*", segment.source.detail)
        if source.kind not in kinds or name is None:
            found.append(segment)
            continue
        if name[0] not in known:
            known[name[0]] = _shown(newest(name[0], sources))
        found.append(replace(segment, source=replace(source, uri=known[name[0]])))
    return replace(prompt, segments=tuple(found))


def newest(name: str, sources: Sequence[Any]) -> tuple[int, int]:
    """The newest cell that sets the variable, and the line in it; (0, 0) where none is known to."""
    for number in range(len(sources) - 1, 0, -1):
        text = str(sources[number])
        if "run_line_magic('run'" in text or re.search(rf"global .*\b{re.escape(name)}\b", text):
            return 0, 0  # other code may have set it
        if name not in text:
            continue
        try:
            line = max(_lines(name, text), default=0)
        except RecursionError:
            continue
        if line:
            return (number, line) if line != _PUSHED else (0, 0)
    return 0, 0


def _shown(place: tuple[int, int]) -> str:
    number, line = place
    return f"cell [{number}], line {line}" if number else ""


def _lines(name: str, source: str, before: int = 0) -> Iterator[int]:
    """The lines that set it, outside of functions and classes."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in _here(tree):
        if _sets(node, name):
            yield before + getattr(node, "lineno", 0)
            continue
        magic, line, body = _cell_of(node)
        if magic in ("time", "capture"):
            yield from _lines(name, body, 1)
        elif magic in MAGICS and _pushes(name, line, body):
            yield _PUSHED


def _here(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes whose names are the notebook's own."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _SCOPES):
            yield from _here(child)


_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp,
)  # fmt: skip


_PUSHED = 10**9
"""In place of a line: an agent has set the variable, when its cell ran."""


def _cell_of(node: ast.AST) -> tuple[str, str, str]:
    """The cell magic that IPython has made a call of: its name, its line, the cell below."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="run_cell_magic"),
            args=[ast.Constant(value=str(magic)), ast.Constant(value=str(line)), ast.Constant(value=str(body))],
        ):
            return magic, line, body
        case _:
            return "", "", ""


def _pushes(name: str, line: str, body: str) -> bool:
    try:
        return name in (parse_cell(line, body).spec.push or ())
    except CellError:
        return False


def _sets(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Name(id=found, ctx=ast.Store()):
            return found == name
        case ast.FunctionDef(name=found) | ast.ClassDef(name=found) | ast.AsyncFunctionDef(name=found):
            return found == name
        case ast.alias(name=found, asname=asname):
            return (asname or found.partition(".")[0]) == name
        case _:
            return False
