"""Effects: what a loop asks of the runtime. A loop does no I/O; it yields one of these and is sent the answer."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from nbagent.values import Struct

if TYPE_CHECKING:
    from nbagent.events import Status
    from nbagent.messages import Prompt, ToolCall, ToolSchema
    from nbagent.models.model import Model
    from nbagent.request import ModelRequest
    from nbagent.tools.registry import ToolRegistry


class Assemble(Struct):
    """Build the prompt. Answer: `Prompt`."""

    observe: Callable[[], Prompt]
    tools: tuple[ToolSchema, ...]
    """The tools as they are now: a replayed prompt must have described the same."""


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


class Outcome(Struct):
    """How a loop ended."""

    status: Status
    final_output: Any = None
    stop_reason: str = ""


Effect = Assemble | CallModel | CallTools | Note
Loop = Generator[Effect, Any, Outcome]
