"""Events: what just happened in a run, one frozen value each. A run's journal is an ordered list of them.

A new event is added here; every `match` over `Event` ends in `assert_never`, so the type checker then names each
place that has to learn it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from nbagent.values import PartlyCompared, Struct

if TYPE_CHECKING:
    from nbagent.messages import Field, Image, Message, ModelReply, Observation, Prompt, Segment, ToolCall

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
    images: tuple[Image, ...] = ()
    """What the user shows with the task."""
    position: int = 0
    """Where the model's script stood; 0 for a model without one."""
    fields: tuple[Field, ...] = ()
    """The input fields that the user gave."""


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


class ReasoningDelta(Struct, frozen=True, gc=False):
    """A piece of what a model says of its reasoning, while it streams."""

    turn: int
    text: str


class ArgumentsDelta(Struct, frozen=True, gc=False):
    """A piece of a tool call's arguments, while it streams. Nothing of it may be run."""

    turn: int
    index: int
    """Which call of the reply, from 0."""
    name: str
    """The tool's name; empty where it is not known yet."""
    text: str


class Waiting(Struct, frozen=True, gc=False):
    """A failed model call is tried again, after this time. Shown, never in the journal."""

    turn: int
    attempt: int
    """Which attempt will follow, from 2."""
    seconds: float
    kind: str
    message: str


class ModelReplied(PartlyCompared, frozen=True):
    """A model call ended with a reply."""

    aside = ("position",)

    turn: int
    reply: ModelReply
    position: int = 0
    """Where the model's script stands now."""


class ModelFailed(Struct, frozen=True, gc=False):
    """A model call failed, and the same request is sent again. What has streamed of it does not count."""

    turn: int
    attempt: int
    """Which attempt it was, from 1."""
    kind: str
    message: str


class Noted(Struct, frozen=True, gc=False):
    """The agent itself told the model something, after the reply or the tools of this turn, or noted something."""

    turn: int
    text: str
    told: bool = True
    """Whether the model has heard of it; else it is a remark about its reply."""


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


Event = (
    RunStarted
    | PromptAssembled
    | ModelRequested
    | ModelFailed
    | ModelReplied
    | Noted
    | ToolStarted
    | ToolReturned
    | RunFinished
)
"""What a journal holds."""

StreamEvent = Event | TextDelta | ReasoningDelta | ArgumentsDelta | Waiting
"""What `Agent.stream` yields: the journal's events, and the text while it comes."""
