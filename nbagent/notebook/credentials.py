"""Credentials: what finds keys, tokens and passwords in a cell, and keeps them out of its errors."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from nbagent.errors import CellError
from nbagent.notebook.header import Items, Node, Scalar, Table, shorten
from nbagent.redact import redact_by_looks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_CREDENTIAL = re.compile(
    r"(?<![a-z])keys?(?![a-z])|apikey|token(?!s)|secret|passw|passphrase|credential|(?<![a-z])pwd?(?![a-z])"
)
SECRET = re.compile(r"(?i)(?<![a-z0-9])(?:(?:sk|pk|rk)-|gsk_|hf_)|gh[opsu]_|github_pat|AKIA|AIza")
_MARKS = ("‹redacted key›", "‹redacted token›", "‹redacted private key›")


def names_a_secret(word: str) -> bool:
    """Whether this is what a key, a token or a password is called: `api_key`, `dbPassword`."""
    return bool(_CREDENTIAL.search(re.sub("([a-z])(?=[A-Z])", r"\1_", word).lower()))


def unknown(what: str, word: str, known: Collection[str], where: str) -> CellError:
    """The error about a key or an option that does not exist. Never shows a value."""
    if SECRET.search(word) or names_a_secret(word):
        return credential(where)
    meant = word[:100].lower().lstrip("-")
    # `script` is in `description`, and nobody who writes the one means the other.
    bare = {name: each for each in known if abs(len(name := each.lstrip("-")) - len(meant)) < 5}
    near = get_close_matches(meant, bare, n=1)
    hint = f"; did you mean `{bare[near[0]]}`?" if near else "."
    if " " in word:
        hint = " in the header; to send a task that contains a line `---`, begin the cell with a line `---`."
    return CellError(f"{where}: unknown {what} {quote(word)}{hint} Known: {', '.join(known)}.")


def credential(where: str) -> CellError:
    """The error about a credential."""
    return CellError(
        f"{where}: a cell takes no keys, tokens or passwords. This one is in the notebook and in IPython's history "
        "now: rotate it, and set the new one as an environment variable (OPENAI_API_KEY, ANTHROPIC_API_KEY, …)."
    )


def refuse_keys(text: str, first_line: int | None) -> None:
    """Raises where a text holds what is surely a key; `first_line` is its cell line, None for a magic line."""
    if not _has_key(text):
        return
    place = next((n for n, line in enumerate(text.split("\n")) if _has_key(line)), 0)
    raise credential("Magic line" if first_line is None else f"Cell line {first_line + place}")


def _has_key(text: str) -> bool:
    masked = redact_by_looks(text)  # the mark of a key that is known here would have another name
    return any(masked.count(mark) > text.count(mark) for mark in _MARKS)


_TAKES_ANYTHING = ("system", "instructions", "prompt_template")
"""What may be any text; all other fields take names and numbers."""


def refuse_secret(field: str, node: Node, where: str) -> None:
    """A key in the place of a name would be shown by the error that the name does not exist."""
    looks_like_one = SECRET.search if field in ("params", "base_url") else SECRET.match
    if field not in _TAKES_ANYTHING and any(looks_like_one(text) for text in _texts(node, deep=field == "params")):
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
