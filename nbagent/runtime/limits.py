"""Limits: how much a run may use in all. Where it has used that, it ends with the status `limit_reached`."""

from __future__ import annotations

from decimal import Decimal
from time import monotonic
from typing import TYPE_CHECKING

from nbagent.errors import ConfigError
from nbagent.messages import Usage
from nbagent.values import Struct

if TYPE_CHECKING:
    from nbagent.messages import ModelReply
    from nbagent.models.model import Model
    from nbagent.request import ModelRequest


class Limits(Struct, frozen=True):
    """What a run may use; None is no limit. Looked at before each model call, so that one reply may go beyond."""

    tokens: int | None = None
    """Input and output, estimated where a server does not say."""
    cost: Decimal | None = None
    """US dollars."""
    seconds: float | None = None
    """From the beginning of the run."""


class LimitReached(Exception):
    """The run has used what it may. Its str says what, for people."""


class Meter:
    """What a run has used so far."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._used = Usage(cost=Decimal(0))
        self._began = monotonic()
        self._unreported = False

    def add(self, request: ModelRequest, reply: ModelReply) -> None:
        """Counts a reply."""
        if reply.usage is None:
            self._unreported = True
            written = len(reply.content) + sum(len(call.arguments) for call in reply.tool_calls)
            self._used += Usage(-(-request.characters // 4), -(-written // 4), estimated=True)
        else:
            self._used += reply.usage

    @property
    def seconds_left(self) -> float | None:
        """None without a limit."""
        limit = self._limits.seconds
        return None if limit is None else max(0.0, limit - (monotonic() - self._began))

    def check(self, model: Model) -> None:
        """Raises `LimitReached` where nothing is left, ConfigError where a limit in money cannot be kept."""
        limits, used = self._limits, self._used
        priced = used.cost is not None and getattr(model, "has_price", True)
        if limits.tokens is not None and used.total_tokens >= limits.tokens:
            raise LimitReached(f"the budget is {limits.tokens:,} tokens, and {used.total_tokens:,} are used")
        if limits.cost is not None and used.cost is None and self._unreported:
            raise ConfigError(
                f"the budget is in money, and {model.name!r} does not report its tokens; "
                "give it in tokens (budget: 20_000)"
            )
        if limits.cost is not None and not priced:
            raise ConfigError(
                f"the budget is in money, and no price is known for {model.name!r}; "
                "give it in tokens (budget: 20_000), or "
                'install the price list: pip install "jupyter-nbagent[prices]"'
            )
        if limits.cost is not None and used.cost is not None and used.cost >= limits.cost:
            raise LimitReached(f"the budget is ${limits.cost}, and ${used.cost} is spent")
        if self.seconds_left == 0:
            raise LimitReached(f"the time limit of {limits.seconds:g} seconds is over")

    def check_wait(self, seconds: float) -> None:
        """Raises `LimitReached` where the time would be over before so many seconds have passed."""
        left = self.seconds_left
        if left is not None and seconds >= left:
            raise LimitReached(
                f"the time limit of {self._limits.seconds:g} seconds would be over before the next attempt"
            )
