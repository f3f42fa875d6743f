"""Runner: what an agent is made of, and how its runs begin and end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Hashable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from nbagent.agents.checks import attributes_of, count_of, kept, model_of, name_of, offering, registry_of
from nbagent.agents.choosing import chosen
from nbagent.agents.compaction import compact_of, shortened, summary_of, told
from nbagent.agents.conversation import Conversation
from nbagent.agents.guarding import Guardrails
from nbagent.agents.guardrail import guardrails_of
from nbagent.agents.hook import hooks_of
from nbagent.agents.hooks import RunHooks
from nbagent.agents.loop import Setup
from nbagent.agents.prompting import Prompting
from nbagent.agents.recorded import inputs_of as recorded_inputs
from nbagent.agents.recorded import scripts_at, started_of
from nbagent.agents.runs import Runs
from nbagent.agents.surroundings import Surroundings
from nbagent.agents.task import Images, Task
from nbagent.errors import ConfigError
from nbagent.events import Event, RunFinished, RunStarted
from nbagent.messages import Message, Segment
from nbagent.models.model import position
from nbagent.prompt.inputs import Inputs, Text
from nbagent.prompt.texts.pack import texts_of
from nbagent.runtime.interrupts import interrupts
from nbagent.runtime.run import Run
from nbagent.tools.pictures import picture

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Sequence

    from nbagent.agents.options import Options
    from nbagent.agents.sessions import SessionStore
    from nbagent.agents.tool_retriever import ToolRetriever
    from nbagent.messages import Prompt
    from nbagent.models.model import Model
    from nbagent.prompt.observe import Draft
    from nbagent.request import ModelRequest
    from nbagent.runtime.effects import Loop
    from nbagent.runtime.limits import Limits
    from nbagent.runtime.nested import Nest, Unknown
    from nbagent.runtime.patience import Retry
    from nbagent.runtime.result import RunResult
    from nbagent.tools.permissions import ToolPermissions
    from nbagent.tools.registry import ToolRegistry

Given = Text | Mapping[str, Any] | Inputs
"""What a run is given: a task in words, or input fields by name."""


class Runner(ABC):
    """An agent without a strategy: a subclass says in `_loop` how it works on a task."""

    strategy: ClassVar[str]
    """`chat`, `plan` or `reflection`."""

    def __init__(self, name: str, model: object, system_prompt: Text | None, max_turns: int, options: Options) -> None:
        self.name = name_of("name", name)
        self.model = model_of(model)
        given: dict[str, Any] = {"system_prompt": system_prompt, **options}
        context = Surroundings(*[given.pop(key, None) for key in ("memories", "retrievers", "context_policy")])
        own_tools = registry_of(given.pop("tools", None), given.pop("tool_registry", None))
        attributes = attributes_of(given.pop("attributes", None))
        self.max_turns = count_of("max_turns", max_turns)
        tokens = given.pop("max_tokens", None)
        self.max_tokens = None if tokens is None else count_of("max_tokens", tokens)
        self.limits: Limits | None = given.pop("limits", None)
        self.retry: Retry | None = given.pop("retry", None)
        self.texts = texts_of(given.pop("texts", None))
        self.scope: Hashable = given.pop("scope", None)
        """Which conversation a run goes on with where it names none."""
        checks = [guardrails_of(key, given.pop(key, None)) for key in ("input_guardrails", "output_guardrails")]
        self.guardrails = Guardrails(*checks)
        """What its questions and answers have to pass."""
        self.hooks = hooks_of(given.pop("hooks", None))
        """What is asked before a model or a tool is called, and told of what happens."""
        permissions, retriever = given.pop("permissions", None), given.pop("tool_retriever", None)
        self.permissions: ToolPermissions | None = offering("permissions", permissions, "permitted(registry)")
        self.tool_retriever: ToolRetriever | None = offering("tool_retriever", retriever, "select(tools, query)")
        self.compact = compact_of(given.pop("compact", None))
        """When its history is summarised."""
        if self.compact is not None and context.history is not None:
            raise ConfigError(
                "compact: a memory holds the history, and says itself how much of it goes in; leave it out"
            )
        self.description: str | None = given.pop("description", None)
        """What it is good at, for agents that may call it."""
        self.session_store: SessionStore | None = given.pop("session_store", None)
        given["examples"] = kept(given.get("examples"))
        self.prompting = Prompting(self.name, given, attributes, context, own_tools)
        """How its prompts come about."""
        self._runs = Runs(self.name, self.session_store)

    made_of: ClassVar[tuple[str, ...]] = (
        "model", "prompting", "max_turns", "max_tokens", "limits", "retry", "texts", "scope", "guardrails", "hooks",
        "permissions", "tool_retriever", "compact", "description",
    )  # fmt: skip
    """What an agent is; the rest is what it has done."""

    @property
    def models(self) -> tuple[Model, ...]:
        """Its model, and those of the agents that are its tools."""
        found: dict[int, Model] = {}
        waiting, seen = [self], set[int]()
        while waiting:
            agent = waiting.pop(0)
            if id(agent) in seen:
                continue
            seen.add(id(agent))
            found[id(agent.model)] = agent.model
            tools = agent.prompting.own_tools
            waiting += [inner for tool in tools if isinstance(inner := getattr(tool, "agent", None), Runner)]
        return tuple(found.values())

    @abstractmethod
    def _loop(self, setup: Setup) -> Loop:
        """How the agent works on a task, whose prompt `setup.observe` gives."""

    def _prompt_tools(self, tools: ToolRegistry) -> ToolRegistry:
        """Those of the tools that the user's own prompt describes."""
        return tools

    def _conversation(self, scope: Hashable) -> Conversation:
        memory = self.prompting.context.memory
        return self._runs.conversation(scope) if memory is None else memory.conversation

    # what a run is given

    def _task(
        self, inputs: Given, *, images: Images = (), key: Hashable = None, scope: Hashable = None,
        output_schema: Any = None, retries: int = 1, is_alone: bool = False,
    ) -> Task:  # fmt: skip
        prompting = self.prompting
        asked = prompting.inputs(inputs)
        if output_schema is not None:
            prompting = prompting.answering(output_schema)
        scope = self.scope if scope is None else scope
        if scope != self.scope and prompting.context.memory is not None:
            raise ConfigError(
                "scope: the conversation is that of the HistoryMemory, which knows no scopes; leave it out"
            )
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"retries: expected a whole number from 0, got {retries!r}")
        return Task(asked, tuple(picture(image) for image in images), key, scope, prompting, retries, is_alone)

    def _permitted(self, drafted: Callable[[], Draft] | None, history: tuple[Message, ...]) -> ToolRegistry:
        """Its tools, and those that ask active context providers, as far as they are permitted."""
        tools = self.prompting.tools(drafted, history)
        return tools if self.permissions is None else self.permissions.permitted(tools)

    def _tools(
        self, drafted: Callable[[], Draft], history: tuple[Message, ...], recorded: Sequence[Event] = ()
    ) -> ToolRegistry:
        """The tools of a run: of those that are permitted the ones that fit. `recorded`: its events so far."""
        tools = self._permitted(drafted, history)
        if self.tool_retriever is None:
            return tools
        return chosen(tools, self.tool_retriever, lambda: drafted().question, recorded)

    # how a run begins and ends

    @contextmanager
    def _running(
        self, task: Task, *, awaited: bool = False, nest: Nest | None = None, begun: Sequence[Event] = (),
        loop: Callable[[Setup], Loop] | None = None, goes_on: bool = False,
    ) -> Generator[Run]:  # fmt: skip
        """A run of this task; when the body is left, however that is, the conversation and `last` know of it.

        `begun`: what of it has been done already. `loop`: how it is worked on, if not as always. `goes_on`: whether it
        belongs to the exchange that has begun with it.
        """
        prompting = task.prompting
        self.prompting.observed = task.draft
        conversation = Conversation() if task.is_alone else self._conversation(task.scope)
        with interrupts(awaited=awaited):  # a memory may fail, and then no run has begun
            history = prompting.context.newest(conversation.told(task.key))
        exchange = None if task.is_alone else conversation.open(task.key, () if nest else self.models, goes_on=goes_on)
        is_kept = nest is None or not nest.around.is_replay
        number = self._runs.begin() if is_kept else 0
        run = self._run(task, history, nest, begun, loop or self._loop)
        try:
            yield run
        finally:
            if nest is not None:
                run.abandon()
            result = run.result
            if is_kept and result.events:
                self._runs.keep(result, number)
            if self.compact is not None and (summary := summary_of(result.events)):
                conversation.shorten(task.key, self.compact.keep, told(self.texts, summary))
            try:
                if exchange is not None:
                    exchange.close(result.new_messages, rewind=result.status == "cancelled")
            finally:
                if is_kept:
                    with interrupts(awaited=awaited):
                        self._remember(result)

    def _run(
        self, task: Task, history: tuple[Message, ...], nest: Nest | None, begun: Sequence[Event],
        work: Callable[[Setup], Loop],
    ) -> Run:  # fmt: skip
        recorded = nest.recorded if nest else begun
        started = started_of(recorded) if recorded else self._started(task, history, nest)
        loop = self._between_checks(work, task, started, recorded, self._runs.requests)
        key = task.key if nest is None else None
        hooks = self._asked(task.scope)
        unknown = nest.unknown if nest else "ask"
        return Run(
            started, loop, recorded, unknown, limits=self.limits, retry=self.retry, nest=nest, key=key, hooks=hooks
        )  # fmt: skip

    @contextmanager
    def _rerun(self, events: tuple[Event, ...], unknown: Unknown, output_schema: Any) -> Generator[Run]:
        """A run over recorded events, with the scripts where they leave them; afterwards they are where they were."""
        if unknown == "run_again" and isinstance(events[-1], RunFinished) and events[-1].status == "interrupted":
            events = events[:-1]  # what it waited for is decided
        started = started_of(events)
        task = self._task(recorded_inputs(started), output_schema=output_schema, retries=started.retries)
        with scripts_at(self, events):
            loop = self._between_checks(self._loop, task, started, events)
            hooks = self._asked(task.scope)
            yield Run(started, loop, events, unknown, limits=self.limits, retry=self.retry, hooks=hooks, is_replay=True)

    def _asked(self, scope: Hashable) -> RunHooks | None:
        """The hooks of a run; None without any, which costs nothing."""
        return RunHooks(self.hooks, scope, self._runs.requests) if self.hooks else None

    def _between_checks(
        self, work: Callable[[Setup], Loop], task: Task, started: RunStarted, recorded: Sequence[Event],
        requests: deque[ModelRequest] | None = None,
    ) -> Loop:  # fmt: skip
        """The loop of a run. `requests`: where its requests are kept; None in a replay."""
        compact = self.compact

        def worked(checked: Task) -> Loop:
            if checked is not task and requests is not None:
                self.prompting.observed = checked.draft
            setup = self._setup(checked, started, recorded, requests)
            return work(setup) if compact is None else shortened(setup, compact, work)

        return self.guardrails.around(task, self.model, worked)

    def _setup(
        self, task: Task, started: RunStarted, recorded: Sequence[Event], requests: deque[ModelRequest] | None
    ) -> Setup:
        prompting, history = task.prompting, started.history
        tools = self._tools(lambda: task.draft, history, recorded)

        def observe(history: tuple[Message, ...]) -> Prompt:
            return prompting.prompt(task.draft, history, self._prompt_tools(tools), started.images)

        return Setup(
            observe, history, self.model, tools, started.max_turns, self.max_tokens, prompting.read, requests,
            self.texts, task.retries, prompting.schema,
        )  # fmt: skip

    def _started(self, task: Task, history: tuple[Message, ...], nest: Nest | None = None) -> RunStarted:
        run_id = nest.run_id if nest else f"{self.name}-{self._runs.count}"
        model, asked = self.model, task.inputs
        said = tuple([Segment("user", "task", piece.text, piece.source) for piece in asked.task])
        return RunStarted(
            run_id, self.name, model.name, model.mode, self.max_turns, said, history, task.images, position(model),
            asked.fields, tuple([position(inner) for inner in self.models[1:]]), task.retries,
        )  # fmt: skip

    def _remember(self, result: RunResult) -> None:
        """Writes a completed run's fields and answer to where they are kept."""
        if result.status != "completed":
            return
        for name in self.prompting.blueprint.pushed:
            self.prompting.attributes[name] = result[name]
        if self.prompting.context.providers:
            self.prompting.context.remember(result.new_messages)
