"""Hooks: those of one run: asked before a model or a tool is called, told of what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace
from pydantic_core import to_json

from nbagent.agents.checks import brief
from nbagent.agents.hook import Hook, Telling, Veto
from nbagent.agents.stages import messages_of
from nbagent.errors import FOREIGN, ConfigError, GuardrailTripped, Vetoed
from nbagent.events import (
    Event,
    Guarded,
    ModelReplied,
    RunFinished,
    RunStarted,
    ToolReturned,
    ToolStarted,
)
from nbagent.messages import ToolCall, ToolFailure
from nbagent.redact import redact
from nbagent.request import Messages
from nbagent.runtime.hooks import Edit
from nbagent.texts.pack import DEFAULT, Texts
from nbagent.texts.phrase import Phrase
from nbagent.tools.arguments import InvalidArguments, parse
from nbagent.tools.failure import headline
from nbagent.tools.response import ToolResponse

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Generator, Hashable, Iterator, Sequence

    from nbagent.messages import Observation
    from nbagent.request import ModelRequest
    from nbagent.runtime.consult import Consult
    from nbagent.runtime.run import Run
    from nbagent.texts.pack import Filling


class RunHooks:
    """The hooks of an agent, in one run of it.

    `requests`: where the requests of the run are kept; what a hook has changed is kept in their place.
    """

    def __init__(
        self, hooks: tuple[Hook, ...], scope: Hashable, requests: deque[ModelRequest] | None = None,
        texts: Texts = DEFAULT,
    ) -> None:  # fmt: skip
        self._hooks = hooks
        self._scope = scope
        self._requests = requests
        self._texts = texts
        self._started: dict[tuple[int, int], ToolCall] = {}
        """The calls of the newest reply that have been started."""

    def before_model(self, request: ModelRequest) -> Generator[Consult, None, Edit | None]:
        """What is sent in place of the request; None where it stays. Raises Vetoed, and ConfigError for nonsense."""
        messages, editors = request.messages, list[str]()
        for hook in self._hooks:
            if not hook.has("before_model"):
                continue
            answer = yield from hook.ask("before_model", list(messages))
            if answer is None:
                continue
            if isinstance(answer, Veto):
                raise Vetoed(str(_reason(answer)), hook=hook.name)
            edited = _messages(hook, answer)
            if edited != messages:
                messages = edited
                editors.append(hook.name)
        if not editors:
            return None
        self._keep(request, replace(request, messages=messages))
        return Edit(", ".join(editors), messages)

    def _keep(self, before: ModelRequest, after: ModelRequest) -> None:
        """What is kept is what is sent."""
        kept = self._requests or ()
        place = next((place for place, one in enumerate(kept) if one is before), None)
        if self._requests is not None and place is not None:
            self._requests[place] = after

    def before_tool(self, call: ToolCall) -> Generator[Consult, None, ToolCall | ToolFailure]:
        """The call that runs; or why none does. Raises ConfigError for nonsense."""
        for hook in self._hooks:
            if not hook.has("before_tool"):
                continue
            answer = yield from hook.ask("before_tool", call.name, parse(call.arguments))
            if answer is None:
                continue
            if isinstance(answer, Veto):
                return ToolFailure("denied", self._texts.said(_reason(answer)))
            if not isinstance(answer, dict):
                raise _nonsense(hook, "before_tool", "None, a dict of arguments, or Veto(reason)", answer)
            call = _edited(hook, call, answer)  # pyright: ignore[reportUnknownArgumentType]
        return call

    def told(self, event: Event, run: Run, error: BaseException | None) -> Iterator[Consult]:
        """Whom to tell of an event. `error`: what the run has ended with."""
        self.skipped(event)
        about = self._about(event, run, error)
        for hook in self._hooks:
            yield from hook.told(event, about)

    def skipped(self, event: Event) -> None:
        """Keeps what an event of a recorded run says about later ones."""
        match event:
            case ModelReplied():
                self._started.clear()
            case ToolStarted(turn, index, call):
                self._started[turn, index] = call
            case _:
                pass

    def _about(self, event: Event, run: Run, error: BaseException | None) -> Telling | None:
        match event:
            case RunStarted():
                return Telling("on_run_start", (_said(event),), {"scope": self._scope})
            case ModelReplied(_, reply):
                return Telling("after_model", (reply,))
            case ToolReturned(turn, index, observation) if (turn, index) in self._started:
                call = self._started[turn, index]
                return Telling("after_tool", (call.name, parse(call.arguments), _response(observation)))
            case Guarded(stage, _, False, message):
                return Telling("on_guardrail_trip", (stage, message))
            case RunFinished():
                return self._about_end(event, run, error)
            case _:
                return None

    def _about_end(self, event: RunFinished, run: Run, error: BaseException | None) -> Telling | None:
        if event.status == "interrupted":
            interrupt = run.result.interrupt
            pendings = [] if interrupt is None else list(interrupt.pendings)
            return Telling("on_interrupt", (pendings,), {"scope": self._scope})
        if event.status == "failed" and error is not None and not isinstance(error, GuardrailTripped):
            return Telling("on_error", (error,))
        if event.status in ("failed", "cancelled"):
            return None
        return Telling("on_run_end", (event.final_output,), {"scope": self._scope})


def _said(started: RunStarted) -> str:
    """What the user asked for: the task, or the input fields, a line each."""
    if started.task:
        return "".join([segment.text for segment in started.task])
    return "\n".join([f"{field.name}: {field.text}" for field in started.fields])


def _response(observation: Observation) -> ToolResponse:
    return ToolResponse(observation.content, observation.status, observation.data)


def _messages(hook: Hook, answer: Any) -> Messages:
    expected = "None, a list of messages that is not empty, or Veto(reason)"
    if not isinstance(answer, list | tuple | Messages) or not answer:
        raise _nonsense(hook, "before_model", expected, cast("object", answer))
    try:
        return messages_of(cast("Sequence[Any]", answer))
    except ConfigError as error:
        raise ConfigError(f"before_model of the hook {hook.name!r}: {error}") from error


def _edited(hook: Hook, call: ToolCall, arguments: dict[Any, Any]) -> ToolCall:
    """The call with these arguments; the same call where they are the same."""
    try:
        text = to_json(arguments).decode()
        if text == to_json(parse(call.arguments)).decode():
            return call
        parse(text)
    except (*FOREIGN, InvalidArguments) as error:
        raise ConfigError(
            f"before_tool of the hook {hook.name!r}: expected arguments that JSON has words for; {headline(error)}"
        ) from error
    return ToolCall(call.id, call.name, text)


def _reason(veto: Veto) -> Filling:
    said = veto.reason if isinstance(veto.reason, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]  # not checked
    return redact(said.strip()) or Phrase("tool.vetoed")


def _nonsense(hook: Hook, method: str, expected: str, answer: object) -> ConfigError:
    return ConfigError(f"{method} of the hook {hook.name!r}: expected {expected}; got {brief(answer)}")
