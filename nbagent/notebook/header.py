"""Header: the YAML above a cell's line `---`, read into nodes that know their cell line and have no types yet.

YAML gives the syntax only. Its implicit types (`no` is False, `1e-1` a string, `12:30` a number) are not used: what a
scalar means is said by the field that it is for, see `spec.py`.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from nbagent.agents.spec_words import DEEPEST, JSON_WORD, MOST_CHARACTERS
from nbagent.errors import CellError

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from yaml import Event, YAMLError


@dataclass(frozen=True, slots=True)
class Scalar:
    """One text."""

    text: str
    quoted: bool
    """True in quotes and in a block (`|`, `>`): such a scalar is text, whatever it looks like."""
    line: int
    """The cell line; of a mapping's value, the line of its key. So it is for `Items` and `Table` too."""


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    nodes: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping."""

    entries: Mapping[str, Node]
    line: int


Node: TypeAlias = Scalar | Items | Table

_HINT = (
    "Everything above the first line `---` is the header; to send a task that contains a line `---`, "
    "begin the cell with a line `---`."
)


_ONE_DOCUMENT = "a header is one YAML document, without lines that begin with `---`, `...` or `%`."


def read_header(text: str, first_line: int = 2, gaps: Container[int] = ()) -> Mapping[str, Node]:
    """The keys of a header with their nodes.

    `first_line` is the cell line of the first line of `text`; `gaps` are cell lines that were taken out of it.
    Raises CellError on anything but one plain mapping: wrong syntax, a key twice at any depth, anchors, aliases, tags,
    more than 100,000 characters, more than 50 levels.
    """
    if len(text) > MOST_CHARACTERS:
        raise CellError(f"The header has {len(text):,} characters, {MOST_CHARACTERS:,} are allowed. {_HINT}")
    import yaml

    lines = _Lines(text, first_line, gaps)
    events = yaml.parse(text, Loader=yaml.BaseLoader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    builder = _Builder(cast("Iterator[Event]", events), lines)
    try:
        return builder.document()
    except CellError:
        raise
    except yaml.YAMLError as error:
        raise CellError(_explain(error, lines)) from None
    except (ValueError, OverflowError):  # PyYAML does not check `"\U99999999"` before it calls chr()
        raise CellError(f"Near cell line {builder.line}: an escape such as \\U… stands for no character.") from None


def as_json(node: Node) -> Any:
    """The JSON value of a node: unquoted numbers, true, false and null are meant as such, everything else is text."""
    match node:
        case Table(entries):
            return {key: as_json(value) for key, value in entries.items()}
        case Items(nodes):
            return [as_json(item) for item in nodes]
        case Scalar(text, quoted):
            return text if quoted or not JSON_WORD.fullmatch(text) else _json_word(node)


def _json_word(node: Scalar) -> Any:
    try:
        value = json.loads(node.text)
    except ValueError:  # Python converts at most 4,300 digits
        value = math.inf
    if value in (math.inf, -math.inf):
        raise CellError(f"Cell line {node.line}: the number {shorten(node.text)} is too large; put it in quotes.")
    return value


def lines_of(node: Node) -> tuple[int, ...]:
    """The cell line of each line of a text: below its key in a block, on the line of the key otherwise."""
    match node:
        case Items(nodes):
            return tuple(line for one in nodes for line in lines_of(one))
        case Scalar(text) if "\n" in text:
            return tuple(range(node.line + 1, node.line + 1 + len(text.split("\n"))))
        case _:
            return (node.line,)


def shorten(text: str, limit: int = 40) -> str:
    """A text of the cell as an error shows it."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


class _Lines:
    """Which cell line a character of the header is on. PyYAML's own count takes more characters for line ends."""

    def __init__(self, text: str, first_line: int, gaps: Container[int]) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._numbers: list[int] = []
        number = first_line
        while len(self._numbers) < len(self._starts):
            if number not in gaps:
                self._numbers.append(number)
            number += 1

    def at(self, index: int) -> int:
        return self._numbers[bisect_right(self._starts, index) - 1]


