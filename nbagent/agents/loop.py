"""Loop: think and act in turns until the model answers. A generator of effects: it asks, the runtime does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbagent.errors import ConfigError, ModelError
from nbagent.messages import COMPLETE, Message, ModelReply, Prompt, ToolCall
from nbagent.prompt.texts.pack import DEFAULT, Texts
from nbagent.request import Messages, ModelRequest
from nbagent.runtime.effects import Assemble, CallModel, CallTools, Effect, Note, Outcome

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Generator, Mapping

    from nbagent.messages import Observation
    from nbagent.models.model import Model
    from nbagent.prompt.formatters.reading import Reading
    from nbagent.tools.registry import ToolRegistry

REPEATED = 3


@dataclass(frozen=True, slots=True)
class Setup:
    """What a conversation needs to run."""

    observe: Callable[[tuple[Message, ...]], Prompt]
    """Makes the user's prompt, with this history."""
    history: tuple[Message, ...]
    model: Model
    tools: ToolRegistry
    max_turns: int
    max_tokens: int | None = None
    read: Callable[[str], Reading] | None = None
    """Reads an answer; raises a ValueError whose str is for the model. None where an answer is its text."""
    requests: deque[ModelRequest] | None = None
    """Where each request is kept."""
    texts: Texts = DEFAULT
    """What the loop itself says to the model."""
    retries: int = 1
    """How often the model is told that its answer cannot be read."""
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the answer, for models that keep to one."""
    is_aside: bool = False
    """Whether `max_turns` is our own, and not what the user has given."""

    def assembled(self) -> Prompt:
        """The user's prompt."""
        return self.observe(self.history)

    def request(self, messages: Messages, prompt: Prompt) -> ModelRequest:
        """The request with these messages."""
        request = ModelRequest(messages, prompt.tools, self.max_tokens, output_schema=self.schema)
        if self.requests is not None:
            self.requests.append(request)
        return request


def converse(setup: Setup) -> Generator[Effect, Any, Outcome]:
    """Asks the model, runs the tools it calls, asks again; ends with its first reply that calls none."""
    prompt: Prompt = yield Assemble(setup.assembled, setup.tools.schemas)
    return (yield from take_turns(setup, prompt, Messages(prompt.messages)))


def attempted(loop: Generator[Effect, Any, Outcome]) -> Generator[Effect, Any, Outcome]:
    """A conversation that may come to nothing: a reply that cannot be used is then its end, and not that of the run."""
    try:
        return (yield from loop)
    except ModelError as error:  # of the loop itself; what a provider raises goes past it
        return Outcome("failed", None, str(error))


def take_turns(setup: Setup, prompt: Prompt, messages: Messages) -> Generator[Effect, Any, Outcome]:
    """The turns of a conversation that begins with these messages of the prompt."""
    calls, repeated = _CallIds(), _Repeated(setup.texts)
    mended, unread, why = 0, 0, ""
    for turn in range(1, setup.max_turns + 1):
        reply: ModelReply = yield CallModel(setup.model, setup.request(messages, prompt), turn)
        if reply.finish_reason not in COMPLETE:
            if reply.finish_reason == "length" and setup.max_tokens is not None:
                return Outcome("limit_reached", None, _too_long(reply, turn, setup.max_tokens))
            raise incomplete(reply, turn)
        if reply.tool_calls:
            renamed, clash = calls.unique(reply.tool_calls)
            if clash:
                mended = _no_more(mended + 1, 1, clash, turn)
            observations = yield CallTools(setup.tools, renamed, turn, clash)
            answered = Message("assistant", reply.content, renamed, reasoning=reply.reasoning)
            messages += (answered, *[observation.message for observation in observations])
            if advice := repeated.advice(renamed, observations):
                yield Note(turn, advice)
                messages += (Message("user", advice),)
        elif reply.content.strip():
            if setup.read is None:
                return Outcome("completed", reply.content, said=reply.content)
            answer = yield from _read(setup.read, reply, turn, last=turn == setup.max_turns)
            if isinstance(answer, Outcome):
                return answer
            unread = _no_more(unread + 1, setup.retries, f"its answer cannot be read: {answer}", turn)
            messages += (reply.message, Message("user", answer))
            why = f", and that of turn {turn} cannot be read"
        else:
            mended, empty = _no_more(mended + 1, 1, "its reply is empty", turn), setup.texts["loop.empty_reply"]
            yield Note(turn, empty)
            messages += (Message("user", empty),)
    within = f"{setup.max_turns} replies" if setup.is_aside else f"max_turns={setup.max_turns}"
    return Outcome("out_of_turns", None, f"no answer within {within}{why}")


