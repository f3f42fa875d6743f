"""Agent: a model with a prompt and tools, and the conversation it has had."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Hashable, Iterable, Mapping, MutableMapping
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

from nbagent.agents.checks import attributes_of, count_of, kept, model_of, name_of, registry_of
from nbagent.agents.conversation import Conversation
from nbagent.agents.loop import Setup, converse
from nbagent.agents.prompting import Prompting
from nbagent.agents.recorded import inputs_of as recorded_inputs
from nbagent.agents.recorded import script_at, started_of
from nbagent.agents.stages import Thought, act, calls_of, messages_of, settings_of, think
from nbagent.agents.surroundings import Surroundings
from nbagent.errors import ModelError
from nbagent.events import Event, RunStarted, StreamEvent
from nbagent.messages import Message, Segment
from nbagent.models.model import go_to, position
from nbagent.prompt.inputs import Inputs, Text
from nbagent.prompt.template import shown as shown_template
from nbagent.request import Messages, ModelRequest
from nbagent.runtime.drivers import adrive, drive
from nbagent.runtime.interrupts import interrupts
from nbagent.runtime.run import Run
from nbagent.tools.pictures import picture
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.tool import Tool
from nbagent.views.bundle import agent_bundle

if TYPE_CHECKING:
    from nbagent.messages import Image, Prompt
    from nbagent.models.invoked import Invokable
    from nbagent.models.model import Model
    from nbagent.prompt.blueprint import Keys, TemplateText
    from nbagent.prompt.context.provider import ContextProvider
    from nbagent.prompt.context.selection import ContextPolicy
    from nbagent.prompt.examples import Examples, Place
    from nbagent.prompt.observe import Draft
    from nbagent.runtime.batch import Unknown
    from nbagent.runtime.effects import Loop
    from nbagent.runtime.limits import Limits
    from nbagent.runtime.patience import Retry
    from nbagent.runtime.result import RunResult

KEPT = 50
"""How many results and requests an agent keeps."""
Images = Iterable[Any]
"""What a model is shown: `Image` values, figures, PIL images, bytes of a PNG or JPEG file, or paths of such files."""
Tools = Iterable[Tool | Callable[..., Any]] | ToolRegistry
Given = Text | Mapping[str, Any] | Inputs
"""What a run is given: a task in words, or input fields by name."""


class Agent:
    """A model that works on a task in turns: it answers, or calls tools and sees what they return.

    The same agent can be run again: it remembers tasks and answers (`history`). `run` and `stream` work in a script,
    in a notebook cell and inside `async def` (they block there); `arun` and `astream` are for `await`.

    Source: the interface follows agentmaker's `Agent`.
    """

    def __init__(
        self,
        name: str,
        model: Model | Invokable | object,
        system_prompt: Text | None = None,
        *,
        instructions: TemplateText | None = None,
        prompt_template: TemplateText | None = None,
        examples: Examples | None = None,
        examples_in: Place = "messages",
        output: Mapping[str, Any] | None = None,
        formatters: Any = None,
        hide_unused_fields: bool = False,
        attributes: MutableMapping[str, Any] | None = None,
        pull_keys: Keys | None = None,
        push_keys: Keys | None = None,
        memories: Iterable[ContextProvider | Any] | None = None,
        retrievers: Iterable[ContextProvider | Any] | None = None,
        context_policy: ContextPolicy | None = None,
        tools: Tools | None = None,
        tool_registry: ToolRegistry | None = None,
        max_turns: int = 10,
        max_tokens: int | None = None,
        limits: Limits | None = None,
        retry: Retry | None = None,
    ) -> None:
        """An agent; nothing is sent.

        name: how it is shown. model: what replies, or an object with `invoke(messages, tools, settings)`.

        The prompt. system_prompt: the system message as it is; or instructions: a template of it, as a text or a list
        of lines; none is sent without. prompt_template: a template of the user's message. In both, `{topic}` is an
        input field or an attribute, `{{topic}}` gives `{topic}`, and JSON stays as it is. hide_unused_fields: whether
        fields that no template takes are left out. examples: pairs (question, answer), sent as messages, or in the
        system prompt with examples_in="prompt".

        The answer. output: fields it must have, a description or a type each; it is then a dict. formatters: how the
        user's message is written and how the answer is read, two names or objects; by default paragraph and, with a
        prompt_template or output fields, json. "text" reads nothing.

        The surroundings. attributes: values for templates that stay from run to run; pull_keys: which of them prompts
        use, with what they mean, default all; push_keys: output fields that are written back to them. memories,
        retrievers: context providers, asked for each prompt (passive) or by the model (active); context_policy: how
        many of their blocks go in.

        The run. tools: functions, `@tool` functions or a registry; tool_registry: a registry, in place of `tools`.
        max_turns: how many model calls one run may take, at least 1. max_tokens: how long one reply may be, default
        what the model allows. limits: what a run may use in all, default no limit. retry: how often a model call is
        tried, default four times.

        Raises `ConfigError` (a ValueError) naming what is wrong.
        """
        self.name = name_of("name", name)
        self.model = model_of(model)
        options = {
            "system_prompt": system_prompt, "instructions": instructions, "prompt_template": prompt_template,
            "examples": kept(examples), "examples_in": examples_in, "output": output, "formatters": formatters,
            "hide_unused_fields": hide_unused_fields, "pull_keys": pull_keys, "push_keys": push_keys,
        }  # fmt: skip
        context = Surroundings(memories, retrievers, context_policy)
        own_tools = registry_of(tools, tool_registry)
        self.prompting = Prompting(self.name, options, attributes_of(attributes), context, own_tools)
        """How its prompts come about."""
        self.max_turns = count_of("max_turns", max_turns)
        self.max_tokens = None if max_tokens is None else count_of("max_tokens", max_tokens)
        self.limits = limits
        self.retry = retry
        self.last: RunResult | None = None
        """The result of the newest run, also of one that failed or was cancelled."""
        self.results: dict[int, RunResult] = {}
        """The results of the newest runs by their number, from 1; at most `KEPT` of them."""
        self.requests: deque[ModelRequest] = deque(maxlen=KEPT)
        """The newest requests to the model, of runs and of `think`, not of replays; at most `KEPT` of them."""
        self._own_conversation = Conversation()
        self._runs = 0

    @property
    def _conversation(self) -> Conversation:
        memory = self.prompting.context.memory
        return self._own_conversation if memory is None else memory.conversation

    @property
    def tools(self) -> ToolRegistry:
        """All tools that a model is told of: its own, and those that ask active context providers."""
        observed = self.prompting.observed
        return self.prompting.tools(None if observed is None else lambda: observed, self.history)

    @property
    def own_tools(self) -> ToolRegistry:
        """Its tools, without those of context providers."""
        return self.prompting.own_tools

    @property
    def attributes(self) -> MutableMapping[str, Any]:
        """Values for templates that stay from run to run; output fields that are pushed are written here."""
        return self.prompting.attributes

    @property
    def history(self) -> tuple[Message, ...]:
        """What was said so far: task and answer of every completed run."""
        return self._conversation.messages

    def become(self, other: Agent) -> None:
        """Takes over what the other agent is; name, conversation and results stay."""
        for name in _DESCRIBED:
            setattr(self, name, getattr(other, name))

    def share_conversation(self, other: Agent) -> None:
        """Goes on with the conversation of the other agent, as that one does."""
        self._own_conversation = other._own_conversation

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

    def observe(self, inputs: Given, *, images: Images = (), key: Hashable = None) -> Prompt:
        """The prompt that a run with these inputs (and key) would begin with. Nothing is sent.

        inputs: a task in words, or a dict of input fields. Passive context providers are asked.

        It unpacks to `(system_prompt, user_prompt, messages)`; its `spans` say where each character comes from.
        """
        prompting = self.prompting
        drafted = prompting.draft(prompting.inputs(inputs))
        shown = tuple(picture(image) for image in images)
        history = prompting.context.newest(self._conversation.before(key))
        prompting.observed = drafted
        return prompting.prompt(drafted, history, prompting.tools(lambda: drafted, history), shown)

    def check(self, inputs: Given) -> None:
        """Raises ConfigError where a run with these inputs could not begin: a template has a place without a field."""
        self.prompting.draft(self.prompting.inputs(inputs))

    def request(self, prompt: Prompt) -> ModelRequest:
        """The first request of a run with this prompt."""
        return ModelRequest(Messages(prompt.messages), prompt.tools, self.max_tokens)

    def run(self, inputs: Given, *, images: Images = (), key: Hashable = None) -> RunResult:
        """Runs the agent on a task until it answers.

        inputs: a task in words, or a dict of input fields. images: what is shown with it, such as figures or paths of
        PNG files. key: names this exchange of the conversation; a run with the key of an earlier one replaces that
        one, in its place.

        Raises what the model raises (`ModelError`, `ScriptExhausted`) and KeyboardInterrupt where the user stops it;
        `last` then holds the run so far. Running out of turns is a status, not an error.
        """
        with self._running(inputs, images, key) as run:
            for _ in drive(run):
                pass
        return run.result

    async def arun(self, inputs: Given, *, images: Images = (), key: Hashable = None) -> RunResult:
        """`run` for `await`."""
        with self._running(inputs, images, key, awaited=True) as run:
            async with aclosing(adrive(run)) as events:
                async for _ in events:
                    pass
        return run.result

    def stream(self, inputs: Given, *, images: Images = (), key: Hashable = None) -> Generator[StreamEvent]:
        """`run`, yielding what happens: events, and `TextDelta` while a reply comes. The result is then `last`.

        Tools that run side by side return here in the order in which they end, in the result in that of their calls.

        Closing the generator early cancels the run; the conversation stays as it was.
        """
        with self._running(inputs, images, key) as run:
            yield from drive(run)

    async def astream(self, inputs: Given, *, images: Images = (), key: Hashable = None) -> AsyncGenerator[StreamEvent]:
        """`stream` for `async for`."""
        with self._running(inputs, images, key, awaited=True) as run:
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

    def think(self, messages: Iterable[Any], settings: Mapping[str, Any] | None = None) -> Thought:
        """One model call: `{"type": "content", "content": text}`, or `{"type": "tool_call", "content": [calls]}`.

        messages: messages, or dicts in OpenAI's form. settings: more parameters of this request. The `message` of what
        comes back is what the model said, to be put before the results of its tool calls. Raises ModelError.
        """
        said, checked = messages_of(messages), settings_of(settings)
        request = ModelRequest(said, self.tools.schemas, self.max_tokens, settings=checked)
        self.requests.append(request)
        return Thought(self._performed(think(self.model, request)))

    def act(self, tool_calls: Iterable[Any]) -> list[Message]:
        """Runs the tool calls that `think` gave, and returns a tool message for each, in their order."""
        observations = self._performed(act(self.tools, calls_of(tool_calls)))
        return [observation.message for observation in observations]

    def step(self, inputs: Given) -> RunResult:
        """`observe`, `think` and `act` until there is an answer: the same as `run`. Output fields are its items."""
        return self.run(inputs)

    def _performed(self, loop: Loop) -> Any:
        """What a small loop gives, which is no run of the agent."""
        run = Run(self._started(Inputs(), (), ()), loop, limits=self.limits, retry=self.retry)
        for _ in drive(run):
            pass
        if run.result.status != "completed":
            raise ModelError(f"no reply: {run.result.status.replace('_', ' ')}, {run.result.stop_reason}")
        return run.result.final_output

    @contextmanager
    def _running(self, inputs: Given, images: Images, key: Hashable, *, awaited: bool = False) -> Generator[Run]:
        """A run of this task; when the body is left, however that is, the conversation and `last` know of it."""
        prompting = self.prompting
        asked = prompting.inputs(inputs)
        prompting.observed = drafted = prompting.draft(asked)
        shown = tuple(picture(image) for image in images)
        with interrupts(awaited=awaited):  # a memory may fail, and then no run has begun
            history = prompting.context.newest(self._conversation.before(key))
        exchange = self._conversation.open(key, self.model)
        self._runs += 1
        number = self._runs
        started = self._started(asked, history, shown)
        run = Run(started, self._loop(started, lambda: drafted, self.requests), limits=self.limits, retry=self.retry)
        try:
            yield run
        finally:
            self.last = result = run.result
            self._keep(result, number)
            exchange.close(result.new_messages, rewind=result.status == "cancelled")
            with interrupts(awaited=awaited):
                self._remember(result)

    def _remember(self, result: RunResult) -> None:
        """Writes a completed run's fields and answer to where they are kept."""
        if result.status != "completed":
            return
        for name in self.prompting.blueprint.pushed:
            self.attributes[name] = result[name]
        if self.prompting.context.providers:
            self.prompting.context.remember(result.new_messages)

    def _keep(self, result: RunResult, number: int) -> None:
        self.results[number] = result
        self.results.pop(number - KEPT, None)

    @contextmanager
    def _rerun(self, events: tuple[Event, ...], unknown: Unknown) -> Generator[Run]:
        """A run over recorded events, with the script where they leave it; afterwards it is where it was."""
        started = started_of(events)
        with script_at(self.model, events):
            loop = self._loop(started, lambda: self.prompting.draft(recorded_inputs(started)))
            yield Run(started, loop, events, unknown, limits=self.limits, retry=self.retry)

    def _loop(
        self, started: RunStarted, drafted: Callable[[], Draft], requests: deque[ModelRequest] | None = None
    ) -> Loop:
        """The loop of a run. `drafted`: makes its prompt, where none is recorded."""
        prompting = self.prompting
        tools = prompting.tools(drafted, started.history)

        def assemble() -> Prompt:
            return prompting.prompt(drafted(), started.history, tools, started.images)

        return converse(
            Setup(assemble, self.model, tools, started.max_turns, self.max_tokens, prompting.read, requests)
        )

    def _started(self, asked: Inputs, history: tuple[Message, ...], images: tuple[Image, ...]) -> RunStarted:
        run_id = f"{self.name}-{self._runs}"
        model = self.model
        task = tuple([Segment("user", "task", piece.text, piece.source) for piece in asked.task])
        return RunStarted(
            run_id, self.name, model.name, model.mode, self.max_turns, task, history, images, position(model),
            asked.fields,
        )  # fmt: skip

    def __repr__(self) -> str:
        tools = f", tools={list(self.own_tools.names)}" if len(self.own_tools) else ""
        return f"Agent({self.name!r}, model={self.model.name!r}{tools})"

    @property
    def card(self) -> dict[str, str]:
        """What the agent is, as a MIME bundle."""
        system = shown_template(self.prompting.blueprint.system)
        model, tools = self.model, self.tools.schemas
        return agent_bundle(self.name, model.name, model.mode, system, tools, len(self.history))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002
        return self.card


_DESCRIBED = ("model", "prompting", "max_turns", "max_tokens", "limits", "retry")
"""What an agent is; the rest is what it has done."""
