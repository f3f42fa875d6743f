"""Observing: turns what came of a tool call into its observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.messages import Observation, ToolCall, ToolFailure
from nbagent.redact import redact
from nbagent.text import without_addresses
from nbagent.tools.failure import headline, let_through
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
    if outcome.fault is not None and not isinstance(error, KeyboardInterrupt):
        raise outcome.fault
    if error is None:
        return _returned(call, tool, outcome)
    let_through(error)
    if tool.on_error == "raise" and isinstance(error, StopIteration | StopAsyncIteration):
        # No generator may raise these, and the run is one.
        raise RuntimeError(f"tool {tool.name!r} raised {headline(error)}") from error
    if tool.on_error == "raise" and isinstance(error, Exception):
        raise error
    text, traceback = describe_error(error, tool.function)
    failure = ToolFailure("exception", text, traceback)
    return Observation(call.id, text, "error", _printed(outcome, tool), error=failure)


def _printed(outcome: Outcome, tool: Tool) -> str:
    # A printed address would differ in each process.
    return outcome.printed and cut(redact(without_addresses(outcome.printed)), tool.max_chars)[0]


def _returned(call: ToolCall, tool: Tool, outcome: Outcome) -> Observation:
    described = describe(outcome.value)
    text, full_text = cut(redact(described.text), tool.max_chars)
    return Observation(
        call.id,
        text,
        described.status,
        _printed(outcome, tool),
        described.images,
        data=described.data,
        full_text=full_text,
    )


def refuse(call: ToolCall, failure: ToolFailure) -> Observation:
    """The observation of a call that did not run."""
    return Observation(call.id, failure.message, "error", error=failure)
