"""Effects: what a loop asks of the runtime. A loop does no I/O; it yields one of these and is sent the answer."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from nbagent.values import Struct

if TYPE_CHECKING:
    from nbagent.events import Stage, Status, StepFinished, StepStarted
    from nbagent.messages import Prompt, ToolCall, ToolSchema
    from nbagent.models.model import Model
    from nbagent.request import ModelRequest
    from nbagent.runtime.guarding import Guard
    from nbagent.texts.phrase import Phrase
    from nbagent.tools.registry import ToolRegistry


class Assemble(Struct):
    """Build the prompt. Answer: `Prompt`."""

    observe: Callable[[], Prompt]
    tools: tuple[ToolSchema, ...]
    """The tools as they are now: a replayed prompt must have described the same."""


class Check(Struct):
    """Ask the guardrails, one after another, about a text. Answer: a `Piece` that goes on in its place, or None."""

    stage: Stage
    guardrails: tuple[Guard, ...]
    text: str
    model: Model
    """The agent's: a guardrail may use its script, too."""


class CallModel(Struct):
    """Send a request. Answer: `ModelReply`."""

    model: Model
    request: ModelRequest
    turn: int


class CallTools(Struct):
    """Run the tool calls of one reply. Answer: a tuple with an `Observation` for each, in their order."""

    tools: ToolRegistry
    calls: tuple[ToolCall, ...]
    turn: int
    refusal: str = ""
    """Where not empty: no call runs, each is answered with this."""


class Note(Struct):
    """Put down what the agent itself tells the model, or remarks about its reply. Answer: None."""

    turn: int
    text: str
    told: bool = True
    """Whether the model hears of it."""


class Mark(Struct):
    """Put down that a step begins or ends. Answer: None."""

    event: StepStarted | StepFinished


class Decide(Struct):
    """Let a person change the plan. Answer: the steps that there are now, None where nobody has changed them."""

    steps: tuple[str, ...] | None
    """What somebody has decided; None where nobody has, or where it is recorded."""


class Outcome(Struct):
    """How a loop ended."""

    status: Status
    final_output: Any = None
    stop_reason: str = ""
    said: str = ""
    """The reply that the output was read from."""
    why: Phrase | str = ""
    """What a model is told of the reason; empty where it is told of none."""


Effect = Assemble | Check | CallModel | CallTools | Note | Mark | Decide
Loop = Generator[Effect, Any, Outcome]
