"""Hooks: what a run asks before it calls a model or a tool, and tells of what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from nbagent.events import Event
    from nbagent.messages import ToolCall, ToolFailure
    from nbagent.request import Messages, ModelRequest
    from nbagent.runtime.consult import Consult
    from nbagent.runtime.run import Run


class Edit(Struct, frozen=True):
    """What hooks have made of a request."""

    hook: str
    """Its name; of several, their names in their order."""
    messages: Messages
    """What is sent."""


class Hooks(Protocol):
    """Those of one run. What a recorded run has asked or told is not asked or told again."""

    def before_model(self, request: ModelRequest) -> Generator[Consult, None, Edit | None]:
        """What is sent in place of the request; None where it stays. Raises `Vetoed` where nothing may be sent."""
        ...

    def before_tool(self, call: ToolCall) -> Generator[Consult, None, ToolCall | ToolFailure]:
        """The call that runs; or why none does."""
        ...

    def told(self, event: Event, run: Run, error: BaseException | None) -> Iterator[Consult]:
        """Whom to tell of an event. `error`: what the run has ended with."""
        ...

    def skipped(self, event: Event) -> None:
        """An event of a recorded run, of which nobody is told."""
        ...


class HookFailed(BaseException):
    """Something that was told of an event raised this. It ends the run, whatever the run is waiting for meanwhile."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def cause(error: BaseException) -> BaseException:
    """What the user's code has raised."""
    return error.error if isinstance(error, HookFailed) else error
