"""References: `{{name}}` in a prompt text, looked up in the notebook, once.

Only lookups: no calls, no arithmetic, no private names. A value is data and is never read for references itself.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import warnings
from dataclasses import dataclass
from difflib import get_close_matches
from traceback import format_exception_only
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import FOREIGN, CellError
from nbagent.messages import Piece, Source
from nbagent.texts.template import Slot, Template, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_NAME = r"[^\W\d]\w*"
_CANDIDATE = re.compile(r"\\\{\{|\{\{([^{}\n]*)\}\}")
_WITH_SLOTS = re.compile(rf"\\\{{(?:\{{|(?={_NAME}\}}))|\{{\{{([^{{}}\n]*)\}}\}}|\{{({_NAME})\}}")
_STEP = rf"""\.(?P<attribute>{_NAME})|\[(?P<index>-?[0-9]{{1,18}})\]|\[(?P<key>"[^"\\]*"|'[^'\\]*')\]"""
_REFERENCE = re.compile(rf"({_NAME})(?:{re.sub('[?]P<[a-z]+>', '?:', _STEP)})*")
_STEPS = re.compile(_STEP)
_AS_IT_IS = r"write `\{{` to send it as it is"


def render(
    text: str,
    namespace: Mapping[str, Any],
    *,
    where: str,
    to_text: Callable[[Any], str],
    lines: Sequence[int] = (),
) -> tuple[Piece, ...]:
    r"""The text in pieces, with `{{name}}`, `{{name.attr}}`, `{{name[0]}}`, `{{name["key"]}}` and chains replaced.

    `where` names the text (`task`), and `lines` gives the cell line of each of its lines, for errors. `\{{` becomes
    `{{`; whatever is not a reference stays byte for byte. Every reference is looked up before any value is made text.
    Raises CellError where one has no value, and for what reads like Python but is more than a lookup: `{{n + 1}}`.
    """
    parts = _parts(text, namespace, _Text(text, where, lines), _CANDIDATE)
    return tuple(part for part in _rendered(parts, to_text, where) if isinstance(part, Piece) and part.text)


def render_template(
    text: str,
    namespace: Mapping[str, Any],
    *,
    where: str,
    to_text: Callable[[Any], str],
    lines: Sequence[int] = (),
) -> Template:
    r"""`render` for a template: `{name}` is a place for an input field, and `\{name}` becomes `{name}`."""
    parts = _parts(text, namespace, _Text(text, where, lines), _WITH_SLOTS)
    return tuple(part for part in _rendered(parts, to_text, where) if isinstance(part, Slot) or part.text)


def _rendered(
    parts: Iterable[str | _Lookup | Slot], to_text: Callable[[Any], str], where: str
) -> Iterator[Piece | Slot]:
    found = [part.piece(to_text) if isinstance(part, _Lookup) else part for part in list(parts)]
    return joined(found, Source("template", where))


@dataclass(frozen=True, slots=True)
class _Text:
    """The text that is rendered, as errors speak of it."""

    text: str
    where: str
    lines: Sequence[int]

    def error(self, match: re.Match[str], why: str) -> CellError:
        number = self.text.count("\n", 0, match.start())
        line = f"Cell line {self.lines[number]}: " if number < len(self.lines) else ""
        return CellError(f"{line}`{_shorten(match[0])}` in {self.where}: {why}.")


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A reference with its value."""

    value: Any
    reference: str
    error: Callable[[str], CellError]

    def piece(self, to_text: Callable[[Any], str]) -> Piece:
        try:
            text = to_text(self.value)
        except FOREIGN as error:
            raise self.error(f"its value cannot be made text, {_told(error)}") from error
        return Piece(text, Source("variable", f"{self.reference}: {type(self.value).__name__}"))


def _parts(
    text: str, namespace: Mapping[str, Any], errors: _Text, candidate: re.Pattern[str]
) -> Iterator[str | _Lookup | Slot]:
    end = 0
    for match in candidate.finditer(text):
        yield text[end : match.start()]
        end = match.end()
        inner: str | None = match[1]
        if inner is None and match[0].startswith("\\"):
            yield match[0][1:]
        elif inner is None:
            yield Slot(match[2], f"\\{{{match[2]}}}")
        elif _REFERENCE.fullmatch(inner.strip()):
            yield _look_up(inner.strip(), namespace, lambda why, match=match: errors.error(match, why))
        elif _is_expression(inner.strip()):
            raise errors.error(match, f"only names, attributes, indexes and keys are looked up; {_AS_IT_IS}")
        else:
            yield match[0]
    yield text[end:]


def _is_expression(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of odd literals such as "\d"
            ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


def own_names(namespace: Mapping[str, Any]) -> list[str]:
    """The names that are likely the user's own, and not IPython's."""
    ipython = ("In", "Out", "get_ipython", "exit", "quit", "open")
    return [n for n in namespace if not n.startswith("_") and not hasattr(builtins, n) and n not in ipython]


def _look_up(reference: str, namespace: Mapping[str, Any], error: Callable[[str], CellError]) -> _Lookup:
    name = cast("re.Match[str]", re.match(_NAME, reference))[0]
    _refuse_private(name, error)
    if name not in namespace:
        near = _nearest(name, own_names(namespace))
        raise error(f"no variable `{_shorten(name)}` in the notebook{near}; define it first, or {_AS_IT_IS}")
    value = namespace[name]
    for step in _STEPS.finditer(reference, len(name)):
        value = _step(value, step, error)
    return _Lookup(value, reference, error)


def _step(value: Any, step: re.Match[str], error: Callable[[str], CellError]) -> Any:
    so_far = f"`{_shorten(step.string[: step.start()])}` ({type(value).__name__})"
    attribute, index, key = step["attribute"], step["index"], step["key"]
    try:
        if attribute is not None:
            _refuse_private(attribute, error)
            return getattr(value, attribute)
        return value[int(index) if key is None else key[1:-1]]
    except CellError:
        raise
    except FOREIGN as caught:
        if isinstance(caught, AttributeError) and attribute and not _is_declared(value, attribute):
            why = f"{so_far} has no attribute `{attribute}`{_nearest(attribute, _attributes(value))}"
        elif isinstance(caught, LookupError) and attribute is None:
            why = f"{so_far} has no item {_shorten(step[0])}{_nearest((key or '')[1:-1], _keys(value))}"
        else:
            why = f"the lookup of `{_shorten(step[0])}` in {so_far} raised {_told(caught)}"
        raise error(why) from caught


def _refuse_private(name: str, error: Callable[[str], CellError]) -> None:
    if name.startswith("_"):
        raise error(f"names that begin with `_` are private and are not looked up; {_AS_IT_IS}")


def _is_declared(value: Any, attribute: str) -> bool:
    """Whether the object says that it has it: then it is a property that raised the AttributeError."""
    missing = object()
    return inspect.getattr_static(value, attribute, missing) is not missing


def _attributes(value: Any) -> Iterable[str]:
    try:
        return dir(value)
    except FOREIGN:  # the object's own __dir__; without it there is only no suggestion
        return ()


def _keys(value: Any) -> Iterable[Any]:
    return cast("Iterable[Any]", value) if isinstance(value, dict) else ()


def _nearest(name: str, names: Iterable[Any]) -> str:
    public = [each for each in names if isinstance(each, str) and not each.startswith("_")]
    near = get_close_matches(name[:100], public, n=3)
    return f" (the nearest: {', '.join(f'`{_shorten(each)}`' for each in near)})" if near else ""


def _told(error: BaseException) -> str:
    return _shorten(" ".join("".join(format_exception_only(error)).split()), 200)


def _shorten(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
