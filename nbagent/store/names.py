"""Names: of files, on any system."""

from __future__ import annotations

from urllib.parse import quote, unquote

LONGEST = 200


def file_name(name: str) -> str:
    """A name of its own for each text, on every system: `.`, `/` and capitals are written as numbers.

    Raises ValueError where it is longer than a file system takes.
    """
    quoted = "".join(
        [f"%{ord(c):02X}" if c.isascii() and (c.isupper() or c in "._~") else quote(c, safe="") for c in name]
    )
    if len(quoted) > LONGEST:
        raise ValueError(f"a name is a file, and takes at most {LONGEST} characters; got {name[:40]!r}…")
    return quoted


def name_of(file: str) -> str:
    """The text that a file is named for."""
    return unquote(file)
