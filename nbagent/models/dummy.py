"""TestModel: a model that calls every tool once and says so, to see whether a cell runs at all."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import chain, count, islice, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from nbagent.messages import ModelReply, ToolCall
from nbagent.models.estimate import estimate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence

    from nbagent.messages import ModelRequest
    from nbagent.models.model import Piece


class TestModel:
    """A model with no key and no network; `model: test` in a cell.

    Its first reply calls every tool of the request once, in their order, with the smallest arguments that fit the
    tool's schema (`smallest_arguments`); the next says what was called: `test reply: called add, search`. Usage is
    estimated at four characters a token.

    It knows nothing but the request, so several agents may share one.
    """

    __test__ = False  # its name is no reason for pytest to collect it
    name = "test"
    mode = "test"

    def stream(self, request: ModelRequest) -> Iterator[Piece]:
        """Yields the reply's text, then the reply."""
        reply = _reply(request)
        if reply.content:
            yield reply.content
        yield reply

    async def astream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """The same for `async for`."""
        for piece in self.stream(request):
            yield piece

    def __repr__(self) -> str:
        return "TestModel()"


def _reply(request: ModelRequest) -> ModelReply:
    called = _called(request)
    if called is None and request.tools:
        content, calls = "", _calls(request)
    else:
        content, calls = f"test reply: called {', '.join(called)}" if called else "test reply", ()
    reply = ModelReply(content, calls, finish_reason="tool_calls" if calls else "stop")
    return replace(reply, usage=estimate(request, reply))


def _called(request: ModelRequest) -> list[str] | None:
    """Which tools were called since the user spoke; None where no tool has answered yet."""
    called: list[str] = []
    answered = False
    for message in reversed(request.messages):
        if message.role == "user":
            break
        answered = answered or message.role == "tool"
        called[:0] = [call.name for call in message.tool_calls]
    return called if answered else None


def _calls(request: ModelRequest) -> tuple[ToolCall, ...]:
    # Counted on from the calls that the conversation holds, so that no id comes twice.
    first = 1 + sum(len(message.tool_calls) for message in request.messages)
    return tuple(
        ToolCall(f"call_{n}", tool.name, json.dumps(smallest_arguments(tool.parameters), ensure_ascii=False))
        for n, tool in enumerate(request.tools, first)
    )


