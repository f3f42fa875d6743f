"""Agent: a model with a system prompt and tools, and the conversation it has had."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Hashable, Iterable
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

from nbagent.agents.conversation import Conversation
from nbagent.agents.loop import Setup, converse
from nbagent.errors import ConfigError
from nbagent.events import Event, ModelReplied, RunStarted, StreamEvent, ToolReturned
from nbagent.models.model import Model, go_to, position
from nbagent.prompt.observe import Text, observe, segments
from nbagent.request import Messages, ModelRequest
from nbagent.runtime.drivers import adrive, drive
from nbagent.runtime.run import Run
from nbagent.tools.pictures import picture
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.tool import Tool
from nbagent.views.bundle import agent_bundle

if TYPE_CHECKING:
    from nbagent.messages import Image, Message, Prompt, Segment
    from nbagent.runtime.batch import Unknown
    from nbagent.runtime.effects import Loop
    from nbagent.runtime.limits import Limits
    from nbagent.runtime.patience import Retry
    from nbagent.runtime.result import RunResult

KEPT = 50
"""How many results an agent keeps."""
Images = Iterable[Any]
"""What a model is shown: `Image` values, figures, PIL images, bytes of a PNG or JPEG file, or paths of such files."""
Tools = Iterable[Tool | Callable[..., Any]] | ToolRegistry


class Agent:
    """A model that works on a task in turns: it answers, or calls tools and sees what they return.

    The same agent can be run again: it remembers tasks and answers (`history`). `run` and `stream` work in a script,
    in a notebook cell and inside `async def` (they block there); `arun` and `astream` are for `await`.

    Source: the interface follows agentmaker's `Agent`.
    """

    def __init__(
        self,
        name: str,
        model: Model,
        system_prompt: Text | None = None,
        *,
        tools: Tools | None = None,
        tool_registry: ToolRegistry | None = None,
        max_turns: int = 10,
        max_tokens: int | None = None,
        limits: Limits | None = None,
        retry: Retry | None = None,
    ) -> None:
        """An agent; nothing is sent.

        name: how it is shown. model: what replies. system_prompt: text of the system message; none is sent without.
        tools: functions, `@tool` functions or a registry; tool_registry: a registry, in place of `tools`.
        max_turns: how many model calls one run may take, at least 1. max_tokens: how long one reply may be, default
        what the model allows. limits: what a run may use in all, default no limit. retry: how often a model call is
        tried, default four times.

        Raises `ConfigError` (a ValueError) naming what is wrong.
        """
        self.name = _text("name", name)
        self.model = _model(model)
        self.system = segments("system", "system prompt", system_prompt)
        """The system text, in pieces that know their source."""
        self.tools = _registry(tools, tool_registry)
        self.max_turns = _count("max_turns", max_turns)
        self.max_tokens = None if max_tokens is None else _count("max_tokens", max_tokens)
        self.limits = limits
        self.retry = retry
        self.last: RunResult | None = None
        """The result of the newest run, also of one that failed or was cancelled."""
        self.results: dict[int, RunResult] = {}
        """The results of the newest runs by their number, from 1; at most `KEPT` of them."""
        self._conversation = Conversation()
        self._runs = 0

    @property
    def history(self) -> tuple[Message, ...]:
        """What was said so far: task and answer of every completed run."""
        return self._conversation.messages

    def become(self, other: Agent) -> None:
        """Takes over what the other agent is; name, conversation and results stay."""
        for name in ("model", "system", "tools", "max_turns", "max_tokens", "limits", "retry"):
            setattr(self, name, getattr(other, name))

    def share_conversation(self, other: Agent) -> None:
        """Goes on with the conversation of the other agent, as that one does."""
        self._conversation = other._conversation

    def clear_history(self) -> None:
        """Forgets what was said. The script of a `ScriptedLLM` stays where it is."""
        self._conversation.clear()

    def reset(self) -> None:
        """Starts over: forgets what was said, and goes back to the beginning of a script."""
        self.clear_history()
        self.restart_script()

    def restart_script(self) -> None:
        """Goes back to the beginning of a script; what was said stays."""
        self._conversation.restart()
        go_to(self.model, 0)

    def observe(self, task: Text, *, images: Images = (), key: Hashable = None) -> Prompt:
        """The prompt that a run with this task (and key) would begin with. Nothing is sent, and nothing changes.

        It unpacks to `(system_prompt, user_prompt, messages)`; its `spans` say where each character comes from.
        """
        asked = segments("user", "task", task)
        _text("task", "".join(segment.text for segment in asked))
        shown = tuple(picture(image) for image in images)
        return observe(self.system, asked, self._conversation.before(key), self.tools.schemas, shown)

    def request(self, prompt: Prompt) -> ModelRequest:
        """The first request of a run with this prompt."""
        return ModelRequest(Messages(prompt.messages), prompt.tools, self.max_tokens)

    def run(self, task: Text, *, images: Images = (), key: Hashable = None) -> RunResult:
        """Runs the agent on a task until it answers.

        task: text. images: what is shown with it, such as figures or paths of PNG files. key: names this exchange of
        the conversation; a run with the key of an earlier one replaces that one, in its place.

        Raises what the model raises (`ModelError`, `ScriptExhausted`) and KeyboardInterrupt where the user stops it;
        `last` then holds the run so far. Running out of turns is a status, not an error.
        """
        with self._running(task, images, key) as run:
            for _ in drive(run):
                pass
        return run.result

    async def arun(self, task: Text, *, images: Images = (), key: Hashable = None) -> RunResult:
        """`run` for `await`."""
        with self._running(task, images, key) as run:
            async with aclosing(adrive(run)) as events:
                async for _ in events:
                    pass
        return run.result

    def stream(self, task: Text, *, images: Images = (), key: Hashable = None) -> Generator[StreamEvent]:
        """`run`, yielding what happens: events, and `TextDelta` while a reply comes. The result is then `last`.

        Tools that run side by side return here in the order in which they end, in the result in that of their calls.

        Closing the generator early cancels the run; the conversation stays as it was.
        """
        with self._running(task, images, key) as run:
            yield from drive(run)

    async def astream(self, task: Text, *, images: Images = (), key: Hashable = None) -> AsyncGenerator[StreamEvent]:
        """`stream` for `async for`."""
        with self._running(task, images, key) as run:
            async with aclosing(adrive(run)) as events:
                async for event in events:
                    yield event

    def replay(self, events: Iterable[Event], *, unknown: Unknown = "ask") -> RunResult:
        """Drives a fresh loop over the events of an earlier run (all of them, or the first so many).

        What they answer is answered from them; only what they do not hold is done: so a whole run costs no model
        call and no tool call, and a cut one goes on where it was cut. `history`, `last` and the place in a script
        stay as they are.

        unknown: what to do about a tool call that was started and has no result. `ask` (default) ends the run as
        interrupted, unless the tool is idempotent; `run_again` runs it.

        Raises `DriftError` where the tools, or what is asked of the model, are not those that were recorded. The
        recorded prompt is used as it is: a changed system prompt counts for new runs only.
        """
        with self._rerun(tuple(events), unknown) as run:
            for _ in drive(run):
                pass
        return run.result

    async def areplay(self, events: Iterable[Event], *, unknown: Unknown = "ask") -> RunResult:
        """`replay` for `await`."""
        with self._rerun(tuple(events), unknown) as run:
            async with aclosing(adrive(run)) as driven:
                async for _ in driven:
                    pass
        return run.result

    @contextmanager
    def _running(self, task: Text, images: Images, key: Hashable) -> Generator[Run]:
        """A run of this task; when the body is left, however that is, the conversation and `last` know of it."""
        asked = segments("user", "task", task)
        _text("task", "".join(segment.text for segment in asked))
        shown = tuple(picture(image) for image in images)
        exchange = self._conversation.open(key, self.model)
        self._runs += 1
        number = self._runs
        started = self._started(asked, exchange.history, shown)
        run = Run(started, self._loop(started), limits=self.limits, retry=self.retry)
        try:
            yield run
        finally:
            self.last = result = run.result
            self._keep(result, number)
            exchange.close(result.new_messages, rewind=result.status == "cancelled")

    def _keep(self, result: RunResult, number: int) -> None:
        self.results[number] = result
        self.results.pop(number - KEPT, None)

    @contextmanager
    def _rerun(self, events: tuple[Event, ...], unknown: Unknown) -> Generator[Run]:
        """A run over recorded events, with the script where they leave it; afterwards it is where it was."""
        started = events[0] if events else None
        if not isinstance(started, RunStarted):
            raise ConfigError(f"replay: expected the events of a run, from its RunStarted on; got {started!r}")
        here = position(self.model)
        go_to(self.model, _script_place(events))
        try:
            yield Run(started, self._loop(started), events, unknown, limits=self.limits, retry=self.retry)
        finally:
            go_to(self.model, here)

    def _loop(self, started: RunStarted) -> Loop:
        def assemble() -> Prompt:
            return observe(self.system, started.task, started.history, self.tools.schemas, started.images)

        return converse(Setup(assemble, self.model, self.tools, started.max_turns, self.max_tokens))

    def _started(
        self, task: tuple[Segment, ...], history: tuple[Message, ...], images: tuple[Image, ...]
    ) -> RunStarted:
        run_id = f"{self.name}-{self._runs}"
        model = self.model
        return RunStarted(
            run_id, self.name, model.name, model.mode, self.max_turns, task, history, images, position(model)
        )

    def __repr__(self) -> str:
        tools = f", tools={list(self.tools.names)}" if len(self.tools) else ""
        return f"Agent({self.name!r}, model={self.model.name!r}{tools})"

    @property
    def card(self) -> dict[str, str]:
        """What the agent is, as a MIME bundle."""
        system = "".join(segment.text for segment in self.system)
        model, tools = self.model, self.tools.schemas
        return agent_bundle(self.name, model.name, model.mode, system, tools, len(self.history))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002
        return self.card


def _script_place(events: tuple[Event, ...]) -> int:
    """Where these events leave the model's script."""
    place = 0
    for event in events:
        if isinstance(event, RunStarted | ModelReplied):
            place = event.position
        elif isinstance(event, ToolReturned):
            place = max(place, event.position)  # of several that ran side by side
    return place


def _text(what: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{what}: expected a text that is not empty, got {value!r}")
    return value


def _model(model: object) -> Model:
    if isinstance(model, type) or not isinstance(model, Model):
        raise ConfigError(
            f"model: expected an object with name, mode, stream(request) and astream(request), such as "
            f"ScriptedLLM([…]); got {type(model).__name__}: {model!r}"
        )
    return model


def _registry(tools: Tools | None, tool_registry: ToolRegistry | None) -> ToolRegistry:
    if tools is not None and tool_registry is not None:
        raise ConfigError("give tools or tool_registry, not both: tools=[…] makes a registry of its own")
    chosen = tool_registry if tools is None else tools
    given: Any = chosen
    if given is not None and (isinstance(given, str) or not isinstance(given, Iterable)):
        raise ConfigError(
            f"tools: expected a list of functions, got {type(chosen).__name__}: {chosen!r}; write [{chosen!r}]"
        )
    return chosen if isinstance(chosen, ToolRegistry) else ToolRegistry(chosen or ())


def _count(what: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{what}: expected a whole number from 1, got {value!r}")
    return value
