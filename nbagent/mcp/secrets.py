"""Secrets: the values of a server's environment and headers, which no repr and no error may show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbagent.redact import know, redact
from nbagent.redact.hidden import Hidden

if TYPE_CHECKING:
    from collections.abc import Mapping

_LEAST = 4
"""Characters. A shorter value is in too many words."""
_NAME = re.compile(r"auth|cookie|credential|key|passw|secret|token", re.IGNORECASE)


class Secrets:
    """Named values. Those whose name says that they are secret are masked everywhere from now on."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = Hidden(dict(values))
        pairs = [(name, word) for name, value in values.items() for word in {value, value.rpartition(" ")[2]}]
        kept = [(name, word.strip()) for name, word in pairs if len(word.strip()) >= _LEAST]
        self._masked = Hidden(sorted(kept, key=lambda pair: (-len(pair[1]), pair)))
        for name, word in kept:
            if _NAME.search(name):
                know(word, name)

    def mask(self, text: str) -> str:
        """`text` without these values, and without what looks like a secret."""
        for name, word in self._masked.get():
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", f"‹redacted {name}›", text)
        return redact(text)
