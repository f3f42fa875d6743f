"""Difference: how a text was written anew, word by word. The same for the same texts, and bounded for long ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, takewhile
from operator import eq
from typing import TYPE_CHECKING, Literal

from nbagent.views.safe import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kind = Literal["same", "out", "in", "cut"]

_CJK = r"\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"\s+|[{_CJK}]|[^\W{_CJK}]+|[^\w\s]")
"""A blank, a word, a mark; in scripts without blanks between words, a character."""
_SENTENCE = re.compile(r"[^\n.!?。！？]*(?:[.!?。！？]+[^\S\n]*|\n+|\Z)")
_NO_WORDS = re.compile(r"[^\w]*")
_CHANCE = 12
"""Characters; longer equal text is not chance."""
_TIMES = 4
_COST = 1_000_000
"""How many pairs of words are compared at most. Beyond that sentences are, and beyond that nothing."""
_NEAR = 40
"""Characters that stay of equal text beside a change."""
_CHANGE = 600
"""Characters of one change; of a longer one the head and the tail."""
_WORD_END = 16
"""How far a border of words may be from where equal text is cut."""
_MOST = 200
"""How many stretches there are at most; of more, the first and the last."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of the two texts. `cut` stands for what is left out."""

    kind: Kind
    text: str

    @property
    def shown(self) -> str:
        """The text, with a sign for a change of blanks alone, which nobody would see."""
        if self.kind == "cut":
            return "…"
        is_unseen = self.kind != "same" and not self.text.strip()
        return self.text.replace("\n", "↵\n").replace(" ", "␣") if is_unseen else self.text


@dataclass(frozen=True, slots=True)
class Difference:
    stretches: tuple[Stretch, ...]

    @classmethod
    def of(cls, before: str, after: str) -> Difference:
        found = _tidy(_changes(visible(before), visible(after)))
        return cls(tuple(_shortened(found)))

    @property
    def places(self) -> int:
        """In how many places something changed."""
        changed = [stretch.kind in ("out", "in") for stretch in self.stretches]
        return sum(now and not before for before, now in zip([False, *changed], changed, strict=False))

    @property
    def before(self) -> tuple[Stretch, ...]:
        """What the old text looks like."""
        return tuple(stretch for stretch in self.stretches if stretch.kind != "in")

    @property
    def after(self) -> tuple[Stretch, ...]:
        return tuple(stretch for stretch in self.stretches if stretch.kind != "out")


def _changes(before: str, after: str) -> list[Stretch]:
    """The whole of both texts."""
    budget = _Budget(_COST)
    found: list[Stretch] = []
    for kind, old, new in _compared(_WORD.findall(before), _WORD.findall(after), budget) or _coarse(
        before, after, budget
    ):
        found += [Stretch("same", old)] if kind == "equal" else [Stretch("out", old), Stretch("in", new)]
    return found


@dataclass(slots=True)
class _Budget:
    left: int

    def pays(self, cost: int) -> bool:
        """Whether there is so much left; then it is spent."""
        if cost <= self.left:
            self.left -= cost
            return True
        return False


Compared = list[tuple[str, str, str]]


def _compared(old: Sequence[str], new: Sequence[str], budget: _Budget) -> Compared | None:
    """What is equal and what is not; None where that costs too much."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if not budget.pays(len(a) * len(b)):
        return None
    found = [
        ("equal" if tag == "equal" else "", "".join(a[i:j]), "".join(b[k:m]))
        for tag, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    ]
    ends = ("equal", "".join(old[:head]), ""), ("equal", "".join(old[len(old) - tail :]), "")
    return [ends[0], *found, ends[1]]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many are equal from the beginning."""
    return sum(takewhile(bool, map(eq, one, other)))