def smallest_arguments(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest arguments that fit a tool's JSON schema: what is required, and nothing else.

    Defaults and examples come first, then 0, false, `"a"`, an empty list; of several types the first that fits.
    What a schema does not say (that a date is in the future, a file is there) cannot be known. For a pattern some
    likely texts are tried; where none of them fits, the best guess is a text of the right length.

    `{}` where the schema contradicts itself.
    """
    return _Samples({"type": "object", **parameters}).smallest()


_SEVERAL = 30
"""How many values of each part are combined where one combination is not enough, as in a set of pairs."""

_MANY = 10_000
"""How many combinations are looked at."""

_MISSING = object()


class _Samples:
    """The values that fit a JSON schema, the smallest that make sense first; without end where there are so many."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        # A reference of level n has a value that needs references of lower levels only: so values of recursive types
        # end, and the smallest is found without a search. A type that always needs itself gets no level.
        self._levels: dict[str, int] = {}
        left = set(_references(root))
        self._highest = 2 * len(left) + 1
        for level in range(1, self._highest):
            ending = {name for name in left if any(True for _ in self.of(_at(root, name), level))}
            self._levels |= dict.fromkeys(ending, level)
            left -= ending

    def smallest(self) -> dict[str, Any]:
        """The smallest value of the whole schema, of an object; `{}` where it has none."""
        return next(self.of(self._root, self._highest), dict[str, Any]())

    def of(self, schema: Any, below: int) -> Iterator[Any]:
        """The values of a part of the schema, with references of levels lower than `below`."""
        opened = self._open(schema, below)
        if opened is None:
            return
        flat, below = opened
        yield from _given(flat)
        if "const" in flat or "enum" in flat:
            return
        either = next((key for key in ("anyOf", "oneOf") if key in flat), None)
        if either is None:
            for kind in _kinds(flat):
                yield from self._of_kind(kind, flat, below)
            return
        beside = {key: value for key, value in flat.items() if key not in {either, "default", "examples"}}
        for option in flat[either]:
            yield from self.of({**beside, "allOf": [option]}, below)

    def _open(self, schema: Any, below: int) -> tuple[dict[str, Any], int] | None:
        """The schema without `$ref` and `allOf`, and what the references in it have to be below; None: nothing fits."""
        if schema is False:
            return None
        if not isinstance(schema, Mapping):
            return {}, below
        flat = dict(cast("Mapping[str, Any]", schema))
        parts: list[tuple[Any, int]] = [(part, below) for part in flat.pop("allOf", ())]
        if "$ref" in flat:
            name: str = flat.pop("$ref")
            level = self._levels.get(name, below)
            if level >= below:
                return None
            parts.append((_at(self._root, name), level))
        opened = [self._open(part, limit) for part, limit in parts]
        return None if None in opened else _merged([(flat, below), *filter(None, opened)])

    def _of_kind(self, kind: str, schema: dict[str, Any], below: int) -> Iterator[Any]:
        match kind:
            case "object":
                return self._objects(schema, below)
            case "array":
                return self._arrays(schema, below)
            case "integer" | "number":
                return _numbers(schema, whole=kind == "integer")
            case "boolean":
                return iter((False, True))
            case "null":
                return iter((None,))
            case _ if schema.get("contentMediaType") == "application/json":
                return (json.dumps(value) for value in self.of(schema.get("contentSchema"), below))
            case _:
                return _strings(schema)

    def _objects(self, schema: dict[str, Any], below: int) -> Iterator[dict[str, Any]]:
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        chosen = {name: properties.get(name, others) for name in schema.get("required", ())}
        spare = ((name, part) for name, part in self._optional(schema, below) if name not in chosen)
        chosen |= dict(islice(spare, max(0, schema.get("minProperties", 0) - len(chosen))))
        for row in self._rows(list(chosen.values()), below):
            yield dict(zip(chosen, row, strict=True))

    def _optional(self, schema: dict[str, Any], below: int) -> Iterator[tuple[str, Any]]:
        """The properties that may be there, declared ones first."""
        yield from schema.get("properties", {}).items()
        for pattern, part in schema.get("patternProperties", {}).items():
            for name in islice(_strings({**schema.get("propertyNames", {}), "pattern": pattern}), _SEVERAL):
                yield name, part
        others = schema.get("additionalProperties")
        if others is not False:
            # Numerals, because a schema does not say whether the keys of a dict are numbers.
            names = self.of(schema["propertyNames"], below) if "propertyNames" in schema else map(str, count(1))
            for name in names:
                yield name, others

    def _arrays(self, schema: dict[str, Any], below: int) -> Iterator[list[Any]]:
        items = schema.get("items")
        prefix: list[Any] = schema.get("prefixItems", [])
        if isinstance(items, list):  # as older drafts write a tuple
            prefix, items = cast("list[Any]", items), schema.get("additionalItems")
        for length in count(schema.get("minItems", 0)):
            if length > schema.get("maxItems", math.inf):
                return
            parts = [*prefix[:length], *[items] * (length - len(prefix))]
            rows = self._rows(parts, below, distinct=schema.get("uniqueItems", False))
            first = next(rows, None)
            if first is None:  # where so many items cannot be, more cannot either
                return
            yield first
            yield from rows

    def _rows(self, parts: Sequence[Any], below: int, *, distinct: bool = False) -> Iterator[list[Any]]:
        """Lists with a value for each part."""
        first = self._first_row(parts, below, distinct=distinct)
        if first is not None:
            yield first
        elif not distinct:
            return
        pools = [list(islice(self.of(part, below), _SEVERAL)) for part in parts]
        for row in map(list, islice(product(*pools), _MANY)):
            if row != first and not (distinct and any(value in row[:n] for n, value in enumerate(row))):
                yield row

    def _first_row(self, parts: Sequence[Any], below: int, *, distinct: bool) -> list[Any] | None:
        row: list[Any] = []
        sources: dict[int, Iterator[Any]] = {}
        for part in parts:
            if distinct:  # equal parts go on where the one before stopped
                source = sources.setdefault(id(part), self.of(part, below))
                value = next((value for value in source if value not in row), _MISSING)
            else:
                value = next(self.of(part, below), _MISSING)
            if value is _MISSING:
                return None
            row.append(value)
        return row


def _at(root: Mapping[str, Any], reference: str) -> Any:
    """What `#/$defs/Name` means; True, which everything fits, where that is not there."""
    node: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        node = cast("Mapping[str, Any]", node).get(name) if isinstance(node, Mapping) else None
    return node if reference.startswith("#") and node is not None else True


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        named: Any = cast("Mapping[str, Any]", node).get("$ref")
        if isinstance(named, str):
            yield named
        node = list(cast("Mapping[str, Any]", node).values())
    for child in cast("list[Any]", node) if isinstance(node, list) else ():
        yield from _references(child)


def _merged(pieces: list[tuple[dict[str, Any], int]]) -> tuple[dict[str, Any], int]:
    """One schema out of several that all count; the first has the last word, and was not referred to."""
    whole, below = pieces[0]
    limits = [limit for piece, limit in pieces if any(_references(piece))]
    for piece, _ in pieces[1:]:
        whole = _both(piece, whole)
    # Each reference that is followed brings the limit down, or a value might have no end.
    followed = any(limit < below for _, limit in pieces)
    return whole, min(max(limits, default=below), below - followed)


_LOWER = {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
_UPPER = {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A schema for what fits both; where that cannot be said, `other` counts."""
    both = {**one, **other}
    for key in one.keys() & other.keys():
        mine, its = one[key], other[key]
        if key in _LOWER:
            both[key] = max(mine, its)
        elif key in _UPPER:
            both[key] = min(mine, its)
        elif key == "required":
            both[key] = list(dict.fromkeys([*mine, *its]))
        elif key == "enum":
            both[key] = [value for value in mine if value in its]
        elif key == "properties":
            shared = {name: {"allOf": [mine[name], its[name]]} for name in mine if name in its}
            both[key] = {**mine, **its, **shared}
    return both


_PYTHON: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def _given(schema: dict[str, Any]) -> Iterable[Any]:
    """The values that the schema itself names."""
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return schema["enum"]
    examples = schema.get("examples")
    named = [schema["default"]] if "default" in schema else []
    named += cast("list[Any]", examples) if isinstance(examples, list) else []
    if "type" not in schema:
        return named
    allowed = {python for kind in _kinds(schema) for python in _PYTHON.get(kind, ())}
    return [value for value in named if type(value) in allowed]  # some write `default: null` for every type


_KIND_OF = {
    "properties": "object",
    "required": "object",
    "additionalProperties": "object",
    "minProperties": "object",
    "items": "array",
    "prefixItems": "array",
    "minItems": "array",
    "minimum": "number",
    "exclusiveMinimum": "number",
    "maximum": "number",
    "exclusiveMaximum": "number",
    "multipleOf": "number",
}


def _kinds(schema: dict[str, Any]) -> list[str]:
    """The JSON types a value may have; guessed where the schema does not say."""
    said: Any = schema.get("type")
    if isinstance(said, list):
        return cast("list[str]", said)
    return [said or next((kind for key, kind in _KIND_OF.items() if key in schema), "string")]


def _numbers(schema: dict[str, Any], *, whole: bool) -> Iterator[int | float]:
    step = next(iter(_bounds(schema, "multipleOf")), Fraction(0))
    # The whole multiples of 3/2 are those of 3.
    for value in _multiples(schema, Fraction(step.numerator) if whole and step else step or Fraction(1)):
        exact = value.denominator == 1 and (whole or abs(value) < 2**53)
        yield int(value) if exact else float(value)
    if whole or step:
        return
    lower, upper = _bounds(schema, "minimum"), _bounds(schema, "maximum")
    yield from map(float, lower + upper)
    lower, upper = lower + _bounds(schema, "exclusiveMinimum"), upper + _bounds(schema, "exclusiveMaximum")
    if lower and upper:
        low, high = max(lower), min(upper)
        yield from (float(low + (high - low) / 2**n) for n in range(1, _SEVERAL))


def _multiples(schema: dict[str, Any], step: Fraction) -> Iterator[Fraction]:
    """The multiples of `step` within the bounds: from the one nearest to 0 upwards, then downwards."""
    low = [math.ceil(bound / step) for bound in _bounds(schema, "minimum")]
    low += [math.floor(bound / step) + 1 for bound in _bounds(schema, "exclusiveMinimum")]
    high = [math.floor(bound / step) for bound in _bounds(schema, "maximum")]
    high += [math.ceil(bound / step) - 1 for bound in _bounds(schema, "exclusiveMaximum")]
    start = max([min([0, *high]), *low])
    up = range(start, min(high) + 1) if high else count(start)
    down = range(start - 1, max(low) - 1, -1) if low else count(start - 1, -1)
    for number in chain(up, down):
        yield number * step


def _bounds(schema: dict[str, Any], key: str) -> list[Fraction]:
    """The number that the schema has under a key, exactly as it is written, or none."""
    bound: Any = schema.get(key)
    if isinstance(bound, float) and math.isfinite(bound):
        return [Fraction(str(bound))]
    return [Fraction(bound)] if isinstance(bound, int) and not isinstance(bound, bool) else []


_FORMATS = {
    "date": "2000-01-{0:02}",
    "date-time": "2000-01-{0:02}T00:00:00Z",
    "time": "00:00:{0:02}Z",
    "duration": "PT{0}S",
    "uuid": "00000000-0000-4000-8000-0000000000{0:02}",
    **{f"uuid{version}": f"00000000-0000-{version}000-8000-0000000000{{0:02}}" for version in range(1, 9)},
    "email": "a{0}@example.com",
    "idn-email": "a{0}@example.com",
    "name-email": "a{0}@example.com",
    "uri": "https://example.com/{0}",
    "url": "https://example.com/{0}",
    "multi-host-uri": "postgres://localhost/{0}",
    "hostname": "a{0}.example.com",
    "ipv4": "127.0.0.{0}",
    "ipv6": "::{0}",
    "ipv4network": "127.0.0.{0}/32",
    "ipv6network": "::{0}/128",
    "ipv4interface": "127.0.0.{0}/32",
    "ipv6interface": "::{0}/128",
    "base64": "AA{0:02}",
    "base64url": "AA{0:02}",
    "directory-path": ".",
}
"""Texts of the formats that are not just any text, as `path`, `binary` and `password` are; for the numbers 1 to 28."""


def _strings(schema: dict[str, Any]) -> Iterator[str]:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    pattern: str = schema.get("pattern", "")
    fits = _test(pattern) if pattern else None
    likely = [_FORMATS[schema["format"]].format(n) for n in range(1, 29)] if schema.get("format") in _FORMATS else []
    found = False
    for text in chain(likely, _likely(pattern, shortest) if fits else ()):
        if shortest <= len(text) <= longest and (fits is None or fits(text)):
            found = True
            yield text
    if found:
        return
    for length in count(max(shortest, min(1, longest))):
        if length > longest:
            return
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _test(pattern: str) -> Callable[[Any], bool] | None:
    """Whether a text fits the pattern, as pydantic sees it: Rust first, since in Python some patterns take for ever.

    None where neither can read it.
    """
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    for engine in ("rust-regex", "python-re"):
        with suppress(SchemaError, re.error, OverflowError):
            return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine=engine)).isinstance_python
    return None


_USUAL = (
    *("0.0.0", "v0.0.0", "0.0", "00-00-00", "000-00-0000", "000-000-0000", "+10000000000", "A00AA", "aa-AA", "aa_AA"),
    *("2000-01-01", "2000-01-01T00:00:00Z", "00:00", "00:00:00", "#000", "#000000", "$a", "@a", "#a", "/a", "./a"),
    *("a/a", "a.a.a", "a@a.com", "http://a.com", "https://a.com/"),
)


def _likely(pattern: str, shortest: int) -> Iterator[str]:
    """Texts that a pattern may well mean, simple ones first."""
    yield from (letter * length for length in chain(range(1, 65), (shortest,)) for letter in "aA0-_.")
    yield from _USUAL
    runs = [letter * length for length in range(1, 13) for letter in "aA0"]
    words = re.findall(r"\w+", pattern)[:8]  # ^user_[0-9]+$ may have a user_ in it
    yield from words
    for joint in ("", "-", "_", ".", ":", "/", "@", " "):
        yield from (f"{first}{joint}{second}" for first, second in product([*words, *runs], runs))
    yield ""