class _Builder:
    """Builds nodes from YAML events, and refuses those that a header has no use for."""

    def __init__(self, events: Iterator[Event], lines: _Lines) -> None:
        self._events = events
        self._lines = lines
        self.line = lines.at(0)
        """The cell line of the event that came last."""

    def document(self) -> Mapping[str, Node]:
        from yaml import DocumentEndEvent, DocumentStartEvent, StreamEndEvent, StreamStartEvent

        root: Node = Table({}, self.line)
        for event in self._seen():
            match event:
                case StreamStartEvent() | StreamEndEvent():
                    pass
                case DocumentStartEvent() | DocumentEndEvent():
                    if event.explicit:
                        raise self._refusal(_ONE_DOCUMENT)
                case _:
                    root = self._node(event, 1)
        if not isinstance(root, Table):
            raise CellError(f"Cell line {root.line}: expected `key: value` lines in the header. {_HINT}")
        return root.entries

    def _seen(self) -> Iterator[Event]:
        for event in self._events:
            self.line = self._lines.at(event.start_mark.index)
            yield event

    def _next(self) -> Event:
        return next(self._seen())

    def _refusal(self, why: str) -> CellError:
        return CellError(f"Cell line {self.line}: {why}")

    def _node(self, event: Event, depth: int, line: int | None = None) -> Node:
        from yaml import AliasEvent, MappingStartEvent, NodeEvent, ScalarEvent, SequenceStartEvent

        line = line or self.line
        if depth > DEEPEST:
            raise self._refusal(f"a header goes {DEEPEST} levels deep at most.")
        if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor is not None):
            raise self._refusal("a header has no YAML aliases (`*`) and anchors (`&`); to begin a text so, quote it.")
        if getattr(event, "tag", None) is not None:
            raise self._refusal("a header has no YAML tags (`!`); to begin a text with `!`, put it in quotes.")
        match event:
            case ScalarEvent():
                return Scalar(self._joined(event.value), event.style is not None, line)
            case SequenceStartEvent():
                return self._items(depth, line)
            case MappingStartEvent():
                return self._table(depth, line)
            case _:
                raise self._refusal(f"expected a value. {_HINT}")

    def _items(self, depth: int, line: int) -> Items:
        from yaml import SequenceEndEvent

        nodes: list[Node] = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            nodes.append(self._node(event, depth + 1))
        return Items(tuple(nodes), line)

    def _table(self, depth: int, line: int) -> Table:
        from yaml import MappingEndEvent

        entries: dict[str, Node] = {}
        while not isinstance(event := self._next(), MappingEndEvent):
            key = self._node(event, depth + 1) if _is_leaf(event) else None
            if not isinstance(key, Scalar):
                raise self._refusal("a key must be text; a value that begins with `{` or `[` as text needs quotes.")
            if key.text in entries:
                first = entries[key.text].line
                raise self._refusal(f"the key `{shorten(key.text)}` stands on cell line {first} already; keep one.")
            entries[key.text] = self._node(self._next(), depth + 1, key.line)
        return Table(entries, line)

    def _joined(self, text: str) -> str:
        try:  # as in JSON, "\ud83d\ude00" is one character
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise self._refusal("an escape \\ud800 to \\udfff is half a character; write both halves.") from None


def _is_leaf(event: Event) -> bool:
    from yaml import AliasEvent, ScalarEvent

    return isinstance(event, ScalarEvent | AliasEvent)


_REASONS = (
    ("'\\t'", "a tab cannot stand here; use spaces (inside quotes and `|` blocks tabs are fine)."),
    ("cannot start any token", "a text cannot begin with this character; put it in quotes."),
    ("expected alphabetic or numeric", "a text cannot begin with this character; put it in quotes."),
    ("mapping values are not allowed", "a text that contains `: ` must stand in quotes or in a `|` block."),
    ("could not find expected ':'", f"expected `key: value`. {_HINT}"),
    ("end of stream", "a quote that is opened here is never closed."),
    ("sequence entries are not allowed", "a list begins on the line below its key, each item with `- `."),
    ("chomping or indentation", "text after `|` or `>` begins on the next line."),
    ("expected a comment or a line break", "text after `|` or `>` begins on the next line."),
    ("expected <block end>", "this line does not fit the ones above: look at its indentation and at quotes before it."),
    ("expected ',' or", "expected a comma or the closing bracket here; a text with brackets needs quotes."),
    ("<document ", _ONE_DOCUMENT),
    ("tag handle", "a header has no YAML tags (`!`); to begin a text with `!`, put it in quotes."),
    ("unknown escape", "in double quotes a backslash is written `\\\\`; in single quotes it stays as it is."),
)
_BEGINS_EARLIER = ("could not find expected ':'", "end of stream")


def _explain(error: YAMLError, lines: _Lines) -> str:
    from yaml import MarkedYAMLError
    from yaml.reader import ReaderError

    if isinstance(error, ReaderError):
        line, code = lines.at(error.position), error.character
        code = code if isinstance(code, int) else ord(code[:1])
        return f"Cell line {line}: the character U+{code:04X} cannot stand here; in double quotes, write \\u{code:04x}."
    problem = (error.problem if isinstance(error, MarkedYAMLError) else None) or str(error)
    mark = None
    if isinstance(error, MarkedYAMLError):
        earlier = any(text in problem for text in _BEGINS_EARLIER)
        mark = (error.context_mark if earlier else None) or error.problem_mark or error.context_mark
    why = next((sentence for text, sentence in _REASONS if text in problem), None)
    return f"Cell line {lines.at(mark.index if mark else 0)}: {why or f'this is not YAML: {shorten(problem, 80)}.'}"