def _coarse(before: str, after: str, budget: _Budget) -> Iterator[tuple[str, str, str]]:
    """By sentences, and by words only within those that changed, as far as the budget reaches."""
    sentences = _compared(_SENTENCE.findall(before), _SENTENCE.findall(after), budget)
    for kind, old, new in sentences or [("", before, after)]:
        finer = None if kind == "equal" else _compared(_WORD.findall(old), _WORD.findall(new), budget)
        yield from finer or [(kind, old, new)]


def _tidy(found: Sequence[Stretch]) -> list[Stretch]:
    """Without empty stretches, and without equal text that is chance: a word or two between longer changes. Else a text
    that was written anew would be torn into shreds. Changes that have become one may outgrow what is beside them."""
    tidied = _merged(found)
    for _ in range(_TIMES):
        before, tidied = tidied, _merged(list(_without_chance(tidied)))
        if tidied == before:
            break
    return tidied


def _without_chance(found: Sequence[Stretch]) -> Iterator[Stretch]:
    sizes = [0, *[0 if each.kind == "same" else len(each.text) for each in found], 0, 0]
    for number, each in enumerate(found):
        before = max(sizes[number - 1 : number + 1], default=0)
        after = max(sizes[number + 2 : number + 4])
        if each.kind == "same" and len(each.text.strip()) < min(before, after, _CHANCE):
            yield Stretch("out", each.text)
            yield Stretch("in", each.text)
        else:
            yield each


def _merged(found: Sequence[Stretch]) -> list[Stretch]:
    """What is equal and what is not in turn, the old of each change before the new."""
    merged: list[Stretch] = []
    for is_same, group in groupby((each for each in found if each.text), lambda each: each.kind == "same"):
        texts = {"same": "", "out": "", "in": ""}
        for kind, some in groupby(sorted(group, key=lambda each: each.kind), lambda each: each.kind):
            texts[kind] = "".join(each.text for each in some)
        merged += [Stretch("same", texts["same"])] if is_same else _trimmed(texts["out"], texts["in"])
    return [each for each in merged if each.text]


def _trimmed(old: str, new: str) -> list[Stretch]:
    """A change without the marks and blanks at its ends that both have."""
    head = _common(_marks(old), _marks(new))
    rest = old[head:], new[head:]
    tail = _common(_marks(rest[0][::-1]), _marks(rest[1][::-1]))
    out, added = (text[: len(text) - tail] for text in rest)
    end = rest[0][len(out) :]
    return [Stretch("same", old[:head]), Stretch("out", out), Stretch("in", added), Stretch("same", end)]


def _marks(text: str) -> str:
    """The marks and blanks that it begins with."""
    found = _NO_WORDS.match(text)
    return found[0] if found else ""


def _shortened(found: Sequence[Stretch]) -> Iterator[Stretch]:
    last = len(found) - 1
    for number, stretch in enumerate(found):
        if len(found) > _MOST and _MOST // 2 <= number <= last - _MOST // 2:
            if number == _MOST // 2:
                yield Stretch("cut", "")
        elif stretch.kind == "same":
            yield from _cut(stretch, 0 if number == 0 else _NEAR, 0 if number == last else _NEAR)
        else:
            yield from _cut(stretch, _CHANGE // 2, _CHANGE // 2)


def _cut(stretch: Stretch, head: int, tail: int) -> Iterator[Stretch]:
    """Its beginning and its end, up to a border of words where one is near."""
    text = stretch.text
    if len(text) <= head + tail + _NEAR:
        yield stretch
        return
    end, start = _border(text[:head]), len(text) - _border(text[len(text) - tail :][::-1])
    if end:
        yield Stretch(stretch.kind, text[:end])
    yield Stretch("cut", "")
    if start < len(text):
        yield Stretch(stretch.kind, text[start:])


def _border(text: str) -> int:
    """Where the last word but one ends, if the last one is short."""
    blank = max(text.rfind(" "), text.rfind("\n"))
    return blank + 1 if blank >= len(text) - _WORD_END else len(text)
