"""Values: frozen dataclasses that are quick to make. A tool turn makes a dozen of them."""

from __future__ import annotations

from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

__all__ = ["field", "value"]

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
def value(cls: type[T]) -> type[T]:
    """`@dataclass(frozen=True, slots=True)`, made in a third of the time.

    The standard `__init__` of a frozen class looks up every attribute by its name; this one writes to the slots.
    Fields may have defaults; default factories are not supported.
    """
    made: Any = dataclass(frozen=True, slots=True, init=False)(cls)
    parameters, writes, names = ["self"], list[str](), dict[str, Any]()
    for one in fields(made):
        names[f"_set_{one.name}"] = getattr(made, one.name).__set__
        writes.append(f"    _set_{one.name}(self, {one.name})")
        if one.default is MISSING:
            parameters.append(one.name)
        else:
            names[f"_default_{one.name}"] = one.default
            parameters.append(f"{one.name}=_default_{one.name}")
    exec("\n".join([f"def __init__({', '.join(parameters)}):", *writes]), names)  # noqa: S102 - as dataclasses does
    made.__init__ = names["__init__"]
    return made
