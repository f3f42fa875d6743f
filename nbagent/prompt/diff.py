"""Diff: what changed from one prompt to another, as changes that can be made again."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import takewhile
from operator import eq
from typing import TYPE_CHECKING, Any, Literal

from nbagent.errors import ConfigError
from nbagent.messages import Prompt, ToolSchema
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PartName = Literal["segments", "examples", "history", "tools", "images", "question"]
_PARTS: tuple[PartName, ...] = ("segments", "examples", "history", "tools", "images")


class Change(Struct, frozen=True):
    """A stretch of one part of the prompt that stays, goes or comes."""

    part: PartName
    kind: Literal["kept", "removed", "added"]
    items: tuple[Any, ...]
    """Segments, messages, tool schemas or images; of the question its text."""


class PromptDiff(Struct, frozen=True):
    """All changes from one prompt to another, in the order of the prompt."""

    changes: tuple[Change, ...]

    @classmethod
    def of(cls, one: Prompt, other: Prompt) -> PromptDiff:
        """What makes the other of the one."""
        found = [c for part in _PARTS for c in _changes(part, getattr(one, part), getattr(other, part))]
        found += _changes("question", _said(one), _said(other))
        return cls(tuple(found))

    def apply(self, prompt: Prompt) -> Prompt:
        """The other prompt, made of the one. Raises ConfigError for a prompt that it was not made from."""
        before: dict[PartName, list[Any]] = {part: [*getattr(prompt, part)] for part in _PARTS}
        before["question"] = _said(prompt)
        after: dict[PartName, list[Any]] = {part: [] for part in before}
        for change in self.changes:
            count = len(change.items)
            if change.kind != "added":
                if tuple(before[change.part][:count]) != change.items:
                    raise ConfigError(f"this diff was made from another prompt: its {change.part} are not the same")
                del before[change.part][:count]
            if change.kind != "removed":
                after[change.part] += change.items
        if any(before.values()):
            raise ConfigError("this diff was made from another prompt, which has less in it")
        [*parts] = (tuple(after[part]) for part in _PARTS)
        segments, examples, history, tools, images = parts
        return Prompt(segments, history, tools, images, examples, next(iter(after["question"]), None))

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return any(change.kind != "kept" for change in self.changes)


def _said(prompt: Prompt) -> list[Any]:
    return [] if prompt.question is None else [prompt.question]


def _changes(part: PartName, one: Sequence[Any], other: Sequence[Any]) -> Iterable[Change]:
    known: list[Any] = []
    keys = [[_key(item, known) for item in items] for items in (one, other)]
    # Mostly it is a conversation that went on; the matcher alone takes quadratic time for what is the same.
    same = sum(takewhile(bool, map(eq, *keys)))
    if same:
        yield Change(part, "kept", tuple(one[:same]))
    one, other = one[same:], other[same:]
    matcher = SequenceMatcher(None, keys[0][same:], keys[1][same:], autojunk=False)
    for operation, start, end, new_start, new_end in matcher.get_opcodes():
        if operation == "equal":
            yield Change(part, "kept", tuple(one[start:end]))
            continue
        if end > start:
            yield Change(part, "removed", tuple(one[start:end]))
        if new_end > new_start:
            yield Change(part, "added", tuple(other[new_start:new_end]))


def _key(item: Any, known: list[Any]) -> Any:
    """What can be hashed, and is equal exactly where the items are: of tools, which hold dicts, a number."""
    if not isinstance(item, ToolSchema):
        return item
    if item not in known:
        known.append(item)
    return known.index(item)
