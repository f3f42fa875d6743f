"""Comparing: how the prompts of two runs differ, of runs of this kernel or of outputs that a notebook file holds."""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import CellError
from nbagent.views.outline import prompt_blocks
from nbagent.views.safe import visible
from nbagent.views.text import blocks_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.messages import Prompt

_ROLES = ("system", "user", "assistant", "tool")
_RUN = re.compile(r" · \d[\d,]* turns? · ")


def compared(one: Sequence[str], other: Sequence[str], names: tuple[str, str]) -> dict[str, str]:
    """What changed from the one prompt to the other, line by line."""
    lines = difflib.unified_diff(one, other, *names, lineterm="", n=2)
    return {"text/plain": "\n".join(lines) or f"{names[0]} and {names[1]} are the same"}


def lines_of(prompt: Prompt) -> list[str]:
    """The lines of a prompt, each with whose it is."""
    return list(_told(blocks_text(prompt_blocks(prompt)).split("\n")))


def saved(path: str, agent: str, number: int | None) -> list[str]:
    """The same of the agent's nth run in a notebook file, or of its last one. Raises CellError."""
    runs = [text for text in _outputs(path) if _is_run(text, agent)]
    if not runs or (number or 1) > len(runs):
        some = f"it has {len(runs)} of them" if runs else "it has none"
        raise CellError(f"{path}: no output of run {number or 1} of agent {agent!r}; {some}")
    return list(_told(_section(runs[(number or len(runs)) - 1])))


def _outputs(path: str) -> Iterator[str]:
    try:
        notebook: Any = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        cells: Any = notebook["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        texts = [output.get("data", {}).get("text/plain", "") for output in outputs]
    except OSError as error:
        raise CellError(f"{path}: cannot be read ({error.strerror or type(error).__name__})") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise CellError(f"{path}: this is not a notebook of format 4") from None
    for text in texts:
        lines: Any = [text] if isinstance(text, str) else text
        if isinstance(lines, list) and all(isinstance(line, str) for line in cast("list[Any]", lines)):
            yield visible("".join(cast("list[str]", lines)))


def _is_run(text: str, agent: str) -> bool:
    head, *_ = text.split("\n", 1)
    return head.startswith(f"{agent} · ") and bool(_RUN.search(head))


def _section(text: str) -> list[str]:
    """The part of a run's plain text that is its prompt."""
    lines = text.split("\n")
    start = next((i for i, line in enumerate(lines) if line in ("prompt", "prompt, not assembled yet")), len(lines))
    end = next((i for i in range(start + 1, len(lines)) if lines[i][:1].strip()), len(lines))
    while end > start + 1 and not lines[end - 1]:
        end -= 1
    return lines[start + 1 : end]


def _told(lines: Sequence[str]) -> Iterator[str]:
    """Each line of the text with whose it is; not where its pieces come from, which moves with every change."""
    title = inner = ""
    for line in lines:
        depth = len(line) - len(line.lstrip(" "))
        if depth == 2:
            title, inner = line.strip().partition(" ")[0].rstrip(","), ""
            if title not in _ROLES or title == "tool":
                yield from [] if title in ("sources", "history") else [line.strip()]
        elif title == "history" and depth == 4:
            inner = line.strip()
            if " " in inner:
                yield f"history: {inner}"
        elif title == "history":
            yield f"history: {inner.partition(' ')[0]}: {line[6:]}"
        elif title != "sources":
            yield f"{title}: {line[4:]}"
