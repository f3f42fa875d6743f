"""Events: what just happened in a run, one frozen value each. A run's journal is an ordered list of them.

A new event is added here; every `match` over `Event` ends in `assert_never`, so the type checker then names each
place that has to learn it.
"""

from __future__ import annotations

from typing import Any, Literal

from nbagent.messages import (  # noqa: TC001  msgspec reads the annotations
    Field,
    Image,
    Message,
    ModelReply,
    Observation,
    Prompt,
    Segment,
    ToolCall,
    Usage,
)
from nbagent.values import PartlyCompared, Struct

Status = Literal["completed", "interrupted", "out_of_turns", "limit_reached", "cancelled", "failed"]
StepKind = Literal["compact", "plan", "execute", "synthesize", "draft", "critique", "refine"]
StepStatus = Literal["done", "failed", "passed"]
ApprovalVerdict = Literal["approved", "rejected", "answered", "stopped"]
Stage = Literal["input", "output"]
"""What a guardrail is asked about: what the user says, or what the agent answers."""


class Forked(Struct, frozen=True):
    """Which run another one was forked from, and where."""

    run: str
    """Its id."""
    turn: int
    """From which turn on the fork goes on, in the order of `result.turns`, from 1."""
    edits: tuple[str, ...] = ()
    """What was put in another one's place there: `observation`, `arguments`, `reply`, `system`, `user`."""
    call: int | None = None
    """Which call of the turn was edited, from 0; None where none was."""


class RunStarted(Struct, frozen=True):
    """A run began."""

    run_id: str
    """`AGENT-n`, n counting the agent's runs from 1; of a run inside another one `AGENT-n.m`, m counting these."""
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
    inside: tuple[int, ...] = ()
    """Where the scripts of the agents stood that are its tools, in the order of `Agent.models`."""
    retries: int = 1
    """How often the model is told that its answer cannot be read."""
    scope: Any = None
    """Which conversation it belongs to."""
    forked: Forked | None = None
    """Which run it was forked from; None where it began on its own. What comes before its turn is that run's."""
    math: bool = False
    """Whether formulas `$$…$$` of the answer are typeset."""


class PromptAssembled(Struct, frozen=True):
    """observe() built the prompt."""

    prompt: Prompt


class Guarded(PartlyCompared, frozen=True):
    """A guardrail was asked, and said this."""

    aside = ("position",)

    stage: Stage
    name: str
    passed: bool
    message: str = ""
    """Why it did not let it pass."""
    text: str | None = None
    """What it put in the text's place; None where it left it as it is."""
    position: int = 0
    """Where the model's script stands now: a guardrail may have used it, too."""


class Stretch(Struct, frozen=True):
    """Some messages of an edited request, in a row."""

    kind: Literal["new", "request", "edited"]
    """`new`: they are here. `request`: they are those of the request as it was; `edited`: those of the run's edited
    request before this one."""
    start: int = 0
    stop: int = 0
    """Which of them: from `start`, counted from 0, to before `stop`."""
    messages: tuple[Message, ...] = ()


class RequestEdited(Struct, frozen=True):
    """A hook changed what a model call sends. Later turns go on without the change."""

    turn: int
    hook: str
    """Its name; of several, their names in their order."""
    stretches: tuple[Stretch, ...]
    """What is sent. What is known already is not put down again: a run would grow with the square of its turns."""
    before: str = ""
    """Hash of the request as it was, compared when the journal is driven again."""


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
    estimate: Usage | None = None
    """What it took, at four characters a token, where the server does not say."""


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


class ApprovalRequested(Struct, frozen=True, gc=False):
    """A tool call may not run until a person has decided about it."""

    turn: int
    index: int
    """Which call of the turn's reply, from 0."""
    call: ToolCall
    """As it would run."""
    number: int
    """Which question of the run it is, from 1."""
    digest: str
    """What the decision is bound to."""
    origin: str = "function"
    """Where the tool comes from: `function`, `mcp:SERVER`, `agent:NAME`."""
    why: str = ""
    """The rule that asks for it."""


class ApprovalDecided(Struct, frozen=True, gc=False):
    """Somebody has decided about a tool call that waited."""

    turn: int
    index: int
    verdict: ApprovalVerdict
    digest: str = ""
    """That of the question."""
    arguments: str | None = None
    """What the call runs with in place of the model's arguments, as JSON text."""
    text: str = ""
    """The note of an approval, the reason of a rejection or a stop, the answer in the tool's place."""
    always: Literal["", "tool", "arguments"] = ""
    """What is approved in the rest of the run, too."""
    by: str = "person"
    """Who: `person`; `cell`, `file` where that holds decisions; `policy`; `always` where an earlier one approved it."""


class ApprovalRevoked(Struct, frozen=True, gc=False):
    """A person has taken back what an approval said about later calls: from here on they are asked about again."""

    turn: int
    tool: str
    digest: str
    """That of the question which was approved for the rest of the run."""


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


class StepStarted(Struct, frozen=True, gc=False):
    """A step of a plan or a reflection began. What follows belongs to it: a prompt, and turns counted from 1."""

    kind: StepKind
    number: int
    """Which step of the plan, from 1; which round of the reflection, from 1; which version of the plan, from 1. 0 for
    what comes once: the synthesis, the draft."""
    title: str = ""
    """What a step of a plan has to do."""


class StepFinished(Struct, frozen=True):
    """A step ended. One that has no such event was cut short by the end of the run."""

    kind: StepKind
    number: int
    status: StepStatus = "done"
    """`passed`: a critique that found nothing to do."""
    output: Any = None
    """What came of it; of `plan` the steps, a tuple of texts."""
    reason: str = ""
    """Why it failed, or what had to be done to read it."""


class PlanEdited(Struct, frozen=True):
    """A person has changed a plan before it was done."""

    steps: tuple[str, ...]


class Nested(Struct, frozen=True):
    """Something happened in the run of another agent, which a tool call of this run has started."""

    turn: int
    index: int
    """Which call of the turn's reply, from 0."""
    event: StreamEvent


class RunFinished(Struct, frozen=True):
    """A run ended, or paused (`interrupted`)."""

    status: Status
    final_output: Any = None
    """The answer of a completed run, else None."""
    stop_reason: str = ""
    """More about the status, in a few words; for a failed run its error."""


Event = (
    RunStarted
    | Guarded
    | PromptAssembled
    | RequestEdited
    | ModelRequested
    | ModelFailed
    | ModelReplied
    | Noted
    | ApprovalRequested
    | ApprovalDecided
    | ApprovalRevoked
    | ToolStarted
    | ToolReturned
    | Nested
    | StepStarted
    | StepFinished
    | PlanEdited
    | RunFinished
)
"""What a journal holds."""

StreamEvent = Event | TextDelta | ReasoningDelta | ArgumentsDelta | Waiting
"""What `Agent.stream` yields: the journal's events, and the text while it comes."""


def innermost(event: StreamEvent) -> StreamEvent:
    """What happened, in however many runs inside each other."""
    while isinstance(event, Nested):
        event = event.event
    return event


def is_fleeting(event: StreamEvent) -> bool:
    """Whether it is shown and in no journal: a piece of a reply while it comes, the wait for another attempt."""
    return isinstance(innermost(event), TextDelta | ReasoningDelta | ArgumentsDelta | Waiting)
