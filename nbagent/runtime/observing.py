"""Observing: turns what came of a tool call into its observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.errors import HarnessError
from nbagent.messages import Observation, ToolCall, ToolFailure
from nbagent.tools.serialise import cut, describe, describe_error

if TYPE_CHECKING:
    from nbagent.runtime.calling import Outcome
    from nbagent.tools.tool import Tool


def observe(call: ToolCall, tool: Tool, outcome: Outcome) -> Observation:
    """The observation of a tool that ran.

    Raises what must not become an observation: KeyboardInterrupt (it cancels the run), errors of the test set-up,
    and every error of a tool with `on_error="raise"`.
    """
    error = outcome.error
    if error is None:
        return _returned(call, tool, outcome)
    if isinstance(error, KeyboardInterrupt | HarnessError) or (
        tool.on_error == "raise" and isinstance(error, Exception)
    ):
        raise error
    text, traceback = describe_error(error, tool.function)
    failure = ToolFailure("exception", text, traceback)
    return Observation(call.id, text, "error", cut(outcome.printed, tool.max_chars)[0], error=failure)


def _returned(call: ToolCall, tool: Tool, outcome: Outcome) -> Observation:
    described = describe(outcome.value)
    text, full_text = cut(described.text, tool.max_chars)
    printed = outcome.printed and cut(outcome.printed, tool.max_chars)[0]
    return Observation(
        call.id, text, described.status, printed, described.images, data=described.data, full_text=full_text
    )


def refuse(call: ToolCall, failure: ToolFailure) -> Observation:
    """The observation of a call that did not run."""
    return Observation(call.id, failure.message, "error", error=failure)
