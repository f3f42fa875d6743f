"""Text: short, sound and the same in every process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

from nbagent.errors import FOREIGN

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]{6,}(?=[^<>]*>|\)|$)", re.MULTILINE)
_NUMBER = re.compile(r"(?<=started )(daemon )?\d{6,}(?=\)>)|(?<=\bpid=)\d+(?=[^<>]*>)|(?<=\bparent=)\d+(?=[^<>]*>)")
"""Of a thread, `<Thread(Thread-1, started 139627)>`, or of a process."""
_MAX_REPR = 10_000


def cut(text: str, limit: int) -> tuple[str, str | None]:
    """`text` and None where it has at most `limit` characters, else its head and tail with a notice, and the whole.

    Two thirds of the room go to the head. The result has at most `limit` characters, where the notice fits in at all.
    """
    if len(text) <= limit:
        return text, None
    room = max(0, limit - len(_notice(len(text))))
    head = room - room // 3
    tail = text[len(text) - room // 3 :]
    return f"{text[:head]}{_notice(len(text) - room)}{tail}", text


def _notice(left_out: int) -> str:
    return f"\n… {left_out:,} characters left out …\n"


def sound(text: str) -> str:
    """`text` with � for what UTF-8 cannot carry (lone surrogates), or no request and no file could hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def without_addresses(text: str) -> str:
    """`<Thing at 0x7f12ab>` as `<Thing>`: an address differs in each process, and so do the numbers of threads."""
    return _NUMBER.sub(lambda match: f"{match[1] or ''}…", _ADDRESS.sub("", text))


def shown(value: object) -> str:
    """Its repr without addresses, cut; a few words instead where the repr fails."""
    name = type(value).__name__
    try:
        return cut(without_addresses(repr(value)), _MAX_REPR)[0]
    except FOREIGN as error:  # a repr is the user's code
        return f"<{name} that cannot be shown: {type(error).__name__}>"


def texts_in(value: object) -> Iterator[str]:
    """Every text in a value of JSON, its names among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, one in cast("Mapping[str, object]", value).items():
            yield name
            yield from texts_in(one)
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from texts_in(one)
