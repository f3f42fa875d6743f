"""Credentials: what finds keys, tokens and passwords in a cell, and keeps them out of its errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbagent.agents.spec_words import DEEP, SECRET, holds_a_key, looks_like_a_key
from nbagent.errors import CellError
from nbagent.notebook.header import Items, Node, Scalar, Table, shorten
from nbagent.notebook.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_CREDENTIAL = re.compile(
    r"(?<![a-z])keys?(?![a-z])|apikey|token(?!s)|secret|passw|passphrase|credential|(?<![a-z])pwd?(?![a-z])"
)


def names_a_secret(word: str) -> bool:
    """Whether this is what a key, a token or a password is called: `api_key`, `dbPassword`."""
    return bool(_CREDENTIAL.search(re.sub("([a-z])(?=[A-Z])", r"\1_", word).lower()))


_FEW = 8
"""So many names an error lists."""
_OF_A_REQUEST = {
    "temperature", "top_p", "top_k", "seed", "stop", "frequency_penalty", "presence_penalty", "reasoning_effort",
}  # fmt: skip
"""What models take under names that everybody knows."""


def unknown(what: str, word: str, known: Collection[str], where: str) -> CellError:
    """The error about a key or an option that does not exist. Never shows a value."""
    if SECRET.search(word) or names_a_secret(word):
        return credential(where)
    there = f"Known: {', '.join(known)}." if len(known) <= _FEW else f"`%%agent --help` lists all {len(known)}."
    name = word.lstrip("-").replace("-", "_")
    if " " in word:
        hint = " in the header; to send a task that contains a line `---`, begin the cell with a line `---`."
    elif name in _OF_A_REQUEST and len(known) > _FEW:
        hint = f"; did you mean a parameter of the request, `params: {{{name}: …}}`?"
    elif near := nearest(word, known):
        hint = f"; did you mean {' or '.join(f'`{one}`' for one in near)}?"
    else:
        hint = "."
    return CellError(f"{where}: unknown {what} {quote(word)}{hint} {there}")


def credential(where: str) -> CellError:
    """The error about a credential."""
    return CellError(
        f"{where}: a cell takes no keys, tokens or passwords. This one is in the notebook and in IPython's history "
        "now: rotate it, and set the new one as an environment variable (OPENAI_API_KEY, ANTHROPIC_API_KEY, …)."
    )


def refuse_keys(text: str, first_line: int | None) -> None:
    """Raises where a text holds what is surely a key; `first_line` is its cell line, None for a magic line."""
    if not holds_a_key(text):
        return
    place = next((n for n, line in enumerate(text.split("\n")) if holds_a_key(line)), 0)
    raise credential("Magic line" if first_line is None else f"Cell line {first_line + place}")


def refuse_secret(field: str, node: Node, where: str) -> None:
    """A key in the place of a name would be shown by the error that the name does not exist."""
    if looks_like_a_key(field, _texts(node, deep=field in DEEP)):
        raise credential(where)


def _texts(node: Node, *, deep: bool) -> Iterator[str]:
    match node:
        case Scalar(text):
            yield text
        case Items(nodes):
            for one in nodes:
                if deep or isinstance(one, Scalar):
                    yield from _texts(one, deep=deep)
        case Table(entries):
            for one in entries.values() if deep else ():
                yield from _texts(one, deep=deep)


def quote(text: str) -> str:
    """A text as an error shows it."""
    if SECRET.search(text):
        return "a text that looks like a key"
    return f"`{shorten(text)}`" if text else "nothing"
