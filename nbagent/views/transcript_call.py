"""A call as blocks: what the model asked for, what was decided about it, and what ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.arguments import laid_out
from nbagent.views.block import Block, Name
from nbagent.views.outline import ONE_LINE, call_block
from nbagent.views.transcript_rounds import marked_text
from nbagent.views.verdict import BELOW, aftermath, approval, is_below, versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.views.trace import Call, Trace
    from nbagent.views.verdict import Verdict, Version


def call_blocks(call: Call, trace: Trace) -> Iterator[Block]:
    """As the model made it, and what hooks and people have made of it, with their decisions in between."""
    asked, ran = versions(call)
    below = is_below(call, trace)
    for version in asked:
        if below and version is asked[-1]:
            yield Block(1, (f"{version.title} ", Name(version.call.name), f": {BELOW}"))
        elif version is asked[0]:
            yield call_block(version.call, 1)
        else:
            yield from _version(version)
    if decided := approval(call, trace):
        yield from _verdict("approval", decided)
    for version in ran:
        yield from _version(version)
    if decided := aftermath(call, trace):
        yield from _verdict("decision", decided)


def _version(version: Version) -> Iterator[Block]:
    """What took the place of what was asked for."""
    yield Block(1, (f"{version.title} ", Name(version.call.name)), laid_out(version.call.arguments), "json")
    if version.changes:
        yield Block(1, ("changes",), marked_text(version.changes))


def _verdict(label: str, verdict: Verdict) -> Iterator[Block]:
    is_short = len(verdict.text) <= ONE_LINE and "\n" not in verdict.text
    beside = (f", {verdict.noun}: ", Name(verdict.text)) if verdict.text and is_short else ()
    yield Block(1, (f"{label}: {verdict.line}", *verdict.about, *beside))
    if not is_short:
        yield Block(1, (verdict.noun,), verdict.text)
