"""Look-up: a notebook variable by its name."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from nbagent.errors import FOREIGN, CellError
from nbagent.prompt.references import own_names

if TYPE_CHECKING:
    from collections.abc import Mapping


def look_up(path: str, namespace: Mapping[str, Any], key: str) -> Any:
    """The notebook variable `path` (dots go to attributes). Raises with the nearest name where there is none."""
    first, *attributes = path.split(".")
    if first not in namespace:
        near = get_close_matches(first, own_names(namespace), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "; run the cell that defines it first"
        raise CellError(f"{key}: no variable {first!r} in the notebook{hint}")
    value = namespace[first]
    for attribute in attributes:
        try:
            value = getattr(value, attribute)
        except AttributeError:
            raise CellError(f"{key}: {path!r}: {type(value).__name__} has no attribute {attribute!r}") from None
        except FOREIGN as error:
            raise CellError(f"{key}: looking up {path!r} raised {type(error).__name__}: {error}") from error
    return value
