"""Loop: think and act in turns until the model answers. A generator of effects: it asks, the runtime does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from nbagent.errors import ConfigError, ModelError
from nbagent.messages import COMPLETE, Message, ModelReply, Prompt, ToolCall
from nbagent.redact import redact
from nbagent.request import Messages, ModelRequest
from nbagent.runtime.effects import Assemble, CallModel, CallTools, Effect, Note, Outcome
from nbagent.texts.pack import DEFAULT, Texts
from nbagent.texts.phrase import Phrase, phrase_of

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Generator, Mapping

    from nbagent.events import Status
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
    """Reads an answer; raises a ValueError that is for the model. None where an answer is its text."""
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
        return Outcome("failed", None, str(error), why=phrase_of(error))


def take_turns(setup: Setup, prompt: Prompt, messages: Messages) -> Generator[Effect, Any, Outcome]:
    """The turns of a conversation that begins with these messages of the prompt."""
    calls, repeated = _CallIds(), _Repeated(setup.texts)
    mended, unread, unread_turn = 0, 0, 0
    for turn in range(1, setup.max_turns + 1):
        reply: ModelReply = yield CallModel(setup.model, setup.request(messages, prompt), turn)
        if reply.finish_reason not in COMPLETE:
            if reply.finish_reason == "length" and setup.max_tokens is not None:
                return _ended("limit_reached", _too_long(reply, turn, setup.max_tokens))
            raise incomplete(reply, turn)
        if reply.tool_calls:
            renamed, clash = calls.unique(reply.tool_calls)
            if clash:
                mended = _no_more(mended + 1, 1, clash, turn)
            observations = yield CallTools(setup.tools, renamed, turn, clash and setup.texts.said(clash))
            answered = Message("assistant", reply.content, renamed, reasoning=reply.reasoning)
            messages += (answered, *[observation.message for observation in observations])
            if advice := repeated.advice(renamed, observations):
                yield Note(turn, advice)
                messages += (Message("user", advice),)
        elif reply.content.strip():
            if setup.read is None:
                return Outcome("completed", reply.content, said=reply.content)
            answer = yield from _read(setup, setup.read, reply, turn)
            if isinstance(answer, Outcome):
                return answer
            unread = _no_more(unread + 1, setup.retries, Phrase("loop.is_unreadable", answer=answer), turn)
            messages += (reply.message, Message("user", _told(setup.texts, answer)))
            unread_turn = turn
        else:
            mended = _no_more(mended + 1, 1, Phrase("loop.is_empty"), turn)
            empty = setup.texts["loop.empty_reply"]
            yield Note(turn, empty)
            messages += (Message("user", empty),)
    return _ended("out_of_turns", _no_answer(setup, unread_turn))


def _ended(status: Status, why: Phrase) -> Outcome:
    return Outcome(status, None, str(why), why=why)


def _no_answer(setup: Setup, unread: int) -> Phrase:
    """`unread`: the last turn whose answer could not be read; 0 for none."""
    most = str(setup.max_turns)
    reason = Phrase("loop.out_of_replies", replies=most) if setup.is_aside else Phrase("loop.out_of_turns", turns=most)
    return Phrase("loop.unread", reason=reason, turn=str(unread)) if unread else reason


def _told(texts: Texts, words: Phrase | str) -> str:
    """What the model is told, which may hold what it has said itself."""
    return words if isinstance(words, str) else redact(texts.said(words))


def _read(
    setup: Setup, read: Callable[[str], Reading], reply: ModelReply, turn: int
) -> Generator[Effect, Any, Outcome | Phrase | str]:
    """The end of the run with what the answer says; or why it cannot be read, which the model is told but at last."""
    try:
        reading = read(reply.content)
    except ConfigError:
        raise
    except ValueError as error:
        words, last = phrase_of(error), turn == setup.max_turns
        yield Note(turn, str(error) if last else _told(setup.texts, words), told=not last)
        return words
    if reading.repairs:
        yield Note(turn, "; ".join(reading.repairs), told=False)
    return Outcome("completed", reading.value, said=reply.content)


class _CallIds:
    """Keeps call ids unique over a run, so that the conversation stays one that every provider accepts."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def unique(self, calls: tuple[ToolCall, ...]) -> tuple[tuple[ToolCall, ...], Phrase | Literal[""]]:
        """The calls with ids of their own, and what to tell the model where two of this reply shared one.

        A provider that counts its ids anew in every turn is no error; the same id twice in one reply is ambiguous.
        """
        ids = [call.id for call in calls]
        if len(ids) == 1 and ids[0] not in self._seen and ids[0]:
            self._seen.add(ids[0])
            return calls, ""
        shared = next((one for one in ids if ids.count(one) > 1), None)
        clash = "" if shared is None else Phrase("loop.same_id", id=repr(shared))
        return tuple(self._own(call) for call in calls), clash

    def _own(self, call: ToolCall) -> ToolCall:
        base, n, name = call.id or "call", 1, call.id
        while not name or name in self._seen:
            n += 1
            name = f"{base}-{n}"
        self._seen.add(name)
        return call if name == call.id else ToolCall(name, call.name, call.arguments)


_KINDS = {
    "length": "incomplete",
    "content_filter": "filtered",
    "refusal": "refused",
    "context_overflow": "context_overflow",
}
"""The kind of error that a finish reason is; each has a text of its own."""


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


def _too_long(reply: ModelReply, turn: int, max_tokens: int) -> Phrase:
    return Phrase("loop.max_tokens", turn=str(turn), max_tokens=f"{max_tokens:,}", unrun=_unrun(reply))


def _unrun(reply: ModelReply) -> Phrase | str:
    return Phrase("loop.unrun", calls=str(len(reply.tool_calls))) if reply.tool_calls else ""


def incomplete(reply: ModelReply, turn: int) -> ModelError:
    reason, unrun = reply.finish_reason, _unrun(reply)
    kind = _KINDS.get(reason)
    if kind is None:
        phrase = Phrase("loop.incomplete", turn=str(turn), finish=repr(reason), unrun=unrun)
        return ModelError(phrase, kind="incomplete")
    return ModelError(Phrase(f"loop.{reason}", turn=str(turn), unrun=unrun), kind=kind)


def _no_more(times: int, often: int, what: Phrase | str, turn: int) -> int:
    """A model is told only so often in a run that its reply is unusable; then that ends the run."""
    if times > often:
        if often > 1:
            phrase = Phrase("loop.unusable_often", turn=str(turn), times=str(times), what=what)
        else:
            phrase = Phrase("loop.unusable_twice" if often else "loop.unusable", turn=str(turn), what=what)
        raise ModelError(phrase, kind="bad_response")
    return times
