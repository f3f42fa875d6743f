"""ToolResponse: what a tool returns when it wants to say more than a value says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from nbagent.messages import ObservationStatus

_ALLOWED = get_args(ObservationStatus)


@dataclass(frozen=True, slots=True)
class ToolResponse:
    """Text for the model, a status, and data for the program.

    `text` (str) is all that the model reads; `status` is `success` (the default), `partial` or `error`; `data` (any
    value, None by default) stays in Python, and figures in it are shown. A wrong status is a ValueError, a text that is
    no str a TypeError.
    """

    text: str
    status: ObservationStatus = "success"
    data: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # notebooks are not type-checked
            raise TypeError(f"the text of a ToolResponse must be a str, got {type(self.text).__name__}")
        if self.status not in _ALLOWED:
            raise ValueError(f"the status of a ToolResponse must be one of {', '.join(_ALLOWED)}; got {self.status!r}")

    @classmethod
    def ok(cls, text: str, data: Any = None) -> ToolResponse:
        """It worked."""
        return cls(text, "success", data)

    @classmethod
    def partial(cls, text: str, data: Any = None) -> ToolResponse:
        """It worked in part; `text` says which."""
        return cls(text, "partial", data)

    @classmethod
    def error(cls, text: str, data: Any = None) -> ToolResponse:
        """It did not work; `text` says why and what to try."""
        return cls(text, "error", data)

    def __str__(self) -> str:
        return self.text
