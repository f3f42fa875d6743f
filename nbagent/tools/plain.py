"""Plain: any value as what JSON has words for, within bounds; pictures are set aside on the way."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections import deque
from collections.abc import AsyncIterator, Coroutine, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import islice
from pathlib import PurePath
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from nbagent.errors import FOREIGN
from nbagent.text import shown
from nbagent.tools import pictures, tables
from nbagent.tools.failure import headline

if TYPE_CHECKING:
    from nbagent.messages import Image

_MAX_NODES = 50_000
_MAX_DEPTH = 30
_MAX_IMAGES = 20
_PREVIEW = 64
_CHARACTERS_A_NODE = 64
"""A long text counts as several nodes, or a short list of long texts would have no bound."""

_SAFE = 2**63
_USUAL = (dict, list, tuple)
"""Most results are made of these, and need not be asked what else they might be."""
_NOT_MINE = object()


class Plain:
    """One conversion: how much room is left, and which pictures were found.

    `nodes` bounds how many values it visits.
    """

    def __init__(self, nodes: int = _MAX_NODES) -> None:
        self.images: list[Image] = []
        self._room = nodes
        self._path: set[int] = set()
        self._drawn: dict[int, Any] = {}

    def of(self, value: Any) -> Any:
        """`value` as None, bool, int, float, str, list or dict; never raises."""
        self._room -= 1
        kind = cast("type[object]", type(value))
        if value is None or kind is bool or (kind is int and -_SAFE < value < _SAFE):
            return value
        try:
            return self._container(value) if kind in _USUAL else self._converted(value)
        except FOREIGN:  # a value's methods are the user's code
            return self._unknown(value)

    def _converted(self, value: Any) -> Any:
        for convert in (self._scalar, self._container, self._foreign, self._named, self._pictured):
            if (plain := convert(value)) is not _NOT_MINE:
                return plain
        return self._unknown(value)

    def _unknown(self, value: Any) -> str:
        text = shown(value)
        self._room -= len(text) // _CHARACTERS_A_NODE
        return text

    def _scalar(self, value: Any) -> Any:
        match value:
            case Enum():  # before str and int, which an Enum may be as well
                return self.of(value.value)
            case str():
                self._room -= len(value) // _CHARACTERS_A_NODE
                return str.__str__(value)
            case int():
                return _integer(int(value))
            case float():
                return _real(float(value))
            case date() | time():
                return value.isoformat()
            case timedelta() | Decimal() | Fraction() | UUID() | complex():
                return str(value)
            case PurePath():
                return value.as_posix()
            case bytes() | bytearray() | memoryview():
                return self._bytes(bytes(cast("Any", value)))
            case BaseException():
                return headline(value)
            case _:
                return _NOT_MINE

    def _bytes(self, data: bytes) -> str:
        image = pictures.encoded(data)
        if image is not None and len(self.images) < _MAX_IMAGES:
            self.images.append(image)
            return f"image: {image.media_type}, {len(data):,} bytes"
        head = data[:_PREVIEW]
        try:
            preview = json.dumps(head.decode("utf-8"), ensure_ascii=False)
        except UnicodeDecodeError:
            preview = head.hex(" ")
        return f"{len(data):,} bytes: {preview}{' …' if len(data) > _PREVIEW else ''}"

    def _foreign(self, value: Any) -> Any:
        """Values of libraries that nobody needs to have: known by the names of their classes."""
        kinds = {(base.__module__.partition(".")[0], base.__name__) for base in type(value).__mro__}
        if ("numpy", "generic") in kinds:
            return self._number(value)
        if ("numpy", "ndarray") in kinds:
            return self._array(value)
        if ("pandas", "DataFrame") in kinds:
            return tables.frame(value)
        if ("pandas", "Series") in kinds:
            return tables.series(value)
        if ("pandas", "Index") in kinds:
            return self._list(value, len(value))
        if ("matplotlib", "FigureBase") in kinds or ("matplotlib", "_AxesBase") in kinds:
            return self._figure(value)
        if ("PIL", "Image") in kinds:
            return self._photo(value)
        if ("IPython", "DisplayObject") in kinds:
            return self._inside(value, lambda: self._displayed(value))
        if ("msgspec", "Struct") in kinds:
            names = value.__struct_fields__
            return self._inside(value, lambda: self._object(((n, getattr(value, n)) for n in names), len(names)))
        if ("pydantic", "BaseModel") in kinds:
            return self._inside(value, lambda: self.of(value.model_dump(warnings=False)))
        return _NOT_MINE

    def _number(self, value: Any) -> Any:
        """numpy's own: by its text, since the item of a float32 0.1 is 0.10000000149011612."""
        item = value.item()
        if isinstance(item, bool | int) and value.dtype.kind in "biu":
            return self.of(item)
        return _real(float(str(value))) if value.dtype.kind == "f" else str(value)

    def _array(self, value: Any) -> Any:
        # `plt.subplots()` returns its axes in an array of objects.
        objects = value.dtype.kind == "O" and value.size <= _MAX_IMAGES
        if objects and any(hasattr(each, "get_figure") for each in value.flat):
            return self.of(value.tolist())
        return tables.array(value)

    def _figure(self, value: Any) -> str:
        figure, caption = pictures.figure_of(value), pictures.caption_of(value)
        text = caption if caption == "figure" else f"figure: {caption}"
        if id(figure) in self._drawn:  # `return fig, ax` is one picture
            return text
        if len(self.images) >= _MAX_IMAGES:
            return f"{text} (not drawn: there are {_MAX_IMAGES} images already)"
        self._drawn[id(figure)] = figure
        try:
            self.images.append(pictures.draw(figure, caption))
        except FOREIGN as error:  # drawing runs the user's text through a TeX of sorts
            return f"{text} (cannot be drawn: {headline(error)})"
        return text

    def _photo(self, value: Any) -> str:
        width, height = value.size
        if len(self.images) < _MAX_IMAGES:
            self.images.append(pictures.photo(value))
        return f"image: {width} × {height}"

    def _displayed(self, value: Any) -> Any:
        """What IPython's `Image`, `Markdown`, `JSON` and their like hold."""
        if value.data is not None:
            return self.of(value.data)
        return f"{type(value).__name__} of {value.url or value.filename}"

    def _pictured(self, value: Any) -> Any:
        """What draws itself in a notebook, as many libraries' objects do."""
        kind = cast("Any", type(value))
        draw = getattr(kind, "_repr_png_", None) or getattr(kind, "_repr_jpeg_", None)
        drawn: Any = draw(value) if callable(draw) else None
        data = cast("object", drawn[0] if isinstance(drawn, tuple) and drawn else drawn)  # with metadata
        if not isinstance(data, bytes):
            return _NOT_MINE
        self._bytes(data)
        return self._unknown(value)

    def _container(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            pairs = cast("Mapping[Any, Any]", value)
            return self._inside(pairs, lambda: self._object(pairs.items(), len(pairs)))
        if isinstance(value, set | frozenset):
            unordered = cast("set[Any]", value)
            return self._inside(unordered, lambda: self._list(sorted(unordered, key=_rank), len(unordered)))
        if isinstance(value, list | tuple | deque | range | KeysView | ValuesView | ItemsView):
            items = cast("list[Any]", value)
            return self._inside(items, lambda: self._list(items, len(items)))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            # `repr=False` says that a field is not to be seen.
            names = [field.name for field in dataclasses.fields(value) if field.repr]
            return self._inside(value, lambda: self._object(((n, getattr(value, n)) for n in names), len(names)))
        return _NOT_MINE

    def _inside(self, value: Any, convert: Any) -> Any:
        """Goes one level down, unless that has no end."""
        name = type(value).__name__
        if id(value) in self._path:
            return f"<the same {name} again>"
        if len(self._path) >= _MAX_DEPTH:
            return f"<{name}, too deep to show>"
        self._path.add(id(value))
        try:
            return convert()
        finally:
            self._path.discard(id(value))

    def _list(self, items: Iterable[Any], size: int) -> list[Any]:
        plain: list[Any] = []
        for item in islice(items, size):
            if self._room <= 0:
                return [*plain, f"… {size - len(plain):,} more"]
            plain.append(self.of(item))
        return plain

    def _object(self, pairs: Iterable[tuple[Any, Any]], size: int) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        for key, value in islice(pairs, size):
            if self._room <= 0:
                return plain | {"…": f"{size - len(plain):,} more"}
            name = self._key(key)
            while name in plain:  # 1 and "1" are two keys here and one in JSON
                name += f" ({type(key).__name__})"
            plain[name] = self.of(value)
        return plain

    def _key(self, key: Any) -> str:
        plain = self.of(key)
        return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)

    def _named(self, value: Any) -> Any:
        """What is used up by looking at it, or is nothing to look at."""
        if isinstance(value, ModuleType):
            return f"<module {value.__name__}>"
        if not isinstance(value, Iterator | AsyncIterator | Coroutine):
            return _NOT_MINE
        name = getattr(cast("Any", value), "__name__", "")
        title = f"{type(cast('Any', value)).__name__} {name if isinstance(name, str) else ''}".rstrip()
        return f"<{title}, {'never awaited' if isinstance(value, Coroutine) else 'not consumed'}>"


def _integer(value: int) -> int | str:
    # Python refuses to write a longer one; JSON readers would choke on it as well.
    limit = sys.get_int_max_str_digits()
    digits = int(value.bit_length() * math.log10(2)) + 1
    return value if not limit or digits < limit else f"<int of about {digits:,} digits>"


def _real(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _rank(value: Any) -> tuple[int, Any, str]:
    """Where in its set it stands: numbers, then texts, then the rest, whatever the hash seed."""
    if isinstance(value, int | float) and not math.isnan(value):
        return (0, value, "")
    if isinstance(value, str):
        return (1, str.__str__(value), "")
    # Room of its own, so that sorting a large set leaves some for showing it.
    return (2, type(value).__name__, json.dumps(Plain(_PREVIEW).of(value)))