def _read(
    read: Callable[[str], Reading], reply: ModelReply, turn: int, *, last: bool
) -> Generator[Effect, Any, Outcome | str]:
    """The end of the run with what the answer says; or why it cannot be read, which the model is told but at last."""
    try:
        reading = read(reply.content)
    except ConfigError:
        raise
    except ValueError as error:
        yield Note(turn, str(error), told=not last)
        return str(error)
    if reading.repairs:
        yield Note(turn, "; ".join(reading.repairs), told=False)
    return Outcome("completed", reading.value, said=reply.content)


class _CallIds:
    """Keeps call ids unique over a run, so that the conversation stays one that every provider accepts."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def unique(self, calls: tuple[ToolCall, ...]) -> tuple[tuple[ToolCall, ...], str]:
        """The calls with ids of their own, and what to tell the model where two of this reply shared one.

        A provider that counts its ids anew in every turn is no error; the same id twice in one reply is ambiguous.
        """
        ids = [call.id for call in calls]
        if len(ids) == 1 and ids[0] not in self._seen and ids[0]:
            self._seen.add(ids[0])
            return calls, ""
        shared = next((one for one in ids if ids.count(one) > 1), None)
        clash = (
            ""
            if shared is None
            else (f"not run: two calls of this reply have the same id {shared!r}; send them again, with an id for each")
        )
        return tuple(self._own(call) for call in calls), clash

    def _own(self, call: ToolCall) -> ToolCall:
        base, n, name = call.id or "call", 1, call.id
        while not name or name in self._seen:
            n += 1
            name = f"{base}-{n}"
        self._seen.add(name)
        return call if name == call.id else ToolCall(name, call.name, call.arguments)


_REASONS = {
    "length": (
        "is incomplete: it is longer than the model may write (finish reason 'length'); ask for less",
        "incomplete",
    ),
    "content_filter": ("was filtered by the provider (finish reason 'content_filter'); change the task", "filtered"),
    "refusal": ("is a refusal (finish reason 'refusal'); change the task", "refused"),
    "context_overflow": (
        "did not fit into the model's context window; clear the history, or give it less text",
        "context_overflow",
    ),
}


class _Repeated:
    """Calls that were made before with the same arguments and the same result: a loop that leads nowhere."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._seen: dict[tuple[str, str, str], int] = {}

    def advice(self, calls: tuple[ToolCall, ...], observations: tuple[Observation, ...]) -> str:
        """What to tell the model when a call comes back the same for the third time, else nothing."""
        said = ""
        for call, observation in zip(calls, observations, strict=True):
            key = (call.name, call.arguments, observation.text)
            self._seen[key] = times = self._seen.get(key, 0) + 1
            if times == REPEATED:
                said = self._texts.text("loop.repeated", tool=call.name, times=str(times))
        return said


def _too_long(reply: ModelReply, turn: int, max_tokens: int) -> str:
    return f"the reply of turn {turn} reached max_tokens={max_tokens:,}{_unrun(reply)}"


def _unrun(reply: ModelReply) -> str:
    return f"; none of its {len(reply.tool_calls)} tool calls was run" if reply.tool_calls else ""


def incomplete(reply: ModelReply, turn: int) -> ModelError:
    why, kind = _REASONS.get(
        reply.finish_reason, (f"is incomplete (finish reason {reply.finish_reason!r})", "incomplete")
    )
    return ModelError(f"the reply of turn {turn} {why}{_unrun(reply)}", kind=kind)


def _no_more(times: int, often: int, what: str, turn: int) -> int:
    """A model is told only so often in a run that its reply is unusable; then that ends the run."""
    if times > often:
        again = "" if not often else ", for the second time" if often == 1 else f", {often + 1} times"
        raise ModelError(f"the model gave no usable reply in turn {turn}{again}: {what}", kind="bad_response")
    return times
