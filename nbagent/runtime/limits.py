"""Limits: how much a run may use in all. Where it has used that, it ends with the status `limit_reached`."""

from __future__ import annotations

from decimal import Decimal
from time import monotonic
from typing import TYPE_CHECKING

from nbagent.errors import ConfigError
from nbagent.events import ModelFailed, ModelReplied, ModelRequested, StreamEvent, ToolStarted, innermost
from nbagent.messages import Usage
from nbagent.values import Struct

if TYPE_CHECKING:
    from nbagent.messages import ModelReply
    from nbagent.models.model import Model
    from nbagent.request import ModelRequest


class Limits(Struct, frozen=True):
    """What a run may use, with the runs of other agents inside it; None is no limit.

    Looked at before each model call, so that one reply may go beyond; `max_tool_calls` before each reply's calls.

    Source: agentmaker's `RunPolicy`; here a run that has used it all ends with what it has, in place of an error.
    """

    max_tokens: int | None = None
    """Input and output, estimated where a server does not say."""
    max_cost: Decimal | None = None
    """US dollars."""
    deadline: float | None = None
    """Seconds from the beginning of the run."""
    max_llm_calls: int | None = None
    """Requests to a model."""
    max_tool_calls: int | None = None
    """Tools that are started; a reply with more calls than are left ends the run before any of them."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            least = 0 if name == "max_tool_calls" else 1 if name in ("max_tokens", "max_llm_calls") else None
            kind = int if least is not None else int | float | Decimal
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, kind) or not (value > 0 or value == least):
                expected = "seconds or dollars, more than 0" if least is None else f"a whole number from {least}"
                raise ConfigError(f"Limits: {name}: expected {expected}, got {value!r}")


class LimitReached(Exception):
    """The run has used what it may. Its str says what, for people."""


class Meter:
    """What a run has used so far. `around`: that of the run that this one is inside of, which counts it, too."""

    def __init__(self, limits: Limits, around: Meter | None = None) -> None:
        self._limits = limits
        self._around = around
        self._llm_calls = self._tool_calls = 0
        self._used = Usage(cost=Decimal(0))
        self._began = monotonic()
        self._unreported = False
        self.reached = ""
        """What this run has used up, where that has ended it or a run inside it."""

    def _over(self, why: str) -> LimitReached:
        self.reached = why
        return LimitReached(why)

    def add(self, replied: ModelReplied) -> None:
        """Counts a reply."""
        if self._around is not None:
            self._around.add(replied)
        usage = replied.reply.usage
        if usage is None:
            self._unreported = True
            usage = replied.estimate or Usage(estimated=True)
        self._used += usage

    def add_inside(self, event: StreamEvent) -> None:
        """Counts what a recorded run inside has used, of which nothing is done again."""
        match innermost(event):
            case ModelRequested() | ModelFailed():
                self.add_request()
            case ModelReplied() as replied:
                self.add(replied)
            case ToolStarted():
                self.add_recorded_calls(1)
            case _:
                pass

    @property
    def seconds_left(self) -> float | None:
        """None without a limit."""
        limit = self._limits.deadline
        own = None if limit is None else max(0.0, limit - (monotonic() - self._began))
        around = None if self._around is None else self._around.seconds_left
        return own if around is None else around if own is None else min(own, around)

    def add_request(self) -> None:
        """Counts a model call that is about to be made."""
        if self._around is not None:
            self._around.add_request()
        self._llm_calls += 1

    def add_calls(self, number: int) -> None:
        """Counts tool calls that are about to start. Raises `LimitReached` where there are more than are left."""
        if self._around is not None:
            self._around.add_calls(number)
        limit, used = self._limits.max_tool_calls, self._tool_calls
        if limit is not None and number and used + number > limit:
            asked = f"{used} are used, and {number} more are asked for"
            raise self._over(f"the limit is {_calls(limit, 'tool')}, {asked}")
        self._tool_calls += number

    def add_recorded_calls(self, number: int) -> None:
        """Counts tool calls that a recorded run has started, however many are left."""
        if self._around is not None:
            self._around.add_recorded_calls(number)
        self._tool_calls += number

    def check(self, model: Model) -> None:
        """Raises `LimitReached` where nothing is left, ConfigError where a limit in money cannot be kept."""
        if self._around is not None:
            self._around.check(model)
        limits, used = self._limits, self._used
        if limits.max_llm_calls is not None and self._llm_calls >= limits.max_llm_calls:
            raise self._over(f"the limit is {_calls(limits.max_llm_calls, 'model')}, and all are used")
        priced = used.cost is not None and getattr(model, "has_price", True)
        if limits.max_tokens is not None and used.total_tokens >= limits.max_tokens:
            raise self._over(f"the budget is {limits.max_tokens:,} tokens, and {used.total_tokens:,} are used")
        if limits.max_cost is not None and used.cost is None and self._unreported:
            raise ConfigError(
                f"the budget is in money, and {model.name!r} does not report its tokens; "
                "give it in tokens (budget: 20_000)"
            )
        if limits.max_cost is not None and not priced:
            raise ConfigError(
                f"the budget is in money, and no price is known for {model.name!r}; "
                "give it in tokens (budget: 20_000), or "
                'install the price list: pip install "jupyter-nbagent[prices]"'
            )
        if limits.max_cost is not None and used.cost is not None and used.cost >= limits.max_cost:
            raise self._over(f"the budget is ${limits.max_cost}, and ${used.cost} is spent")
        if limits.deadline is not None and self.seconds_left == 0:
            raise self._over(f"the time limit of {limits.deadline:g} seconds is over")

    def check_wait(self, seconds: float) -> None:
        """Raises `LimitReached` where the time would be over before so many seconds have passed."""
        left = self.seconds_left
        if left is not None and seconds >= left:
            limit = self._limits.deadline
            said = "" if limit is None else f" of {limit:g} seconds"
            raise self._over(f"the time limit{said} would be over before the next attempt")


def estimated(request: ModelRequest, reply: ModelReply) -> Usage:
    """What a reply took, at four characters a token."""
    written = len(reply.content) + sum(len(call.arguments) for call in reply.tool_calls)
    return Usage(-(-request.characters // 4), -(-written // 4), estimated=True)


def _calls(number: int, kind: str) -> str:
    return f"{number:,} {kind} call{'' if number == 1 else 's'}"
