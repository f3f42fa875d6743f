"""Hidden: what no pickle, no copy and no repr takes along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Kept:
    """Something that no pickle and no copy takes along."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} can be neither pickled nor copied: there may be a secret in it")


class Hidden(Kept, Generic[T]):
    """A value that no repr, `vars`, pickle or copy shows."""

    __slots__ = ("get",)

    def __init__(self, value: T) -> None:
        self.get: Callable[[], T] = lambda: value

    def __repr__(self) -> str:
        return "<hidden>"
