"""Spec words: what a cell takes for something else than a text: its commands, the words of JSON, keys; and its bounds.

The notebook reads by these, and what writes the spec of an agent heeds them, so that what is written can be read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbagent.redact import redact_by_looks

if TYPE_CHECKING:
    from collections.abc import Iterable

# fmt: off
RESERVED = frozenset({
    "list", "show", "reset", "help", "undo", "fork", "clear", "approve", "reject", "resume", "pending", "runs", "view",
    "compare", "freeze", "diff", "requests", "verify", "chaos", "export", "lint", "doctor", "status", "next", "answer",
    "stop", "revoke", "discard",
})
# fmt: on
"""Subcommands of `%agent`, now or later; no agent has such a name."""
FORK_AT = re.compile(r"\S*@|\S+\s+\d")
"""How what follows `%agent fork` begins where a run is forked at a turn, and not an agent: `bot@1 2`, `bot 2`."""
MOST_CHARACTERS = 100_000
"""Of a header."""
DEEPEST = 50
"""Levels of a header; its keys are the first."""
JSON_WORD = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
"""What means a value where JSON may stand, unless it is quoted."""

SECRET = re.compile(r"(?i)(?<![a-z0-9])(?:(?:sk|pk|rk)-|gsk_|hf_)|gh[opsu]_|github_pat|AKIA|AIza")
"""How keys begin."""
OF_A_SECRET = re.compile(
    "(?i)api[-_]?key|authori[sz]ation|passw|passphrase|secret|credential|cookie|^token$"
    "|(?:access|auth|api|bearer|id|refresh|session)[-_]?token$"
)
"""What a parameter of a model is called whose value is a secret, whatever that looks like."""
_MARKS = ("‹redacted key›", "‹redacted token›", "‹redacted private key›")
_TAKES_ANYTHING = ("system", "instructions", "prompt_template")
"""What may be any text; all other fields take names and numbers."""
DEEP = ("params",)
"""Fields of which every text is looked at, however deep."""


def holds_a_key(text: str) -> bool:
    """Whether there is what is surely a key in it."""
    masked = redact_by_looks(text)  # the mark of a key that is known here would have another name
    return any(masked.count(mark) > text.count(mark) for mark in _MARKS)


def looks_like_a_key(field: str, texts: Iterable[str]) -> bool:
    """Whether one of these texts looks like a key in the place of what the field takes."""
    found = SECRET.search if field in ("params", "base_url", "api_key_env") else SECRET.match
    return field not in _TAKES_ANYTHING and any(found(text) for text in texts)


def is_environment(text: str) -> bool:
    """Whether this may be the name of an environment variable; a key of letters and digits is none, whoever made it."""
    if len(text) >= 20 and "_" not in text and re.search("[0-9]", text):
        return False
    return bool(re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,99}", text))
