"""Values: frozen records. msgspec makes them: a tool turn needs a dozen, and dataclasses cost four times as much."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct

__all__ = ["PartlyCompared", "Struct"]


class PartlyCompared(Struct, frozen=True):
    """A value with fields, named in `aside`, that are neither compared nor in its repr."""

    aside: ClassVar[tuple[str, ...]] = ()

    def _kept(self) -> tuple[tuple[str, Any], ...]:
        return tuple([(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.aside])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, PartlyCompared) and self._kept() == other._kept()

    def __hash__(self) -> int:
        return hash(self._kept())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._kept())})"
