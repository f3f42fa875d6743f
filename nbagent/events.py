"""Events: what just happened in a run, one frozen value each. A run's journal is an ordered list of them.

A new event is added here; every `match` over `Event` ends in `assert_never`, so the type checker then names each
place that has to learn it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from nbagent.values import PartlyCompared, Struct

if TYPE_CHECKING:
    from nbagent.messages import Message, ModelReply, Observation, Prompt, Segment, ToolCall

Status = Literal["completed", "interrupted", "out_of_turns", "limit_reached", "cancelled", "failed"]


class RunStarted(Struct, frozen=True):
    """A run began."""

    run_id: str
    """`AGENT-n`, n counting the agent's runs from 1."""
    agent: str
    model: str
    mode: str
    """How replies come about: `scripted`, or `live` for a real model."""
    max_turns: int
    task: tuple[Segment, ...] = ()
    """What the user asked for."""
    history: tuple[Message, ...] = ()
    """What was said before."""
    position: int = 0
    """Where the model's script stood; 0 for a model without one."""


class PromptAssembled(Struct, frozen=True):
    """observe() built the prompt."""

    prompt: Prompt


class ModelRequested(Struct, frozen=True, gc=False):
    """A model call is on its way."""

    turn: int
    """From 1."""
    fingerprint: str
    """Hash of the request, compared when the journal is driven again."""


class TextDelta(Struct, frozen=True, gc=False):
    """A piece of a reply's text, while it streams. Shown, never in the journal."""

    turn: int
    text: str


class ModelReplied(PartlyCompared, frozen=True):
    """A model call ended with a reply."""

    aside = ("position",)

    turn: int
    reply: ModelReply
    position: int = 0
    """Where the model's script stands now."""


class ToolStarted(Struct, frozen=True, gc=False):
    """A tool is about to run: from here on the outside world may have changed."""

    turn: int
    index: int
    """Which call of the turn's reply, from 0."""
    call: ToolCall


class ToolReturned(PartlyCompared, frozen=True):
    """A tool call has its observation. Calls that were refused have one too, with no `ToolStarted` before it."""

    aside = ("position",)

    turn: int
    index: int
    observation: Observation
    position: int = 0
    """Where the model's script stands now: a tool may have used it, too."""


class RunFinished(Struct, frozen=True):
    """A run ended, or paused (`interrupted`)."""

    status: Status
    final_output: Any = None
    """The answer of a completed run, else None."""
    stop_reason: str = ""
    """More about the status, in a few words; for a failed run its error."""


Event = RunStarted | PromptAssembled | ModelRequested | ModelReplied | ToolStarted | ToolReturned | RunFinished
"""What a journal holds."""

StreamEvent = Event | TextDelta
"""What `Agent.stream` yields: the journal's events, and the text while it comes."""
