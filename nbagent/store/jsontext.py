"""JSON text: always the same bytes for the same value, in ASCII, so that half a character survives, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

dumps = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
"""A dict keeps its order: that of a tool's parameters is part of what a model reads."""


def loads(text: str | bytes, hook: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Reads what `dumps` wrote. Raises ValueError for anything else, whatever is wrong with it."""
    try:
        return json.loads(
            text if isinstance(text, str) else text.decode("ascii"), object_hook=hook, parse_constant=_refuse
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (TypeError, LookupError, ArithmeticError) as error:  # a value of a kind that is not one
        raise ValueError(str(error)) from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
