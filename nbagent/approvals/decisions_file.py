"""Decisions file: decisions in a file of JSON, each bound to the digest of the call that it is about."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nbagent.approvals.asking import ByDigest
from nbagent.approvals.decision import read_decision
from nbagent.errors import DecisionError

if TYPE_CHECKING:
    import os

    from nbagent.approvals.decision import Decision

_DIGEST = re.compile("[0-9a-f]{32}")


def read_decisions(path: str | os.PathLike[str]) -> ByDigest:
    """The decisions of a file, for `run(…, decisions=…)`. It holds a JSON object: digests, as `%agent pending` and
    `result.interrupt` show them, with `"approve"`, `"reject"`, `"stop"`, `{"reject": reason}`, `{"answer": text}`,
    `{"approve": {…}}` each.

    Raises DecisionError naming the file and what is wrong in it.
    """
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
        said: Any = json.loads(text, object_pairs_hook=_no_doubles)
    except OSError as error:
        raise DecisionError(f"{path}: cannot be read ({error.strerror or type(error).__name__})") from None
    except (ValueError, RecursionError) as error:
        raise DecisionError(f"{path}: this is not JSON: {error}") from None
    if not isinstance(said, dict):
        raise DecisionError(f'{path}: expected an object such as {{"DIGEST": "approve"}}, got {type(said).__name__}')
    decisions = cast("dict[str, Any]", said)
    return ByDigest({digest: _decision(path, digest, one) for digest, one in decisions.items()}, by="file")


def _decision(path: object, digest: str, said: Any) -> Decision:
    if not _DIGEST.fullmatch(digest):
        raise DecisionError(f"{path}: expected a digest of 32 characters, as `%agent pending` shows it; got {digest!r}")
    try:
        return read_decision(said)
    except DecisionError as error:
        raise DecisionError(f"{path}: {digest}: {error}") from None


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice")
    return found
