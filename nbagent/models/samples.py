"""Samples: the values that fit a JSON schema, the smallest first."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import chain, count, islice, product
from typing import TYPE_CHECKING, Any, cast

from nbagent.models.texts import texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


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
                return texts(schema)

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
            for name in islice(texts({**schema.get("propertyNames", {}), "pattern": pattern}), _SEVERAL):
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
