"""Sections: a Markdown text cut at its headings, and the dict that they make."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from nbagent.prompt.formatters.entries import joined, trimmed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CONTENT = "_content"
"""The key of a section's own text, where it has sections in it as well."""

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t](.*)", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)


class Section(NamedTuple):
    """A heading and all that is below it."""

    title: str
    depth: int
    text: str
    parts: list[Section]


def sections(text: str) -> Section:
    """The sections of the text, in one without a title that also has the text before the first heading.

    A `#` inside a code fence is text.
    """
    cut = _cut(text)
    root = next(cut)
    path = [root]
    for section in cut:
        depth = section.depth
        while path[-1].depth >= depth:
            path.pop()
        path[-1].parts.append(section)
        path.append(section)
    return root


def as_dict(parts: Sequence[Section], name: Callable[[str], str] = str) -> dict[str, Any]:
    """The sections by their titles: texts, or dicts where there are sections in them. Those of one title are joined."""
    alike: dict[str, list[Section]] = {}
    for part in parts:
        alike.setdefault(name(part.title), []).append(part)
    return {title: _value(group) for title, group in alike.items()}


def _value(group: Sequence[Section]) -> str | dict[str, Any]:
    text = joined(section.text for section in group)
    parts = [part for section in group for part in section.parts]
    if not parts:
        return text
    own = [Section(CONTENT, 0, text, [])] if text else []
    return as_dict([*own, *parts])


def _cut(text: str) -> Iterator[Section]:
    """The sections one by one, without parts. The first is always there: it is the text before the first heading."""
    title, depth, lines, fence = "", 0, list[str](), ""
    for line in text.split("\n"):
        heading = None if fence else _heading(line)
        if heading:
            yield Section(title, depth, trimmed("\n".join(lines)), [])
            (title, depth), lines = heading, []
        else:
            fence = _fence(line, fence)
            lines.append(line)
    yield Section(title, depth, trimmed("\n".join(lines)), [])


def _heading(line: str) -> tuple[str, int] | None:
    match = _HEADING.match(line)
    if not match:
        return None
    title = match[2].strip()
    bare = title.rstrip("#")  # `# title #`
    title = bare.rstrip() if not bare or bare[-1].isspace() else title
    return (title, len(match[1])) if title else None


def _fence(line: str, fence: str) -> str:
    """The fence that we are in behind this line, empty where we are in none."""
    match = _FENCE.match(line)
    if not match:
        return fence
    if not fence:
        return "" if match[1][0] == "`" and "`" in match[2] else match[1]
    return "" if match[1].startswith(fence) and not match[2].strip() else fence
