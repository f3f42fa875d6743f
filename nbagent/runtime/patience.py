"""Patience: whether a failed model call is tried again, and when. The one place where anything is tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.values import Struct

if TYPE_CHECKING:
    from nbagent.errors import ModelError


class Retry(Struct, frozen=True):
    """How often a model call is tried, and how long is waited in between.

    A call is tried again where it was rate limited, the server overloaded, failing or silent, the network down, or the
    answer broke off; what the server says by `Retry-After` is waited for, up to a limit.
    """

    attempts: int = 4
    """How many times in all, from 1."""
    shortest: float = 0.5
    """Seconds. The wait is random between this and a bound that doubles: 1, 2, 4, …"""
    longest: float = 8.0
    """Seconds; the last bound."""
    longest_retry_after: float = 30.0
    """Seconds; where a server asks for more, the call fails and says when to come back."""

    def wait(self, error: ModelError, attempt: int) -> float | None:
        """Seconds until the next attempt after this one (from 1) failed; None where there is none."""
        if not error.transient:
            return None
        from tenacity import RetryCallState, stop_after_attempt, wait_random_exponential

        state = RetryCallState(None, None, (), {})  # pyright: ignore[reportArgumentType]  # only its count is read
        state.attempt_number = attempt
        if stop_after_attempt(self.attempts)(state) or (error.retry_after or 0) > self.longest_retry_after:
            return None
        jitter = wait_random_exponential(multiplier=1, min=min(self.shortest, self.longest), max=self.longest)(state)
        return max(jitter, error.retry_after or 0.0)
