"""Header: the first line of a stored run: what wrote it, and what must not have changed when it goes on."""

from __future__ import annotations

import sys
from collections.abc import Mapping  # noqa: TC003  msgspec reads the annotations
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, cast

import msgspec

from nbagent.errors import StoreError
from nbagent.store.jsontext import dumps, loads
from nbagent.values import Struct

FORMAT = 1
"""Files of a higher number are refused; those of a lower one are read."""


class Header(Struct, frozen=True):
    """What a file says of its run."""

    agent: str
    digests: Mapping[str, str] = {}
    """By name, a hash of each thing that has to be the same when the run goes on: `{"prompt": …, "tool pay": …}`."""
    run: str = ""
    """Its id, and the name of its file."""
    format: int = FORMAT
    nbagent: str = ""
    """The version that has begun it."""
    when: str = ""
    """When that was, for people; nothing is compared with it."""

    def begun(self, run_id: str) -> Header:
        """The same for a run that begins now."""
        version = getattr(sys.modules[__name__.partition(".")[0]], "__version__", "")
        when = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
        return msgspec.structs.replace(self, run=run_id, format=FORMAT, nbagent=version, when=when)

    def changed(self, digests: Mapping[str, str]) -> tuple[str, ...]:
        """The names of what is not as it was, in the order of the names: changed, gone or new."""
        then = self.digests
        return tuple(sorted([name for name in then.keys() | digests.keys() if then.get(name) != digests.get(name)]))


def digest_of(text: str) -> str:
    """A hash for `Header.digests`: of a tool's source, of a prompt."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def put_header(header: Header) -> bytes:
    return dumps(msgspec.to_builtins(header)).encode("ascii")


def take_header(body: bytes) -> Header:
    """Raises ValueError for what is no header, StoreError for that of a later version."""
    words = loads(body)
    refuse_later(words)
    return msgspec.convert(words, Header)


def later_header(line: bytes) -> Header | None:
    """What the first line of a file says that a later version has written, in whatever form; None of any other."""
    try:
        words = loads(line)
    except ValueError:
        return None
    try:
        refuse_later(words)
    except StoreError:
        return Header(str(words.get("agent", "")), when=str(words.get("when", "")))
    return None


def refuse_later(words: Any) -> None:
    """Raises StoreError where a later version than this one has written the header."""
    said = cast("dict[str, Any]", words if isinstance(words, dict) else {})
    found = said.get("format")
    if isinstance(found, int) and found > FORMAT:
        by = said.get("nbagent")
        raise StoreError(
            f"line 1: the run was written by a later nbagent{f' ({by})' if by else ''}, in format {found}; this one "
            f"reads up to format {FORMAT}. Install that version to go on; the file is as it was",
            line=1,
        )
