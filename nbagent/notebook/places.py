"""Places: in which cell and line a notebook variable was set. Shown only where nothing is compared."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbagent.messages import Prompt, Segment


def located(prompt: Prompt, namespace: Mapping[str, Any]) -> Prompt:
    """The prompt, whose variables say where they were set: `variable city: str (cell [3], line 2)`."""
    sources: Sequence[Any] = list(namespace.get("In", ()))
    known: dict[str, str] = {}
    return replace(prompt, segments=tuple(_located(segment, sources, known) for segment in prompt.segments))


def _located(segment: Segment, sources: Sequence[Any], known: dict[str, str]) -> Segment:
    source = segment.source
    name = re.match(r"[^\W\d]\w*", source.detail)
    if source.kind not in ("variable", "attribute") or name is None:
        return segment
    place = known.setdefault(name[0], _place(name[0], sources))
    return replace(segment, source=replace(source, uri=place)) if place else segment


def _place(name: str, sources: Sequence[Any]) -> str:
    """The newest cell that sets the variable; empty where none does, as where an agent did."""
    for number in range(len(sources) - 1, 0, -1):
        text = str(sources[number])
        if name in text and (line := next(_lines(name, text), 0)):
            return f"cell [{number}], line {line}"
    return ""


def _lines(name: str, source: str) -> Iterator[int]:
    """The lines that set it, the last one first."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines: list[int] = [getattr(node, "lineno", 0) for node in ast.walk(tree) if _sets(node, name)]
    yield from sorted(lines, reverse=True)


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
