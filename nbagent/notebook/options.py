"""Options: the magic line, `%%agent [name] [options]` and `%agent [options] [name] task…`.

Words are split as a POSIX shell splits them, on Windows too; nothing is expanded.
"""

from __future__ import annotations

import argparse
import io
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from nbagent.agents.spec_words import FORK_AT, RESERVED
from nbagent.errors import CellError
from nbagent.notebook.credentials import unknown
from nbagent.notebook.help import help_text
from nbagent.notebook.spec import COMPARING, DECIDING, STORED, CellSpec, flag, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["RESERVED", "LineMagic", "Options", "parse_options", "split_line_magic"]


@dataclass(frozen=True, slots=True)
class Options:
    """What a magic line says."""

    said: Mapping[str, str]
    """Fields of CellSpec with their text; the agent's name is `name`."""
    help: str | None = None
    """The help text, where it was asked for."""


@dataclass(frozen=True, slots=True)
class LineMagic:
    """A line `%agent …`."""

    options: Options
    task: str
    """What follows the name, byte for byte."""
    subcommand: str | None = None
    """One of RESERVED, where the line begins with it; name and task are then what follows it."""


def parse_options(line: str) -> Options:
    """The options of `%%agent`. Raises CellError; never exits, never prints."""
    return _parse(words_of(line))


def split_line_magic(line: str) -> LineMagic:
    """Options first, then the name (unless `--name` gave it), then the task as it is: `%agent bot What's up?`."""
    found = _split(line)
    word, rest = _first_word(found.task)
    if found.options.help is not None or "name" in found.options.said or word not in RESERVED:
        return _named(found)
    if word in STORED or word in COMPARING or (word == "fork" and FORK_AT.match(rest)):
        return LineMagic(found.options, rest, word)
    after = _named(_split(_apart(rest) if word == "view" else rest), with_options=word in DECIDING)
    return LineMagic(Options({**found.options.said, **after.options.said}, after.options.help), after.task, word)


def _split(line: str) -> LineMagic:
    words, rest = _leading_options(line)
    return LineMagic(_parse(words), rest)


def _named(found: LineMagic, *, with_options: bool = False) -> LineMagic:
    """Takes the agent's name from the task, where no option gave it. `with_options`: some may stand behind it."""
    word, task = _first_word(found.task)
    if found.options.help is not None or "name" in found.options.said or not word:
        return found
    if not word.isidentifier():
        raise CellError("Magic line: `%agent` begins with the agent's name, then the task: `%agent agent What's up?`.")
    words = task.split()
    option = [w for w in words[:1] if re.match("--?[A-Za-z]", w)] + [w for w in words[-1:] if w in _SPELLINGS]
    if option and not with_options:
        raise CellError(f"Magic line: `{option[0]}` stands behind the name; options of `%agent` stand before it.")
    return LineMagic(Options({**found.options.said, "name": word}), task)


_RUN = re.compile(r"(^|\s)([^\W\d]\w*)(?:@|-(?=\d))(\S+)\s*$")


def _apart(text: str) -> str:
    """A run's name with a blank before its `@`; `bot-3` is the id of a run of `bot`."""
    found = _RUN.search(text)
    if found is None:
        return text
    name, which = found[2], found[3]
    run = which if text[found.end(2)] == "@" else f"{name}-{which}"
    return f"{text[: found.start(2)]}{name} @{run}"


def _first_word(text: str) -> tuple[str, str]:
    word, *rest = text.split(maxsplit=1) or [""]
    return word, rest[0] if rest else ""


def _words(line: str) -> Iterator[tuple[str, int]]:
    """The words of a line, each with the place where it ends. Reads no further than it is asked."""
    stream = io.StringIO(line)
    lexer = shlex.shlex(stream, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        while (word := lexer.get_token()) is not None:
            yield word, stream.tell()
    except ValueError:
        raise CellError(
            "Magic line: a quote is opened and never closed, or the line ends with `\\`. "
            "Put a text with an apostrophe into double quotes."
        ) from None


def words_of(text: str) -> list[str]:
    """The words of a part of the line, without their quotes. Raises CellError for a quote that is never closed."""
    return [word for word, _ in _words(text)]


def _leading_options(line: str) -> tuple[list[str], str]:
    found = _words(line)
    words: list[str] = []
    end, value_follows = 0, False
    while value_follows or line[end:].lstrip().startswith("-"):
        word, end = next(found, ("", -1))
        if end < 0:
            return words, ""
        words.append(word)
        value_follows = not value_follows and word in _TAKE_VALUE
    return words, line[end:].lstrip()


def _spellings(field: str) -> tuple[str, ...]:
    how = written(field)
    return tuple(spelling for spelling in (how.short, flag(field), how.alias and flag(how.alias)) if spelling)


_FLAGS = [flag(field) for field in CellSpec.model_fields]
_TAKE_VALUE = {word for field in CellSpec.model_fields if written(field).placeholder for word in _spellings(field)}


_SPELLINGS = {spelling for field in CellSpec.model_fields for spelling in _spellings(field)}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Argparse would print and exit."""
        option = message.removeprefix("argument ").partition(":")[0]
        why = (
            "takes no value" if "ignored" in message else "needs a value; one that begins with `-` is written with `=`"
        )
        raise CellError(f"Magic line: `{option}` {why}.")


def _parser() -> _Parser:
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true")
    for field in CellSpec.model_fields:
        # Everything is collected, so that an option that is given twice can be refused.
        if written(field).placeholder:
            parser.add_argument(*_spellings(field), dest=field, action="append")
        else:
            parser.add_argument(*_spellings(field), dest=field, action="append_const", const="yes")
    return parser


def _parse(words: Sequence[str]) -> Options:
    for word in words:
        if re.match("-[A-Za-z][A-Za-z]", word) and not re.search(r"\s", word):
            raise unknown("option", word, _FLAGS, "Magic line")  # argparse would read `-model x` as `-m odel x`
    options, others = _parser().parse_known_args(words)
    given: dict[str, list[str] | bool | None] = vars(options)
    if given.pop("help"):
        return Options({}, help_text())
    said = {field: values for field, values in given.items() if isinstance(values, list)}
    for word in others:
        if word.startswith("-"):
            raise unknown("option", word.partition("=")[0], _FLAGS, "Magic line")
        said.setdefault("name", []).append(word)
    return Options({field: _only(field, values) for field, values in said.items()})


def _only(field: str, values: list[str]) -> str:
    if len(values) == 1:
        return values[0]
    if field == "name":
        raise CellError(
            "Magic line: expected one name and then options. The task goes on the lines below, and a value with "
            "blanks into quotes."
        )
    raise CellError(f"Magic line: `{flag(field)}` is given {len(values)} times; keep one.")
